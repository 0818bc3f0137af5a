"""The past of the lines of a file: earlier states, from commits and uncommitted work, and when they were written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from coderefine.core import without_parameters
from coderefine.errors import GitError
from coderefine.git import process
from coderefine.proposers.search.syntax import Function, Module
from coderefine.source import first_line

SETTLED = 7 * 86400.0
"""If a test was written at least so many seconds after the code, it may ask for something new, which the code never
did. If both were written within a few days, it does not matter which was first."""
MOST_DATED, DATING = 3, 2.0
"""Maximum number of repaired tests whose age is compared with the age of the code, and seconds for one `git blame`."""
MOST_COMMITS, SECONDS, MOST_FILES = 30, 0.3, 3
"""Limits: number of commits that are read for a file, seconds for each of the two git commands for a file, and number
of files."""
DIFF = ("-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--inter-hunk-context=0")
"""Options of `git log`: print only changed lines, and run no program that the user configured."""
UNCOMMITTED = "undoes your uncommitted change"
OFFLINE = ("--literal-pathspecs", "-c", "protocol.allow=never")
"""Options of git: take paths literally, and do not fetch the files that a partial clone lacks."""
AUTHORED = re.compile(rb"^author-time (\d+)$", re.MULTILINE)
"""A line of `git blame --porcelain`: when the commit was written, in seconds since 1970."""
UNCOMMITTED_LINE = re.compile(rb"^0{40,} ", re.MULTILINE)
"""A line of `git blame --porcelain` for a line that is not committed; its hash consists of zeros."""
COMMIT = re.compile(r"\0([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class PastChange:
    """A changed block of lines: the lines `came` replaced the lines `gone`.

    `commit`: short hash of the commit with the change; "" if the change is not committed.
    """

    commit: str
    gone: tuple[str, ...]
    came: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"as before {self.commit}" if self.commit else UNCOMMITTED

    def undone_by(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Return whether the lines `new` in place of `old` undo this change, or a part of it.

        If `new` or `old` is empty, they must undo the whole change: a part would be weak evidence.
        """
        gone, came, old, new = (_bare(lines) for lines in (self.gone, self.came, old, new))
        return _within(new, gone) and _within(old, came) if old and new else (old, new) == (came, gone)


def _bare(lines: Sequence[str]) -> list[str]:
    """Return the lines that are not blank, without indentation, and with single spaces between words."""
    return [" ".join(line.split()) for line in lines if line.strip()]


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def changes(top: Path, path: str, data: bytes) -> tuple[PastChange, ...]:
    """Return the recent changes of the file at `path` below `top`, the newest first.

    `data`: the present content of the file, in the tree or staged. Return () if the file's content in HEAD cannot be
    read within SECONDS, and only uncommitted changes if the same holds for its log.
    """
    commands = (
        ("cat-file", "blob", f"HEAD:./{path}"),
        ("log", f"-{MOST_COMMITS}", "-p", *DIFF, "--no-show-signature", "--format=%x00%h", "HEAD", "--", path),
    )
    outputs: list[str] = []
    for command in commands:
        try:
            result = process.run((*OFFLINE, *command), cwd=top, timeout=SECONDS)
        except GitError:
            break
        if result.returncode:
            break
        outputs.append(result.stdout.decode("utf-8", "replace"))
    head, log = (*outputs, "", "")[:2]
    now = data.decode("utf-8", "replace").splitlines()
    uncommitted = (PastChange("", *pair) for pair in _differences(head.splitlines(), now)) if outputs else ()
    return (*uncommitted, *_parsed(log.split("\n")))


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield each block of lines that differs: the lines of `old`, and the lines of `new` in their place."""
    for step, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if step != "equal":
            yield tuple(old[a:b]), tuple(new[c:d])


def _parsed(lines: Sequence[str]) -> Iterator[PastChange]:
    """Yield the hunks in the output of `git log -p`."""
    commit = ""
    sides: dict[str, list[str]] | None = None
    for line in (*lines, "@@"):
        if sides is not None and line[:1] in ("-", "+"):
            sides[line[0]].append(line[1:].removesuffix("\r"))
            continue
        if sides is not None and line[:1] != "\\":  # "\ No newline at end of file"
            yield PastChange(commit, tuple(sides["-"]), tuple(sides["+"]))
            sides = None
        if line.startswith("@@"):
            sides = {"-": [], "+": []}
        elif match := COMMIT.match(line):
            commit = match[1]


def former(module: Module, data: bytes, changes: Sequence[PastChange]) -> str:
    """Return the name of the change that the new content `data` of a module undoes.

    Return "" if one of the differences undoes no change. If several changes are undone, return UNCOMMITTED if one of
    them is uncommitted, else the name of the first.
    """
    old, new = module.text.splitlines(), data.decode(module.source.encoding, "replace").splitlines()
    undone = [next((change for change in changes if change.undone_by(*pair)), None) for pair in _differences(old, new)]
    names = [change.name for change in undone if change]
    if not names or len(names) < len(undone):
        return ""
    return UNCOMMITTED if UNCOMMITTED in names else names[0]


@dataclass(frozen=True, slots=True)
class Ages:
    """Compares when tests and code were written. `top`: the folder of the user's tree; None without git.

    `read`: returns the content of the file at a path of the tree; None if there is none.
    """

    top: Path | None
    read: Callable[[str], bytes | None]
    _known: dict[tuple[str, str], float | None] = field(default_factory=dict, init=False)

    def are_newer(self, tests: Iterable[str], path: str, function: str) -> bool:
        """Return whether `tests` (ids) were written at least SETTLED seconds after a function of the file at `path`.

        Only the first MOST_DATED tests are compared. Return False if one of the times is unknown.
        """
        times = [self._written(name.partition("::")[0], qualified_name(name)) for name in sorted(tests)[:MOST_DATED]]
        code = self._written(path, function) if all(times) else None
        return bool(times) and code is not None and all(when is not None and when - code >= SETTLED for when in times)

    def _written(self, path: str, function: str) -> float | None:
        if (path, function) not in self._known:
            data = self.read(path) if self.top and function else None
            found = written(self.top, path, data, function) if self.top and data is not None else None
            self._known[path, function] = found
        return self._known[path, function]


def written(top: Path, path: str, data: bytes, name: str) -> float | None:
    """Return when the newest line of a function was written, in seconds since 1970; None if that is unknown.

    `path`, `data`: the function's file below `top`, and its present content; `name`: the function's name, qualified by
    its class if it has one. A line that is not committed was written now.
    """
    node = _function(path, data, name)
    if node is None:
        return None
    file = (top / path).resolve()  # git must run in the file's real folder: in a submodule, or behind a link
    lines = ("--porcelain", "-w", "--no-textconv", "--contents", "-", "-L", f"{first_line(node)},{node.end_lineno}")
    try:
        command = (*OFFLINE, "blame", *lines, "--", file.name)
        result = process.run(command, cwd=file.parent, stdin=data, timeout=DATING)
    except GitError:
        return None
    if UNCOMMITTED_LINE.search(result.stdout) or b"no such path" in result.stderr:
        return time.time()
    times = list(map(int, AUTHORED.findall(result.stdout)))
    return float(max(times)) if times and not result.returncode else None


def _function(path: str, data: bytes, name: str) -> Function | None:
    """Return the function with the qualified name `name`; None if there is none."""
    module = Module.of(path, data)
    for node in module.statements if module else ():
        if isinstance(node, Function) and module and module.qualified_name(node) == name:
            return node
    return None


def qualified_name(test: str) -> str:
    """Return the name of the function of the test with the id `test`, qualified by its class if it has one."""
    return ".".join(without_parameters(test).split("::")[1:][-2:])
