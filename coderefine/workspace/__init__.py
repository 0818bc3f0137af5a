"""Private views of the tree: whatever runs in one cannot reach the user's files."""

from coderefine.workspace.choose import Isolation, describe, open_views

__all__ = ["Isolation", "describe", "open_views"]
