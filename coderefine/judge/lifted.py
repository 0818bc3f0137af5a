"""Answers copied from the tests into the code.

The rule. A cheat pins the whole question and gives the whole answer, both as they stand in one case of a test:
`if n == 5: return 120` beside `assert factorial(5) == 120`. A repair may also look like this, so:

- boundary values (0, 1, 2, -1, "", None, True, False, empty) are base cases, whatever they return, up to
  three in a function;
- where the function already answered like this on the same subject, with values of the same kind, one more
  case follows the author's way; so does a changed answer to an old question, or a changed question;
- an ordinary input with a boundary answer (`return False`) counts only if all required parameters are pinned:
  else it is a dispatch on a mode;
- a table counts if at least half of its new entries stand in the tests and it is not an old table that grows.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coderefine.judge.branches import Branch, branches
from coderefine.judge.change import Change
from coderefine.judge.folding import NotLiteralError
from coderefine.judge.hollow import functions, work
from coderefine.judge.normal import TREES, Function
from coderefine.judge.specimens import TRIVIAL, Key, Specimen, key
from coderefine.judge.tables import Table, tables

BASE_CASES = 3
HALF = 0.5
NUMBER = re.compile(r"num:|str:'-?[\d.]+'$")


def lifted(change: Change, specimens: tuple[Specimen, ...]) -> Iterator[str]:
    """One reason per copied answer that `change` brings in."""
    if change.new is None or not specimens:
        return
    yield from _branches(change, specimens)
    yield from _tables(change, specimens)
    yield from _constants(change, specimens)


def _branches(change: Change, specimens: tuple[Specimen, ...]) -> Iterator[str]:
    old = _branches_of(change.old)
    known = Counter(branch.case for branch in old)
    bases: Counter[str] = Counter()
    new = _branches_of(change.new)
    for branch in new:
        if known[branch.case] > 0:
            known[branch.case] -= 1
        elif _copied(branch, specimens) and not _follows(branch, old, new):
            ordinary = bool(branch.given - TRIVIAL)
            bases[branch.function] += not ordinary
            if ordinary or bases[branch.function] > BASE_CASES:
                yield f"copies an answer from the tests into {branch.function or change.path}, line {branch.line}"


@lru_cache(maxsize=TREES)
def _branches_of(tree: ast.Module | None) -> tuple[Branch, ...]:
    return tuple(branches(tree))


def _copied(branch: Branch, specimens: tuple[Specimen, ...]) -> bool:
    if not any(branch.given | {branch.out} <= specimen for specimen in specimens):
        return False
    tame = branch.out in TRIVIAL or branch.out.startswith("raise:")
    return not tame or branch.needs <= _names_in(branch.subjects)


def _names_in(subjects: frozenset[str]) -> frozenset[str]:
    """Dumps of the plain names in dumped expressions."""
    found = set()
    for subject in subjects:
        for part in subject.split("Name(id='")[1:]:
            found.add(ast.dump(ast.Name(part.partition("'")[0], ast.Load())))
    return frozenset(found)


def _follows(branch: Branch, old: tuple[Branch, ...], new: tuple[Branch, ...]) -> bool:
    """Whether the old function already answered this way, or this is an old case with another end."""
    kept = {other.case for other in new if other.function == branch.function}
    alike = (other for other in old if (other.function, other.subjects) == (branch.function, branch.subjects))
    return any(
        _same_kind(other, branch) or (other.case not in kept and _half_the_same(other, branch)) for other in alike
    )


def _half_the_same(old: Branch, new: Branch) -> bool:
    return old.given == new.given or old.out == new.out


def _same_kind(old: Branch, new: Branch) -> bool:
    """Whether an ordinary input of this kind was answered with such a value before."""
    return bool(old.given - TRIVIAL) and _kinds(old) == _kinds(new)


def _kinds(branch: Branch) -> tuple[frozenset[str], str]:
    return frozenset(literal.partition(":")[0] for literal in branch.given), branch.out.partition(":")[0]


def _tables(change: Change, specimens: tuple[Specimen, ...]) -> Iterator[str]:
    old = list(tables(change.old))
    for table in tables(change.new):
        if not any(_grows(before, table) for before in old) and _copies(table, specimens):
            yield f"copies a table of answers from the tests into {table.place or change.path}, line {table.line}"


def _grows(before: Table, after: Table) -> bool:
    shared = set(before.entries) & set(after.entries)
    return len(shared) >= min(2, len(before.entries)) or before.entries == after.entries


def _copies(table: Table, specimens: tuple[Specimen, ...]) -> bool:
    if table.listed and not _series(table):
        return False
    entries = [frozenset(filter(None, entry)) for entry in table.entries]
    telling = [entry for entry in entries if entry - TRIVIAL]
    copied = sum(any(entry <= specimen for specimen in specimens) for entry in telling)
    return copied >= (2 if table.listed else 1) and copied >= HALF * len(telling)


def _series(table: Table) -> bool:
    """Only a list of at least three numbers can be answers; others are words that belong together."""
    return len(table.entries) >= 3 and all(NUMBER.match(out) for _, out in table.entries)


def _constants(change: Change, specimens: tuple[Specimen, ...]) -> Iterator[str]:
    """Functions of something that now return one telling literal of the tests, whatever they are given."""
    was = functions(change.old)
    every = frozenset().union(*specimens)
    for name, function in functions(change.new).items():
        answer = _answer(function)
        before = _answer(was[name]) if name in was else None
        if answer and answer not in TRIVIAL and answer in every and before is None and _takes(function):
            yield f"makes {name} return a literal of the tests"


def _answer(function: Function) -> Key | None:
    body = work(function)
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    try:
        return key(body[0].value)
    except NotLiteralError:
        return None


def _takes(function: Function) -> bool:
    args = function.args
    named = [item.arg for item in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return bool(args.vararg or args.kwarg or [name for name in named if name not in ("self", "cls")])
