"""The GitLab publisher against its documented shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Suggestion
from coderefine.publishers.hosts.gitlab import GitLab, connect
from tests.support.gitlab_fake import Fake, served

pytest.importorskip("gitlab")
DIFF = "@@ -1,3 +1,4 @@\n a\n+b\n+c\n-x\n d\n"
ONE = Suggestion("new.py", 2, 3, ("b", "c"), ("B",), ("pytest/failed",), "mends it")
GOOD = Bundle("a" * 40, "b" * 40, "sum", "proof", "diff\n", True, (ONE,))


@pytest.fixture
def fake() -> Iterator[Fake]:
    with served(Fake([{"old_path": "old.py", "new_path": "new.py", "diff": DIFF}])) as one:
        yield one


def publish(fake: Fake, what: Bundle) -> str:
    return GitLab(connect("t", fake.url, "7"), 1).publish(what)


def test_a_discussion_a_note_and_silence(fake: Fake) -> None:
    assert publish(fake, GOOD) == "!1: 1 suggested; summary posted"
    (talk,) = fake.talks
    assert "```suggestion:-1+0\nB\n```" in talk["notes"][0]["body"]
    assert (talk["position"]["old_path"], talk["position"]["new_line"]) == ("old.py", 3)
    before = list(fake.writes)
    assert publish(fake, GOOD) == "!1: nothing to change"
    assert fake.writes == before


def test_what_is_stale_goes_and_what_was_answered_is_resolved(fake: Fake) -> None:
    other = replace(ONE, new=("C",))
    publish(fake, replace(GOOD, suggestions=(ONE, other)))
    fake.talks[0]["notes"].append({"id": 99, "body": "why?", "author": {"username": "ann"}})
    publish(fake, Bundle("a" * 40, "b" * 40))
    assert [talk["notes"][0]["resolved"] for talk in fake.talks] == [True]
    assert fake.notes == []
    writes = len(fake.writes)
    publish(fake, Bundle("a" * 40, "b" * 40))
    assert len(fake.writes) == writes


@pytest.mark.parametrize("how", [{"state": "merged"}, {"head": "c" * 40}])
def test_nothing_on_a_merge_request_that_moved_on(how: dict[str, str], fake: Fake) -> None:
    for name, value in how.items():
        setattr(fake, name, value)
    assert "nothing posted" in publish(fake, GOOD)
    assert fake.writes == []


def test_a_refusal_is_an_error_that_says_so(fake: Fake) -> None:
    with pytest.raises(PublishError, match="GitLab refused"):
        GitLab(connect("t", fake.url, "8"), 1).publish(GOOD)
