"""Asks an interpreter, without importing pytest, who it is, whether it has pytest and what can be imported there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coderefine import proc
from coderefine.errors import ProcessError

ORACLE = """
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
"""`importlib.metadata` costs more than the rest together; the folder's name says the version as well."""

OLDEST = (3, 9)
"""The oldest Python that the runner's agent supports."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What an interpreter said; `pytest` is its version, None when it has none. `fault`: why it is no use.

    `importable`: top-level names by the folder they are imported from ("": built in).
    """

    version: str = ""
    pytest: str | None = None
    prefix: Path = Path()
    fault: str = ""
    importable: Mapping[str, frozenset[str]] = field(default_factory=dict)


def probe(python: Path, environ: Mapping[str, str], *, timeout: float = 20.0) -> ProbeResult:
    """Run `python` on the oracle (10-20 ms); never raises, a fault is part of the answer."""
    if not python.is_file():
        return ProbeResult(fault="does not exist")
    if not os.access(python, os.X_OK):
        return ProbeResult(fault="is not executable")
    try:
        result = proc.run((str(python), "-c", ORACLE), env=proc.clean_env(base=environ), timeout=timeout)
    except ProcessError as error:
        return ProbeResult(fault=str(error))
    lines = result.stdout.decode("utf-8", "surrogateescape").split("\n")
    if result.returncode != 0 or len(lines) < 4 or lines[0] != "coderefine":
        late = f"did not answer within {timeout:g} s"
        return ProbeResult(fault=late if result.timed_out else f"does not run: {result.complaint}")
    return _answer(lines)


def _answer(lines: list[str]) -> ProbeResult:
    version, pytest, prefix = lines[1:4]
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return ProbeResult(fault=f"is Python {version}; {OLDEST[0]}.{OLDEST[1]} or newer is needed")
    rows = (line.split("\t") for line in lines[4:])
    importable = {folder: frozenset(names) for folder, *names in rows}
    return ProbeResult(version, None if pytest == "-" else pytest, Path(prefix), importable=importable)
