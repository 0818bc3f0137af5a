"""Filter the project's `addopts`: remove options that change no test's result, such as those for speed or output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FLAGS = _words(
    "-x --exitfirst -d -f --looponfail --loadscope-reorder --no-loadscope-reorder --cov-branch --cov-append --no-cov "
    "--no-cov-on-fail --cov-reset -v --verbose -q --quiet -l --showlocals --no-showlocals --no-header --no-summary "
    "--full-trace --self-contained-html --pdb --trace --clean-alluredir --nf --new-first --ff --failed-first --lf "
    "--last-failed --sw --stepwise --sw-skip --stepwise-skip --sw-reset --stepwise-reset --cache-clear --instafail "
    "--force-sugar --old-summary --picked --testmon --testmon-noselect --testmon-forceselect --setup-show --setup-only "
    "--setup-plan --random-order --randomly-dont-reorganize --randomly-dont-reset-seed --disable-warnings "
    "--disable-pytest-warnings --no-fold-skipped --collect-only --co --profile --profile-svg --json-report "
    "--json-report-summary --emoji --benchmark-autosave --xfail-tb --force-short-summary"
)
_VALUES = _words(
    "-n --numprocesses --maxprocesses --max-worker-restart --dist --tx --px --rsyncdir --maxschedchunk --maxfail "
    "--cov-report --cov-config --cov-fail-under --cov-context --cov-precision -r --tb --durations --durations-min "
    "--color --code-highlight --show-capture --junitxml --junit-xml --junitprefix --junit-prefix --html --css "
    "--report-log --alluredir --md-report-output --pastebin --lfnf --last-failed-no-failures --verbosity "
    "--random-order-bucket --random-order-seed --randomly-seed --json-report-file --json-report-indent "
    "--json-report-omit --pdbcls --testmon-env --console-output-style"
)
_MAYBE = frozenset(("--cov",))
"""Options with an optional value: the next argument is their value unless it is an option."""
_SHORT = frozenset("xvqlfd")
"""Letters of `_FLAGS` that may be written together, as in `-xvs`."""


def split_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of `addopts` into the list to keep and the list to drop."""
    kept: list[str] = []
    dropped: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        takes = word in _VALUES or (word in _MAYBE and bool(rest) and not rest[0].startswith("-"))
        group = [word, rest.pop(0)] if takes and rest else [word]
        (dropped if _idle(word) else kept).extend(_split(group, dropped))
    return kept, dropped


def _idle(word: str) -> bool:
    name = word.split("=", 1)[0]
    if name in _FLAGS or name in _VALUES or name in _MAYBE:
        return True
    if not word.startswith("-") or word.startswith("--"):
        return False
    return word[:2] in ("-n", "-r") or set(word[1:]) <= _SHORT


def _split(group: list[str], dropped: list[str]) -> list[str]:
    """Return combined short options with only the letter `s`: `-s` for `-xvs`; append the rest (`-xv`) to `dropped`.

    Return any other option, with its value, unchanged.
    """
    word = group[0]
    letters = word[1:]
    mixed = word.startswith("-") and not word.startswith("--") and set(letters) <= _SHORT | {"s"} and len(letters) > 1
    if not mixed or "s" not in letters:
        return group
    dropped.append("-" + letters.replace("s", ""))
    return ["-s"]


BRIEF = {
    "benchmark_min_rounds": 1,
    "benchmark_max_time": "0.000001",
    "benchmark_min_time": "0.000000001",
    "benchmark_warmup": 0,
}
"""Values for options of pytest-benchmark, whose defaults take more than one second per test; times in seconds."""


class AddoptsFilter:
    """Makes pytest read the filtered `addopts`, and `required_plugins` without pytest-randomly (blocked by cold.ARGS).

    `Config.getini` is replaced on the instance, and only until pytest has read `required_plugins`, which it reads after
    `addopts`: later calls return the project's own values.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def pytest_addhooks(self, pluginmanager: Any) -> None:
        config = pluginmanager.get_plugin("pytestconfig")
        plain = config.getini
        self._environment()

        def getini(name: str) -> Any:
            if name == "required_plugins":
                config.__dict__.pop("getini", None)
                return [one for one in plain(name) if not one.startswith("pytest-randomly")]
            if name != "addopts":
                return plain(name)
            kept, dropped = split_options(plain(name))
            if dropped:
                self._channel.queue("dropped", options=dropped)
            return kept

        config.getini = getini

    def pytest_configure(self, config: Any) -> None:
        """Let benchmarks run once; their statistics remain available, because tests may use them."""
        for name, value in BRIEF.items():
            was = getattr(config.option, name, None)
            if was is not None:
                setattr(config.option, name, type(was)(value))

    def _environment(self) -> None:
        import shlex

        words = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        if words:
            kept, dropped = split_options(words)
            os.environ["PYTEST_ADDOPTS"] = " ".join(shlex.quote(word) for word in kept)
            self._channel.queue("dropped", options=dropped)
