"""Private views of the tree: a process that runs in one cannot change the user's files."""

from coderefine.workspace.environment import Grants
from coderefine.workspace.isolation import Isolation, describe, open_views

__all__ = ["Grants", "Isolation", "describe", "open_views"]
