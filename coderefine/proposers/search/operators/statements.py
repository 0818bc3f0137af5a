"""Edits of whole statements: delete, swap, change the kind, or put back what a change replaced."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from coderefine.proposers.search import emit
from coderefine.proposers.search.index import SIMPLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, JUMPS, Edit, Replacement
from coderefine.proposers.search.value_kinds import dotted
from coderefine.runner.agent.code_diff import common_ends
from coderefine.source import rows

WORDS: dict[type[ast.stmt], str] = {ast.Break: "break", ast.Continue: "continue", ast.Pass: "pass"}
PLAIN = ("break", "continue", "pass", "return", "return None", "return False", "return True")
SIGNS = (
    ("+=", 4.0),
    ("-=", 2.0),
    ("*=", 1.0),
    ("|=", 0.8),
    ("//=", 0.3),
    ("&=", 0.2),
    ("/=", 0.3),
    ("%=", 0.3),
)
"""Weights of the augmented assignments in place of `=`."""
MOST_LINES = 20
"""Maximum number of lines of a change that is undone as a whole."""
SPACES = re.compile(r"(\s+)")


def deletion(site: Site) -> Iterator[Edit]:
    """Delete a statement."""
    if isinstance(site.stmt, (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass)):
        return
    weight = 1.0 if isinstance(site.stmt, SIMPLE) else 0.3
    yield from emit.removal(site.module, site.stmt, weight)


def exchange(site: Site) -> Iterator[Edit]:
    """Swap a statement with one of the next two statements."""
    if isinstance(site.stmt, JUMPS):
        return
    index = site.siblings.index(site.stmt) if site.stmt in site.siblings else -1
    for other in site.siblings[index + 1 : index + 3] if index >= 0 else []:
        if isinstance(other, JUMPS):
            return  # the statements after it would never run
        if site.module.alone(site.stmt) and site.module.alone(other):
            one, two = emit.lines_of(site.module, site.stmt), emit.lines_of(site.module, other)
            first, second = emit.block_text(site.module, site.stmt), emit.block_text(site.module, other)
            yield Edit((Replacement(*one, second), Replacement(*two, first)), 1.0)


def kind_changed(site: Site) -> Iterator[Edit]:
    """Change the kind of a statement: `break` to `continue`, `f(x)` to `return f(x)`, `yield` to `yield from`, etc.

    Replace `break`, `continue`, `pass` and `return` without value by one another. Return, yield or assign the value of
    an expression statement. Swap `yield` and `yield from`, and replace `yield` by `return`. Replace the `return` before
    a value by `yield`, by `raise`, or by nothing. Replace a `return` in a loop by `continue` or `break`.
    """
    node = site.stmt
    bare = isinstance(node, ast.Return) and node.value is None
    if old := "return" if bare else WORDS.get(type(node)):
        yield from _jumps(site, old)
    elif isinstance(node, ast.Expr):
        yield from _expression(site, node)
    elif isinstance(node, ast.Return) and node.value:
        yield from _not_returned(site, node.value)


def _jumps(site: Site, old: str) -> Iterator[Edit]:
    start, end = site.module.start(site.stmt), site.module.end(site.stmt)
    for word in PLAIN:
        if word != old and (site.loop is not None or word not in ("break", "continue")):
            yield Edit((Replacement(start, end, word),), 0.3 if " " in word else 1.0)


def _not_returned(site: Site, value: ast.expr) -> Iterator[Edit]:
    module = site.module
    start, end = module.start(site.stmt), module.start(value)
    several = site.local.yields or site.loop is not None  # elsewhere, a generator would yield a single value
    for word, weight in (("yield ", 0.5 if several else 0.05), ("raise ", 0.1)):
        yield Edit((Replacement(start, end, word),), weight)
    if any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(value)):  # else it would do nothing
        yield Edit((Replacement(start, end, ""),), 0.4)
    for word in ("continue", "break") if site.loop is not None else ():
        yield Edit((Replacement(start, module.end(site.stmt), word),), 0.3)


def _expression(site: Site, node: ast.Expr) -> Iterator[Edit]:
    module, value = site.module, node.value
    if isinstance(value, ast.Yield) and value.value is not None:
        start, end = module.start(value), module.start(value.value)
        yield Edit((Replacement(start, end, "yield from "),), 2.0)
        yield Edit((Replacement(start, end, "return "),), 1.0)
    elif isinstance(value, ast.YieldFrom):
        yield Edit((Replacement(module.start(value), module.start(value.value), "yield "),), 2.0)
    elif not isinstance(value, ast.Constant):
        for words, weight in _made_of(site, value):
            yield Edit((Replacement(module.start(node), module.start(node), words),), weight)


def _made_of(site: Site, value: ast.expr) -> Iterator[tuple[str, float]]:
    """Yield texts, with weights, that may be missing before an expression whose value is not used: `return `."""
    yield from (("return ", 2.0), ("yield ", 0.4), ("yield from ", 0.6))
    if isinstance(value, ast.Call):
        yield from ((f"{name} = ", 2.0) for name in _given_to(site, value))
        yield from ((f"{name} += ", 0.3) for name in site.paths[:6])


def _given_to(site: Site, call: ast.Call) -> list[str]:
    """Return the names of the call's receiver and arguments, to which its result may have to be assigned."""
    base = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    own = [base] if base and base not in site.local.globals else []
    return own + [dotted(argument) for argument in call.args if dotted(argument)]


def assignment_kind(site: Site) -> Iterator[Edit]:
    """Replace `+=` and the like by `=`, or vice versa."""
    node = site.stmt
    if isinstance(node, ast.AugAssign):
        end = site.module.end(node.target)
        gap = site.module.text[end : site.module.start(node.value)]
        at = end + len(gap) - len(gap.lstrip())
        until = at + gap.strip().index("=") + 1 if "=" in gap else at
        yield Edit((Replacement(at, until, "="),), 1.0)
    elif isinstance(node, ast.Assign) and _may_count(site, node):
        target = node.targets[0]
        odd = 1.5 if site.loop is not None and isinstance(node.value, ast.Constant | ast.Name) else 0.0
        for sign, weight in SIGNS:
            yield from emit.between(site.module, target, node.value, "=", sign, weight, boost=odd)


def _may_count(site: Site, node: ast.Assign) -> bool:
    """Return whether the assignment has one target, which already has a value."""
    name = dotted(node.targets[0])
    bound = not name or "." in name or site.local.bound.get(name, 10**9) < site.stmt.lineno
    return bound and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple)


def earlier(site: Site) -> Iterator[Edit]:
    """Put back the lines that a recent change of the file replaced, if the new lines are still there."""
    module = site.module
    for change in site.world.changes.get(module.path, ()):
        if change.gone and 0 < len(change.came) <= MOST_LINES:
            for first in _occurrences(site, change.came):
                text = "".join(f"{line}\n" for line in change.gone)
                last = first + len(change.came) - 1
                yield Edit((_shortest(module.text, module.line_start(first), module.line_end(last), text),))


def _shortest(text: str, start: int, end: int, new: str) -> Replacement:
    """Return the replacement of `start`..`end` by `new`, without the first and last words that do not change."""
    before, after = SPACES.split(text[start:end]), SPACES.split(new)
    head, tail = common_ends(before, after)
    left, right = ("".join(before[:head]), "".join(before[len(before) - tail :]))
    return Replacement(start + len(left), end - len(right), new[len(left) : len(new) - len(right)])


def _occurrences(site: Site, lines: Sequence[str]) -> Iterator[int]:
    """Yield the line numbers at which `lines` begin, if their first line that is not blank is in the statement."""
    present, wanted = ([line.rstrip() for line in one] for one in (rows(site.module.text), lines))
    blanks = next((place for place, line in enumerate(wanted) if line), 0)
    for at in range(len(present) - len(wanted) + 1):
        if site.module.by_line.get(at + blanks + 1) is site.stmt and present[at : at + len(wanted)] == wanted:
            yield at + 1
