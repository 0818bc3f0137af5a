"""The project's own interpreter: the first of the known places that has pytest."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from coderefine.errors import SurroundingsError
from coderefine.project.environments import PythonCandidate, candidates, python_of
from coderefine.project.place import Place
from coderefine.project.probe import ProbeResult, probe


class Choices(Protocol):
    """What the configuration says about interpreters (a `Config` does)."""

    @property
    def python(self) -> str | None: ...
    @property
    def gates(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`path` is what to run (never resolved: a venv is known by its path). `source` says where it was found.

    `version` like "3.11.7"; `pytest` its pytest's version or None; `prefix` its sys.prefix; `passed_over` has
    one sentence for each place that was tried before; `importable` has the top-level names that can be imported, by
    the folder they come from.
    """

    path: Path
    version: str
    source: str
    pytest: str | None
    prefix: Path
    passed_over: tuple[str, ...] = ()
    importable: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)

    def modules(self, top: Path) -> frozenset[str]:
        """Top-level names that can be imported and are not those of the project at `top`.

        An environment inside the project counts; an editable install puts the project's own folders on the path.
        """
        return frozenset[str]().union(
            *(names for folder, names in self.importable.items() if self._foreign(folder, top))
        )

    def _foreign(self, folder: str, top: Path) -> bool:
        here = Path(folder)
        return not folder or not here.is_relative_to(top) or here.is_relative_to(self.prefix)


def interpreter(place: Place, config: Choices, environ: Mapping[str, str]) -> Interpreter:
    """The interpreter to run the project's tests with (usually one process of 20 ms).

    Order: `config.python`, VIRTUAL_ENV (unless it is the one coderefine itself lives in), .venv/venv, uv,
    poetry, pdm, hatch, pipenv, tox, nox, conda, ours. Raises SurroundingsError naming all that was tried when
    none runs, when the configured one does not, or when the pytest gate is on and none has pytest.
    """
    if config.python is not None:
        return _configured(place, config.python, environ)
    passed: list[str] = []
    bare: Interpreter | None = None
    for candidate, answer in _answers(place, environ):
        if not answer.fault:
            found = _found(candidate, answer, passed)
            if found.pytest:
                return found
            bare = bare or found
        passed.append(f"{candidate.path} ({candidate.source}) {answer.fault or 'has no pytest'}")
    if bare is None or "pytest" in config.gates:
        raise SurroundingsError(_none(passed))
    return bare


def _answers(place: Place, environ: Mapping[str, str]) -> Iterator[tuple[PythonCandidate, ProbeResult]]:
    for candidate in _own_last(place, environ):
        yield candidate, probe(candidate.path, environ)


def _own_last(place: Place, environ: Mapping[str, str]) -> Iterator[PythonCandidate]:
    """The candidates, each path once; ours comes last even when VIRTUAL_ENV names it."""
    ours = PythonCandidate(Path(sys.executable), "coderefine's own")
    seen = {ours.path}
    home = Path(sys.prefix).resolve()
    for candidate in candidates(place, environ):
        if candidate.path not in seen and candidate.path.parent.parent.resolve() != home:
            seen.add(candidate.path)
            yield candidate
    yield ours


def _configured(place: Place, name: str, environ: Mapping[str, str]) -> Interpreter:
    """`name` is an interpreter or an environment's folder, absolute or relative to the project's root."""
    path = place.root / Path(name).expanduser()
    path = python_of(path) if path.is_dir() else path
    candidate = PythonCandidate(path, "configured")
    answer = probe(path, environ)
    if answer.fault:
        raise SurroundingsError(f"the configured python {path} {answer.fault}")
    return _found(candidate, answer, [])


def _found(candidate: PythonCandidate, answer: ProbeResult, passed: list[str]) -> Interpreter:
    known = (candidate.path, answer.version, candidate.source, answer.pytest, answer.prefix)
    return Interpreter(*known, tuple(passed), answer.importable)


def _none(passed: list[str]) -> str:
    tried = "; ".join(passed)
    return f"no interpreter has pytest; install it in the project's environment or set `python` (tried: {tried})"
