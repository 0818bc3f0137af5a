"""Publishers for pull requests on GitHub and GitLab."""
