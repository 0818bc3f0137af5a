"""Where pull requests live: GitHub and GitLab, each behind one small publisher of a Bundle."""
