"""coderefine hands back patches it has proved."""

__version__ = "0.1.0"
