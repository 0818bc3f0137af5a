"""The coverage map: the functions that each test file's last complete run executed, with their digests.

A test file is unaffected if nothing of the following changed: the file itself, every conftest.py above it, and, in each
file that its run imported or executed, the module level and the executed functions. If a file may carry state beyond a
run (caches, global variables), every change of it counts.

A test may leave state behind (see `shared_state`), such as an instance in a class attribute, or an entry of a
dictionary. Later tests may use this state, and then do not execute the functions that make it. So the code that such a
test executed outside its own file counts for all test files of the run.

This is checked only for test files that can be affected according to the import graph; test files that are not in the
map run. Not in the map are test files that read files or start programs, themselves or through code that they execute.
"""

from __future__ import annotations

from coderefine.quick import ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator, Mapping

    from coderefine.import_graph import Mark

MAP, VERSION = "map", 3
CONFTEST = "conftest.py"
MOST = 20_000
"""Maximum number of entries (pairs of a test file and a file that it executed): about 3 MB."""
OPEN = (
    "subprocess", "popen", "spawn", "fork", "system(", "multiprocessing", "runpy", "exec(",
    "inspect", "__file__", "open(", "read_text", "read_bytes",
)  # fmt: skip
"""Substrings that show that a file may start programs, run code that it does not import, or read files."""
CARRIED = ("cache", "global ", "scope=")
"""Substrings that show that a file may carry state from one run to the next, or between tests in any order."""
Entry = tuple[object, ...]
"""(mark of the file, indices of the executed functions, digest of these functions and of the module level).

If the digest is "", every change of the file counts.
"""
Entries = dict[str, dict[str, Entry]]
"""Test file -> file that it executed -> the executed parts."""
Ran = dict[str, dict[str, set[int]]]
"""Test file -> file that it executed -> the executed lines."""


class FunctionDigests:
    """Digests of a source file's module level and of its outermost functions; `spans`: lines of their bodies."""

    __slots__ = ("functions", "level", "spans")

    def __init__(self, text: str) -> None:
        """Parse `text`. Raises SyntaxError or ValueError if it is not Python."""
        import ast
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        found = list(outermost(tree))
        self.spans = [(one.body[0].lineno, one.end_lineno or 0) for one in found]
        self.functions = [_digest(*map(ast.dump, one.body)) for one in found]
        for one in found:
            one.body = []
        self.level = _digest(ast.dump(tree))

    def run(self, lines: Iterable[int]) -> list[int]:
        """Return the indices of the functions that contain `lines`; -1 is the module level."""

        def at(line: int) -> int:
            return next((number for number, (first, last) in enumerate(self.spans) if first <= line <= last), -1)

        return sorted(set(map(at, lines)))

    def digest(self, functions: Iterable[int]) -> str:
        """Return the digest of the module level and of `functions` (indices in `spans`; -1 is ignored).

        Raises IndexError for an index that does not exist.
        """
        return _digest(self.level, *(self.functions[number] for number in functions if number >= 0))


def outermost(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that are in no other function, in their order."""
    import ast

    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from outermost(child)


def _digest(*texts: str) -> str:
    import hashlib

    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def entries(
    tests: Iterable[str],
    coverage: Mapping[str, Mapping[str, Iterable[int]]],
    texts: Mapping[str, str],
    marks: Mapping[str, Mark],
) -> Entries:
    """Return the map's entries for a run of all `tests` (files). `coverage`: test id ("" for imports) -> path -> lines.

    `texts`: the sources of the run, by path; other files were deleted or do not belong to the project.
    """
    parts = {path: _parsed(text) for path, text in texts.items() if path in marks}
    ran = _by_file(coverage)
    imported = ran.pop("", {})
    shared, every = _elsewhere(_by_file(_carrying(coverage, parts, texts))), _elsewhere(ran)

    def run(path: str, *found: Mapping[str, set[int]]) -> Entry:
        lines = set().union(*(more.get(path, ()) for more in found))
        return marks[path], *_run(parts[path], texts[path], imported.get(path, ()), lines)

    common = {path: run(path, shared) for path in parts.keys() & {*imported, *every}}
    found: Entries = {}
    for test in _recordable(parts.keys() & tests, ran, texts, marks):
        own = _elsewhere({test: ran.get(test, {})})
        more = {path: run(path, shared, own) for path in common.keys() & own if own[path] - shared.get(path, set())}
        found[test] = {**common, **more, **{path: (marks[path], [], "") for path in (test, *_above(test, marks))}}
    return found


def _by_file(coverage: Mapping[str, Mapping[str, Iterable[int]]]) -> Ran:
    """Merge the lines that the tests of each file executed: test file ("" for imports) -> path -> lines."""
    ran: Ran = {}
    for name, by_path in coverage.items():
        for path, lines in by_path.items():
            ran.setdefault(name.partition("::")[0], {}).setdefault(path, set()).update(lines)
    return ran


def _elsewhere(ran: Ran) -> dict[str, set[int]]:
    """Return the lines that any test executed outside its own file."""
    found: dict[str, set[int]] = {}
    for test, by_path in ran.items():
        for path in by_path.keys() - {test}:
            found.setdefault(path, set()).update(by_path[path])
    return found


def _carrying(
    coverage: Mapping[str, Mapping[str, Iterable[int]]],
    parts: Mapping[str, FunctionDigests | None],
    texts: Mapping[str, str],
) -> dict[str, Mapping[str, Iterable[int]]]:
    """Return the coverage of those tests that may leave state behind for later tests of the run."""
    from coderefine.quick import shared_state

    states = {path: shared_state.parse(texts[path]) for path, one in parts.items() if one}
    executed = {
        name: {path: one.run(lines) if (one := parts.get(path)) else [-1] for path, lines in by_path.items()}
        for name, by_path in coverage.items()
    }
    imported = executed.pop("", {})
    return {name: coverage[name] for name in shared_state.carrying(states, imported, executed)}


def _recordable(tests: Iterable[str], ran: Ran, texts: Mapping[str, str], marks: Mapping[str, Mark]) -> list[str]:
    """Return the test files that read no files and start no programs, also not through code that they execute."""
    opening = {path for path, text in texts.items() if any(word in text for word in OPEN)}
    if any("scope=" in texts[path] for path in opening & _elsewhere(ran).keys()):
        return []  # a program that a fixture started may still run when later tests begin
    return [test for test in tests if not opening & {test, *_above(test, marks), *ran.get(test, ())}]


def _above(test: str, marks: Mapping[str, Mark]) -> list[str]:
    """Return the conftest.py files for `test`, which may have been imported before recording began."""
    ends = [path.removesuffix(CONFTEST) for path in marks if f"/{path}".endswith(f"/{CONFTEST}")]
    return [end + CONFTEST for end in ends if test.startswith(end)]


def _run(
    parts: FunctionDigests | None, text: str, imported: Iterable[int], ran: Iterable[int]
) -> tuple[list[int], str]:
    """Return the executed functions and their digest.

    Return an empty result if the whole file must be compared, which is the safe choice.
    """
    if parts is None or -1 in parts.run(ran) or any(word in text for word in CARRIED):
        return [], ""
    run = [number for number in parts.run([*imported, *ran]) if number >= 0]
    return run, parts.digest(run)


def keep(folder: str, top: str, new: Entries) -> None:
    """Merge `new` into the map in the git directory `folder`; drop old entries if the map becomes too large."""
    merged = {**_kept(folder, top), **new}
    if sum(map(len, merged.values())) > MOST:
        merged = new if sum(map(len, new.values())) <= MOST else {}
    ticket.keep(folder, MAP, [VERSION, ticket.marks(top, []), merged])


def _kept(folder: str, top: str) -> Entries:
    """Return the stored map; empty if there is none, or if the configuration has changed since."""
    kept = ticket.kept_in(folder, MAP)
    good = isinstance(kept, list) and len(kept) == 3 and kept[:2] == [VERSION, ticket.marks(top, [])]
    return kept[2] if good and isinstance(kept[2], dict) else {}  # type: ignore[index]


def same(  # noqa: PLR0917
    folder: str,
    top: str,
    tests: Iterable[str],
    python: Iterable[str],
    marks: Mapping[str, Mark],
    texts: Mapping[str, str] | None = None,
) -> set[str]:
    """Return the tests in `tests` that certainly run as before, although the files `python` have changed.

    `marks`: the present marks of all files. `texts`: contents to use in place of files on the disk; in `marks`, these
    files must have marks that differ from all stored marks.
    """
    tests = list(tests)
    known = _kept(folder, top) if tests else {}
    now = {path: _parsed(text) for path, text in (texts or {}).items()}
    staged = set(python)
    return {
        test
        for test in tests
        if staged <= known.get(test, {}).keys()
        and all(_unchanged(top, path, entry, marks, now) for path, entry in known[test].items())
    }


def _unchanged(
    top: str, path: str, entry: Entry, marks: Mapping[str, Mark], now: dict[str, FunctionDigests | None]
) -> bool:
    mark, run, digest = entry
    if marks.get(path) == mark:
        return True
    if not digest or path not in marks:
        return False
    if path not in now:
        now[path] = _parts(f"{top}/{path}")
    parts = now[path]
    try:
        return parts is not None and parts.digest(run) == digest  # type: ignore[arg-type]
    except IndexError:
        return False


def _parts(file: str) -> FunctionDigests | None:
    try:
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123
            text = opened.read()
    except (OSError, ValueError):
        return None
    return _parsed(text)


def _parsed(text: str) -> FunctionDigests | None:
    try:
        return FunctionDigests(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
