"""When ending the process or reading its arguments is what a program is for."""

from __future__ import annotations

import ast

from coderefine.judge.change import Change
from coderefine.judge.marks import Mark
from coderefine.judge.names import guarded, places

PARSERS = frozenset(("argparse", "click", "typer", "optparse", "getopt", "docopt", "fire", "cyclopts"))


def command_line(change: Change, mark: Mark, tests: tuple[str, ...]) -> bool:
    """Whether `mark` stands inside a function of a command line, or where no import comes by.

    A file is a command line if it is `__main__.py`, was one before (parses arguments, has a main guard, ends the
    process already), or is new and is one. A test that expects SystemExit asks for one, too.
    """
    if mark.line in guarded(change.new) or change.path.rpartition("/")[2] == "__main__.py":
        return True
    if mark.line not in places(change.new):
        return False
    seen = change.old if change.before is not None else change.new
    return _is_program(seen) or any("SystemExit" in test for test in tests)


def _is_program(tree: ast.Module | None) -> bool:
    if tree is None:
        return False
    return bool(guarded(tree)) or any(map(_programlike, ast.walk(tree)))


def _programlike(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in PARSERS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in PARSERS
    if isinstance(node, ast.Attribute):
        return node.attr == "exit" and isinstance(node.value, ast.Name) and node.value.id == "sys"
    return isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)
