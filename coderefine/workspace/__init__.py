"""Private views of the tree: a process that runs in one cannot change the user's files."""

from coderefine.workspace.environment import Grants
from coderefine.workspace.isolation import describe, open_views

__all__ = ["Grants", "describe", "open_views"]
