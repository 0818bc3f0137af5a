"""The GitLab publisher against its documented shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import PROVED, UNPROVED, VERDICT, WORSE, Bundle, Judgement, Suggestion
from coderefine.publishers.hosts.gitlab_host import GitLab, client
from tests.support.github_fake import Fault
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
    waits: list[float] = []
    return GitLab(client("t", fake.url).projects.get("7", lazy=True), 1, sleep=waits.append).publish(what)


def test_a_discussion_a_note_and_silence(fake: Fake) -> None:
    assert publish(fake, GOOD) == "!1: 1 suggested; summary posted"
    (talk,) = fake.talks
    assert "```suggestion:-1+0\nB\n```" in talk["notes"][0]["body"]
    assert (talk["position"]["old_path"], talk["position"]["new_line"]) == ("old.py", 3)
    before = list(fake.writes)
    assert publish(fake, GOOD) == "!1: nothing to change"
    assert fake.writes == before


@pytest.mark.parametrize(
    ("found", "distrust", "state"),
    [(PROVED, False, "success"), (PROVED, True, "skipped"), (UNPROVED, False, "skipped"), (WORSE, True, "failed")],
)
def test_a_verdict_is_one_commit_status(found: str, state: str, *, distrust: bool, fake: Fake) -> None:
    what = Bundle("a" * 40, "b" * 40, judgement=Judgement(found, "as decided"))
    for result in (f"!1: verdict: {found}", "!1: nothing to change"):
        assert GitLab(client("t", fake.url).projects.get("7", lazy=True), 1, distrust=distrust).publish(what) == result
    (status,) = fake.statuses
    assert (status["name"], status["state"], status["description"]) == (VERDICT, state, "as decided")


def test_stale_comments_are_removed_and_answered_ones_resolved(fake: Fake) -> None:
    other = replace(ONE, new=("C",))
    publish(fake, replace(GOOD, suggestions=(ONE, other)))
    fake.talks[0]["notes"].append({"id": 99, "body": "why?", "author": {"username": "ann"}})
    publish(fake, Bundle("a" * 40, "b" * 40))
    assert [talk["notes"][0]["resolved"] for talk in fake.talks] == [True]
    assert fake.notes == []
    writes = len(fake.writes)
    publish(fake, Bundle("a" * 40, "b" * 40))
    assert len(fake.writes) == writes


def test_another_patch_for_the_same_commit_is_not_posted(fake: Fake) -> None:
    publish(fake, GOOD)
    writes = len(fake.writes)
    publish(fake, replace(GOOD, patch="another\n", suggestions=(replace(ONE, new=("C",)),)))
    assert len(fake.writes) == writes


@pytest.mark.parametrize("how", [{"state": "merged"}, {"head": "c" * 40}])
def test_nothing_on_a_merge_request_that_moved_on(how: dict[str, str], fake: Fake) -> None:
    for name, value in how.items():
        setattr(fake, name, value)
    assert "nothing posted" in publish(fake, GOOD)
    assert fake.writes == []


def test_a_refusal_is_an_error_with_its_reason(fake: Fake) -> None:
    with pytest.raises(PublishError, match="GitLab refused"):
        GitLab(client("t", fake.url).projects.get("8", lazy=True), 1).publish(GOOD)


def test_a_line_that_only_surrounds_a_change_is_named_by_both_numbers(fake: Fake) -> None:
    around = replace(ONE, first=4, last=4, old=("d",), new=("D",))
    publish(fake, replace(GOOD, suggestions=(ONE, around)))
    places = [talk["position"] for talk in fake.talks]
    assert [(place.get("old_line"), place["new_line"]) for place in places] == [(None, 3), (3, 4)]


def test_a_suggestion_reaches_a_hundred_lines_back_and_no_further(fake: Fake) -> None:
    lines = tuple(f"x{n}" for n in range(102))
    fake.changes[0]["diff"] = "@@ -0,0 +1,102 @@\n" + "".join(f"+{line}\n" for line in lines)
    within = replace(ONE, first=2, last=102, old=lines[1:])
    publish(fake, replace(GOOD, suggestions=(within, replace(ONE, first=1, last=102, old=lines))))
    (talk,) = fake.talks
    assert "suggestion:-100+0" in talk["notes"][0]["body"]
    assert "1 of its pieces passes alone" in fake.notes[0]["body"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", r"/merge_requests/1$", 502),
        Fault("GET", r"/diffs$", 500),
        Fault("POST", r"/discussions$", 503),
        Fault("POST", r"/discussions$", 502, after=True),
        Fault("POST", r"/notes$", 500, after=True),
        Fault("POST", r"/discussions$", 429, {"Retry-After": "0"}),
    ],
    ids=lambda fault: f"{fault.verb} {fault.path} {fault.status}{' done all the same' * fault.after}",
)
def test_a_passing_fault_costs_nothing_and_doubles_nothing(fault: Fault, fake: Fake) -> None:
    fake.faults = [fault]
    publish(fake, GOOD)
    assert (len(fake.talks), len(fake.notes), fake.faults) == (1, 1, [])


def test_a_permanent_fault_is_an_error_with_its_reason(fake: Fake) -> None:
    fake.faults = [Fault("GET", r"/merge_requests/1$", 500) for _ in range(4)]
    with pytest.raises(PublishError, match="500"):
        publish(fake, GOOD)
    assert fake.faults == []


@pytest.mark.parametrize(
    ("path", "left"), [(r"/discussions$", (0, 1)), (r"/notes$", (1, 0))], ids=["suggestion", "summary"]
)
@pytest.mark.parametrize("status", [400, 403, 422])
def test_suggestions_that_gitlab_refuses_are_left_out_and_reported(
    path: str, left: tuple[int, int], status: int, fake: Fake
) -> None:
    fake.faults = [Fault("POST", path, status, message="no")]
    assert f"{status}: no)" in publish(fake, GOOD)
    assert (len(fake.talks), len(fake.notes)) == left
    assert all("pieces" not in note["body"] for note in fake.notes)
    publish(fake, GOOD)
    assert (len(fake.talks), len(fake.notes)) == (1, 1)


def test_nothing_when_the_head_moves_while_it_looks(fake: Fake) -> None:
    def push(_verb: str, path: str) -> None:
        if path.endswith("/diffs"):
            fake.head = "c" * 40

    fake.before = push
    assert "moved" in publish(fake, GOOD)
    assert fake.writes == []


def test_every_page_is_read(fake: Fake) -> None:
    fake.changes = [{"old_path": f"m{n}.py", "new_path": f"m{n}.py", "diff": DIFF} for n in range(250)] + fake.changes
    for n in range(250):
        note = {"id": 1000 + n, "body": "talk", "author": {"username": "ann"}}
        fake.talks.append({"id": f"t{n}", "notes": [note]})
        fake.notes.append({**note, "id": 2000 + n})
    assert publish(fake, GOOD) == "!1: 1 suggested; summary posted"
    writes = len(fake.writes)
    assert publish(fake, GOOD) == "!1: nothing to change"
    assert len(fake.writes) == writes


def test_after_a_push_moved_comments_stay_and_outdated_ones_are_posted_anew(fake: Fake) -> None:
    other = replace(ONE, new=("C",))
    publish(fake, replace(GOOD, suggestions=(ONE, other)))
    ids = [talk["id"] for talk in fake.talks]
    fake.head = "c" * 40
    fake.talks[0]["notes"][0]["position"]["head_sha"] = fake.head
    publish(fake, replace(GOOD, head=fake.head, suggestions=(ONE, other)))
    assert [talk["id"] in ids for talk in fake.talks] == [True, False]


def test_marks_written_by_other_users_are_ignored(fake: Fake) -> None:
    publish(fake, GOOD)
    for thing in (fake.talks[0]["notes"][0], fake.notes[0]):
        thing["author"] = {"username": "mallory"}
    publish(fake, Bundle("a" * 40, "b" * 40))
    assert (len(fake.talks), len(fake.notes)) == (1, 1)
