"""Private views of the tree: whatever runs in one cannot reach the user's files."""

from coderefine.workspace.choose import Isolation, describe, open_views
from coderefine.workspace.surroundings import Grants

__all__ = ["Grants", "Isolation", "describe", "open_views"]
