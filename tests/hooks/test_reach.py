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


def test_a_test_file_that_executes_no_changed_code_is_left_out_after_a_run_of_several_files(repo: Path) -> None:
    """What any test of a run had executed counted for all of its files, so that the map left out almost nothing."""
    ran = repo / "ran.log"
    # A test file with the word "popen", which pytest-xdist has in its folders, is kept out of the map.
    path = repr(str(ran)).replace("popen", "po' 'pen")
    slow = f"import pathlib\n\nfrom pkg.m import g\n\n\ndef test_g():\n    pathlib.Path({path}).touch()\n"
    tests = {
        "tests/test_f.py": "from pkg.m import f\n\n\ndef test_f():\n    assert f(1) == 2\n",
        "tests/test_g.py": slow + "    assert g(1) == 3\n",
    }
    text = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 2\n"
    recorded(repo, {".gitignore": FILES[".gitignore"] + "*.log\n", "pkg/m.py": text, **tests})
    ran.unlink(missing_ok=True)
    assert staged(repo, {"pkg/m.py": text.replace("x + 1", "1 + x")}) == (0, CLEAN)
    assert not ran.exists()
    assert staged(repo, {"pkg/m.py": text.replace("x + 2", "2 + x")}) == (0, CLEAN)
    assert ran.exists()


CLASS = "class Registry:\n    one = None\n    all = []\n    table = {{}}\n\n    {}\n"
STATE = {
    "attribute of a class": "class A:\n    one = None\n\n\ndef keep():\n    A.one = build()\n",
    "augmented": "class A:\n    total = 0\n\n\ndef keep():\n    A.total += build()\n",
    "annotated": "class A:\n    pass\n\n\ndef keep():\n    A.one: int = build()\n",
    "deleted": "from pkg import other\n\n\ndef keep():\n    del other.hook\n",
    "module": "from pkg import other\n\n\ndef keep():\n    other.hook = build()\n",
    "item": "TABLE = {}\n\n\ndef keep():\n    TABLE['a'] = build()\n",
    "item of an item": "TABLE = {}\n\n\ndef keep():\n    TABLE['a']['b'] = build()\n",
    "tuple target": "TABLE = {}\n\n\ndef keep():\n    x, TABLE['a'] = 1, build()\n",
    "loop target": "TABLE = {}\n\n\ndef keep():\n    for TABLE['a'] in build():\n        pass\n",
    "global": "one = None\n\n\ndef keep():\n    global one\n    one = build()\n",
    "globals": "def keep():\n    globals()['one'] = build()\n",
    "setattr": "class A:\n    pass\n\n\ndef keep():\n    setattr(A, 'one', build())\n",
    "iterator": "import itertools\n\nIDS = itertools.count()\n\n\ndef keep():\n    return next(IDS)\n",
    "environment": "import os\n\n\ndef keep():\n    os.environ['A'] = build()\n",
    **{
        method: f"ITEMS = make()\n\n\ndef keep():\n    ITEMS.{method}(build())\n"
        for method in (
            "setdefault", "append", "add", "update", "extend", "insert", "pop", "clear", "remove", "discard",
            "register", "set_value", "add_item", "visit",
        )
    },
    "result used": "ITEMS = {}\n\n\ndef keep():\n    return ITEMS.setdefault('a', build())\n",
    "other name": "ITEMS = []\n\n\ndef keep():\n    found = ITEMS\n    found.append(build())\n",
    "result of a call": "ALL = []\n\n\ndef items():\n    return ALL\n\n\ndef keep():\n    items().append(build())\n",
    "loop over items": "ITEMS = []\n\n\ndef keep():\n    for item in ITEMS:\n        item.one = build()\n",
    "cls": CLASS.format("@classmethod\n    def keep(cls):\n        cls.one = build()"),
    "item of cls": CLASS.format("@classmethod\n    def keep(cls):\n        cls.table['a'] = build()"),
    "method of cls": CLASS.format("@classmethod\n    def keep(cls):\n        cls.all.append(build())"),
    "singleton": CLASS.format("def __new__(cls):\n        cls.one = build()\n        return cls.one"),
    "type of self": CLASS.format("def keep(self):\n        type(self).one = build()"),
    "class of self": CLASS.format("def keep(self):\n        self.__class__.one = build()"),
    "list of the class": CLASS.format("def __init__(self):\n        self.all.append(self)"),
    "instance of the module": CLASS.format("def keep(self):\n        self.one = build()")
    + "\n\nREGISTRY = Registry()\n",
    "instance of a derived class": CLASS.format("def keep(self):\n        self.one = build()")
    + "\n\nclass More(Registry):\n    pass\n\n\nMORE = More()\n",
    "instance of a class": CLASS.format("def keep(self):\n        self.one = build()")
    + "\n\nclass App:\n    registry = Registry()\n",
    "kept instance": CLASS.format("def keep(self):\n        self.one = build()")
    + "\n\nALL = []\n\n\ndef make():\n    ALL.append(Registry())\n",
    **{
        name: f"import functools\n\n\n@{name}\ndef keep():\n    return build()\n"
        for name in ("functools.cache", "functools.lru_cache(maxsize=None)", "memory.cached", "app.task")
    },
    "cached method": CLASS.format("@functools.cache\n    def keep(self):\n        return build()"),
    "decorated class": "@singleton\nclass A:\n    def __init__(self):\n        self.one = build()\n",
    "own decorator": "def memo(f):\n    kept = {}\n\n    def get(x):\n        kept[x] = f(x)\n"
    "        return kept[x]\n\n    return get\n",
    "counter": "def counting():\n    n = 0\n\n    def more():\n        nonlocal n\n        n += 1\n\n    return more\n",
    "default": "def keep(kept=[]):\n    kept.append(build())\n",
    "default with +=": "def keep(kept=[]):\n    kept += build()\n",
    "named default": "def keep(*, kept=dict()):\n    kept['a'] = build()\n",
    "argument": "def keep(kept):\n    kept['a'] = build()\n",
    "fixture": "import pytest\n\n\n@pytest.fixture(scope='session')\ndef keep():\n    return build()\n",
    "not Python": "def keep():\n    print 'a'\n",
}  # fmt: skip
NO_STATE = {
    "local list": "def f(x):\n    found = []\n    found.append(x)\n    found[0] = 2\n    found += [3]\n",
    "local object": "def f(x):\n    made = Thing(x)\n    made.one = 2\n    return made\n",
    "instance": "class A:\n    def __init__(self):\n        self.all = []\n        self.all.append(1)\n\n"
    "    def more(self, x):\n        self.all.append(x)\n        self.one = 2\n",
    "fields": "@dataclass\nclass A:\n    all: list = field(default_factory=list)\n\n"
    "    def more(self, x):\n        self.all.append(x)\n",
    "read": "TABLE = {}\n\n\ndef f(x):\n    return TABLE.get(x, TABLE['a'])\n",
    "module function": "import time\n\n\ndef f(x):\n    time.sleep(x)\n    return +x\n",
    "log": "LOG = get('a')\n\n\ndef f(x):\n    LOG.info(x)\n    return x\n",
    "decorated": "class A:\n    @property\n    def f(self):\n        return 1\n\n    @f.setter\n    def f(self, x):\n"
    "        pass\n\n    @staticmethod\n    def g(x):\n        return x\n",
    "fixture": "import pytest\n\n\n@pytest.fixture\ndef f(monkeypatch):\n    monkeypatch.setattr(A, 'b', 1)\n",
    "marked": "import pytest\n\n\n@pytest.mark.parametrize('x', [1])\ndef test(x):\n    assert x\n",
    "local counter": "def f(x):\n    total = 0\n    for one in x:\n        total += one\n    return total\n",
}


def _second(text: str) -> object:
    """What counts for the second test in pkg/build.py, which only the first executed, after it executed `text`."""
    tests = {f"tests/test_{name}.py": "def test():\n    pass\n" for name in ("first", "second")}
    texts = {**tests, "pkg/build.py": "def build():\n    return 1\n", "pkg/it.py": text}
    part = reach._parsed(text)
    lines = [line for first, last in part.spans for line in range(first, last + 1)] if part else [2]
    coverage: dict[str, dict[str, list[int]]] = {
        "": {path: [1] for path in texts},
        "tests/test_first.py::test": {"tests/test_first.py": [2], "pkg/it.py": lines, "pkg/build.py": [2]},
        "tests/test_second.py::test": {"tests/test_second.py": [2]},
    }
    return reach.entries(tests, coverage, texts, dict.fromkeys(texts, (1, 1)))["tests/test_second.py"]["pkg/build.py"][
        1
    ]


@pytest.mark.parametrize("text", STATE.values(), ids=STATE)
def test_what_a_test_executed_that_may_leave_state_counts_for_the_others(text: str) -> None:
    assert _second(text) == [0]


@pytest.mark.parametrize("text", NO_STATE.values(), ids=NO_STATE)
def test_what_a_test_executed_that_leaves_no_state_does_not_count_for_the_others(text: str) -> None:
    assert _second(text) == []


def test_a_module_that_a_test_imports_counts_for_the_others() -> None:
    """Only the first test that imports it executes its module level."""
    coverage = {
        "tests/test_a.py::test": {"tests/test_a.py": [2], "pkg/late.py": [1], "pkg/a.py": [11]},
        "tests/test_b.py::test": {"tests/test_b.py": [2]},
    }
    texts = {"tests/test_a.py": "def test():\n    pass\n", "pkg/late.py": "X = 1\n", "pkg/a.py": SOURCE}
    texts["tests/test_b.py"] = texts["tests/test_a.py"]
    found = reach.entries(["tests/test_b.py"], coverage, texts, dict.fromkeys(texts, (1, 1)))["tests/test_b.py"]
    assert found["pkg/late.py"] == ((1, 1), [], "")
    assert found["pkg/a.py"][1] == [0]


def test_what_is_shared_is_stored_once() -> None:
    tests = {f"tests/test_{number}.py": "def test():\n    pass\n" for number in range(2)}
    texts = {**tests, "pkg/a.py": SOURCE}
    coverage = {"": {"pkg/a.py": [1, 5]}, **{f"{test}::test": {test: [2]} for test in tests}}
    first, second = reach.entries(tests, coverage, texts, dict.fromkeys(texts, (1, 1))).values()
    assert first["pkg/a.py"] is second["pkg/a.py"]


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
