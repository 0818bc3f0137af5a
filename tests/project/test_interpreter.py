"""Which interpreter is the project's own."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.errors import SurroundingsError
from coderefine.project import Place, interpreter
from tests.support.repo import write

PATH = {"PATH": os.environ["PATH"]}
USUAL = Config()


def environment(folder: Path, *, pytest_version: str | None = "8.1.0", prints: str | None = None) -> Path:
    """A fake environment whose `python` answers like one; returns the interpreter."""
    answer = prints or f"coderefine\n3.11.4\n{pytest_version or '-'}\n{folder}"
    python = folder / "bin" / "python"
    write(folder, {"bin/python": f"#!/bin/sh\ncat <<'END' | head -c -1\n{answer}\nEND\n", "pyvenv.cfg": ""})
    python.chmod(0o755)
    return python


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "proj ект").mkdir()
    return Place(tmp_path / "proj ект", tmp_path / "proj ект")


def found(place: Place, environ: Mapping[str, str] = PATH, config: Config = USUAL) -> tuple[Path, str]:
    chosen = interpreter(place, config, environ)
    return chosen.path, chosen.source


def test_ours_is_the_last_resort(place: Place) -> None:
    chosen = interpreter(place, Config(), PATH)
    assert (chosen.path, chosen.source) == (Path(sys.executable), "coderefine's own")
    assert chosen.pytest == pytest.__version__
    assert chosen.version == ".".join(map(str, sys.version_info[:3]))
    assert chosen.prefix == Path(sys.prefix)


def test_it_takes_tens_of_milliseconds(place: Place) -> None:
    took = []
    for _ in range(5):
        began = time.perf_counter()
        interpreter(place, Config(), PATH)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.5


def test_the_active_environment_comes_first(place: Place, tmp_path: Path) -> None:
    active = environment(tmp_path / "active")
    environment(place.root / ".venv")
    assert found(place, {**PATH, "VIRTUAL_ENV": str(tmp_path / "active")}) == (active, "VIRTUAL_ENV")


def test_an_active_environment_that_is_ours_is_not_the_projects(place: Place) -> None:
    own = environment(place.root / ".venv")
    assert found(place, {**PATH, "VIRTUAL_ENV": sys.prefix}) == (own, ".venv")


def test_an_environment_without_pytest_is_passed_over_and_named(place: Place) -> None:
    environment(place.root / ".venv", pytest_version=None)
    other = environment(place.root / "venv")
    chosen = interpreter(place, Config(), PATH)
    assert chosen.path == other
    assert [note.split("(")[1] for note in chosen.passed_over] == [".venv) has no pytest"]


def test_the_projects_folder_goes_before_the_repositorys(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "libs/one")
    place.root.mkdir(parents=True)
    top = environment(tmp_path / ".venv")
    assert found(place)[0] == top
    near = environment(place.root / "venv")
    assert found(place)[0] == near


def _digest(path: Path, size: int) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(str(path).encode()).digest()[:size]).decode()[:8]


@pytest.mark.parametrize("tool", ["poetry", "pipenv", "pdm", "tox", "nox", "conda", "uv", ".conda"])
def test_every_tools_own_place_is_known(place: Place, tmp_path: Path, tool: str) -> None:
    home = tmp_path / "home"
    folder = {
        "poetry": home / ".cache/pypoetry/virtualenvs" / f"proj-{_digest(place.root, 32)}-py3.11",
        "pipenv": home / ".local/share/virtualenvs" / f"proj-{_digest(place.root / 'Pipfile', 6)}",
        "pdm": home / "pdm-env",
        "tox": place.root / ".tox/py311",
        "nox": place.root / ".nox/tests",
        "conda": home / "miniconda3/envs/science",
        "uv": tmp_path / "uv-env",
        ".conda": place.root / ".conda",
    }[tool]
    python = environment(folder)
    notes = {
        "poetry": {"pyproject.toml": ""},
        "pipenv": {"Pipfile": ""},
        "pdm": {".pdm-python": str(python)},
        "conda": {"environment.yml": "channels: [x]\nname: science\n"},
        "uv": {"uv.lock": ""},
    }
    write(place.root, notes.get(tool, {}))
    path, source = found(place, {**PATH, "HOME": str(home), "UV_PROJECT_ENVIRONMENT": "../uv-env"})
    assert path.resolve() == python
    assert source.split()[0] == tool


@pytest.mark.parametrize("tool", ["uv", "poetry", "pdm", "hatch", "pipenv"])
def test_a_tool_is_started_only_if_its_file_exists(place: Place, tmp_path: Path, tool: str) -> None:
    python = environment(tmp_path / "far away")
    answer = python.parent.parent if tool == "hatch" else python
    write(tmp_path / "bin", {tool: f"#!/bin/sh\necho Creating environment\necho '{answer}'\n"})
    (tmp_path / "bin" / tool).chmod(0o755)
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    assert found(place, environ)[1] == "coderefine's own"
    lock = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "hatch": "hatch.toml", "pipenv": "Pipfile"}
    write(place.root, {lock[tool]: ""})
    assert found(place, environ) == (python, tool)


def test_configured_wins_and_may_be_a_folder(place: Place) -> None:
    environment(place.root / ".venv")
    chosen = environment(place.root / "tools/env")
    assert found(place, config=Config(python="tools/env")) == (chosen, "configured")
    assert found(place, config=Config(python="tools/env/bin/python"))[0] == chosen


@pytest.mark.parametrize(
    ("prints", "mode", "says"),
    [
        ("coderefine\n3.9.1\n7.0\n/x", 0o755, "is Python 3.9.1; 3.10 or newer is needed"),
        ("something else", 0o755, "does not run"),
        ("", 0o644, "is not executable"),
        (None, 0, "does not exist"),
    ],
)
def test_a_configured_interpreter_that_does_not_work_is_an_error(
    place: Place, prints: str | None, mode: int, says: str
) -> None:
    if prints is not None:
        environment(place.root / "env", prints=prints).chmod(mode | stat.S_IRUSR)
    with pytest.raises(SurroundingsError, match=says):
        interpreter(place, Config(python="env/bin/python"), PATH)


def test_a_program_that_is_no_interpreter_complained_with_our_whole_source(place: Place) -> None:
    with pytest.raises(SurroundingsError, match="does not run Python: ") as raised:
        interpreter(place, Config(python="/bin/ls"), PATH)
    assert len(str(raised.value)) < 200


def test_a_configured_interpreter_without_pytest_is_kept(place: Place) -> None:
    environment(place.root / "env", pytest_version=None)
    assert interpreter(place, Config(python="env"), PATH).pytest is None


def test_a_module_named_pytest_in_the_working_directory_is_not_pytest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, {"pytest.py": "raise SystemExit('loaded')\n", "os.py": "raise SystemExit('loaded')\n"})
    monkeypatch.chdir(place.root)
    assert interpreter(place, Config(), PATH).pytest == pytest.__version__


def test_probing_an_interpreter_changes_nothing(place: Place) -> None:
    assert replace(place) == place
    interpreter(place, Config(), PATH)
    assert list(place.root.iterdir()) == []


def test_importable_modules_are_known_without_the_projects_own_folders(tmp_path: Path) -> None:
    write(tmp_path, {"mine/__init__.py": "", "beside.py": ""})
    environ = {**PATH, "PYTHONPATH": str(tmp_path)}
    chosen = interpreter(Place(tmp_path, tmp_path), Config(), environ)
    names = chosen.modules(tmp_path)
    assert {"pytest", "packaging", "pygments", "json", "sys", "_pytest"} <= names
    assert not names & {"mine", "beside"}
    assert {"mine", "beside"} <= chosen.modules(tmp_path / "elsewhere")


@pytest.mark.parametrize("how", ["setuptools", "hatchling"])
def test_editable_dependencies_can_be_imported(tmp_path: Path, how: str) -> None:
    finder = {
        "setuptools": ("__editable___dep_finder.py", "MAPPING = {'dep': '/far/dep'}\n"),
        "hatchling": (
            "redirect.py",
            "class F:\n    _redirections = {'dep': '/far/dep/__init__.py'}\n    find_spec = None\n",
        ),
    }[how]
    start = (
        "import __editable___dep_finder"
        if how == "setuptools"
        else "import sys, redirect; sys.meta_path += [redirect.F]"
    )
    write(tmp_path, {f"site/{finder[0]}": finder[1], "site/sitecustomize.py": start + "\n"})
    environ = {**PATH, "PYTHONPATH": str(tmp_path / "site")}
    chosen = interpreter(Place(tmp_path, tmp_path), Config(), environ)
    assert "dep" in chosen.modules(tmp_path)
