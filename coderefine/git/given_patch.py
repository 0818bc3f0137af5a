"""Read a given patch: a diff or mails, commits, the staged changes, or the uncommitted changes of the working tree.

Every patch is read as two trees, before and after it. Nothing is checked out, and the user's index is not changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine import temporary
from coderefine.core import EMPTY
from coderefine.core.plurals import counted
from coderefine.errors import CoderefineError, UsageError
from coderefine.git.changes import ABSENT, EMPTY_TREE, INDEX, LINK, MODULE, contents, hidden, untracked
from coderefine.git.objects import merge_bytes
from coderefine.git.patch_format import diff
from coderefine.git.repository import Repository
from coderefine.git.scratch import scratch, snapshot

MAIL = re.compile(rb"\A(?:From [0-9a-f]{40} |(?:From|Date|Subject|Message-I[Dd]|MIME-Version|Received|Return-Path): )")
SUBJECT = re.compile(r"^Subject: (.*)$", re.MULTILINE)
EXECUTABLE = "100755"
COMMITS = ("HEAD", "@", "refs/tags/")
"""Names (or their beginnings) of one commit; any other ref is a branch: all its commits that HEAD lacks."""


@dataclass(frozen=True, slots=True)
class GivenPatch:
    """A given patch: new content by path (None deletes).

    `base`: by path, the content to which the patch was applied. `under`: the files that differ between the working tree
    and the tree for which the patch was made, with their content in the latter.
    `name`: how the user named the patch; `summary`: the patch's own description. `modes`: changed modes of files, as
    texts. `programs`: new files that are executable. `links`: symbolic links and submodules that the patch changes;
    they have no content to judge.
    """

    name: str
    files: Mapping[str, bytes | None]
    base: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    under: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    summary: str = ""
    modes: tuple[str, ...] = ()
    programs: frozenset[str] = frozenset()
    links: tuple[str, ...] = ()


def read_diff(repository: Repository, text: bytes, name: str, *, on_head: bool) -> GivenPatch:
    """Read a unified diff, or mails of `git format-patch`, for the working tree or, with `on_head`, for HEAD.

    Raises UsageError if it cannot be applied.
    """
    text, summary = _unpacked(repository, text) if MAIL.match(text) else (text, "")
    start = repository.tree(repository.resolve("HEAD")) if on_head else None
    with scratch(repository, start) as made:
        before = start or snapshot(repository, made.index)
        env = {"GIT_INDEX_FILE": str(made.index)}
        apply = ("apply", "--cached", "--whitespace=nowarn")
        usual = repository.run(*apply, "-p1", "-", stdin=text, env=env)
        if usual.returncode and repository.run(*apply, "-p0", "-", stdin=text, env=env).returncode:
            reverse = repository.run(*apply, "--check", "--reverse", "-p1", "-", stdin=text, env=env)
            raise UsageError(_refusal(name, usual.stderr.decode("utf-8", "replace"), there=not reverse.returncode))
        found = _between(repository, before, made.write(), name, hidden(repository.top, start) if start else None)
    if not start:
        _check_untracked(repository, before, found)
    return replace(found, summary=summary)


def _refusal(name: str, output: str, *, there: bool) -> str:
    """Return why `git apply` refuses a diff, from its `output`; `there`: whether the reverse of the diff applies."""
    if there:
        return (
            f"{name} is there already: `coderefine prove` judges uncommitted changes, `coderefine prove HEAD` a commit"
        )
    if "No valid patches" in output or "unrecognized input" in output:
        return f"{name} contains no patch: a unified diff or a mail of `git format-patch` is needed"
    if "without full index line" in output or "binary patch" in output:
        return f"{name} leaves out the content of a binary file: make it with `git diff --binary`"
    first = next(iter(output.splitlines()), "git refused it").removeprefix("error: ")
    return f"{name} does not apply: {first}"


def _unpacked(repository: Repository, text: bytes) -> tuple[bytes, str]:
    """Return the decoded diffs in mails, and the subject of the first mail."""
    with temporary.folder("mail") as folder:
        mails = repository.git("mailsplit", f"-o{folder}", "--", stdin=text).decode().strip()
        diffs, subjects = [], []
        for number in range(1, int(mails or 0) + 1):
            one, message, patch = (folder / f"{number:04}", folder / "message", folder / "patch")
            info = repository.git("mailinfo", "-b", str(message), str(patch), stdin=one.read_bytes())
            diffs.append(patch.read_bytes())
            subjects += SUBJECT.findall(info.decode("utf-8", "replace"))
    return b"".join(diffs), subjects[0].removeprefix("[PATCH] ") if subjects else ""


def _check_untracked(repository: Repository, before: str, found: GivenPatch) -> None:
    """Raise UsageError if the patch creates a file that exists untracked. `before`: the tree of the tracked files."""
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    for path in found.files:
        there = os.path.lexists(repository.top / path)
        if there and not repository.git("ls-tree", before, "--", path, env=literal):
            raise UsageError(f"{found.name} does not apply: {path} exists already, and git does not track it")


def read_commits(repository: Repository, name: str) -> GivenPatch | None:
    """Read a commit (compared with its first parent), a range `A..B`, or a branch (its commits that HEAD lacks).

    Return None if `name` is something else. Raises UsageError if it contains no change.
    """
    since, after = _ends(repository, name)
    if not after:
        return None
    before = repository.tree(since) if since else EMPTY_TREE
    subjects = repository.git("log", "--format=%s", after, *((f"^{since}",) if since else ()), "--").decode(
        "utf-8", "replace"
    )
    first, *more = subjects.splitlines() or [""]
    found = _between(repository, before, repository.tree(after), name, hidden(repository.top, before))
    summary = first if not more else f"{counted(len(more) + 1, 'commit')}: {first}"
    return replace(found, summary=summary)


def diff_of_commits(repository: Repository, name: str) -> bytes | None:
    """Return the diff of the changes that `read_commits` reads; None if `name` is not a commit, range or branch."""
    since, after = _ends(repository, name)
    return diff(repository, repository.tree(since) if since else EMPTY_TREE, after) if after else None


def _ends(repository: Repository, name: str) -> tuple[str, str]:
    """Return the commits before and after the changes that `name` means; "" in place of a missing commit."""
    left, dots, right = name.partition("..")
    if dots:
        ends = [repository.resolve(one or "HEAD") for one in (left, right.removeprefix("."))]
        return _base(repository, name, *ends) if all(ends) else ("", "")
    after = None if name.startswith("-") else repository.resolve(name)
    if after is None:
        return "", ""
    if _is_branch(repository, name):
        return _base(repository, name, repository.resolve("HEAD"), after)
    return repository.resolve(f"{after}^") or "", after


def _is_branch(repository: Repository, name: str) -> bool:
    full = repository.git("rev-parse", "--symbolic-full-name", name, fine=(0, 128)).decode().strip()
    return name not in COMMITS and full.startswith("refs/") and not full.startswith(COMMITS)


def _base(repository: Repository, name: str, left: str | None, right: str | None) -> tuple[str, str]:
    """Return the last common commit of two branches, and `right`.

    Raises UsageError if there is no common commit, or if it is `right`, so that there is nothing between the two.
    """
    base = repository.git("merge-base", left or "", right or "", fine=(0, 1)).decode().strip()
    if not base:
        raise UsageError(f"{name}: the two have no common history, so there is no patch between them")
    if base == right:
        hint = f"name a commit, or a range (main..{name})" if ".." not in name else "is it the wrong way round?"
        raise UsageError(f"{name} contains no commit that {(left or '')[:10]} lacks: {hint}")
    return base, right or ""


def read_index(repository: Repository) -> GivenPatch:
    """Read the staged changes, from the index that git's hooks use."""
    env = {name: os.environ[name] for name in INDEX if name in os.environ}
    before = _head_tree(repository)
    after = repository.git("write-tree", env=env).decode().strip()
    return _between(repository, before, after, "what is staged", hidden(repository.top, before))


def read_worktree(repository: Repository) -> GivenPatch:
    """Read all uncommitted changes, staged or not, untracked files included."""
    before, name = _head_tree(repository), "the working tree"
    with scratch(repository) as made:
        snapshot(repository, made.index)
        paths = b"".join(os.fsencode(path) + b"\0" for path in untracked(repository.top))
        env = {"GIT_INDEX_FILE": str(made.index)}
        repository.git("update-index", "--add", "-z", "--stdin", stdin=paths, env=env)
        found = _between(repository, before, made.write(), name, hidden(repository.top, before))
    here = {path: (repository.top / path).read_bytes() for path, data in found.files.items() if data is not None}
    return replace(found, files={**found.files, **here})


def _head_tree(repository: Repository) -> str:
    head = repository.resolve("HEAD")
    return repository.tree(head) if head else EMPTY_TREE


def _between(
    repository: Repository, before: str, after: str, name: str, under: Mapping[str, bytes | None] | None
) -> GivenPatch:
    """Return the patch from tree `before` to tree `after`. If `under` is None, convert it for the working tree.

    `under`: the files in which `before` differs from the working tree, with their content in `before`.
    Raises UsageError if the trees are equal.
    """
    modes = _modes(repository, before, after)
    if not modes:
        raise UsageError(f"{name} changes nothing: there is no patch to prove")
    links = tuple(sorted(path for path, pair in modes.items() if not {LINK, MODULE}.isdisjoint(pair)))
    plain = {path: pair for path, pair in modes.items() if path not in links}
    there = contents(repository.top, after, _present_in(plain, 1))
    files = {path: there.get(path) for path in plain}
    base, changed = present(repository.top, plain, under or {}), tuple(_changed_modes(plain))
    found = GivenPatch(name, files, base, under or {}, modes=changed, programs=_programs(plain), links=links)
    odd = _converted(repository, found, before, _present_in(plain, 0))
    if under is None:
        return _for_files(repository, found, odd)
    return replace(found, base={**base, **odd}, under={**under, **odd})


def _converted(repository: Repository, found: GivenPatch, before: str, known: Iterable[str]) -> dict[str, bytes]:
    """Return what a checkout of `before` would write to files that are the same for git, but differ on the disk.

    These are, for example, files with CRLF that git stores with LF. `known`: the files of `found` that `before` has.
    """
    same = [path for path in known if path not in found.under and found.base[path] is not None]
    return {path: data for path, data in contents(repository.top, before, same).items() if found.base[path] != data}


def _for_files(repository: Repository, found: GivenPatch, odd: Mapping[str, bytes]) -> GivenPatch:
    """Return `found` with new contents that fit the files in the working tree.

    `odd`: the files whose content there differs from the content for which the patch was made, with the latter. Raises
    UsageError if such a file differs where the patch changes it, not counting line ends that git converts.
    """
    files = dict(found.files)
    for path, data in odd.items():
        why = "its line ends are mixed there, a filter of git changes it, or it was saved just now"
        text = f"{found.name} does not apply to {path}: {why}: try again, or apply it by hand"
        files[path] = reapplied(repository, found.base[path], data, files[path], UsageError(text))
    return replace(found, files=files)


def present(top: Path, paths: Iterable[str], under: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the content of `paths`: from `under` if it has the path, else from the working tree (None: no file)."""
    return {
        path: under[path] if path in under else (top / path).read_bytes() if (top / path).is_file() else None
        for path in paths
    }


def reapplied(
    repository: Repository, now: bytes | None, before: bytes | None, after: bytes | None, overlap: CoderefineError
) -> bytes | None:
    """Return the content `now` of a file with the change from `before` to `after`; None deletes.

    Raises `overlap` if `now` differs from `before` where the change is, not counting line ends that git converts.
    """
    if now == before:
        return after
    if now is None or before is None:
        raise overlap
    if after is None and now.replace(b"\r\n", b"\n") == before.replace(b"\r\n", b"\n"):
        return None
    if after is None or (merged := merge_bytes(repository, now, before, after)) is None:
        raise overlap
    return merged


def _present_in(pairs: Mapping[str, tuple[str, str]], tree: int) -> list[str]:
    """Return the files that exist in the tree before the patch (0), or after it (1)."""
    return [path for path, pair in pairs.items() if pair[tree] != ABSENT]


def _programs(pairs: Mapping[str, tuple[str, str]]) -> frozenset[str]:
    """Return the new files that are executable."""
    return frozenset(path for path, pair in pairs.items() if pair == (ABSENT, EXECUTABLE))


def _changed_modes(pairs: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield each change of a file's mode in words: `run.sh: 644 → 755`."""
    for path, (old, new) in pairs.items():
        if ABSENT not in (old, new) and old != new:
            yield f"{path}: {old[-3:]} → {new[-3:]}"


def _modes(repository: Repository, before: str, after: str) -> dict[str, tuple[str, str]]:
    """Return the paths in which two trees differ, each with its modes before and after."""
    return {path: (old, new) for path, (old, new, *_) in repository.differences(before, after)}
