"""A pytest plugin: write the outcome of every test to the file named by REAL_OUTCOMES.

Loaded with `-p outcomes`. Runs inside the measured project's interpreter: standard library only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Outcomes:
    """`passed` and `failing` hold test ids; `broken` holds what could not be collected."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.passed: set[str] = set()
        self.failing: set[str] = set()
        self.broken: set[str] = set()

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.add(report.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failing.add(report.nodeid)
        elif report.passed and report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        found = {"passed": self.passed - self.failing, "failing": self.failing, "broken": self.broken}
        Path(self.path).write_text(json.dumps({name: sorted(ids) for name, ids in found.items()}), "utf-8")


def pytest_configure(config: Any) -> None:
    path = os.environ.pop("REAL_OUTCOMES", "")
    if path:
        config.pluginmanager.register(Outcomes(path), "real-outcomes")
