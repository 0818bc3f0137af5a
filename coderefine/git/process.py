"""Run one git process: its environment, and its errors as messages of one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from coderefine import proc
from coderefine.core import Finished
from coderefine.errors import GitError, ProcessError

KEPT = (
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CEILING_DIRECTORIES", "GIT_SSH_COMMAND",
    "GIT_SSH", "GIT_SSH_VARIANT", "GIT_ASKPASS",
)  # fmt: skip
"""Variables with the user's identity, configuration and transport: none of them names a repository or an index.

git gets no other `GIT_*` variable of our environment, except those whose names begin with one of NUMBERED.
"""
NUMBERED = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
"""Beginnings of variables that contain the settings which GIT_CONFIG_COUNT announces."""

NO_DAEMONS = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
ALWAYS = ("-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *NO_DAEMONS)

COMPLAINTS = (
    (r"detected dubious ownership", "another user owns it: run `git config --global --add safe.directory {where}`"),
    (r"not a git repository", "{where} is not inside a git repository: run `git init` there first"),
    (r"must be run in a work tree", "{where} is a bare repository: clone it first, there are no files here to repair"),
    (
        r"\.lock': File exists|another git process",
        "another git process is running in {where}: wait for it, or remove {lock} if none is running",
    ),
    (
        r"No space left on device|Out of diskspace|Disk quota exceeded|File too large",
        "the disk is full: free some space and try again",
    ),
    (
        r"Permission denied|insufficient permission|Read-only file system|Operation not permitted",
        "permission denied inside {where}: check the owner of its files ({output})",
    ),
    (
        r"tell me who you are|unable to auto-detect email|empty ident name|no email was given|no name was given",
        "git does not know who you are: run `git config --global user.name NAME` and `user.email ADDRESS`",
    ),
    (r"gpg failed to sign|failed to write commit object", "git could not sign the commit: {output}"),
    (r"bad object|corrupt|unable to read|is empty|missing blob|missing tree", "the repository is damaged: {output}"),
)


def environment(extra: Mapping[str, str] | None = None, *, plain: bool = False) -> dict[str, str]:
    """Return our environment for git: no inherited repository, no prompt, English messages unless `plain`.

    `plain`: for commands that run the user's hooks, which keep the user's locale.
    """
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(NUMBERED)}
    ours = {} if plain else {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    return proc.clean_env({**kept, **ours, "GIT_TERMINAL_PROMPT": "0", **(extra or {})}, secrets=True)


def run(
    args: tuple[str, ...],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 120.0,
    plain: bool = False,
    hold: tuple[int, ...] = (),
) -> Finished:
    """Run `git args` in `cwd` to its end, with complete output. Raises GitError if it cannot start or times out.

    `hold`: open files (locks) that the process inherits and keeps open, even if it outlives us.
    """
    settings = () if plain else ALWAYS
    try:
        result = proc.run(
            ("git", *settings, *args),
            cwd=cwd,
            env=environment(env, plain=plain),
            stdin=stdin,
            timeout=timeout,
            pass_fds=hold,
            keep=None,
        )
    except ProcessError as error:
        if not cwd.is_dir():
            raise GitError(f"{cwd} is not a folder") from error
        if proc.is_stopped():
            raise GitError(f"git {_command(args)} was not started: the run is being stopped") from error
        raise GitError(f"git is needed and could not be started ({error}): install git") from error
    if result.timed_out:
        raise GitError(f"git {_command(args)} did not end within {timeout:.0f} s in {cwd}")
    return result


def names(output: bytes) -> list[str]:
    """Return the paths that git printed with `-z`."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def complaint(result: Finished, where: Path) -> GitError:
    """Return the error of a git command as one line; for a known error, the line also says what to do next."""
    output = result.stderr.decode("utf-8", "replace").strip() or result.text.strip()
    last = _last_line(output) or f"exit {result.returncode}"
    lock = re.search(r"'([^']+\.lock)'", output)
    for pattern, advice in COMPLAINTS:
        if re.search(pattern, output):
            held = lock.group(1) if lock else "its .lock file"
            return GitError("git: " + advice.format(where=where, output=last, lock=held))
    return GitError(f"git {_command(result.argv[1:])} failed in {where}: {last}")


def _command(words: Iterable[str]) -> str:
    """Return the name of the git command in a command line without `git`."""
    return next((word for word in words if word[0] != "-" and "=" not in word), "git")


def _last_line(output: str) -> str:
    """Return the last line of git's output that is no hint, without its `fatal: `."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("hint:")]
    return re.sub(r"^(fatal|error): ", "", lines[-1]) if lines else ""
