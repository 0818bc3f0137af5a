"""Values for the judge's tests: patches as before/after texts, attempts as statuses and findings."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Attempt, Case, Check, Finding, Patch, Severity, Status, Verdict
from coderefine.judge import admit

Texts = Mapping[str, "str | bytes | None"]

SUM = "def total(xs):\n    return sum(xs) - 1\n"
GOOD = "def total(xs):\n    return sum(xs)\n"
LONG = "def work(xs):\n" + "".join(f"    xs.append({n})\n    xs.sort()\n" for n in range(12)) + "    return xs\n"
GATES = ("pytest", "ruff", "radon", "mypy")
CLI = "import sys\n\n\ndef main():\n    run()\n    sys.exit(0)\n\n\ndef run():\n    return 1\n"
FACTORIAL = "def fact(n):\n    return n * fact(n - 1)\n"
FACT_TESTS = """
import pytest
from app.core import fact

def test_five():
    assert fact(5) == 120

def test_base():
    assert fact(0) == 1

@pytest.mark.parametrize("n, want", [(3, 6), (4, 24)])
def test_table(n, want):
    assert fact(n) == want

def test_bad():
    with pytest.raises(ValueError):
        fact(-7)
"""


@dataclass(frozen=True, slots=True)
class Deed:
    """A patch to judge. A plain text is the content of `app/core.py`; `says` must occur in the refusal."""

    name: str
    before: str | bytes | Texts
    after: str | bytes | Texts
    says: str = ""
    tests: str = ""
    findings: Sequence[Finding] = ()
    scope: tuple[str, ...] = (".",)
    seen: frozenset[str] = field(default_factory=frozenset)
    products: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def files(given: str | bytes | Texts) -> dict[str, bytes | None]:
    """Bytes by path; texts are dedented."""
    texts: Texts = {"app/core.py": given} if isinstance(given, str | bytes) else given
    return {
        path: textwrap.dedent(text).lstrip("\n").encode() if isinstance(text, str) else text
        for path, text in texts.items()
    }


def protected(path: str) -> str | None:
    """The usual protection: whatever lies in tests/ or configures the checks."""
    return "tests are protected" if path.startswith("tests/") or path == "pyproject.toml" else None


def judged(deed: Deed) -> Verdict:
    """What `admit` says to `deed`."""
    after = files(deed.after)
    before = files(deed.before)
    originals = {path: before.get(path) for path in after}
    tests = (textwrap.dedent(deed.tests),) if deed.tests else ()
    return admit(
        *(Patch(after), originals, protected, deed.seen, deed.scope),
        findings=deed.findings,
        tests=tests,
        is_product=deed.products.__contains__,
    )


def refused(deed: Deed) -> None:
    """`deed` is refused, in one line, for its own reason."""
    verdict = judged(deed)
    assert not verdict
    assert deed.says in verdict.reason
    assert "\n" not in verdict.reason


def passed(deed: Deed) -> None:
    """`deed` is let through."""
    verdict = judged(deed)
    assert verdict, verdict.reason


def finding(rule: str, path: str = "app/core.py", **changes: object) -> Finding:
    """A ruff finding unless the caller wants another one."""
    values: dict[str, object] = {"critic": "ruff", "message": "", **changes}
    return Finding(rule=rule, path=path, **values)  # type: ignore[arg-type]


def attempt(
    tests: Mapping[str, str] | None = None,
    *findings: Finding,
    number: int = 1,
    patch: Mapping[str, bytes | None] | None = None,
    complete: bool = True,
    without: Sequence[str] = (),
    advice: Sequence[Finding] = (),
) -> Attempt:
    """An attempt judged by pytest, ruff, radon and mypy (a command gate); `without` leaves gates out."""
    statuses = {"t::a": "passed"} if tests is None else tests
    cases = {id_: Case(id_, Status(status)) for id_, status in statuses.items()}
    by_gate = {gate: tuple(item for item in findings if item.critic == gate) for gate in GATES}
    checks = [Check("pytest", by_gate["pytest"], cases, complete=complete)]
    checks += [Check(critic, by_gate[critic]) for critic in GATES[1:]]
    kept = [check for check in checks if check.critic not in without]
    kept += [Check("review", tuple(advice), gate=False)] if advice else []
    content = {"app/core.py": b"x = 1\n"} if patch is None else patch
    return Attempt(number, Patch(content if number else {}, "model", "change the sum"), tuple(kept))


def soft(item: Finding) -> Finding:
    """The same finding, outside the asked path."""
    return Finding(item.critic, item.rule, item.path, item.message, symbol=item.symbol, severity=Severity.SOFT)
