"""What was proved about a patch, in numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from coderefine.core import EMPTY, Attempt, Coverage, Evidence, Status
from coderefine.judge.normal import PYTHON, parse
from coderefine.judge.score import PASSING, flipped, gone, lost
from coderefine.judge.size import opcodes

SILENT = (ast.Global, ast.Nonlocal)


def evidence(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str] = frozenset(),
    coverage: Coverage | None = None,
    *,
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Evidence:
    """Tests flipped, kept and lost, and how many patched lines the tests ran.

    `coverage` is that of the candidate's tree (by default, what its own check brought), `originals` the
    baseline's content of the touched files.
    `kept` counts tests that were fine and still are. `covered` is None without coverage.
    """
    if coverage is None:
        coverage = candidate.coverage
    broken = {*lost(candidate, baseline, flaky), *gone(candidate, baseline)}
    kept = sum(
        case.status in (*PASSING, Status.SKIPPED) and id not in flaky and id not in broken and id in candidate.cases
        for id, case in baseline.cases.items()
    )
    return Evidence(
        flipped=flipped(candidate, baseline, flaky),
        kept=kept,
        lost=tuple(id for id in baseline.cases if id in broken),
        flaky=tuple(sorted(flaky)),
        covered=None if coverage is None else covered(candidate, originals, coverage),
    )


def covered(candidate: Attempt, originals: Mapping[str, bytes | None], coverage: Coverage) -> tuple[int, int]:
    """(lines run by some test, changed lines that can be run). A patch that only deletes has (0, 0)."""
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
    spans = _spans(tree)
    for _, _, _, first, last in opcodes(before, after):
        for line in range(first + 1, last + 1):
            if line in spans and _text_at(after, line):
                yield spans[line]


def _text_at(data: bytes | None, line: int) -> bool:
    """Whether there is code on `line`, and not only a comment or nothing."""
    text = (data or b"").splitlines()[line - 1].strip()
    return bool(text) and not text.startswith(b"#")


def _spans(tree: ast.Module) -> Mapping[int, range]:
    """Line -> the lines of its innermost simple statement or compound header; docstrings are not executable."""
    found: dict[int, range] = {}
    docs = {id(node) for node in _docstrings(tree)}
    for node in ast.walk(tree):  # parents come before children, so the innermost wins
        if isinstance(node, ast.stmt) and not isinstance(node, SILENT) and id(node) not in docs:
            span = range(_first(node), _last(node) + 1)
            found.update(dict.fromkeys(span, span))
        elif isinstance(node, ast.excepthandler | ast.match_case):
            line = node.lineno if isinstance(node, ast.excepthandler) else node.pattern.lineno
            found[line] = range(line, line + 1)
    return {line: span for line, span in found.items() if span}


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


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            yield node.body[0]
