"""What counts as a secret, and that a cut leaves no part of one."""

from __future__ import annotations

import pytest

from coderefine import proc, sensitive
from coderefine.runner.agent import short_repr

HELD = {
    "DATABASE_URL": "plain", "DATABASE_URI": "postgres://ada:hunter2pass@db/x", "GH_PAT": "x", "STRIPE_KEY": "x",
    "MYSQL_PWD": "x", "MISTRAL_API_KEY": "x", "SENTRY_DSN": "x", "aws_secret": "x", "SSH_AUTH_SOCK": "/tmp/a",
    "DOCKER_HOST": "unix:///run/docker.sock", "NOTES": "use hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "CALLED": "https://example.org/?t=ghp_abcdefghijklmnopqrstuvwxyzABCDEF1234",
}  # fmt: skip
KEPT = {"PWD": "/", "OLDPWD": "/", "PATH": "/bin", "HOME": "/", "DATABASE_URL": "sqlite:///test.db", "KEYBOARD": "us"}


@pytest.mark.parametrize("name", HELD)
def test_secrets_are_kept_from_the_projects_programs(name: str) -> None:
    base = {name: HELD[name], "KEPT": "kept"}
    assert proc.clean_env(base=base) == {"KEPT": "kept"}
    assert proc.clean_env(base=base, passed=[name]) == base
    assert proc.clean_env(base=base, secrets=True) == base


def test_variables_without_secrets_are_passed_on() -> None:
    assert proc.clean_env(base=KEPT) == KEPT


TOKEN = "ghp_abcdefghijklmnopqrstuvwxyzABCDEF1234"
TEXTS = [f"{'word ' * before}{TOKEN}{' word' * 60}" for before in range(30)]
LOGIN = "postgres://ada:verylongpassword@db.example/x"


@pytest.mark.parametrize("text", [*TEXTS, f"{'word ' * 14}{LOGIN}{' word' * 60}"])
def test_a_cut_leaves_no_part_of_a_token(text: str) -> None:
    for cut in (sensitive.shortened(text, 80), short_repr.cut(text, short_repr.LENGTH), short_repr.Describer()(text)):
        secrets = [one for one in (TOKEN, LOGIN) if one in text]
        assert all(one in cut or one[:8] not in cut for one in secrets), cut
        assert all(one in cut or one[-8:] not in cut for one in secrets), cut


def test_ordinary_text_is_cut_as_before() -> None:
    assert sensitive.shortened("a" * 100, 80) == "a" * 79 + "…"
    assert sensitive.shortened("short", 80) == "short"
    assert short_repr.cut_any(b"word " * 100, 30) == b"word word word word  ... word word "


def test_an_end_of_no_characters_is_empty() -> None:
    assert sensitive.ends("word " * 30, 10, 0) == ("word word ", "")


def test_both_ends_of_the_wire_cut_alike() -> None:
    for text in TEXTS:
        for at in range(0, len(text), 7):
            assert short_repr.broken(text[:at], text[at:]) == sensitive.broken(text[:at], text[at:])
