"""Post a bundle on a pull request, and nothing twice: the code that is the same for all hosts."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchSet

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Judgement, Suggestion
from coderefine.publishers.hosts.comments import is_alike, settled, summary

MOST = 30
"""Maximum number of inline suggestions on one pull request."""
ROUNDS = 4
"""Number of tries when the host is busy; each first reads the existing comments."""
PATIENCE = 90.0
"""Maximum seconds to wait for a rate limit, in all tries together."""
Region = Mapping[int, str]
T = TypeVar("T")


class MovedError(PublishError):
    """The pull request was closed or has a new head: nothing may be posted on it."""


class ForbiddenError(PublishError):
    """The token lacks the permission; this part of the posting is skipped, the next part is tried."""


class MissingError(PublishError):
    """The host does not have the requested object, or no longer has it."""


class InvalidError(PublishError):
    """The host understood the request and refused it."""


class BusyError(PublishError):
    """A fault of the server, a rate limit or a broken connection: the same request may succeed later.

    `wait`: seconds that the host asks to wait; 0 if it gives none.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Posted:
    """A comment that coderefine has posted before.

    `line`: its last line at the head; 0 if its lines changed, so that the host no longer lets users apply the
    suggestion. `replied`: there is an answer to it, so it must not be deleted.
    """

    id: str
    fingerprint: str
    line: int
    thread: str = ""
    replied: bool = False
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class CommentPlan:
    """The suggestions to `post`, and the `stale` comments, which are removed or, if they have answers, resolved."""

    post: tuple[Suggestion, ...] = ()
    stale: tuple[Posted, ...] = ()

    @property
    def remove(self) -> tuple[Posted, ...]:
        return tuple(one for one in self.stale if not one.replied)

    @property
    def resolve(self) -> tuple[Posted, ...]:
        return tuple(one for one in self.stale if one.replied and not one.resolved)

    def __bool__(self) -> bool:
        return bool(self.post or self.remove or self.resolve)


def plan(wanted: Iterable[Suggestion], posted: Iterable[Posted]) -> CommentPlan:
    """Compare suggestions and posted comments by fingerprint and line; return what to post and to remove.

    Of two equal comments, the older one stays. A suggestion whose comment was resolved is not posted again, wherever
    the comment is.
    """
    left = _places(wanted)
    standing, stale = 0, []
    for comment in sorted(posted, key=lambda one: one.resolved):
        equal = (place for place in left if place[0] == comment.fingerprint)
        place = next((place for place in equal if comment.resolved or place[1] == comment.line), None)
        if place:
            left.pop(place)
            standing += 1
        else:
            stale.append(comment)
    return CommentPlan(tuple(left.values())[: max(0, MOST - standing)], tuple(stale))


def _places(wanted: Iterable[Suggestion]) -> dict[tuple[str, int], Suggestion]:
    """Return the suggestions by fingerprint and last line: two places of a file may need the same repair."""
    return {(one.fingerprint, one.last): one for one in wanted}


@dataclass(slots=True, kw_only=True)
class Host(ABC):
    """Posts a bundle on one pull request; a subclass for each kind of host sends the requests.

    `fetch`: command that downloads a patch which is too long to show. `distrust`: add the remark that the artifact was
    made by a run that others control. `style`: also post a patch that repairs only style. `head`: the commit on which
    the patch was proved. `done`: what was posted, as texts.
    """

    fetch: str = ""
    distrust: bool = False
    style: bool = False
    sleep: Callable[[float], None] = time.sleep
    head: str = ""
    done: list[str] = field(default_factory=list)

    def publish(self, bundle: Bundle) -> str:
        """Post the bundle, and return one line that lists what was posted.

        Raises PublishError if the host refuses even after retries.
        """
        return patiently(lambda: self._published(bundle), self.sleep)

    def _published(self, bundle: Bundle) -> str:
        self.done = []
        try:
            with self.translated():
                self._post(bundle)
        except MovedError as moved:
            return f"{self.label}: {moved}"
        return f"{self.label}: {'; '.join(self.done) or 'nothing to change'}"

    def _post(self, bundle: Bundle) -> None:
        self.head = bundle.head
        self.check_head()
        if judgement := bundle.judgement:
            self.attempt(lambda: self.judge(judgement), "verdict")
        old = self.find_summary()
        if settled(old, bundle, distrust=self.distrust):
            return
        posted = list(self.posted())
        offered = bundle.offered(style=self.style)
        wanted = self.fitting(offered) if offered else ()
        todo = plan(wanted, posted)
        inline = min(MOST, len(_places(wanted)))
        if todo or not is_alike(self._summary(bundle, inline), old):
            self.check_head()
        self._tidy(todo)
        refused = self.suggest(todo.post) if todo.post else 0
        new = self._summary(bundle, inline - refused)
        if not is_alike(new, old):
            verb = "removed" if not new else "updated" if old else "posted"
            self.attempt(lambda: self.write_summary(new), "summary", f"summary {verb}", deleting=not new)
        self.finish(bundle)

    def _tidy(self, todo: CommentPlan) -> None:
        removed = sum(self.attempt(partial(self.remove, one), "removal", deleting=True) for one in todo.remove)
        if removed:
            self.done.append(f"{removed} stale removed")
        if todo.resolve:
            self.attempt(lambda: self.resolve(todo.resolve), "resolving")

    def _summary(self, bundle: Bundle, inline: int) -> str:
        """Return the summary comment; "" where there is nothing to post."""
        if not bundle.has_content(style=self.style):
            return ""
        return summary(bundle, self.checkout, inline=inline, fetch=self.fetch, distrust=self.distrust)

    def attempt(self, act: Callable[[], object], what: str, done: str = "", *, deleting: bool = False) -> bool:
        """Call `act`, add the text `done` to `self.done`, and return True.

        If the host refuses, add a text about `what` instead, and return False. `deleting`: add no text if the object is
        missing, because it need not be deleted.
        """
        try:
            with self.translated():
                act()
        except (ForbiddenError, MissingError) as error:
            if not (deleting and isinstance(error, MissingError)):
                self.done.append(f"no {what} ({error})")
            return False
        if done:
            self.done.append(done)
        return True

    def translated(self) -> contextlib.AbstractContextManager[None]:
        """Convert the errors of the host's library to those of this module."""
        return contextlib.nullcontext()

    def finish(self, bundle: Bundle) -> None:  # noqa: B027 - a host may have nothing more
        """Post what only this kind of host supports, if anything."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the name of the pull request for messages."""

    @property
    @abstractmethod
    def checkout(self) -> str:
        """Return the command that checks the pull request out."""

    @abstractmethod
    def check_head(self) -> None:
        """Raise MovedError when the pull request is closed, or its head is not the commit that was proved."""

    @abstractmethod
    def judge(self, judgement: Judgement) -> None:
        """Post the verdict on the pull request itself as a check of its head, unless an equal one exists."""

    @abstractmethod
    def find_summary(self) -> str:
        """Return our own summary comment; "" for none."""

    @abstractmethod
    def write_summary(self, text: str) -> None:
        """Post or change our summary comment; delete it if `text` is ""."""

    @abstractmethod
    def posted(self) -> Iterable[Posted]:
        """Return our own inline comments: with our mark, and written by this token's user (anyone can copy a mark)."""

    @abstractmethod
    def fitting(self, offered: Sequence[Suggestion]) -> Sequence[Suggestion]:
        """Return the suggestions whose lines are in the pull request's diff; the host accepts no comments elsewhere."""

    @abstractmethod
    def remove(self, stale: Posted) -> None:
        """Delete a comment."""

    @abstractmethod
    def resolve(self, answered: Sequence[Posted]) -> None:
        """Mark the threads of these comments as resolved; add to `done` how many were resolved."""

    @abstractmethod
    def suggest(self, fresh: Sequence[Suggestion]) -> int:
        """Post inline suggestions; return how many of them the host refused."""


def patiently(act: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Return the result of `act`; while the host is busy, call it again after the time that the host requests.

    Raises PublishError if the host stays busy.
    """
    waited = 0.0
    for tried in range(1, ROUNDS + 1):
        try:
            return act()
        except BusyError as busy:
            last, wait = busy, busy.wait or 2.0**tried
        waited += wait
        if tried == ROUNDS or waited > PATIENCE:
            break
        sleep(wait)
    raise PublishError(f"{last}; gave up, run again later")


def regions(patch: str) -> tuple[Region, ...]:
    """Return, for each hunk of a file's diff, its lines in the new file, by line number; () for a malformed diff."""
    return tuple(
        {line.target_line_no: line.value.removesuffix("\n").removesuffix("\r") for line in hunk if line.target_line_no}
        for hunk in _hunks(patch)
    )


def unchanged(patch: str) -> Mapping[int, int]:
    """Return the old line number of each unchanged line in the hunks, by its new line number."""
    lines = (line for hunk in _hunks(patch) for line in hunk if line.is_context)
    return {line.target_line_no: line.source_line_no for line in lines if line.target_line_no and line.source_line_no}


def _hunks(patch: str) -> list[Hunk]:
    """Return the hunks of a file's diff, which has no header."""
    try:
        return [hunk for file in PatchSet.from_string(f"--- a\n+++ b\n{patch}\n") for hunk in file]
    except UnidiffParseError:
        return []


def fits(suggestion: Suggestion, places: tuple[Region, ...]) -> bool:
    """Return whether one hunk contains all lines that the suggestion replaces, with their old text.

    `places`: for each hunk, the text of its lines by line number.
    """
    wanted = dict(zip(range(suggestion.first, suggestion.last + 1), suggestion.old, strict=True))
    return any(all(region.get(line) == text for line, text in wanted.items()) for region in places)
