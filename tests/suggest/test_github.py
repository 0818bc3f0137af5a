"""The GitHub publisher against a stateful GitHub: idempotent, quiet, and never worse off for a fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Note, Suggestion
from coderefine.publishers.hosts.comments import mark, summary
from coderefine.publishers.hosts.github_api import Api
from coderefine.publishers.hosts.github_host import GitHub, find_pull
from coderefine.publishers.hosts.host import ROUNDS
from tests.support.github_fake import BOT, Fake, Fault, served
from tests.support.repo import git, make_repo, write

pytest.importorskip("github")
BODY = "".join(f"line {n}\n" for n in range(1, 61))


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    """A pull request that changes lines 5 and 40 of a.py: two hunks."""
    top = make_repo(tmp_path / "r", {"a.py": BODY})
    base = git(top, "rev-parse", "HEAD")
    write(top, {"a.py": BODY.replace("line 5\n", "five\n").replace("line 40\n", "forty\n")})
    git(top, "commit", "-qam", "topic")
    with served(Fake(top, base)) as one:
        yield one


def suggestion(line: int, old: str, *, last: int = 0, rules: tuple[str, ...] = ("pytest/failed",)) -> Suggestion:
    lines = (old,) if not last else (old, *(f"line {n}" for n in range(line + 1, last + 1)))
    return Suggestion("a.py", line, last or line, lines, (f"{old}!",), rules, "mends it")


FIVE, FORTY = suggestion(5, "five"), suggestion(40, "forty", last=42)


def bundle(fake: Fake, *suggestions: Suggestion, notes: int = 0) -> Bundle:
    left = tuple(Note("a.py", n + 1, n + 1, "ruff/F401", f"note {n}") for n in range(notes))
    return Bundle(fake.head, fake.base, "sum", "proof", "diff --git a/a.py\n", True, suggestions, left)


def publish(fake: Fake, what: Bundle, *, distrust: bool = False) -> str:
    waits: list[float] = []
    bot = GitHub(Api.connect("t", fake.url, pace=0), "o/r", 1, sleep=waits.append, distrust=distrust)
    return bot.publish(what)


def test_one_review_one_summary_one_check_run_then_silence(fake: Fake) -> None:
    result = publish(fake, bundle(fake, FIVE, FORTY))
    assert "2 suggested; summary posted; check run written" in result
    assert [(one.get("start_line"), one["line"]) for one in fake.comments] == [(None, 5), (40, 42)]
    assert len([one for one in fake.writes if one[1].endswith("reviews")]) == 1
    before = list(fake.writes)
    assert publish(fake, bundle(fake, FIVE, FORTY)).endswith("nothing to change")
    assert fake.writes == before


def test_the_same_patch_is_not_posted_again_for_another_measured_strength(fake: Fake) -> None:
    """On a busy machine fewer mutants are tried: `strength 3/3`, then `7/7`."""
    publish(fake, bundle(fake, FIVE))
    before = list(fake.writes)
    assert publish(fake, replace(bundle(fake, FIVE), evidence="strength 7/7")).endswith("nothing to change")
    assert fake.writes == before


@pytest.mark.parametrize(
    "lost",
    [suggestion(20, "line 20"), suggestion(8, "line 8", last=38), suggestion(5, "other"), replace(FIVE, path="b.py")],
    ids=["outside the diff", "over two hunks", "reads otherwise", "no such file"],
)
def test_suggestions_that_github_would_refuse_are_not_sent(lost: Suggestion, fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE, lost))
    assert len(fake.comments) == 1
    assert not [one for one in fake.log if one[2] == 422]


def test_the_fake_itself_refuses_a_range_over_two_hunks(fake: Fake) -> None:
    status, _ = fake.answer(
        "POST",
        "/repos/o/r/pulls/1/reviews",
        {},
        {
            "commit_id": fake.head,
            "event": "COMMENT",
            "comments": [{"path": "a.py", "start_line": 5, "line": 40, "body": "x"}],
        },
    )
    assert status == 422


def test_after_a_push_moved_comments_stay_and_stale_ones_are_removed(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE, FORTY))
    kept = fake.comments[0]["id"]
    text = (fake.top / "a.py").read_text().replace("forty\n", "line 40\n")
    (fake.top / "a.py").write_text("new\n" + text)
    git(fake.top, "commit", "-qam", "push")
    publish(fake, bundle(fake, replace(FIVE, first=6, last=6)))
    assert [one["id"] for one in fake.comments] == [kept]
    assert len(fake.notes) == 1
    assert fake.head[:10] in fake.notes[0]["body"]


def test_a_suggestion_with_another_indentation_replaces_the_earlier_one(fake: Fake) -> None:
    """The comment of the earlier head stayed; the suggestion that was proved on this head was not posted."""
    publish(fake, bundle(fake, FIVE))
    git(fake.top, "commit", "-q", "--allow-empty", "-m", "push")
    publish(fake, bundle(fake, replace(FIVE, new=("    five!",))))
    (comment,) = fake.comments
    assert "\n    five!\n" in comment["body"]


def test_equal_repairs_at_two_places_of_a_file_are_both_suggested(fake: Fake) -> None:
    """Only the last of the two places got a suggestion; if one is accepted, the other one stays."""
    write(fake.top, {"a.py": BODY.replace("line 5\n", "same\n").replace("line 40\n", "same\n")})
    git(fake.top, "commit", "-qam", "same")
    five, forty = suggestion(5, "same"), suggestion(40, "same")
    assert "2 suggested" in publish(fake, bundle(fake, five, forty))
    assert [one["line"] for one in fake.comments] == [5, 40]
    assert "2 of its pieces" in fake.notes[0]["body"]
    before = len(fake.writes)
    assert publish(fake, bundle(fake, five, forty)).endswith("nothing to change")
    assert len(fake.writes) == before
    kept = fake.comments[1]["id"]
    fake.accept(fake.comments[0])
    git(fake.top, "commit", "-qam", "accepted")
    publish(fake, bundle(fake, forty))
    assert [one["id"] for one in fake.comments] == [kept]


def test_an_answered_remark_is_resolved_not_removed(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE))
    fake.comment("why?", login="ann", reply=fake.comments[0]["id"])
    result = publish(fake, bundle(fake))
    assert "1 answered ones resolved" in result
    assert fake.resolved == {fake.comments[0]["id"]}
    assert len(fake.comments) == 2
    assert publish(fake, bundle(fake)).endswith("nothing to change")


def test_marks_written_by_other_users_are_ignored(fake: Fake) -> None:
    fake.comment(mark(FIVE), login="mallory")
    fake.comment("<!-- coderefine:" + "0" * 32 + " -->", login="mallory")
    publish(fake, bundle(fake, FIVE))
    assert [one["user"]["login"] for one in fake.comments] == ["mallory", "mallory", BOT]


@pytest.mark.parametrize("foreign", [False, True])
def test_another_patch_for_the_same_commit_is_not_posted(foreign: bool, fake: Fake) -> None:
    """A second search may prove another patch; it is posted only if the evidence is now trusted, or no longer is."""
    publish(fake, bundle(fake, FIVE), distrust=foreign)
    writes = len(fake.writes)
    other = replace(bundle(fake, suggestion(5, "five", rules=("other",))), patch="another\n")
    publish(fake, other, distrust=foreign)
    assert len(fake.writes) == writes
    publish(fake, other, distrust=not foreign)
    assert len(fake.writes) > writes


def test_all_is_taken_back_when_nothing_is_left(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE))
    publish(fake, Bundle(fake.head, fake.base))
    assert fake.comments == fake.notes == []
    assert fake.runs[-1]["conclusion"] == "success"


@pytest.mark.parametrize("how", ["closed", "pushed"])
def test_nothing_on_a_pull_request_that_moved_on(how: str, fake: Fake) -> None:
    what = bundle(fake, FIVE)
    if how == "closed":
        fake.state = "closed"
    else:
        git(fake.top, "commit", "-q", "--allow-empty", "-m", "x")
    assert "nothing posted" in publish(fake, what)
    assert fake.writes == []


@pytest.mark.parametrize("when", [2, 3, 4])
def test_nothing_when_the_head_moves_between_two_requests(when: int, fake: Fake) -> None:
    what = bundle(fake, FIVE)
    asked: list[str] = []

    def push(_verb: str, path: str) -> None:
        asked.append(path)
        if len(asked) == when:
            git(fake.top, "commit", "-q", "--amend", "-m", "forced")

    fake.before = push
    assert "moved" in publish(fake, what)
    assert fake.writes == []


REVIEWS, NOTES, RUNS = r"/reviews$", r"/issues/1/comments$", r"/check-runs$"
LIMITED = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", r"/pulls/1$", 500),
        Fault("GET", r"/pulls/1/files$", 503),
        Fault("POST", REVIEWS, 502),
        Fault("POST", REVIEWS, 502, after=True),
        Fault("POST", NOTES, 504, after=True),
        Fault("POST", RUNS, 500, after=True),
        Fault("POST", REVIEWS, 429, {"retry-after": "1"}),
        Fault("POST", REVIEWS, 403, {"retry-after": "1"}, "You have exceeded a secondary rate limit"),
        Fault("GET", r"/issues/1/comments$", 403, LIMITED, "API rate limit exceeded"),
    ],
    ids=lambda fault: f"{fault.verb} {fault.path} {fault.status}{' done all the same' * fault.after}",
)
def test_a_passing_fault_costs_nothing_and_doubles_nothing(fault: Fault, fake: Fake) -> None:
    fake.faults = [fault]
    publish(fake, bundle(fake, FIVE, FORTY))
    assert (len(fake.comments), len(fake.notes), len(fake.runs)) == (2, 1, 1)


def test_a_permanent_fault_is_an_error_with_its_reason(fake: Fake) -> None:
    fake.faults = [Fault("GET", r"/pulls/1$", 500) for _ in range(9)]
    with pytest.raises(PublishError, match=r"500 .* gave up"):
        publish(fake, bundle(fake, FIVE))


def test_a_rate_limit_of_an_hour_is_not_waited_for(fake: Fake) -> None:
    fake.faults = [Fault("GET", r"/pulls/1$", 403, {"retry-after": "3600"}, "API rate limit exceeded")]
    with pytest.raises(PublishError, match="run again later"):
        publish(fake, bundle(fake, FIVE))


@pytest.mark.parametrize(
    ("path", "left"),
    [(REVIEWS, (0, 1, 1)), (NOTES, (1, 0, 1)), (RUNS, (1, 1, 0))],
    ids=["review", "summary", "check run"],
)
def test_posts_without_permission_are_left_out_and_reported(path: str, left: tuple[int, int, int], fake: Fake) -> None:
    fake.faults = [Fault("POST", path, 403, message="Resource not accessible by integration")]
    assert "not accessible" in publish(fake, bundle(fake, FIVE))
    assert (len(fake.comments), len(fake.notes), len(fake.runs)) == left


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_a_review_that_is_refused_is_posted_one_by_one_and_counted_honestly(refused: int, fake: Fake) -> None:
    singles = [Fault("POST", r"/pulls/1/comments$", 422) for _ in range(refused)]
    fake.faults = [Fault("POST", REVIEWS, 422, message="line must be part of the diff"), *singles]
    result = publish(fake, bundle(fake, FIVE, FORTY))
    assert len(fake.comments) == 2 - refused
    assert (f"{refused} refused" in result) == bool(refused)
    (note,) = fake.notes
    counts = {0: "2 of its pieces pass alone", 1: "1 of its pieces passes alone", 2: None}
    assert ("pieces" in note["body"]) == (refused < 2)
    assert (counts[refused] or "") in note["body"]
    result = publish(fake, bundle(fake, FIVE, FORTY))
    assert len(fake.comments) == 2
    assert ("suggested" in result) == bool(refused)


def test_suggestions_that_are_not_inline_are_not_reported_as_posted(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE, suggestion(20, "line 20")))
    assert "1 of its pieces passes alone" in fake.notes[0]["body"]
    publish(fake, bundle(fake, suggestion(20, "line 20")))
    assert "pieces" not in fake.notes[0]["body"]


@pytest.mark.parametrize(
    ("login", "viewer"), [(BOT, True), (BOT, False), ("ann", True), ("ann", False), ("our-app[bot]", True)]
)
def test_every_kind_of_token_recognises_its_own_comments(login: str, viewer: bool, fake: Fake) -> None:
    fake.login, fake.viewer = login, viewer
    publish(fake, bundle(fake, FIVE))
    before = len(fake.writes)
    assert publish(fake, bundle(fake, FIVE)).endswith("nothing to change")
    assert len(fake.writes) == before


def test_a_remark_that_cannot_be_accepted_any_more_is_posted_anew(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE, FORTY))
    old = [one["id"] for one in fake.comments]
    text = (fake.top / "a.py").read_text()
    (fake.top / "a.py").write_text(text.replace("five\n", "fiv\n"))
    git(fake.top, "commit", "-qam", "away")
    (fake.top / "a.py").write_text(text)
    fake.origins[old[0]] = (fake.head, 5, 5)  # GitHub looked while the line was another
    git(fake.top, "commit", "-qam", "and back")
    assert "1 suggested" in publish(fake, bundle(fake, FIVE, FORTY))
    assert [one["id"] in old for one in fake.comments] == [True, False]
    assert publish(fake, bundle(fake, FIVE, FORTY)).endswith("nothing to change")


def test_after_a_forced_push_of_something_else_nothing_stale_is_left(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE, FORTY))
    git(fake.top, "reset", "-q", "--hard", fake.base)
    write(fake.top, {"a.py": BODY.replace("line 9\n", "nine\n")})
    git(fake.top, "commit", "-qam", "another topic")
    publish(fake, bundle(fake, suggestion(9, "nine")))
    assert [one["line"] for one in fake.comments] == [9]
    assert len(fake.notes) == 1
    assert fake.runs[-1]["head_sha"] == fake.head


def test_a_foreign_artifact_vouches_for_nothing(fake: Fake) -> None:
    publish(fake, bundle(fake, FIVE), distrust=True)
    assert "own run reports it ran all tests" in fake.comments[0]["body"]
    assert "its author controls" in fake.notes[0]["body"]
    publish(fake, Bundle(fake.head, fake.base), distrust=True)
    assert {one["conclusion"] for one in fake.runs} == {"neutral"}
    assert "its author controls" in fake.runs[-1]["output"]["summary"]


@pytest.mark.parametrize("sign", ["\x1b[201~", "\r", "\u202e", "\x00", "\x7f"])
def test_a_patch_with_invisible_characters_is_not_shown_for_pasting(sign: str, fake: Fake) -> None:
    what = replace(bundle(fake), patch=f"+x = 1 # {sign}\n")
    text = summary(what, "gh pr checkout 7")
    assert sign not in text
    assert "gh pr checkout 7 && coderefine fix" in text
    assert "git apply <<" in summary(bundle(fake), "gh pr checkout 7")


def test_the_patch_cannot_contain_the_end_of_the_command(fake: Fake) -> None:
    text = summary(replace(bundle(fake), patch="+x\nEND_0\nrm -rf ~\n```\n"), "gh pr checkout 7")
    end = text.split("git apply <<'")[1].split("'")[0]
    assert text.count(f"\n{end}\n") == 1
    assert text.index("rm -rf ~") < text.index(f"\n{end}\n")
    assert "````sh" in text


@pytest.mark.parametrize(
    ("path", "line", "old", "posted"),
    [
        ("new.py", 30, "thirty", 1),
        ("new.py", 5, "line 5", 0),
        ("old.py", 30, "thirty", 0),
        ("gone.py", 1, "line 1", 0),
        ("data.bin", 1, "x", 0),
        ("win.py", 1, "crlf", 1),
        ("ü b.py", 1, "odd name", 1),
    ],
)
def test_renamed_deleted_binary_and_crlf_files(path: str, line: int, old: str, posted: int, fake: Fake) -> None:
    write(fake.top, {"old.py": BODY, "gone.py": BODY})
    git(fake.top, "add", "-A")
    git(fake.top, "commit", "-qm", "base")
    fake.base = fake.head
    git(fake.top, "mv", "old.py", "new.py")
    git(fake.top, "rm", "-q", "gone.py")
    write(fake.top, {"new.py": BODY.replace("line 30\n", "thirty\n"), "data.bin": b"\0\1x\n"})
    write(fake.top, {"win.py": b"crlf\r\n", "ü b.py": "odd name\n"})
    git(fake.top, "add", "-A")
    git(fake.top, "commit", "-qm", "topic")
    git(fake.top, "config", "core.quotePath", "false")
    publish(fake, bundle(fake, Suggestion(path, line, line, (old,), ("x",), ("pytest/failed",), "w")))
    assert len(fake.comments) == posted
    assert not [one for one in fake.log if one[2] == 422]
    assert ("suggested inline" in fake.notes[0]["body"]) == bool(posted)


def test_a_wrong_token_is_an_error(fake: Fake) -> None:
    fake.faults = [Fault("GET", r"/pulls/1$", 401, message="Bad credentials")]
    with pytest.raises(PublishError, match="401"):
        publish(fake, bundle(fake, FIVE))


def test_every_page_is_read(fake: Fake) -> None:
    for number in range(250):
        fake.comment(f"talk {number}", login="ann")
        fake.notes.append({"id": 10_000 + number, "body": "talk", "user": {"login": "ann"}})
    publish(fake, bundle(fake, FIVE))
    before = len(fake.writes)
    publish(fake, bundle(fake, FIVE))
    assert len(fake.writes) == before


def test_300_files_and_3000_lines(fake: Fake) -> None:
    """300 files of 10 lines each; their list has three pages."""
    write(fake.top, {f"pkg/m{n}.py": "x = 1\n" * 10 for n in range(300)})
    git(fake.top, "add", "-A")
    git(fake.top, "commit", "-qm", "many")
    many = tuple(
        Suggestion(f"pkg/m{n}.py", 3, 3, ("x = 1",), (f"x = {n}",), ("pytest/failed",), "w") for n in range(200, 300)
    )
    publish(fake, bundle(fake, *many))
    assert len(fake.comments) == 30
    assert len(fake.log) < 15


def test_a_file_without_a_diff_on_github_has_no_remark(fake: Fake) -> None:
    """Diffs of thousands of lines come without `patch`; the summary still has the whole."""
    write(fake.top, {"a.py": BODY.replace("line 5\n", "five\n") + "x = 1\n" * 3000})
    git(fake.top, "commit", "-qam", "much")
    fake.seen = (fake.head, [{key: one[key] for key in one if key != "patch"} for one in fake.files()])
    publish(fake, bundle(fake, FIVE))
    assert fake.comments == []
    assert "git apply <<" in fake.notes[0]["body"]
    assert "pieces" not in fake.notes[0]["body"]


def test_a_patch_too_long_to_show_has_a_command_that_fetches_it(fake: Fake) -> None:
    long = replace(bundle(fake, FIVE), patch="+x\n" * 300_000)
    bot = GitHub(Api.connect("t", fake.url, pace=0), "o/r", 1, fetch="gh run download 5 && git am")
    bot.publish(long)
    assert "gh run download 5" in fake.notes[0]["body"]
    assert len(fake.notes[0]["body"]) < 2_000


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("times", [1, ROUNDS])
def test_annotations_after_a_fault_are_complete(times: int, after: bool, fake: Fake) -> None:
    """The check run was taken for complete, so the annotations from the 51st on were never written."""
    fake.faults = [Fault("PATCH", r"/check-runs/", 502, after=after and not at) for at in range(times)]
    with nullcontext() if times < ROUNDS else pytest.raises(PublishError):
        publish(fake, bundle(fake, notes=120))
    publish(fake, bundle(fake, notes=120))
    (run,) = fake.runs
    assert [one["message"] for one in run["annotations"]] == [f"note {n}" for n in range(120)]
    assert publish(fake, bundle(fake, notes=120)).endswith("nothing to change")


def test_annotations_are_sent_fifty_at_a_time(fake: Fake) -> None:
    publish(fake, bundle(fake, notes=120))
    (run,) = fake.runs
    assert [one["message"] for one in run["annotations"]] == [f"note {n}" for n in range(120)]


def test_a_pull_request_is_found_by_the_head_of_the_event(fake: Fake) -> None:
    api = Api.connect("t", fake.url, pace=0)
    assert find_pull(api, "o/r", fake.head, "fork:topic") == 1
    assert find_pull(api, "o/r", "f" * 40, "fork:topic") is None
    assert find_pull(api, "o/r", fake.head) == 1
    assert find_pull(api, "o/r", "f" * 40) is None
    fake.state = "closed"
    assert find_pull(api, "o/r", fake.head) is None
