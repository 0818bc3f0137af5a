"""The coverage map: a test is left out only when it ran nothing that changed; both ways of the hook agree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from coderefine.quick import reach, ticket
from tests.conftest import seal
from tests.hooks.test_both_ways import Passed
from tests.support.cases import every
from tests.support.repo import git, make_repo, write

SOURCE = '''"""A."""

from pkg.base import double

RATE = 3
TABLE = double(RATE)


def add(a, b):
    """Add."""
    return a + b


def rest(a, b):
    """No test knows it."""
    return a - b
'''
FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": SOURCE,
    "pkg/base.py": '"""B."""\n\n\ndef double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n',
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n",
    "tests/test_a.py": "from pkg.a import TABLE, add\n\n\ndef test_add(one):\n"
    "    assert add(one, 2) == 3\n\n\ndef test_table():\n    assert TABLE == 6\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n[tool.coderefine]\nsearch-time = 0.1\n',
    "data.txt": "1\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
}
MAPPED, CLEAN = "1 test file ran nothing that changed (coverage map)", ""
REST = {"pkg/a.py": SOURCE.replace("a - b", "a - b - 1")}
BROKEN = {"pkg/a.py": SOURCE.replace("a + b", "a - b")}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Passed:
    """A project whose map knows test_a.py: the hook has looked at a change that it can affect."""
    with pytest.MonkeyPatch.context() as patch:
        home = seal(tmp_path_factory.mktemp("home"), patch)
        patch.setenv("CODEREFINE_SEARCH", "0")
        project = Passed(make_repo(tmp_path_factory.mktemp("reach") / "my project", FILES), str(home))
        assert staged(project.top, {"pkg/a.py": SOURCE + "# end\n"}) == (0, "")
        git(project.top, "commit", "-qm", "known", "--no-verify")
        assert (project.top / ".git" / ticket.FOLDER / reach.MAP).exists()
        project.keep()
    return project


@pytest.fixture
def repo(known: Passed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as the hook has left it."""
    monkeypatch.setenv("HOME", known.home)
    return known.again()


def staged(top: Path, files: Mapping[str, str | None]) -> tuple[int, str]:
    """Exit code and note of the hook with `files` staged; the quick way and the whole one have to agree on both."""
    for name, text in files.items():
        if text is None:
            (top / name).unlink()
        else:
            write(top, {name: text})
    git(top, "add", "-A")
    folder = top / ".git" / ticket.FOLDER
    kept = (folder / reach.MAP).read_bytes() if (folder / reach.MAP).exists() else None
    quick = _told(top)
    if kept is not None:
        (folder / reach.MAP).write_bytes(kept)  # the whole way adds to it
        (folder / ticket.TICKET).unlink(missing_ok=True)
        assert _told(top) == quick
    return quick


def _told(top: Path) -> tuple[int, str]:
    noted = (top / ".git" / ticket.FOLDER / ticket.TICKET).exists()
    how = () if noted else ("--no-fix",)
    argv = (sys.executable, "-m", "coderefine", "hook", "run", *how)
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert "bug in" not in done.stderr, done.stderr
    note = next((line for line in done.stderr.splitlines() if "tests skipped" in line), "")
    return done.returncode, note.partition("staged, ")[2] or note


def test_a_function_that_no_test_ran(repo: Path) -> None:
    assert staged(repo, REST) == (0, MAPPED)


def test_a_function_that_is_only_documented_otherwise_in_a_file_that_another_imports(repo: Path) -> None:
    assert staged(repo, {"pkg/base.py": FILES["pkg/base.py"].replace("x / 2", "x / 2.0")}) == (0, MAPPED)


@pytest.mark.parametrize(
    "files",
    every(
        8,
        [
            BROKEN,
            {"pkg/a.py": SOURCE.replace("RATE = 3", "RATE = 4")},
            {"pkg/base.py": FILES["pkg/base.py"].replace("2 * x", "3 * x")},
            {**REST, "tests/test_b.py": "from pkg.a import rest\n\n\ndef test_rest():\n    assert rest(2, 1) == 1\n"},
            {**REST, "tests/conftest.py": FILES["tests/conftest.py"].replace("return 1", "return 2")},
            {"pkg/base.py": None},
            {"pkg/base.py": None, "pkg/basis.py": FILES["pkg/base.py"]},
            {**REST, "pkg/a.py": SOURCE.replace("def rest(a, b):\n", "def add(a, b):\n")},
        ],
    ),
    ids=["ran", "level", "at import alone", "new test", "conftest", "deleted", "renamed", "a name taken twice"],
)
def test_tests_that_a_change_may_break_are_run(repo: Path, files: Mapping[str, str | None]) -> None:
    assert staged(repo, files) == (1, CLEAN)


@pytest.mark.parametrize(
    "files",
    every(
        4,
        [
            {**REST, "data.txt": "2\n"},
            {**REST, "tests/test_a.py": FILES["tests/test_a.py"] + "\n"},
            {**REST, "pyproject.toml": FILES["pyproject.toml"] + "\n"},
            {"pkg/a.py": SOURCE + "\n\ndef more(a):\n    return a\n"},
        ],
    ),
    ids=["data", "test", "settings", "new function"],
)
def test_where_it_cannot_be_known_tests_run(repo: Path, files: Mapping[str, str | None]) -> None:
    assert staged(repo, files) == (0, CLEAN)


REGISTRY = """class Registry:
    one = None

    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = build()
        return cls.one


def build():
    return {"a": 1, "b": 2}
"""
USES = "from pkg.registry import Registry\n\n\ndef test():\n    assert Registry.get()[{!r}] == {}\n"


def test_a_test_that_uses_what_another_test_has_made_is_run(repo: Path) -> None:
    """Only the first test recorded the function that makes the instance; the second, which failed, was left out."""
    uses = {"tests/test_first.py": USES.format("a", 1), "tests/test_second.py": USES.format("b", 2)}
    recorded(repo, {"pkg/registry.py": REGISTRY, **uses})
    assert staged(repo, {"pkg/registry.py": REGISTRY.replace('"b": 2', '"b": 3')}) == (1, CLEAN)


PROGRAM = "def main():\n    print(value())\n\n\ndef value():\n    return 2\n\n\ndef other():\n    return 5\n"
START = PROGRAM + '\n\nif __name__ == "__main__":\n    main()\n'
RUN = 'subprocess.run([sys.executable, "-m", "pkg.start"], capture_output=True, text=True, check=True).stdout'
HEAD = "import subprocess\nimport sys\n\n"
CONFTEST = HEAD + FILES["tests/conftest.py"] + "\n\n@pytest.fixture\ndef cli():\n    return lambda: {}\n"
HELPER = HEAD + "\ndef run():\n    return {}\n"
OUTPUT = "\n\n\ndef test({}):\n    assert other() == 5\n    assert {}().strip() == '2'\n"


@pytest.mark.parametrize(
    "files",
    every(
        1,
        [
            {
                "tests/conftest.py": CONFTEST.format(RUN),
                "tests/test_cli.py": "from pkg.start import other" + OUTPUT.format("cli", "cli"),
            },
            {
                "tests/support.py": HELPER.format(RUN),
                "tests/test_cli.py": "from pkg.start import other\nfrom tests.support import run"
                + OUTPUT.format("", "run"),
            },
        ],
    ),
    ids=["fixture", "helper"],
)
@pytest.mark.thorough
def test_a_test_that_starts_a_program_through_other_code_is_run(repo: Path, files: Mapping[str, str]) -> None:
    """What the program executes is not recorded, and the test file itself has no word of starting one."""
    recorded(repo, {"pkg/start.py": START, "tests/__init__.py": "", **files})
    assert staged(repo, {"pkg/start.py": START.replace("return 2", "return 3")}) == (1, CLEAN)


def test_a_run_with_a_program_that_a_fixture_started_for_several_tests_is_not_recorded() -> None:
    """Only the first test executed the fixture, but all of them use the program."""
    fixture = '@pytest.fixture(scope="session")\ndef server():\n    return subprocess.Popen(["serve"])\n'
    tests = {"tests/test_a.py": "def test_a(server):\n    pass\n", "tests/test_b.py": "def test_b(server):\n    pass\n"}
    coverage = {"tests/test_a.py::test_a": {"tests/server.py": [3]}, "tests/test_b.py::test_b": {"pkg/a.py": [11]}}
    for text, left in ((fixture, set()), (fixture.replace('(scope="session")', ""), {"tests/test_b.py"})):
        texts = {**tests, "tests/server.py": text, "pkg/a.py": SOURCE}
        assert reach.entries(tests, coverage, texts, dict.fromkeys(texts, (1, 1))).keys() == left


def recorded(top: Path, files: Mapping[str, str]) -> None:
    """Commit `files` once the hook has seen them pass."""
    assert staged(top, files) == (0, CLEAN)
    git(top, "commit", "-qm", "recorded", "--no-verify")


@pytest.mark.thorough
def test_a_map_that_is_stale(repo: Path) -> None:
    """A commit went round the hook; what the test ran is no longer what it was."""
    write(repo, BROKEN)
    git(repo, "commit", "-qam", "round", "--no-verify")
    assert staged(repo, {"pkg/a.py": BROKEN["pkg/a.py"].replace('"""No test knows it."""', '"""None."""')}) == (1, "")


@pytest.mark.parametrize("data", every(4, [b"", b"\0", b"nonsense", b"[\x00\x00\x00\x00"]))
def test_a_map_that_is_broken(repo: Path, data: bytes) -> None:
    (repo / ".git" / ticket.FOLDER / reach.MAP).write_bytes(data)
    assert staged(repo, REST) == (0, CLEAN)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "word", every(3, ["import inspect\n", "import subprocess\n", "TEXT = open(__file__).read()\n"])
)
def test_a_test_that_may_read_the_source_is_always_run(repo: Path, word: str) -> None:
    test = word + FILES["tests/test_a.py"].replace("def test_table", "# noqa\ndef test_table")
    staged(repo, {"tests/test_a.py": test})
    git(repo, "commit", "-qm", "reads", "--no-verify")
    assert staged(repo, REST)[1] != MAPPED


@pytest.mark.thorough
def test_tests_with_state_in_a_cache_are_not_excluded(repo: Path) -> None:
    cached = SOURCE.replace("def rest(a, b):", "@lru_cache\ndef rest(a, b):").replace(
        "from pkg", "from functools import lru_cache\n\nfrom pkg"
    )
    assert staged(repo, {"pkg/a.py": cached}) == (0, CLEAN)
    git(repo, "commit", "-qm", "cached", "--no-verify")
    assert staged(repo, {"pkg/a.py": cached.replace("a - b", "a - b - 1")}) == (0, CLEAN)


def test_a_map_grows_no_longer_than_allowed(tmp_path: Path) -> None:
    one: reach.Entry = ((1, 1), [], "")
    many = {f"tests/test_{number}.py": {f"m{at}.py": one for at in range(200)} for number in range(90)}
    kept: object = None
    for number in range(3):
        reach.keep(str(tmp_path), str(tmp_path), {f"{number}{path}": entries for path, entries in many.items()})
        kept = ticket.kept_in(str(tmp_path), reach.MAP)
        assert isinstance(kept, list)
        assert sum(map(len, kept[2].values())) <= reach.MOST
        assert all(path.startswith(str(number)) for path in kept[2])


def test_parts_of_a_file() -> None:
    head = "X = 1\n\n\nclass A:\n    def f(self):\n        def g():\n            return 1\n\n        return g\n"
    text = head + "\n\nif X:\n    def h(): return 2\n"
    parts = reach.FunctionDigests(text)
    assert parts.run([7, 9]) == [0]
    assert parts.run([1, 5, 12]) == [-1]
    assert parts.run([13]) == [1]
    assert reach.FunctionDigests(text.replace("return 1", "return 3")).level == parts.level
    assert reach.FunctionDigests(text.replace("X = 1", "X = 2")).level != parts.level
    assert reach.FunctionDigests("\n" + text).digest([0, 1]) == parts.digest([0, 1])
    assert reach.FunctionDigests(text.replace("return 1", "return 3")).digest([1]) == parts.digest([1])
    with pytest.raises(IndexError):
        parts.digest([2])
