"""Every test runs under a sealed HOME: no user configuration, no keys, fixed identity and dates."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Children of a shell's background job ignore SIGINT, those of nohup SIGHUP: ours have to receive both."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Each worker of xdist collects all tests: 7.8 s of processor time, 4.4 s with the bytecode of the last run, 2.4 s
    # where what is kept to the end anyway is not searched for garbage.
    sys.dont_write_bytecode = False
    gc.disable()


def pytest_collection_finish() -> None:
    """The garbage of tests is collected as ever."""
    gc.enable()  # nothing is frozen: hypothesis, imported later, looks for who refers to trio's random numbers


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """With `-n auto`: two workers for each core, as tests wait for their processes; each takes whole modules first.

    Tests of one module share what is dear to set up: dealt out in turn, each worker would set it up again.
    """
    if config.option.dist == "no":
        config.option.dist = "worksteal"
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else 2 * (os.cpu_count() or 1)


GITCONFIG = (
    "[user]\n\tname = A U Thor\n\temail = author@example.com\n[init]\n\tdefaultBranch = main\n"
    "[commit]\n\tgpgSign = false\n[safe]\n\tdirectory = *\n"
    # After each commit, git starts two programs that find nothing to do: 2 of the 12 ms that `make_repo` takes.
    "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
)


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """See `seal`. The folder is removed at once, see `tmp_path_retention_policy` in pyproject.toml."""
    home = seal(tmp_path_factory.mktemp("home"), monkeypatch)
    yield home
    shutil.rmtree(home, ignore_errors=True)


def seal(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME of our own; git identity comes from its .gitconfig because GIT_* is stripped for children."""
    (home / ".gitconfig").write_text(GITCONFIG, encoding="utf-8")
    for name in ("XDG_CONFIG_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # A pytest that a test starts would remove the temporary files of our earlier runs at its end, which takes minutes.
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", str(home))
    # Compiling our package again would cost every child 0.3 s.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    # The plug-ins of our own environment would cost every child pytest 0.8 s; a test that wants them unsets this.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # A worker for each processor, on which other tests run, would cost a small fix a fifth more processor time.
    monkeypatch.setenv("PYTHON_CPU_COUNT", "1")
    return home
