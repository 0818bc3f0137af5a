"""Private views of the tree: whatever runs in one cannot reach the user's files."""

from coderefine.workspace.environment import Grants
from coderefine.workspace.isolation import Isolation, describe, open_views

__all__ = ["Grants", "Isolation", "describe", "open_views"]
