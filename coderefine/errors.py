"""Typed errors. The command line prints the message of an error and ends with its `exit_code`."""

from __future__ import annotations

import errno


class CoderefineError(Exception):
    """Base of all errors that coderefine raises on purpose. The message names the fault and the next step."""

    exit_code = 2


class UsageError(CoderefineError):
    """The user, or a client of the MCP server, requests something impossible."""


class ConfigError(CoderefineError):
    """The configuration is invalid: unknown key, wrong type, unreadable TOML."""


class SurroundingsError(CoderefineError):
    """The system lacks something that is needed: git, an interpreter, a permission, disk space."""


class SandboxError(SurroundingsError):
    """A process could not be confined as required, and therefore was not run."""


class ProcessError(CoderefineError):
    """A program could not be started, or it failed."""


class CriticError(CoderefineError):
    """A tool ended without a result (crash, timeout, missing report). This never counts as zero findings."""


class VoidError(CriticError):
    """Tests ran, but their results do not count: code other than the patched ran, or pytest could not report failures.

    `elsewhere`: whether another kind of private view may help.
    """

    def __init__(self, message: str, *, elsewhere: bool = False) -> None:
        super().__init__(message)
        self.elsewhere = elsewhere


class WorkspaceError(CoderefineError):
    """A private view could not be created or restored."""


class RunnerError(CoderefineError):
    """The test processes broke their protocol, ended or did not answer, or they cannot be used for these tests."""


class GitError(CoderefineError):
    """A git command failed."""


class JournalError(CoderefineError):
    """A recorded run is missing, damaged or of another version."""


class ReplayMissError(JournalError):
    """A replay needs an answer that was not recorded."""


class PublishError(CoderefineError):
    """The patch was not written, for example because the tree or HEAD changed since the snapshot."""

    exit_code = 1


class UnwritableError(PublishError):
    """The patch was not written, because the disk is full or read-only."""

    exit_code = 2


class UnrecordedError(PublishError):
    """The patch was written, but this could not be recorded."""


class ModelError(CoderefineError):
    """The model gives no answer, and another try would not help (401, 404, context length, content filter …)."""


class TooLongError(ModelError):
    """The request is longer than the model can read; a shorter request may be accepted."""


class BudgetError(CoderefineError):
    """The next step would exceed a limit. `which`: its name (requests, tokens, cost, seconds …)."""

    exit_code = 1

    def __init__(self, which: str, message: str) -> None:
        super().__init__(message)
        self.which = which


class ReplyError(CoderefineError):
    """The model's reply cannot be converted to a patch; the message can be sent to the model."""


def refused(error: OSError) -> str:
    """Return the message for an error of the operating system: what is wrong, where, and what to do if known."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    where = error.filename or ("" if full else "the system refused")
    hint = "free some space where the repository, temporary folder and output are, and try again" if full else ""
    return ": ".join(filter(None, (error.strerror or str(error), where, hint)))


def note(error: Exception, text: str) -> None:
    """Add `text` to the notes of `error`, as `add_note` of Python 3.11 does."""
    vars(error).setdefault("__notes__", []).append(text)


def noted(error: Exception, message: str) -> str:
    """Return `message` and the notes of `error` in one line."""
    return "; ".join((message, *vars(error).get("__notes__", ())))
