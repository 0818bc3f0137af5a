"""The radon gate, held against radon's own commands."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import radon

from coderefine.config import Config
from coderefine.core import Ask, Check, Severity, Span
from coderefine.critics.complexity import Complex, index_below, measure
from coderefine.critics.radon import Radon
from coderefine.project import Interpreter, locate
from tests.support.repo import make_repo
from tests.support.view import DirectView

NOBODY = Interpreter(Path("/nowhere/bin/python"), "3.11.0", "test", None, Path("/nowhere"))


def branchy(name: str, branches: int, indent: str = "") -> str:
    """A function of complexity `branches` + 1."""
    lines = [f"def {name}(x):"]
    for number in range(branches):
        lines += [f"    if x == {number}:", f"        return {number}"]
    return "".join(f"{indent}{line}\n" for line in (*lines, "    return None"))


def check(top: Path, config: Config | None = None, ask: Ask | None = None) -> Check:
    critic = Radon(locate([top], top), NOBODY, config or Config(), lambda _event: None)
    return critic.check(DirectView(top), ask or Ask())


def test_a_function_over_the_limit_is_named_and_weighed(tmp_path: Path) -> None:
    code = "class Cart:\n" + branchy("total", 13, "    ") + "\n\n" + branchy("fine", 9)
    result = check(make_repo(tmp_path / "repo", {"src/cart.py": code}))
    (finding,) = result.findings
    assert finding.identity == ("radon", "src/cart.py", "CC", "Cart.total")
    assert finding.message == "Cart.total has complexity 14 (limit 10)"
    assert (finding.span, finding.weight, finding.severity) == (Span(2, 29), 14.0, Severity.HARD)
    assert result.tool.startswith("radon 6")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def outer(x):\n" + branchy("inner", 10, "    ") + "    return inner(x)\n", ["outer.inner"]),
        ("class A:\n    class B:\n" + branchy("c", 10, "        "), ["A.B.c"]),
        ("def make():\n    class Local:\n" + branchy("run", 10, "        "), ["make.Local.run"]),
        ("if True:\n" + branchy("f", 10, "    ") + "else:\n" + branchy("f", 11, "    "), ["f", "f"]),
        ("async " + branchy("f", 10), ["f"]),
        ("@property\n" + branchy("f", 10), ["f"]),
        ("try:\n    pass\nexcept E:\n" + branchy("f", 10, "    "), ["f"]),
        ("match 1:\n    case 1:\n" + branchy("f", 10, "        "), ["f"]),
    ],
)
def test_functions_are_found_in_every_position(code: str, names: list[str]) -> None:
    assert [function.symbol for function in measure(code, 10, 0).functions] == names


DECISIONS = (
    "    if x: y\n",
    "    y = (1)if x else(0)\n",
    "    while x: y\n    else: z\n",
    "    for a in x: y\n    else: z\n",
    "    y = x and y or z\n",
    "    y = [a for a in x if a if not a]\n",
    "    try: y\n    except A: z\n    except B: z\n    else: z\n",
    "    assert x, y\n",
    "    match x:\n        case 1: y\n        case 2 | 3 if y: z\n        case _: z\n",
    "    y = f'{a if b else c}'\n",
    "    with a: y\n",
    "    y = lambda: 1 if x else 2\n",
    '    """if and or for while"""\n',
)


@pytest.mark.parametrize("piece", DECISIONS)
@pytest.mark.parametrize("times", [1, 3, 7])
def test_the_bound_never_hides_complexity_that_radon_counts(piece: str, times: int) -> None:
    """Limits around radon's number: the function is found below it, and not at it."""
    from radon.complexity import cc_visit

    code = "def f(x, y, z):\n" + piece * times + "    return x\n"
    value = cc_visit(code)[0].complexity
    for limit in (1, value - 1, value, value + 1):
        wanted = (Complex("f", 1, code.count("\n"), value),) if value > limit else ()
        assert measure(code, limit, 0).functions == wanted


def sources() -> list[Path]:
    """Some real code: radon's own, and pytest's, which is larger."""
    folders = [Path(radon.__file__).parent, Path(pytest.__file__).parents[1] / "_pytest"]
    return sorted(path for folder in folders for path in folder.glob("*.py"))[::2]


@pytest.mark.thorough
def test_on_real_code_the_results_equal_radons() -> None:
    from radon.complexity import add_inner_blocks, cc_visit
    from radon.metrics import mi_visit

    seen = 0
    for path in sources():
        text = path.read_text("utf-8")
        floor = 60.0
        measured = measure(text, 6, floor)
        blocks = [block for block in add_inner_blocks(cc_visit(text)) if isinstance(block.complexity, int)]
        wanted = {(b.lineno, b.complexity) for b in blocks if type(b).__name__ == "Function" and b.complexity > 6}
        assert wanted <= {(function.first, function.value) for function in measured.functions}, path
        index = mi_visit(text, True)
        assert (measured.index is not None) == (index < floor), (path, index, measured.index)
        assert measured.index is None or measured.index == pytest.approx(index)
        seen += len(wanted) + (index < floor)
    assert seen > 40


@pytest.mark.parametrize("floor", [20.0, 50.0, 80.0])
def test_no_floor_hides_an_index_below_it(floor: float) -> None:
    """The bounds are on the safe side at every height, not only at the default."""
    from radon.metrics import mi_visit

    for path in sources()[::9]:
        text = path.read_text("utf-8")
        index = mi_visit(text, True)
        assert (index_below(ast.parse(text), text, floor) is not None) == (index < floor), (path, index)


def test_a_file_that_is_hard_to_maintain(tmp_path: Path) -> None:
    lines = "".join(
        f"    x{n} = (a + b * {n} - c / {n}) % (d ** {n} + e) if a > {n} and b < {n} else {n}\n" for n in range(600)
    )
    top = make_repo(tmp_path / "repo", {"big.py": f"def f(a, b, c, d, e):\n{lines}", "small.py": "x = 1\n"})
    (finding,) = check(top, Config(max_complexity=9_999)).findings
    assert finding.identity == ("radon", "big.py", "MI", "")
    assert finding.message.startswith("maintainability index 0.0 (at least 10)")
    assert finding.weight == 100.0


def test_a_long_table_is_data_and_takes_no_time() -> None:
    table = "DATA = [\n" + "".join(f"    ({n} + 1, {n} - 1),\n" for n in range(5_000)) + "]\n"
    assert measure(table, 10, 10.0).index is None


def test_findings_in_tests_are_soft_because_tests_may_not_be_split(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"tests/test_a.py": branchy("test_a", 20), "a.py": branchy("a", 20)})
    assert {f.path: f.severity.value for f in check(top).findings} == {"tests/test_a.py": "soft", "a.py": "hard"}


def test_only_the_projects_own_files_are_measured(tmp_path: Path) -> None:
    code = branchy("f", 20)
    unwanted = (
        "venv/a.py",
        "my-env/pyvenv.cfg",
        "my-env/lib/a.py",
        "node_modules/a.py",
        "build/a.py",
        ".tox/a.py",
        "gen/a.py",
        "made.py",
    )
    files = {
        **dict.fromkeys(unwanted, code),
        ".gitignore": "gen/\nmade.py\n",
        "a.py": code,
        "pkg/b.py": code,
        "c.txt": code,
    }
    top = make_repo(tmp_path / "repo", files)
    (top / "untracked.py").write_text(code)
    assert [finding.path for finding in check(top).findings] == ["a.py", "pkg/b.py", "untracked.py"]


def test_only_changed_files_are_measured_again(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": branchy("f", 20), "b.py": branchy("g", 20)})
    result = check(top, ask=Ask(changed=frozenset({"b.py", "gone.py", "x.md"})))
    assert [finding.symbol for finding in result.findings] == ["g"]
    assert not result.complete


def test_a_project_below_the_top_is_measured_alone(tmp_path: Path) -> None:
    code = branchy("f", 20)
    top = make_repo(tmp_path / "repo", {"lib/pyproject.toml": "", "lib/a.py": code, "b.py": code})
    critic = Radon(locate([top / "lib"], top), NOBODY, Config(), lambda _event: None)
    assert [finding.path for finding in critic.check(DirectView(top), Ask(("lib",))).findings] == ["lib/a.py"]


@pytest.mark.parametrize(
    "data", [b"def f(:\n", b"\xff\xfe\x00", b"\0", b"# coding: nonsense\nx = 1\n", b"(" * 5_000, b""]
)
def test_unreadable_files_are_left_to_ruff(data: bytes, tmp_path: Path) -> None:
    assert check(make_repo(tmp_path / "repo", {"a.py": data})).findings == ()


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe9\n"])
def test_other_encodings_and_line_ends_are_read(data: bytes, tmp_path: Path) -> None:
    code = data + branchy("f", 20).replace("\n", "\r\n").encode()
    (finding,) = check(make_repo(tmp_path / "repo", {"a.py": code})).findings
    assert finding.weight == 21.0


def test_it_agrees_with_radon_on_the_command_line(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": branchy("f", 12) + "\n\nclass A:\n" + branchy("g", 15, "    ")})
    argv = (sys.executable, "-m", "radon", "cc", "-j", "--min", "C", str(top / "a.py"))
    result = subprocess.run(argv, check=True, capture_output=True, timeout=60, cwd=top).stdout
    blocks = [block for block in next(iter(json.loads(result).values())) if block["type"] != "class"]
    assert {(b["lineno"], b["complexity"]) for b in blocks} == {
        (finding.span.first, finding.weight) for finding in check(top).findings if finding.span
    }
