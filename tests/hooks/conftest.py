"""The hooks' tests search for no repair where they are about the refusal."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def unrepaired(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search and its proof take three times as long as the refusal."""
    if "searching" not in request.fixturenames:
        monkeypatch.setenv("CODEREFINE_SEARCH", "0")


@pytest.fixture
def searching() -> None:
    """What is refused is repaired, as it is by default."""
