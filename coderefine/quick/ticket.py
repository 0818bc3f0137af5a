"""The ticket: settings that the last full run of the hook stored for the fast path, and whether they still apply."""

from __future__ import annotations

import marshal
import os
import sys

from coderefine import __version__
from coderefine.markers import MARKERS

NAMES = (
    *MARKERS, ".pytest.ini", "pytest.toml", ".pytest.toml", "ruff.toml", ".ruff.toml", ".venv", ".venv/bin", "venv",
    "venv/bin", ".tox", ".nox", ".conda", "env", "env/bin", ".env", ".env/bin", "uv.lock", "poetry.lock", "pdm.lock",
    "hatch.toml", "Pipfile", ".pdm-python", "environment.yml", "environment.yaml", ".gitignore",
)  # fmt: skip
"""Files and folders whose addition, removal or change may change which files are judged, or how."""
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "OPENAI_BASE_URL", "UV_PROJECT_ENVIRONMENT", "POETRY_CACHE_DIR")
GATES = ("pytest", "ruff", "radon")
"""The gates that the quick check supports."""
FOLDER = "coderefine/hook"
TICKET, GRAPH, IMPORTS = "ticket", "graph", "imports"
"""Names of stored values. TICKET: see `write`. GRAPH: marks, users and test files. IMPORTS: a `graph.Files`."""


class Ticket:
    """The settings of the project that the fast path of the hook needs.

    `ruff`, `python`: the commands of ruff and of the tests, without paths; [] if the gate is off. `radon`: whether the
    complexity gate is on. `complexity`, `floor`: its limits (`max_complexity`, `min_maintainability`). `keys`: name of
    the environment variable with the model's key. `bytecode`: whether git ignores __pycache__.
    """

    __slots__ = ("bytecode", "complexity", "floor", "keys", "python", "radon", "ruff")

    def __init__(  # noqa: PLR0917
        self,
        ruff: list[str],
        python: list[str],
        keys: str,
        radon: bool,  # noqa: FBT001 - it is read back by position
        complexity: int,
        floor: float,
        bytecode: bool,  # noqa: FBT001
    ) -> None:
        self.ruff, self.python, self.keys = ruff, python, keys
        self.radon, self.complexity, self.floor, self.bytecode = radon, complexity, floor, bytecode

    @property
    def fields(self) -> list[object]:
        return [self.ruff, self.python, self.keys, self.radon, self.complexity, self.floor, self.bytecode]


def write(folder: str, top: str, ticket: Ticket, installed: list[str]) -> None:
    """Store `ticket` in the git directory `folder` for the next hook in `top`.

    `installed`: folders that change if programs or packages are installed. Never raises, because it is only a cache.
    """
    watched = [*(argv[0] for argv in (ticket.ruff, ticket.python) if argv), *installed]
    keep(folder, TICKET, [_identity(), marks(top, watched), watched, ticket.fields])


def read(folder: str, top: str) -> Ticket | None:
    """Return the ticket of the last run if nothing that it depends on has changed; else None."""
    kept = kept_in(folder, TICKET)
    if not isinstance(kept, list) or len(kept) != 4 or kept[0] != _identity() or kept[1] != marks(top, kept[2]):
        return None
    return Ticket(*kept[3])


def _identity() -> list[object]:
    environ = sorted(item for item in os.environ.items() if item[0].startswith("CODEREFINE_") or item[0] in VARIABLES)
    return [__version__, sys.version, sys.executable, [list(item) for item in environ]]


def marks(top: str, watched: list[str]) -> list[object]:
    return [_mark(path) for path in (*(f"{top}/{name}" for name in NAMES), *watched)]


def _mark(path: str) -> object:
    try:
        stat = os.stat(path)  # noqa: PTH116 - pathlib costs the hook 5 ms
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def keep(folder: str, name: str, what: object) -> None:
    """Store `what` (types that marshal supports) completely or not at all; ignore errors."""
    home = f"{folder}/{FOLDER}"
    aside = f"{home}/{name}.{os.getpid()}"
    try:
        os.makedirs(home, exist_ok=True)  # noqa: PTH103
        with open(aside, "wb") as file:  # noqa: PTH123
            marshal.dump(what, file)  # type: ignore[arg-type]  # types that marshal supports
        os.replace(aside, f"{home}/{name}")  # noqa: PTH105
    except (OSError, ValueError):
        return


def kept_in(folder: str, name: str) -> object:
    """Return the value that `keep` stored under `name`; None if it is missing or damaged."""
    try:
        with open(f"{folder}/{FOLDER}/{name}", "rb") as file:  # noqa: PTH123
            return marshal.load(file)
    except (OSError, ValueError, EOFError, TypeError):
        return None
