"""Violations: pieces of code that a rule forbids. Find those that a patch adds without an exemption."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from coderefine.judge.change import TREES, Change, FileVersion, functions, name_set, nodes, scopes
from coderefine.judge.main_guard import main_guard
from coderefine.source import last_name

STRING = re.compile(r"""(?<=['"])[^'"\n]*(?=['"])""")
"""The content of a string in a test, or text between two strings."""
PARSERS = name_set("argparse click typer optparse getopt docopt fire cyclopts")


class Exemption(Enum):
    """When a new violation is allowed.

    NEVER: in no file. USED_BEFORE: if the file had such violations before. CLI: if the file is a command-line program.
    """

    NEVER = "never"
    USED_BEFORE = "used before"
    CLI = "cli"


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation. `what` completes the sentence "the patch …".

    `wider`: the `what` of a more general violation that this one may replace. `moves`: whether this violation may move
    to another function of its file, together with its line of code. `asked`: a word; if a string in a failing test
    contains the word, the violation is allowed. `module`: an imported module (a path without suffix); if this is
    product code, the violation is allowed.
    """

    what: str
    line: int
    exemption: Exemption = Exemption.NEVER
    wider: str = ""
    moves: bool = False
    asked: str = ""
    module: str = ""


Scan = Callable[[FileVersion], Iterable[Violation]]


@dataclass(slots=True)
class _Known:
    """The violations in the old files.

    `kept`: number of violations by `what` and function (at module level: path). `freed`: by `what`, number of
    violations in functions that no longer exist; these functions may have been renamed or moved.
    """

    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    freed: Counter[str] = field(default_factory=Counter)
    lines: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    """The places of violations that may move, by path, `what`, and line of code."""

    def keep(self, violation: Violation, path: str, place: str, code: str) -> None:
        """Record a violation in the function `place` (at module level: the path). `code`: the text of its line.

        If the violation may move to another function, its line is recorded, too. A comment alone on its line may not
        move.
        """
        self.kept[violation.what, place] += 1
        if violation.moves and not code.startswith("#"):
            self.lines.setdefault((path, violation.what, code), []).append(place)

    def covers(self, violation: Violation, place: str) -> bool:
        """Return whether the old files had the violation; each old violation covers one new one."""
        for what in (violation.what, violation.wider):
            if what and self.kept[what, place] > 0:
                self.kept[what, place] -= 1
                return True
        if self.freed[violation.what] > 0:
            self.freed[violation.what] -= 1
            return True
        return False

    def covers_moved(self, violation: Violation, path: str, code: str) -> bool:
        """Return whether the violation was elsewhere in the file on the same line of code, and is no longer there."""
        places = self.lines.get((path, violation.what, code), ()) if violation.moves else ()
        left = next((place for place in places if self.kept[violation.what, place] > 0), None)
        if left is not None:
            self.kept[violation.what, left] -= 1
        return left is not None


def new_violations(changed: tuple[Change, ...], scan: Scan, tests: Sequence[str]) -> Iterator[tuple[Change, Violation]]:
    """Yield violations that `changed` adds without an exemption. `tests`: source texts of the failing tests.

    Violations are counted by kind and enclosing function. Thus the line of a violation may be edited, and a function
    may be moved or renamed with its violations. A violation that moves to another function is new; only a comment may
    move with its line of code.
    """
    known = _known(changed, scan)
    uncovered = list(_uncovered(changed, scan, tests, known))  # a list: all of this precedes the test for moves
    for change, one in uncovered:
        if not known.covers_moved(one, change.path, (change.new_text or "").split("\n")[one.line - 1].strip()):
            yield change, one


def _uncovered(
    changed: tuple[Change, ...], scan: Scan, tests: Sequence[str], known: _Known
) -> Iterator[tuple[Change, Violation]]:
    for change in changed:
        used_before = {one.what for one in _scanned(scan, change.was)}
        where, lines = scopes(change.new), (change.new_text or "").split("\n")
        old_lines = _unparsed_lines(change)
        for one in sorted(_scanned(scan, change.now), key=lambda one: (bool(one.wider), one.line)):
            if one.line <= len(lines) and lines[one.line - 1].strip() in old_lines:
                continue
            covered = known.covers(one, _place(one.line, where, lines) or change.path)
            if not covered and not _exempt(one, change, tests, used_before):
                yield change, one


def _unparsed_lines(change: Change) -> frozenset[str]:
    """Return the lines of the old file if it did not parse: its violations are unknown, so these lines are exempt."""
    unparsed = change.python and change.old is None
    return frozenset(line.strip() for line in (change.old_text or "").split("\n")) if unparsed else frozenset()


def _known(changed: tuple[Change, ...], scan: Scan) -> _Known:
    alive = {place for change in changed for place in scopes(change.new).values()}
    known = _Known()
    for change in changed:
        where, lines = scopes(change.old), (change.old_text or "").split("\n")
        for one in _scanned(scan, change.was):
            place = _place(one.line, where, lines)
            if place and place not in alive:
                known.freed[one.what] += 1
            else:
                known.keep(one, change.path, place or change.path, lines[one.line - 1].strip())
    return known


@lru_cache(maxsize=8 * TREES)
def _scanned(scan: Scan, side: FileVersion | None) -> tuple[Violation, ...]:
    """Return the violations that one scan finds; cached, because many candidates have the same old version."""
    return tuple(scan(side)) if side else ()


def _place(line: int, where: Mapping[int, str], lines: Sequence[str]) -> str:
    """Return the innermost function or class that contains `line`; "" at module level. `where`: see `scopes`.

    A comment after the last statement of a function belongs to the function, unless it is indented less than the last
    line of this statement. So a comment keeps its place if a linter removes the statement after it, for example `pass`.
    Of several such comments, only the first belongs to the function.
    """
    text = lines[line - 1] if line <= len(lines) else ""
    if text.lstrip().startswith("#"):
        above = line - 1
        while above and not lines[above - 1].strip():
            above -= 1
        if above and _indent(lines[above - 1]) <= _indent(text):
            return where.get(above, "")
    return where.get(line, "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _exempt(violation: Violation, change: Change, tests: Sequence[str], used_before: set[str]) -> bool:
    """Return whether the violation is allowed by its exemption, or because a failing test contains `violation.asked`.

    With Exemption.CLI, it is allowed under a main guard and in `__main__.py`. In a function or class, it is also
    allowed if the file parsed arguments, had a main guard or ended the process before the patch; if the file is new and
    does one of these; if only code under the main guard uses the function, and it is new; or if a failing test mentions
    SystemExit.
    """
    if violation.asked and _is_asked(violation.asked, tests):
        return True
    if violation.exemption is not Exemption.CLI:
        return violation.exemption is Exemption.USED_BEFORE and violation.what in used_before
    return _in_program(violation.line, change) or (
        violation.line in scopes(change.new) and any("SystemExit" in test for test in tests)
    )


def _in_program(line: int, change: Change) -> bool:
    if line in main_guard(change.new) or change.path.rpartition("/")[2] == "__main__.py":
        return True
    if line not in scopes(change.new):
        return False  # at module level it would run at every import
    return _is_program(change.old if change.before is not None else change.new) or _only_guarded(line, change)


def _only_guarded(line: int, change: Change) -> bool:
    """Return whether `line` is in the body of a new function to which only code under the main guard refers.

    Its decorators and default values run at import, as a class does.
    """
    name, guarded = scopes(change.new).get(line, ""), main_guard(change.new)
    function = functions(change.new).get(name)
    if (
        function is None
        or "." in name
        or function.decorator_list
        or not function.lineno < function.body[0].lineno <= line
    ):
        return False
    lines = [getattr(node, "lineno", 0) for node in nodes(change.new) if last_name(node) == name] if change.new else []
    return bool(lines) and guarded.issuperset(lines) and name not in functions(change.old)


def _is_asked(word: str, tests: Sequence[str]) -> bool:
    return any(word in text for test in tests for text in STRING.findall(test))


def _is_program(tree: ast.Module | None) -> bool:
    return tree is not None and (bool(main_guard(tree)) or any(map(_belongs_to_program, nodes(tree))))


def _belongs_to_program(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in PARSERS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in PARSERS
    if isinstance(node, ast.Attribute):
        return node.attr == "exit" and isinstance(node.value, ast.Name) and node.value.id == "sys"
    return isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)
