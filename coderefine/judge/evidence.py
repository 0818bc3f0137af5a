"""The evidence for a patch: tests flipped, changed lines covered, changes that were not asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from coderefine.core import EMPTY, Attempt, Coverage, Evidence, Finding, Status
from coderefine.judge.change import PYTHON, Function, parse
from coderefine.judge.diff import opcodes
from coderefine.judge.score import PASSING, TESTS, collected, flipped, gone, lost


def evidence(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str] = frozenset(),
    coverage: Coverage | None = None,
    *,
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Evidence:
    """Tests flipped, kept and lost, and how many patched lines the tests ran.

    `coverage` is that of the candidate's tree (by default, that of its own check), `originals` the baseline's content
    of the touched files. `kept` counts tests that ran, were fine and still are. `covered` is None without coverage.
    """
    if coverage is None:
        coverage = candidate.coverage
    broken = {*lost(candidate, baseline, flaky), *gone(candidate, baseline)}
    ran = candidate.cases.keys() - candidate.carried
    kept = sum(
        case.status in (*PASSING, Status.SKIPPED) and id not in flaky and id not in broken and id in ran
        for id, case in baseline.cases.items()
    )
    return Evidence(
        flipped=flipped(candidate, baseline, flaky),
        kept=kept,
        lost=tuple(id for id in baseline.cases if id in broken),
        flaky=tuple(sorted(flaky)),
        covered=None if coverage is None else covered(candidate, originals, coverage),
        ran=(len(ran), len(candidate.cases)) if candidate.carried else None,
    )


def covered(candidate: Attempt, originals: Mapping[str, bytes | None], coverage: Coverage) -> tuple[int, int]:
    """(changed lines that some test runs, changed executable lines). A patch that only deletes has (0, 0)."""
    done = total = 0
    for path, after in candidate.patch.files.items():
        ran = frozenset().union(*(lines.get(path, frozenset()) for lines in coverage.values()))
        for span in changed_statements(path, originals.get(path), after):
            total += 1
            done += any(line in ran for line in span)
    return done, total


def running(candidate: Attempt, originals: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """The tests that are known to run a changed line, by the coverage of the candidate's own check."""
    spans = {
        path: {line for span in changed_statements(path, originals.get(path), after) for line in span}
        for path, after in candidate.patch.files.items()
    }
    found = (candidate.coverage or {}).items()
    return tuple(
        test for test, lines in found if test and any(not spans[path].isdisjoint(lines.get(path, ())) for path in spans)
    )


def changed_statements(path: str, before: bytes | None, after: bytes | None) -> Iterator[range]:
    """For each changed executable line of the new text, the lines of the statement (or header) it belongs to."""
    tree = parse(after) if path.endswith(PYTHON) else None
    if tree is None:
        return
    spans, lines = _spans(tree), (after or b"").splitlines()
    for _, _, _, first, last in opcodes(before, after):
        for line in range(first + 1, last + 1):
            text = lines[line - 1].strip()
            if line in spans and text and not text.startswith(b"#"):
                yield spans[line]


def _spans(tree: ast.Module) -> Mapping[int, range]:
    """Line -> the lines of its innermost simple statement or compound header; docstrings are not executable."""
    found: dict[int, range] = {}
    skipped: set[int] = set()
    for node in ast.walk(tree):  # parents come before children, so the innermost wins
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            skipped.add(id(node.body[0]))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Global | ast.Nonlocal) and id(node) not in skipped:
            span = range(_first(node), _last(node) + 1)
            found.update(dict.fromkeys(span, span))
        elif isinstance(node, ast.excepthandler | ast.match_case):
            line = node.lineno if isinstance(node, ast.excepthandler) else node.pattern.lineno
            found[line] = range(line, line + 1)
    return found


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(decorator.lineno) for decorator in decorators)])


def _last(node: ast.stmt) -> int:
    """The last line of a simple statement, or of the header of a compound one."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.end_lineno or node.lineno
    first: ast.stmt | ast.match_case = body[0]
    inner = first.pattern.lineno if isinstance(first, ast.match_case) else _first(first)
    return max(node.lineno, inner - 1)


def unrequested_changes(
    candidate: Attempt,
    baseline: Attempt,
    findings: Iterable[Finding],
    originals: Mapping[str, bytes | None],
) -> tuple[str, ...]:
    """`path: function` of each function that existed, now behaves differently, and that was not asked for.

    Asked for is what a finding names, what lies in a file that a finding names as a whole, and what a repaired
    test runs. Nothing is reported without coverage of the candidate's tests.
    """
    if candidate.coverage is None:
        return ()
    ran = _lines_ran(candidate.coverage, flipped(candidate, baseline))
    named = {(item.path, item.symbol) for item in findings if item.critic != TESTS}
    return tuple(
        f"{path}: {name}"
        for path, after in candidate.patch.files.items()
        for name, lines in _changed_functions(path, originals.get(path), after)
        # A function's first line runs when it is defined.
        if not _asked(path, name, named) and ran(path).isdisjoint(lines[1:])
    )


def _lines_ran(coverage: Coverage, repaired: Iterable[str]) -> Callable[[str], frozenset[int]]:
    """By path, the lines that repaired tests ran, or tests of modules that could not be collected before."""
    tests = [test for test in coverage if any(test == one or collected(test, one) for one in repaired)]
    return cache(lambda path: frozenset[int]().union(*(coverage[test].get(path, ()) for test in tests)))


def _asked(path: str, name: str, named: Iterable[tuple[str, str]]) -> bool:
    """Whether a finding names the function, something in it, what it is in, or the whole file."""
    symbols = [symbol for where, symbol in named if where == path]
    return any(not one or one == name or name.startswith(f"{one}.") or one.startswith(f"{name}.") for one in symbols)


def _changed_functions(path: str, before: bytes | None, after: bytes | None) -> Iterator[tuple[str, range]]:
    """Functions that both texts have and that behave differently in the second, with their lines there."""
    old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
    if old is not None and new is not None:
        was = {name: _behavior(node) for name, node in _functions(old, "")}
        for name, node in _functions(new, ""):
            if name in was and was[name] != _behavior(node):
                yield name, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """Functions and methods; those inside a function belong to it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, prefix)


def _behavior(node: Function) -> str:
    """The function as text. Ignore the docstring: it does not affect behaviour."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "".join(ast.dump(part) for part in (node.args, *node.decorator_list, *body))
