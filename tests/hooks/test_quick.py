"""The quick way of the hook says "clean" only when the whole engine would; everything else it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import radon

from coderefine import import_graph as graph
from coderefine import proc
from coderefine.bounds import surely_fine
from coderefine.critics.complexity import FileComplexity, measure
from coderefine.quick import children, front, ticket

ROOT = Path(__file__).parents[2]


def test_the_same_variables_are_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", "x")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    ours = set(proc.clean_env())
    assert "STRIPE_KEY" not in ours
    assert set(children.clean_env("HOME")) == ours - {"HOME"}


def test_nothing_slow_is_imported() -> None:
    """Each of these costs a clean commit milliseconds; `site` alone may bring some, in environments that patch it."""
    code = (
        "import sys; before = set(sys.modules); import coderefine.cli, coderefine.quick.front;"
        "print(*(set(sys.modules) - before))"
    )
    result = subprocess.run(
        (sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(ROOT)!r}); {code}"),
        capture_output=True,
        text=True,
        check=True,
    )
    slow = {"re", "enum", "collections", "signal", "dataclasses", "pathlib", "subprocess", "typing", "click", "ast"}
    assert not slow & set(result.stdout.split())


@pytest.mark.parametrize(
    "folder", [ROOT / "coderefine", ROOT / "tests/support", Path(json.__file__).parent, Path(radon.__file__).parent]
)
def test_surely_fine_code_is_fine(folder: Path) -> None:
    """With limits at which many of these files are not."""
    texts = [path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))[::3]]
    for limit, floor in ((10, 10.0), (4, 40.0), (6, 25.0)):
        fine = [text for text in texts if surely_fine(text, limit, floor)]
        assert [measure(text, limit, floor) for text in fine] == [FileComplexity()] * len(fine)


@pytest.mark.parametrize("text", ["def f(:", "\0", "x = 1\n" * 9 + ")"])
def test_code_that_does_not_parse_is_not_surely_fine(text: str) -> None:
    assert not surely_fine(text + "\n# if" * 20, 10, 10.0)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return 1if x else 2if x - 1else 3\n",
        'def f(x):\n    """Text\n    """; return x and x or x\n',
        "class A:\n    def f(self, x):\r        return x and x and x\r\n",
        "async def f(x):\n    match x:\n        case 1: pass\n        case _: pass\n",
        "f = 1\nif f:\n    def g(x):\n        return [y for y in x if y]\n",
    ],
)
def test_every_decision_counts(text: str) -> None:
    assert not surely_fine(text, 2, 0.0)


def test_a_ticket_is_void_once_anything_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ticket.Ticket(["ruff"], ["python"], "KEY", True, 10, 10.0, True)
    programs = tmp_path / "bin"
    programs.mkdir()
    ticket.write(str(tmp_path), str(tmp_path), made, [str(programs)])
    read = ticket.read(str(tmp_path), str(tmp_path))
    assert read is not None
    assert read.fields == made.fields
    (tmp_path / "ruff.toml").write_text("")
    assert ticket.read(str(tmp_path), str(tmp_path)) is None
    ticket.write(str(tmp_path), str(tmp_path), made, [str(programs)])
    (programs / "ruff").write_text("")
    assert ticket.read(str(tmp_path), str(tmp_path)) is None
    ticket.write(str(tmp_path), str(tmp_path), made, [])
    monkeypatch.setenv("CODEREFINE_GATES", "ruff")
    assert ticket.read(str(tmp_path), str(tmp_path)) is None


@pytest.mark.parametrize("data", [b"", b"\0", b"nonsense", b"\xdb\xff\xff"])
def test_a_broken_ticket_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ticket.FOLDER).mkdir(parents=True)
    (tmp_path / ticket.FOLDER / ticket.TICKET).write_bytes(data)
    assert ticket.read(str(tmp_path), str(tmp_path)) is None


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (b"", []),
        (b"1 M. N... 100644 100644 100644 a b x.py\0", ["x.py"]),
        (b"1 A. N... 000000 100644 100644 a b with space.py\0", ["with space.py"]),
        (b"1 A. N... 000000 120000 120000 a b link.py\0", []),
        (b"1 MM N... 100644 100644 100644 a b x.py\0", None),
        (b"1 .M N... 100644 100644 100644 a b x.py\0", None),
        (b"u UU N... 1 2 3 4 a b c x.py\0", None),
        (b"1 D. N... 100644 000000 000000 a b gone.py\0", ["gone.py"]),
        (b"?", None),
        (b"? notes.txt\0", []),
        (b"? helper.py\0", None),
        (b"? package/\0", None),
    ],
)
def test_output_of_git_about_the_index(message: bytes, found: list[str] | None) -> None:
    assert front.staged_files(message) == found


def test_a_child_that_does_not_end_is_killed_with_its_children() -> None:
    import time

    began = time.monotonic()
    child = children.Child(["sh", "-c", "sleep 60 & sleep 60"], dict(os.environ))
    assert child.all(began + 0.2) is None
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "text",
    [
        "from pkg import (\n    a,  # (one)\n    b,\n)\n",
        "from pkg import (  # a), c\n    a, b)\n",
        "from pkg import a, \\\n    b\n",
        "from pkg \\\r\n    import b\r\n",
        "import pkg.a, \\\n    pkg.b\n",
        "import sys; from pkg import b\n",
        "try: import pkg.b\nexcept ImportError: pass\n",
        "if sys: from . import b\n",
        "from .import b\n",
        "from .b import(c)\n",
        "# C:\\\nfrom pkg import b\n",
        '"""from x import (\n' + "# y\n" * 200 + '"""\nfrom pkg import b\n',
    ],
)
def test_an_import_is_found_however_it_is_written(text: str) -> None:
    """A test whose import ends with a backslash, or has a bracket in a comment, was not run."""
    assert "pkg.b" in graph.imports_of(text.encode(), "pkg/test_b.py")


@pytest.mark.parametrize(
    "text",
    [
        "mock.patch('pkg.b.total')",
        'monkeypatch.setattr("pkg.b.Cart.total", 1)',
        "resolve_name('pkg.b:total')",
        "patch('pkg.b')",
        "patch(f'pkg.b.{name}')",
        "patch('pkg.b.' + name)",
        'patch("""pkg.b""")',
    ],
)
def test_a_module_that_only_a_string_names_counts_as_imported(text: str) -> None:
    """A test with such a string, and no import of the module, was not run by the hook and by --fast-proof."""
    users = graph.users_of({"pkg/b.py": (), "test_b.py": graph.imports_of(text.encode(), "test_b.py")})
    assert users == {"pkg/b.py": ["test_b.py"]}


@pytest.mark.parametrize("text", ["'see pkg.b for more'", "'a.pkg.b'", "'pkg_b.x'", "# pkg.b", "'pkg.bc.d'", "'pkg'"])
def test_other_strings_name_no_module(text: str) -> None:
    assert "pkg.b" not in graph.imports_of(text.encode(), "test_b.py")


def test_imports_that_an_earlier_version_found_are_read_again(tmp_path: Path) -> None:
    """The stored graph would lack what the earlier rules did not find, until the file changes."""
    (tmp_path / "test_b.py").write_text("from pkg import a, \\\n    b\n")
    marks = graph.walk(str(tmp_path))
    earlier: graph.Files = {path: (mark, ("pkg", "pkg.a")) for path, mark in marks.items()}
    assert "pkg.b" in graph.refreshed(str(tmp_path), earlier, marks)["test_b.py"][1]


def test_the_graph_follows_moved_modules(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "pkg/a.py").write_text("from . import b\n")
    (tmp_path / "pkg/b.py").write_text("")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/pyvenv.cfg").write_text("")
    (tmp_path / "venv/x.py").write_text("")
    marks = graph.walk(str(tmp_path))
    assert sorted(marks) == ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"]
    files = graph.refreshed(str(tmp_path), {}, marks)
    users = graph.users_of({path: modules for path, (_, modules) in files.items()})
    assert graph.reached(users, ["pkg/b.py"]) == {"pkg/a.py", "pkg/b.py"}
    kept: graph.Files = {path: (mark, ("never read",)) for path, (mark, _) in files.items()}
    assert graph.refreshed(str(tmp_path), kept, marks) == kept
