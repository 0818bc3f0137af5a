"""The project under repair: its location, its own interpreter, and the files that may not be written."""

from coderefine.project.interpreter import Interpreter, interpreter
from coderefine.project.place import Place, locate
from coderefine.project.protection import Protection

__all__ = ["Interpreter", "Place", "Protection", "interpreter", "locate"]
