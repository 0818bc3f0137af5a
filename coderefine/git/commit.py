"""`git commit` from an index of our own: the user's hooks, signature and identity, none of their staged work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coderefine import temporary
from coderefine.errors import GitError, PublishError
from coderefine.git import process
from coderefine.git.repository import Repository

HOOKS_MAY_TAKE = 900.0
"""Seconds: pre-commit hooks run whole test suites."""
NO_DAEMONS = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
SAID = 6
"""Lines of a rejecting hook that are shown."""


def commit_with_hooks(
    repository: Repository, index: Path, message: str, author: Mapping[str, str], hold: tuple[int, ...] = ()
) -> bool:
    """Commit `index` on HEAD as the user would; whether git says that it did.

    Raises PublishError with the hook's last lines when one refuses. `hold`: locks that git and its hooks keep until the
    last of them has ended, even when we are killed.
    """
    before = repository.resolve("HEAD")
    with temporary.folder("message") as folder:
        text = folder / "message"
        text.write_bytes(message.encode("utf-8", "replace"))
        result = process.run(
            (*NO_DAEMONS, "commit", "--quiet", "--cleanup=whitespace", "--allow-empty", "-F", str(text)),
            cwd=repository.top,
            env={"GIT_INDEX_FILE": str(index), "GIT_EDITOR": ":", **author},
            timeout=HOOKS_MAY_TAKE,
            plain=True,
            hold=hold,
        )
    if result.returncode and repository.resolve("HEAD") == before:
        raise _refusal(result.stdout + result.stderr, process.complaint(result, repository.top))
    return result.returncode == 0


def _refusal(said: bytes, complaint: GitError) -> PublishError:
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()][-SAID:]
    if str(complaint).startswith("git: "):
        return PublishError(f"{complaint}; nothing was changed")
    last = "\n  ".join(lines)
    return PublishError(f"git refused the commit (did a hook refuse it?); nothing was changed:\n  {last}")
