"""The project's own interpreter: the first in the known places that has pytest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine import proc
from coderefine.errors import ProcessError, SurroundingsError
from coderefine.project.environments import PythonCandidate, candidates, python_of
from coderefine.project.place import Place
from coderefine.sensitive import shortened

if TYPE_CHECKING:
    from coderefine.config import Config

PROBE = """
import os, sys
if sys.path and sys.path[0] == "": del sys.path[0]
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("pytest")
version = "-"
if spec and spec.origin:
    version = "?"
    for name in sorted(os.listdir(os.path.dirname(os.path.dirname(spec.origin)))):
        if name.startswith("pytest-") and name.endswith((".dist-info", ".egg-info")):
            version = name.split("-")[1].replace(".dist", "").replace(".egg", "")
found = {"": set(sys.builtin_module_names)}
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        stem, dot, end = name.partition(".")
        if stem.isidentifier() and (end == "py" or end.endswith(("so", "pyd")) or not dot):
            found.setdefault(folder, set()).add(stem)
maps = [getattr(module, "MAPPING", None) for name, module in list(sys.modules.items()) if "__editable__" in name]
for where in maps + [getattr(finder, "_redirections", None) for finder in sys.meta_path]:
    for name, target in where.items() if isinstance(where, dict) else ():
        found.setdefault(os.path.dirname(str(target)), set()).add(name.partition(".")[0])
sys.stdout.buffer.write("\\n".join(
    ["coderefine", "%d.%d.%d" % sys.version_info[:3], version, sys.prefix] +
    ["\\t".join([folder] + sorted(found[folder])) for folder in found]).encode("utf-8", "surrogateescape"))
"""
"""Prints the fields of an Interpreter.

pytest's version is in the name of a folder: `importlib.metadata` would take longer than everything else.
"""

OLDEST = (3, 10)
"""The oldest Python that the runner's agent supports."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The chosen interpreter.

    `path`: its path, never resolved, because a venv is recognised by its path. `source`: where it was found. `version`:
    like "3.11.7". `pytest`: the version of its pytest, or None. `prefix`: its sys.prefix. `passed_over`: a sentence for
    each candidate that was rejected before. `importable`: names of importable top-level modules by the folder that
    contains them.
    """

    path: Path
    version: str
    source: str
    pytest: str | None
    prefix: Path
    passed_over: tuple[str, ...] = ()
    importable: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)

    @property
    def release(self) -> tuple[int, ...]:
        """Return the version without its last number, like (3, 11)."""
        return tuple(map(int, self.version.split(".")[:2]))

    def modules(self, top: Path) -> frozenset[str]:
        """Return the importable top-level module names, except those of the project at `top`.

        An environment inside the project counts as importable; the project's own folders, which an editable install
        puts on the path, do not.
        """
        found = frozenset[str]()
        for folder, names in self.importable.items():
            here = Path(folder)
            if not folder or not here.is_relative_to(top) or here.is_relative_to(self.prefix):
                found |= names
        return found


def probe(candidate: PythonCandidate, environ: Mapping[str, str], *, timeout: float = 20.0) -> Interpreter | str:
    """Return the Interpreter of `candidate`, or a text on why it cannot be used. Starts a process (10-20 ms)."""
    if not candidate.path.is_file():
        return "does not exist"
    if not os.access(candidate.path, os.X_OK):
        return "is not executable"
    try:
        result = proc.run((str(candidate.path), "-c", PROBE), env=proc.clean_env(base=environ), timeout=timeout)
    except ProcessError as error:
        return str(error)
    lines = result.stdout.decode("utf-8", "surrogateescape").split("\n")
    if result.returncode != 0 or len(lines) < 4 or lines[0] != "coderefine":
        complaint = shortened(result.complaint, 100)
        return f"did not answer within {timeout:g} s" if result.timed_out else f"does not run Python: {complaint}"
    return _answer(candidate, lines)


def _answer(candidate: PythonCandidate, lines: list[str]) -> Interpreter | str:
    version, pytest, prefix = lines[1:4]
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return f"is Python {version}; {OLDEST[0]}.{OLDEST[1]} or newer is needed"
    importable = {folder: frozenset(names) for folder, *names in (line.split("\t") for line in lines[4:])}
    known = (candidate.path, version, candidate.source, None if pytest == "-" else pytest, Path(prefix))
    return Interpreter(*known, importable=importable)


def interpreter(place: Place, config: Config, environ: Mapping[str, str]) -> Interpreter:
    """Return the interpreter for running the project's tests (usually at the cost of one process of 20 ms).

    Order: `config.python`, VIRTUAL_ENV (unless coderefine itself runs in it), environments in the project's folder
    (.venv, venv, pdm, tox, nox, conda), then in the home folder (uv, poetry, pipenv, conda), the active conda
    environment, environments that tools report (uv, poetry, pdm, hatch, pipenv), coderefine's own interpreter. Raises
    SurroundingsError if no candidate works, if the configured interpreter does not work, or if the pytest gate is on
    and no candidate has pytest.
    """
    if config.python is not None:
        return _configured(place, config.python, environ)
    passed: list[str] = []
    bare: Interpreter | None = None
    for candidate in _own_last(place, environ):
        found = probe(candidate, environ)
        if isinstance(found, Interpreter):
            found = replace(found, passed_over=tuple(passed))
            if found.pytest:
                return found
            bare, found = bare or found, "has no pytest"
        passed.append(f"{candidate.path} ({candidate.source}) {found}")
    if bare is None or "pytest" in config.gates:
        advice = "install it in the project's environment or set `python`"
        raise SurroundingsError(f"no interpreter has pytest; {advice} (tried: {'; '.join(passed)})")
    return bare


def _own_last(place: Place, environ: Mapping[str, str]) -> Iterator[PythonCandidate]:
    """Yield the candidates, each path once; our own interpreter comes last even if VIRTUAL_ENV names it."""
    ours = PythonCandidate(Path(sys.executable), "coderefine's own")
    seen = {ours.path}
    home = Path(sys.prefix).resolve()
    for candidate in candidates(place, environ):
        if candidate.path not in seen and candidate.path.parent.parent.resolve() != home:
            seen.add(candidate.path)
            yield candidate
    yield ours


def _configured(place: Place, name: str, environ: Mapping[str, str]) -> Interpreter:
    """Return the configured interpreter. Raises SurroundingsError if it cannot be used.

    `name`: its path, or the folder of an environment; a relative path begins at the project's root.
    """
    path = place.root / Path(name).expanduser()
    path = python_of(path) if path.is_dir() else path
    found = probe(PythonCandidate(path, "configured"), environ)
    if isinstance(found, str):
        raise SurroundingsError(f"the configured python {path} {found}")
    return found
