"""Refuse patches by rules that need no test run."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from coderefine.core import Finding, Patch, Verdict
from coderefine.core.views import inside
from coderefine.judge import check_evasion, equality, public_api, removed_behavior, untyped
from coderefine.judge.change import Change, changes, digest, normal, unreadable
from coderefine.judge.copied_answers import copied_answers
from coderefine.judge.diff import lines_of
from coderefine.judge.forbidden_names import forbidden_names, test_modules
from coderefine.judge.test_literals import test_literals
from coderefine.judge.violations import new_violations
from coderefine.judge.weakened_tests import Helpers, changed_examples, no_helpers, weakened
from coderefine.project.protection import NAMES
from coderefine.source import decode

Reason = Callable[[str], "str | None"]

SCANS = (
    check_evasion.suppressions,
    forbidden_names,
    test_modules,
    check_evasion.test_detection,
    check_evasion.monkeypatching,
    equality.equality,
    untyped.hidden_code,
)
BY_OUTCOME = ("pytest", "radon")
MOST_LINES, MOST_BYTES = 2000, 2_000_000
ROOTS = (".", "src")
STARTUP = frozenset(("conftest.py", "sitecustomize.py", "usercustomize.py"))
PRIVATE = re.compile(r"_(?!_)")
TEST = re.compile(r"(test_.*|.*_test|tests?)\.py")
WARNING = re.compile(r"[\w.]*Warning\b")
"""The start of the message of a test that fails because a warning is an error there."""
LOGS = re.compile(r"\bcaplog\b|\bassert(No)?Logs\b")
"""What a test uses to read the log."""
SETTINGS = (*NAMES["is lint or test configuration"], *NAMES["is a hook"])


@dataclass(frozen=True, slots=True)
class _Case:
    """Input of the rules; see `admit`."""

    patch: Patch
    originals: Mapping[str, bytes | None]
    changed: tuple[Change, ...]
    reason: Reason
    seen: frozenset[str]
    scope: Sequence[str]
    findings: Sequence[Finding]
    tests: Sequence[str]
    modules: frozenset[str]
    roots: Sequence[str]
    helpers: Helpers
    is_product: Callable[[str], bool]

    def imports_product(self, module: str, path: str) -> bool:
        """Return whether `module` is product code, if the file at `path` imports it.

        `module`: a path without suffix, relative to an import root or to a folder that contains `path`.
        """
        folders = (*self.roots, *map(str, PurePosixPath(path).parents))
        files = (f"{module}.py", f"{module}/__init__.py")
        return any(self.is_product(str(PurePosixPath(folder, file))) for folder in folders for file in files)


def admit(
    patch: Patch,
    originals: Mapping[str, bytes | None],
    reason: Reason,
    seen: frozenset[str] = frozenset(),
    scope: Sequence[str] = (".",),
    *,
    findings: Sequence[Finding] = (),
    tests: Sequence[str] = (),
    modules: frozenset[str] = frozenset(),
    roots: Sequence[str] = ROOTS,
    helpers: Helpers = no_helpers,
    is_product: Callable[[str], bool] = lambda _: False,
) -> Verdict:
    """Return whether `patch` may be tested, with the first reason if not.

    `originals`: the baseline's content of every touched path (None: no such file). `reason(path)`: why a path
    is protected, or None. `seen`: `digests()` of all earlier attempts. `scope`: paths in which the patch may change
    files. `findings`: the findings of the best attempt that the patch is expected to repair. `tests`: source texts of
    the failing tests. `modules`: top-level names installed in the project's environment. `roots`: folders on the
    project's import path. `helpers`: returns the functions of a file that assert on behalf of tests. `is_product`:
    returns whether a file exists and is no test.
    """
    changed = changes(patch, originals)
    case = _Case(patch, originals, changed, reason, seen, scope, findings, tests, modules, roots, helpers, is_product)
    refusal = next((why for rule in RULES for why in rule(case)), None)
    return Verdict(ok=True) if refusal is None else Verdict(ok=False, reason=refusal)


def _paths(case: _Case) -> Iterator[str]:
    """Yield the reasons why files may not be changed, created or deleted."""
    for change in case.changed:
        path = change.path
        if _unsafe(path):
            yield f"{path!r} is not a path inside the project"
        why = case.reason(path)
        if why:
            yield f"{path} may not be changed: {why}"
        if not inside(path, case.scope):
            yield f"{path} is outside the requested path ({', '.join(case.scope)})"
        if change.before is None:
            yield from _new_file(path, case)
        if change.after is None and not PRIVATE.match(PurePosixPath(path).name):
            yield f"deletes {path}"


def _unsafe(path: str) -> bool:
    parts = PurePosixPath(path).parts
    odd = not parts or path.startswith("/") or "\\" in path or "\0" in path or ":" in parts[0]
    return odd or ".." in parts or any(part.lower() in (".git", ".hg", ".svn") for part in parts)


def _new_file(path: str, case: _Case) -> Iterator[str]:
    name = PurePosixPath(path).name
    if name in STARTUP or name.endswith(".pth"):
        yield f"creates {path}, which would change how the tests run"
    elif TEST.fullmatch(name):
        yield f"creates a test file, {path}"
    elif any(fnmatchcase(name.lower(), pattern) for pattern in SETTINGS):
        yield f"creates {path}, which configures the checks"
    module = _top_module(path, case.roots)
    if module in sys.stdlib_module_names or module in case.modules:
        yield f"creates {path}, which hides the module {module!r}"


def _top_module(path: str, roots: Sequence[str]) -> str | None:
    """Return the top-level module name that a new file adds at one of the import roots, or None."""
    for root in roots:
        try:
            relative = PurePosixPath(path).relative_to(root)
        except ValueError:
            continue
        if len(relative.parts) == 1 and relative.suffix in (".py", ".pyi", ".so", ".pyd"):
            return relative.stem.partition(".")[0]
        if len(relative.parts) == 2 and relative.name == "__init__.py":
            return relative.parts[0]
    return None


def _readable(case: _Case) -> Iterator[str]:
    for change in case.changed:
        if change.before is not None and change.old_text is None:
            yield f"{change.path} is not text that can be decoded"
        elif change.after is not None and change.new_text is None:
            yield f"the new {change.path} is not text in its own encoding"
        elif change.python and (found := _encoding(change.after)) not in ("", _encoding(change.before)):
            yield f"the new {change.path} is encoded in {found}, which linters do not read"


def _encoding(data: bytes | None) -> str:
    """Return the encoding of a file of Python; "" if it is UTF-8, or if there is none."""
    source = decode(data)
    return "" if source is None or source.encoding.startswith("utf-8") else source.encoding


def _nothing_new(case: _Case) -> Iterator[str]:
    # Compare bytes if a linter or command has a finding in a touched file, which may be about layout or comments.
    exact = any(item.path in case.patch.files and item.critic not in BY_OUTCOME for item in case.findings)
    mine = digest(case.patch, case.originals, exact=exact)
    if mine == digest(Patch(), {}, exact=exact):
        yield "changes nothing" if not case.changed else "changes only layout or comments, which was not asked for"
    elif mine in case.seen:
        yield "seen before: an earlier attempt was the same"


def _parses(case: _Case) -> Iterator[str]:
    """Yield a reason for each new Python text without a syntax tree, because no rule can judge such a text.

    It does not matter whether the old text had a syntax tree.
    """
    yield from (f"the new {why}" for one in case.changed if (why := unreadable(one.path, one.after)))


def _tests(case: _Case) -> Iterator[str]:
    """Yield a reason for each weakened assertion helper or docstring example, and for each copied answer."""
    shown = (f"{item.evidence}\n{item.message}" for item in case.findings if item.critic == "pytest")
    known = test_literals((*case.tests, *shown))
    for change in case.changed:
        yield from weakened(change, case.helpers(change.path, change.before))
        yield from changed_examples(change)
        yield from copied_answers(change, known)


def _huge(case: _Case) -> Iterator[str]:
    real = [one for one in case.changed if normal(one.path, one.before) != normal(one.path, one.after)]
    total = sum(sum(lines_of(change.before, change.after)) for change in real)
    if total > MOST_LINES:
        yield f"changes {total} lines; no repair is that long"
    for change in real:
        if len(change.after or b"") > MOST_BYTES + len(change.before or b""):
            yield f"the new {change.path} is {len(change.after or b'')} bytes long"


def _violations(case: _Case) -> Iterator[str]:
    failed = (item.message for item in case.findings if item.critic == "pytest")
    warned = (check_evasion.silenced_warnings,) if any(map(WARNING.match, failed)) else ()
    logged = (check_evasion.silenced_logs,) if any(map(LOGS.search, case.tests)) else ()
    for scan in (*SCANS, *warned, *logged):
        for change, found in new_violations(case.changed, scan, case.tests):
            if not found.module or not case.imports_product(found.module, change.path):
                yield f"{found.what}: {change.path}:{found.line}"


def _removed_behavior(case: _Case) -> Iterator[str]:
    yield from removed_behavior.shrunk(case.changed)
    for change in case.changed:
        yield from removed_behavior.emptied(change)
        yield from removed_behavior.swallowing(change)
        yield from removed_behavior.dropped(change, case.tests)


def _public_api(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from public_api.removed(change, case.findings, case.tests)
        yield from public_api.narrowed(change, case.findings, case.tests)
        yield from equality.loosened(change)


def _untyped(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from check_evasion.removed_strictness(change)
    yield from untyped.loosened(case.changed, case.findings)


RULES = (
    *(_paths, _readable, _nothing_new, _parses, _tests, _huge, _violations, _removed_behavior, _public_api),
    _untyped,
)
