"""The code under repair: where it is, which interpreter is its own, what may not be written."""

from coderefine.project.interpreter import Interpreter, interpreter
from coderefine.project.place import Place, locate
from coderefine.project.protection import Protection

__all__ = ["Interpreter", "Place", "Protection", "interpreter", "locate"]
