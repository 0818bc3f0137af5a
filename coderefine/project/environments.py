"""The places where Python tools keep a project's environment; places that are cheap to check come first."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import proc
from coderefine.errors import ProcessError
from coderefine.project.place import Place

TOOLS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("uv", ("uv.lock",), ("uv", "python", "find", "--no-python-downloads", "--offline")),
    ("poetry", ("poetry.lock",), ("poetry", "env", "info", "--executable", "--no-ansi")),
    ("pdm", ("pdm.lock",), ("pdm", "info", "--python")),
    ("hatch", ("hatch.toml",), ("hatch", "env", "find", "default")),
    ("pipenv", ("Pipfile",), ("pipenv", "--py")),
)
"""Tools: a name, files that show that the project uses the tool, and a command that prints the environment's path."""


@dataclass(frozen=True, slots=True)
class PythonCandidate:
    """An interpreter that may be the project's."""

    path: Path
    source: str


def candidates(place: Place, environ: Mapping[str, str]) -> Iterator[PythonCandidate]:
    """Yield existing interpreters, best first; tools are started last, when the caller has rejected all others."""
    folders = tuple(dict.fromkeys((place.root, place.top)))
    if environ.get("VIRTUAL_ENV"):
        yield from _in(Path(environ["VIRTUAL_ENV"]), "VIRTUAL_ENV")
    for folder in folders:
        yield from _beside(folder)
    for folder in folders:
        yield from _at_home(folder, environ)
    if environ.get("CONDA_PREFIX") and environ.get("CONDA_DEFAULT_ENV", "base") != "base":
        yield from _in(Path(environ["CONDA_PREFIX"]), "conda, active")
    for folder in folders:
        yield from _from_tools(folder, environ)


def python_of(environment: Path) -> Path:
    """Return the interpreter of a virtual or conda environment; the path need not exist."""
    windows = environment / "Scripts" / "python.exe"
    return windows if windows.exists() else environment / "bin" / "python"


def _in(environment: Path, source: str) -> Iterator[PythonCandidate]:
    python = python_of(environment)
    if python.exists():
        yield PythonCandidate(python, source)


def _beside(folder: Path) -> Iterator[PythonCandidate]:
    """Yield environments in the project's own folder."""
    for name in (".venv", "venv"):
        path = folder / name
        if path.is_file():  # pipenv writes such a file; it names the environment
            noted = path.read_text("utf-8", "replace").strip()
            path = Path(noted) if "/" in noted else Path.home() / ".virtualenvs" / noted
        yield from _in(path, name)
    yield from _pdm_note(folder)
    for kind in (".tox", ".nox"):
        found = (path.parents[1] for path in folder.glob(f"{kind}/*/bin/python"))
        for environment in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True):
            yield PythonCandidate(environment / "bin/python", f"{kind[1:]} {environment.name}")
    for name in (".conda", "env", ".env", "envs/default"):
        if (folder / name / "conda-meta").is_dir() or (folder / name / "pyvenv.cfg").is_file():
            yield from _in(folder / name, name)


def _pdm_note(folder: Path) -> Iterator[PythonCandidate]:
    """Yield the interpreter in `.pdm-python`, which PDM writes; `.pdm.toml`, used before PDM 2.6, is not read."""
    note = folder / ".pdm-python"
    if note.is_file():
        python = Path(note.read_text("utf-8", "replace").strip())
        if python.is_absolute() and python.exists():
            yield PythonCandidate(python, "pdm")


def _at_home(folder: Path, environ: Mapping[str, str]) -> Iterator[PythonCandidate]:
    """Yield environments that tools usually keep in the user's home folder.

    Those of poetry and pipenv are named by a hash of the project's path, computed here as the tools do. That of uv is
    named by an environment variable, that of conda by a file of the project.
    """
    home = Path(environ.get("HOME") or Path.home())
    if environ.get("UV_PROJECT_ENVIRONMENT") and (folder / "uv.lock").is_file():
        yield from _in(folder / environ["UV_PROJECT_ENVIRONMENT"], "uv")
    if (folder / "pyproject.toml").is_file():
        cache = Path(environ.get("POETRY_CACHE_DIR") or home / ".cache" / "pypoetry")
        # EnvManager.generate_env_name: name-HASH-pyX.Y, HASH of the real path
        for found in sorted(cache.glob(f"virtualenvs/*-{_hash(folder, 32)}-py*"), reverse=True):
            yield from _in(found, "poetry")
    if (folder / "Pipfile").is_file():
        store = Path(environ.get("WORKON_HOME") or home / ".local" / "share" / "virtualenvs")
        for found in sorted(store.glob(f"*-{_hash(folder / 'Pipfile', 6)}*")):
            yield from _in(found, "pipenv")
    yield from _conda(folder, home)


def _hash(path: Path, size: int) -> str:
    digest = hashlib.sha256(os.fsencode(path)).digest()[:size]
    return base64.urlsafe_b64encode(digest).decode()[:8]


def _conda(folder: Path, home: Path) -> Iterator[PythonCandidate]:
    """Yield the environment that `environment.yml` names, from the usual folders of conda, mamba and micromamba."""
    for note in (folder / "environment.yml", folder / "environment.yaml"):
        name = _conda_name(note)
        for base in (".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba") if name else ():
            yield from _in(home / base / "envs" / name, f"conda {name}")


def _conda_name(note: Path) -> str:
    """Return the `name:` line of a conda environment file; "" without one."""
    if note.is_file():
        for line in note.read_text("utf-8", "replace").splitlines():
            if line.startswith("name:"):
                return line.removeprefix("name:").strip().strip("'\"")
    return ""


def _from_tools(folder: Path, environ: Mapping[str, str]) -> Iterator[PythonCandidate]:
    """Yield the environments that tools report; ask only installed tools that the project uses, as its files show."""
    for tool, files, question in TOOLS:
        if any((folder / name).is_file() for name in files) and shutil.which(tool, path=environ.get("PATH")):
            path = _asked(folder, question, environ)
            if path is not None:
                yield PythonCandidate(python_of(path) if path.is_dir() else path, tool)


def _asked(folder: Path, question: tuple[str, ...], environ: Mapping[str, str]) -> Path | None:
    try:
        result = proc.run(question, cwd=folder, env=proc.clean_env(base=environ), timeout=20.0)
    except ProcessError:
        return None
    lines = result.text.strip().splitlines()
    path = Path(lines[-1].strip()) if result.returncode == 0 and lines else None
    return path if path is not None and path.is_absolute() and path.exists() else None
