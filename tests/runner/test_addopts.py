"""Which of the project's options are kept."""

from __future__ import annotations

import shlex

import pytest

from coderefine.runner.agent.addopts import split_options


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        ("", "", ""),
        ("-n auto", "", "-n auto"),
        ("-n4 --dist loadgroup", "", "-n4 --dist loadgroup"),
        ("--cov", "", "--cov"),
        ("--cov src --cov-report=xml", "", "--cov src --cov-report=xml"),
        ("--cov --doctest-modules", "--doctest-modules", "--cov"),
        ("-m 'not slow' -x", "-m 'not slow'", "-x"),
        ("-k lf", "-k lf", ""),
        ("-W error -p no:cacheprovider", "-W error -p no:cacheprovider", ""),
        ("-xvs", "-s", "-xv"),
        ("-s", "-s", ""),
        ("-qq -ra -rfE", "", "-qq -ra -rfE"),
        (
            "--strict-markers --import-mode=importlib --tb=short",
            "--strict-markers --import-mode=importlib",
            "--tb=short",
        ),
        ("--ignore=tests/slow tests/unit --lf", "--ignore=tests/slow tests/unit", "--lf"),
        ("--randomly-seed=7 --junitxml out.xml", "", "--randomly-seed=7 --junitxml out.xml"),
        ("--runslow --timeout=5", "--runslow --timeout=5", ""),
        ("-n", "", "-n"),
        ("--setup-only --setup-plan --co --collect-only", "", "--setup-only --setup-plan --co --collect-only"),
    ],
)
def test_options_for_speed_or_output_only_are_dropped(text: str, kept: str, dropped: str) -> None:
    assert split_options(shlex.split(text)) == (shlex.split(kept), shlex.split(dropped))
