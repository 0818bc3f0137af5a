"""Shared by the runner's tests: a project in tmp_path, run cold by a real pytest."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Listen
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import RunOptions, run_tests
from tests.support.repo import write
from tests.support.view import DirectView


class Cold(Protocol):
    def __call__(
        self,
        files: Mapping[str, str | bytes],
        ask: Ask = ...,
        *,
        config: Config = ...,
        root: str = ...,
        listen: Listen = ...,
        limit: float | None = ...,
    ) -> Check: ...


@pytest.fixture
def this_python() -> Interpreter:
    return Interpreter(Path(sys.executable), platform.python_version(), "ours", pytest.__version__, Path(sys.prefix))


@pytest.fixture
def cold(tmp_path: Path, this_python: Interpreter, monkeypatch: pytest.MonkeyPatch) -> Cold:
    """Write `files` to tmp_path and run their tests. Plug-ins of our own environment stay out unless asked for."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(
        files: Mapping[str, str | bytes],
        ask: Ask = Ask(timeout=60),  # noqa: B008 — frozen
        *,
        config: Config = Config(),  # noqa: B008 — frozen
        root: str = ".",
        listen: Listen = lambda _: None,
        limit: float | None = None,
    ) -> Check:
        write(tmp_path, files)
        view = DirectView(tmp_path)
        place = Place(view.top, (view.top / root).resolve())
        return run_tests(view, place, this_python, config, ask, listen, RunOptions(limit))

    return run
