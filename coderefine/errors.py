"""Typed errors. `exit_code` is what the command line ends with; the message is the one clear line."""

from __future__ import annotations


class CoderefineError(Exception):
    """Base of all errors we raise on purpose. The message says what is wrong and what to do."""

    exit_code = 2


class UsageError(CoderefineError):
    """The command line asked for something that cannot be."""


class ConfigError(CoderefineError):
    """The configuration is broken: unknown key, wrong type, unreadable TOML."""


class SurroundingsError(CoderefineError):
    """The surroundings fail us: no git, no interpreter, no permission, disk full."""


class SandboxError(SurroundingsError):
    """What must be confined cannot be: nothing was run."""


class ProcessError(CoderefineError):
    """A program could not be started."""


class CriticError(CoderefineError):
    """A tool ended without a verdict (crash, timeout, missing report). Never counted as zero findings."""


class VoidError(CriticError):
    """Tests ran, and what they showed does not count: other code than the patched one, or a pytest that was disarmed.

    `elsewhere`: another kind of private view may help.
    """

    def __init__(self, message: str, *, elsewhere: bool = False) -> None:
        super().__init__(message)
        self.elsewhere = elsewhere


class WorkspaceError(CoderefineError):
    """A private view could not be made or kept."""


class RunnerError(CoderefineError):
    """The test runner inside the project's interpreter broke its protocol."""


class GitError(CoderefineError):
    """git refused."""


class JournalError(CoderefineError):
    """A recorded run is missing, damaged or from another version."""


class ReplayMissError(JournalError):
    """A replay asked for an answer that was never recorded."""


class PublishError(CoderefineError):
    """The tree or HEAD moved since the snapshot; nothing was written."""

    exit_code = 1


class ModelError(CoderefineError):
    """The model's server gave a final no (401, 404, context length, content filter …)."""


class TooLongError(ModelError):
    """The request is longer than the model can read; a shorter one may do."""


class BudgetError(CoderefineError):
    """A limit would be crossed by the next step. `which` names it: requests, tokens, cost, seconds …"""

    exit_code = 1

    def __init__(self, which: str, message: str) -> None:
        super().__init__(message)
        self.which = which


class ReplyError(CoderefineError):
    """The model's reply could not be turned into a patch; the message can be sent back to it."""
