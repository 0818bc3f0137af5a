"""The record of one run: files in `<git>/coderefine/runs/RUN/`, and the attempts as commits `refs/coderefine/RUN/N`."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from coderefine import __version__
from coderefine.core import EMPTY, Attempt, Outcome, Patch
from coderefine.errors import JournalError
from coderefine.git import EXECUTABLE, Repository, copy_index, read_files, scratch, snapshot, untracked_files
from coderefine.journal import storage
from coderefine.journal.entries import SHARED, Ending, Json, Meta, Publication, decode, encode
from coderefine.journal.storage import Blobs
from coderefine.source import nameable

FORMAT = 1
"""Version of the journal's format; a record with another version is refused."""
ANSWERS = "answers"
"""Folder of the recorded answers of models. Recorded texts of another kind are in a folder with the kind's name."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The record of the run named `run`. Methods that write return after the data is on the disk.

    `under`: the files whose content in the judged tree differs from the working tree, each with its content in the
    judged tree (see publishers.Snapshot). When a run is resumed, a new part of its record begins, from the tree as it
    is then. `part`: number of the part to which this journal writes; 0, unless it was made by `resumed`.
    """

    repository: Repository
    run: str
    folder: Path
    under: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    part: int = 0

    @classmethod
    def create(cls, repository: Repository, meta: Meta) -> Journal:
        """Start a new run. Raises JournalError when the git directory cannot be written."""
        runs = home(repository)
        storage.make_folder(runs)
        now = time.time()
        run = f"{time.strftime('%y%m%d-%H%M%S', time.gmtime(now))}-{int(now * 1000) % 1000:03d}{secrets.token_hex(1)}"
        journal = cls(repository, run, runs / run)
        storage.make_folder(journal.folder / ANSWERS)
        full = replace(meta, created=meta.created or now, version=__version__, top=meta.top or str(repository.top))
        storage.write(journal.folder / "run.json", _dump({"format": FORMAT, **encode(full, _no_bytes)}))
        return journal

    @classmethod
    def load(cls, repository: Repository, run: str = "") -> Journal:
        """Return the run named `run`, or the only run whose name begins or ends with `run`; for "", the newest run.

        Raises JournalError if no run or several runs match.
        """
        names = run_names(repository)
        fitting = [run] if run in names else [name for name in names if name.startswith(run) or name.endswith(run)]
        if not fitting:
            none = "no run is recorded here yet: `coderefine fix` makes one"
            raise JournalError(f"no run {run!r}: `coderefine log` lists them" if run else none)
        if run and len(fitting) > 1:
            raise JournalError(f"{run!r} fits several runs: {', '.join(fitting[:4])}; give more of the name")
        return cls(repository, fitting[0], home(repository) / fitting[0])

    @property
    def meta(self) -> Meta:
        """Return how the run was started. Raises JournalError if the record is damaged or of another version."""
        try:
            found = json.loads((self.folder / "run.json").read_bytes())
            form = found.pop("format")
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise JournalError(f"run {self.run}: {self.folder / 'run.json'} is missing or damaged") from error
        if form != FORMAT:
            raise JournalError(f"run {self.run} was recorded by another coderefine ({found.get('version')}): upgrade")
        return decode(Meta, found, Blobs(self.folder).fetch)

    def records(self) -> Iterator[storage.Record]:
        return storage.read_records(self.folder / "journal.jsonl")

    def resumed(self) -> Journal:
        """Return the journal with which to resume the run.

        The attempts of the interrupted part can be read until the first attempt of the new part is recorded.
        """
        return replace(self, part=1 + sum(record.kind == "resumed" for record in self.records()))

    def attempt(self, attempt: Attempt) -> None:
        """Record `attempt`; if its patch changes only plain paths, also as the commit `refs/coderefine/RUN/N`."""
        if self.part and sum(record.kind == "resumed" for record in self.records()) < self.part:
            # the first record of a resumed part: forget baseline and attempts, since the tree may have changed
            self._add("resumed", {})
            self.repository.delete_refs(self.repository.refs(f"refs/coderefine/{self.run}/"))
            (self.folder / "index").unlink(missing_ok=True)
        checks = json.dumps(encode(attempt.checks, self._blobs.keep), separators=(",", ":")).encode()
        body = encode(replace(attempt, checks=()), self._blobs.keep)
        self._add("attempt", {**body, "checks": self._blobs.keep(zlib.compress(checks))})
        if attempt.patch and all(plain_path(path) for path in attempt.patch.files):
            self._commit(attempt)

    def attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts of the last part, in order of number.

        If an attempt was recorded several times, its last record counts.
        """
        bodies = self._bodies()
        return tuple(self._attempt(bodies[number]) for number in sorted(bodies))

    def count(self) -> int:
        """Return the number of attempts that `attempts` would return, without decoding them."""
        return len(self._bodies())

    def _bodies(self) -> Mapping[int, Json]:
        return {record.body["number"]: record.body for record in self._last_part() if record.kind == "attempt"}

    def _last_part(self) -> list[storage.Record]:
        """Return the records since the run began or, if it was resumed, since it began again."""
        found = list(self.records())
        begins = [index for index, record in enumerate(found) if record.kind == "resumed"]
        return found[begins[-1] :] if begins else found

    def _attempt(self, body: Json) -> Attempt:
        """Decode an attempt.

        Its checks are stored separately: they are large, and `coderefine log` does not need them.
        """
        checks = json.loads(zlib.decompress(self._blobs.fetch(body["checks"])))
        return decode(Attempt, {**body, "checks": checks}, self._blobs.fetch)

    def commit(self, number: int) -> str | None:
        """Return the commit of attempt `number` (0: the baseline), or None. The commit contains no untracked files."""
        return self.repository.resolve(f"refs/coderefine/{self.run}/{number}")

    def untracked(self) -> Mapping[str, bytes]:
        """Return the untracked files of the baseline; they are not in its commit, only in this record."""
        last = _last(self._last_part(), "untracked")
        kept = last.body["files"] if last else {}
        return {path: zlib.decompress(self._blobs.fetch(key)) for path, key in kept.items()}

    def start(self, paths: Iterable[str]) -> Mapping[str, bytes | None]:
        """Return the content of `paths` at the baseline, including untracked files; None: no such file."""
        wanted, untracked = tuple(paths), self.untracked()
        base = self.commit(0)
        tracked = read_files(self.repository, base, wanted) if base else {}
        return {path: entry.data if (entry := tracked.get(path)) else untracked.get(path) for path in wanted}

    def recall(self, key: str, kind: str = ANSWERS) -> str | None:
        """Return the text of this kind that is stored under `key`, or None.

        Raises JournalError if it is damaged.
        """
        try:
            return _read_text(self._text(key, kind))
        except FileNotFoundError:
            return None

    def answers(self) -> Iterator[str]:
        """Yield all answers in the order in which they were stored. Raises JournalError for one that is damaged."""
        files = (self.folder / ANSWERS).glob("*.json")
        yield from map(_read_text, sorted(files, key=lambda path: (path.stat().st_mtime_ns, path)))

    def remember(self, key: str, value: str, kind: str = ANSWERS) -> None:
        """Store a text under `key` and wait until it is on the disk, so that no answer is paid for twice."""
        path = self._text(key, kind)
        storage.make_folder(path.parent)
        storage.write(path, _dump({"key": key, "value": value, "sha256": _checksum(value)}))

    def finish(self, outcome: Outcome) -> None:
        """Record how the run ended; also its baseline and its best attempt, if they are not recorded yet."""
        known = set(self._bodies())
        for attempt in (outcome.baseline, outcome.best):
            if attempt.number not in known:
                self.attempt(attempt)
                known.add(attempt.number)
        shared = {name: getattr(outcome, name) for name in SHARED}
        ending = Ending(outcome.best.number, outcome.baseline.number, **shared)
        self._add("outcome", encode(ending, self._blobs.keep))

    def ending(self) -> Ending | None:
        """Return how the run ended; None if it is still running, failed or was killed."""
        last = _last(self._last_part(), "outcome")
        return decode(Ending, last.body, self._blobs.fetch) if last else None

    def failed(self, reason: str) -> None:
        """Record the error that ended the run."""
        self._add("failed", {"reason": reason})

    def failure(self) -> str:
        """Return the error that ended the run; "" if there was none, or if the run was resumed and completed since."""
        last = _last(self._last_part(), "outcome", "failed")
        return str(last.body["reason"]) if last and last.kind == "failed" else ""

    def outcome(self) -> Outcome | None:
        """Return the recorded Outcome, with the result of `attempts`; None if the run has not finished."""
        ending = self.ending()
        if ending is None:
            return None
        attempts = self.attempts()
        by_number = {attempt.number: attempt for attempt in attempts}
        shared = {name: getattr(ending, name) for name in SHARED}
        return Outcome(by_number[ending.best], by_number[ending.baseline], attempts=attempts, **shared)

    def publishing(self, publication: Publication) -> None:
        """Announce a publication, with the contents of its files before and after."""
        self._add("publishing", encode(publication, self._blobs.keep))

    def published(self, publication: Publication) -> None:
        self._add("published", encode(publication, self._blobs.keep))

    def unpublished(self, publication: Publication) -> None:
        """Record that the publication announced by `publishing` was undone, at once or later."""
        self._add("unpublished", encode(publication, self._blobs.keep))

    def intent(self) -> Publication | None:
        """Return a publication that was announced, but neither completed nor undone; None if there is none."""
        return self._state("publishing")

    def publication(self) -> Publication | None:
        """Return the publication of this run; None if there is none, or if it was undone."""
        return self._state("published")

    def undone(self) -> Publication | None:
        """Return the publication of this run if it was undone since; else None."""
        return self.last_published() if self._state("unpublished") else None

    def last_published(self) -> Publication | None:
        """Return the last publication, whether or not it was undone since."""
        return self._publication(_last(self.records(), "published"))

    def keep(self, data: bytes) -> str:
        """Store content of the user that is about to be replaced; return its path in the journal."""
        return str(self._blobs.folder / self._blobs.keep(data))

    def _state(self, kind: str) -> Publication | None:
        last = _last(self.records(), "publishing", "published", "unpublished")
        return self._publication(last) if last and last.kind == kind else None

    def _publication(self, record: storage.Record | None) -> Publication | None:
        return decode(Publication, record.body, self._blobs.fetch) if record else None

    def _add(self, kind: str, body: Json) -> None:
        storage.add_record(self.folder / "journal.jsonl", kind, body)

    @property
    def _blobs(self) -> Blobs:
        return Blobs(self.folder / "blobs")

    def _text(self, key: str, kind: str) -> Path:
        return self.folder / kind / f"{_checksum(key)}.json"

    def _commit(self, attempt: Attempt) -> None:
        base = self._baseline()
        with scratch(self.repository, self.folder / "index") as made:
            tracked = made.entries(attempt.patch.files)
            files = attempt.patch.files.items()
            modes = dict.fromkeys(attempt.patch.programs, EXECUTABLE)
            made.lay({path: data for path, data in files if path in tracked or not self._is_private(path)}, modes)
            tree = made.write()
        commit = self.repository.commit_tree(tree, base, _message(attempt))
        self._point(attempt.number, commit)

    def _baseline(self) -> str:
        """Return the commit RUN/0, with the tracked files of the judged tree; create it if it does not exist."""
        known = self.commit(0)
        if known and (self.folder / "index").exists():
            return known
        tree = self._judged(snapshot(self.repository, self.folder / "index"))
        untracked = {path: data for path, data in untracked_files(self.repository).items() if path not in self.under}
        if untracked:
            kept = {path: self._blobs.keep(zlib.compress(data)) for path, data in untracked.items()}
            self._add("untracked", {"files": kept})
        head = self.repository.resolve("HEAD")
        commit = self.repository.commit_tree(tree, head, f"baseline of run {self.run}\n")
        self._point(0, commit)
        return commit

    def _judged(self, tree: str) -> str:
        """Put the contents `under` into `tree` and into the index from which it was made; return the new tree."""
        if not self.under:
            return tree
        index = self.folder / "index"
        with scratch(self.repository, index) as made:
            known = made.entries(self.under)
            made.lay({path: data for path, data in self.under.items() if data is not None or path in known})
            tree = made.write()
            copy_index(made.index, index)
        return tree

    def _is_private(self, path: str) -> bool:
        """Return whether the untracked `path` is a file of the user, whose content must not be reachable from a ref."""
        return path not in self.under and os.path.lexists(self.repository.top / path)

    def _point(self, number: int, commit: str) -> None:
        self.repository.move_ref(f"refs/coderefine/{self.run}/{number}", commit, self.commit(number), "coderefine")


def home(repository: Repository) -> Path:
    """Return the folder with the runs of a repository; all its worktrees share it."""
    return repository.common_dir / "coderefine" / "runs"


def run_names(repository: Repository) -> list[str]:
    """Return the names of the recorded runs, newest first."""
    try:
        found = [entry.name for entry in home(repository).iterdir() if (entry / "run.json").is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"{home(repository)} cannot be read: {error.strerror}") from error
    return sorted(found, reverse=True)


def plain_path(path: str) -> bool:
    """Return whether `path` can be a file in the repository and outside `.git`.

    The journal also records refused patches, which may have other paths.
    """
    parts = PurePosixPath(path).parts
    inside = bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path
    return inside and all(part.lower() != ".git" and nameable(part) for part in parts)


def _last(records: Iterable[storage.Record], *kinds: str) -> storage.Record | None:
    found = [record for record in records if record.kind in kinds]
    return found[-1] if found else None


def _message(attempt: Attempt) -> str:
    patch: Patch = attempt.patch
    verdict = f"{'accepted' if attempt.verdict.ok else 'refused'}: {attempt.verdict.reason}".rstrip(": ")
    return f"{patch.origin or 'patch'}: {patch.summary or 'no summary'}\n\n{verdict}\n"


def _dump(value: Json) -> bytes:
    return json.dumps(value, indent=1).encode()


def _read_text(path: Path) -> str:
    """Return a recorded text. Raises JournalError if it is damaged, and FileNotFoundError."""
    try:
        found = json.loads(path.read_bytes())
        key, value = found["key"], found["value"]
        right = path.stem == _checksum(key) and found["sha256"] == _checksum(value)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JournalError(f"a recorded text is damaged: {path}; start a new run") from error
    if not right:
        raise JournalError(f"a recorded text is damaged: {path}; start a new run")
    return str(value)


def _checksum(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _no_bytes(data: bytes) -> str:
    raise JournalError(f"{len(data)} bytes cannot be stored in run.json")
