"""The evidence for a patch: repaired tests, covered changed lines, unrequested changes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from coderefine.core import EMPTY, Attempt, Coverage, Evidence, Executed, Finding, Span, Status
from coderefine.judge.change import PYTHON, nodes, parse
from coderefine.judge.diff import opcodes
from coderefine.judge.score import PASSING, TESTS, collected, flipped, gone, lost
from coderefine.source import Function, first_line, last_line, outer_functions

NAMED = 20
"""Maximum number of tests that are named for each patched line."""


def evidence(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str] = frozenset(),
    *,
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Evidence:
    """Collect the evidence: tests that were repaired, kept and lost, and the number of patched lines that tests ran.

    `originals`: the baseline's content of the touched files. In the result, `kept` counts the tests that had passed or
    been skipped, ran again, and are neither lost nor flaky; `covered` is None without coverage.
    """
    traced = candidate.coverage is not None
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
        ran=(len(ran), len(candidate.cases)) if candidate.carried else None,
        covered=covered(candidate, originals) if traced else None,
        executed=tuple(executed(candidate, originals)) if traced else (),
    )


def covered(candidate: Attempt, originals: Mapping[str, bytes | None]) -> tuple[int, int]:
    """Return (changed lines that tests run, changed executable lines); (0, 0) for a patch that only deletes."""
    done = total = 0
    for path, after in candidate.patch.files.items():
        ran = _ran(candidate, path)
        for span in changed_statements(path, originals.get(path), after):
            total += 1
            done += any(line in ran for line in span)
    return done, total


def _ran(candidate: Attempt, path: str) -> frozenset[int]:
    """Return the lines of a file that any test ran."""
    return frozenset().union(*(lines.get(path, frozenset()) for lines in (candidate.coverage or {}).values()))


def hidden(candidate: Attempt, originals: Mapping[str, bytes | None]) -> bool:
    """Return whether every changed statement is inside a function, in a block that no traced test ran.

    A block is a branch, the body of a loop, or an exception handler. A traced test must have run the condition, loop
    header or `try` body that leads to the block: otherwise, the tests of this code may not be traced at all. Return
    False if no statement is changed. `candidate`: must have the coverage of its own check.
    """
    found = []
    for path, after in candidate.patch.files.items():
        ran = _ran(candidate, path)
        skipped = _skipped(parse(after), ran) if path.endswith(".py") else frozenset()
        found += [span.start in skipped for span in changed_statements(path, originals.get(path), after)]
    return bool(found) and all(found)


def _skipped(tree: ast.Module | None, ran: frozenset[int]) -> frozenset[int]:
    """Return the lines, inside functions, of each block that did not run although its header ran.

    `ran`: the lines that ran. For blocks and headers see `_branches`.
    """
    functions = [node for node in (nodes(tree) if tree else ()) if isinstance(node, Function)]
    skipped: set[int] = set()
    for header, lines in (pair for function in functions for node in ast.walk(function) for pair in _branches(node)):
        if not ran.isdisjoint(header) and ran.isdisjoint(lines):
            skipped.update(lines)
    return frozenset(skipped)


def _branches(node: ast.AST) -> list[tuple[range, range]]:
    """Return (lines of the header, lines of the block) for each block of `node` that may be skipped when `node` runs.

    The header of an exception handler is the body of its `try`.
    """
    match node:
        case ast.If(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse) | ast.For(body=body, orelse=orelse):
            header = range(node.lineno, first_line(body[0]))
            return [(header, _lines(block)) for block in (body, orelse) if block]
        case ast.Try(body=body, handlers=handlers):
            return [(_lines(body), _lines(handler.body)) for handler in handlers]
    return []


def _lines(block: list[ast.stmt]) -> range:
    return range(first_line(block[0]), last_line(block[-1]) + 1)


def executed(candidate: Attempt, originals: Mapping[str, bytes | None]) -> Iterator[Executed]:
    """Yield the changed executable lines with the tests that run them; join adjacent lines that have the same tests."""
    coverage = candidate.coverage or {}
    for path, after in sorted(candidate.patch.files.items()):
        spans = list(dict.fromkeys(changed_statements(path, originals.get(path), after)))
        lines = {line for span in spans for line in span}
        ran = {test: hit for test, files in coverage.items() if (hit := lines & files.get(path, frozenset()))}
        for span, tests in _joined((span, tuple(_running(span, ran))) for span in spans):
            named = list(filter(None, tests))
            yield Executed(path, Span(span.start, span.stop - 1), tuple(named[:NAMED]), len(named), "" in tests)


def _running(span: range, ran: Mapping[str, set[int]]) -> Iterator[str]:
    return (test for test, lines in ran.items() if not lines.isdisjoint(span))


def _joined(found: Iterable[tuple[range, tuple[str, ...]]]) -> list[tuple[range, tuple[str, ...]]]:
    """Join neighbouring spans that the same tests run."""
    joined: list[tuple[range, tuple[str, ...]]] = []
    for span, tests in found:
        adjacent = joined and joined[-1][0].stop == span.start and joined[-1][1] == tests
        first = joined.pop()[0].start if adjacent else span.start
        joined.append((range(first, span.stop), tests))
    return joined


def running(candidate: Attempt, originals: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Return the tests that run a changed line, according to the coverage of the candidate's own check."""
    spans = {path: changed_lines(path, originals.get(path), after) for path, after in candidate.patch.files.items()}
    found = (candidate.coverage or {}).items()
    return tuple(
        test for test, lines in found if test and any(not spans[path].isdisjoint(lines.get(path, ())) for path in spans)
    )


def reaching(
    coverage: Coverage, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> Iterator[str]:
    """Yield the tests that run a function which is changed; `coverage` is that of the tree with the files `before`."""
    changed = {path: [lines for _, lines in _changed_functions(path, after[path], before[path])] for path in after}
    spans = {path: frozenset().union(*found) for path, found in changed.items()}
    for test, lines in coverage.items():
        if any(not spans[path].isdisjoint(hit) for path, hit in lines.items() if path in spans):
            yield test


def changed_lines(path: str, before: bytes | None, after: bytes | None) -> set[int]:
    """Return the lines of the statements that `changed_statements` yields."""
    return {line for span in changed_statements(path, before, after) for line in span}


def changed_statements(path: str, before: bytes | None, after: bytes | None) -> Iterator[range]:
    """Yield, for each changed executable line of the new text, the lines of its statement.

    Of a compound statement, only the lines of the header are yielded.
    """
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
    """Return line -> lines of its innermost statement (of a compound statement, only the header); skip docstrings."""
    found: dict[int, range] = {}
    skipped: set[int] = set()
    for node in ast.walk(tree):  # parents come before children, so the innermost wins
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            skipped.add(id(node.body[0]))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Global | ast.Nonlocal) and id(node) not in skipped:
            span = range(first_line(node), _last(node) + 1)
            found.update(dict.fromkeys(span, span))
        elif isinstance(node, ast.excepthandler | ast.match_case):
            line = node.lineno if isinstance(node, ast.excepthandler) else node.pattern.lineno
            found[line] = range(line, line + 1)
    return found


def _last(node: ast.stmt) -> int:
    """Return the last line of a simple statement, or of the header of a compound statement."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.end_lineno or node.lineno
    first: ast.stmt | ast.match_case = body[0]
    inner = first.pattern.lineno if isinstance(first, ast.match_case) else first_line(first)
    return max(node.lineno, inner - 1)


def unrequested_changes(
    candidate: Attempt,
    baseline: Attempt,
    findings: Iterable[Finding],
    originals: Mapping[str, bytes | None],
) -> tuple[str, ...]:
    """Return `path: function` of each existing function whose code changed without being requested.

    Changes are requested in functions that a finding names, in files that a finding names as a whole, and in functions
    that a repaired test runs. Nothing is reported without coverage of the candidate's tests.
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
    """Return a function: path -> lines that the tests `repaired` ran. A module in `repaired` stands for its tests."""
    tests = [test for test in coverage if any(test == one or collected(test, one) for one in repaired)]
    return cache(lambda path: frozenset[int]().union(*(coverage[test].get(path, ()) for test in tests)))


def _asked(path: str, name: str, named: Iterable[tuple[str, str]]) -> bool:
    """Return whether a finding names the function, its class or outer function, something in it, or the whole file.

    `named`: (path, symbol) of the findings; the symbol "" means the whole file.
    """
    symbols = [symbol for where, symbol in named if where == path]
    return any(not one or one == name or name.startswith(f"{one}.") or one.startswith(f"{name}.") for one in symbols)


def _changed_functions(path: str, before: bytes | None, after: bytes | None) -> Iterator[tuple[str, range]]:
    """Yield (name, lines in `after`) of each outermost function that is in both texts with different code."""
    old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
    if old is not None and new is not None:
        was: dict[str, list[str]] = {}  # one name may be defined twice: `if sys.version_info ...: ... else: ...`
        for name, node in outer_functions(old):
            was.setdefault(name, []).append(_behavior(node))
        for name, node in outer_functions(new):
            if name in was and _behavior(node) not in was[name]:
                yield name, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _behavior(node: Function) -> str:
    """Return the function's tree as text, without the docstring, which does not affect behaviour."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "".join(ast.dump(part) for part in (node.args, *node.decorator_list, *body))
