"""Command line: parse arguments, run a command, return an exit code.

No other package ends the process of a command; only `quick.front` and `reports.progress` print, too. Modules that
`--version` and the fast path of the hook do not need are imported inside functions.
"""

from __future__ import annotations

import os
import sys

from coderefine import __version__
from coderefine.quick.ending import interrupt_on_signals

TYPE_CHECKING = False  # importing typing would take as long as the check of a clean commit
if TYPE_CHECKING:
    from typing import TextIO

FINDINGS, USAGE, BUG, INTERRUPTED = 1, 2, 3, 130
NOTHING_WRITTEN = "interrupted; nothing was written"


def main(argv: list[str] | None = None) -> None:
    """Run a command and exit.

    Exit codes: 0 checks pass, 1 findings remain, 2 wrong usage or environment, 3 a bug in coderefine, 130 interrupted.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the caller closed this stream (`>&-`)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
    given = sys.argv[1:] if argv is None else argv
    if given[:2] == ["hook", "run"]:
        from coderefine.quick.front import hook

        try:
            code = hook(given[2:])  # None if the fast path cannot decide alone
        except KeyboardInterrupt:
            code = _fail(NOTHING_WRITTEN, INTERRUPTED)
        if code is not None:
            sys.stderr.flush()
            os._exit(code)  # sys.exit would take longer than the whole check of the hook
    interrupt_on_signals()
    sys.exit(_guarded(given))


def _guarded(argv: list[str] | None) -> int:
    """Run a command and turn every exception into a message and an exit code."""
    import click

    from coderefine.cli.group import coderefine
    from coderefine.errors import CoderefineError, noted, refused

    try:
        code = int(coderefine.main(argv, prog_name="coderefine", standalone_mode=False) or 0)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE
    except (KeyboardInterrupt, click.Abort) as interrupt:
        return _interrupted(interrupt)
    except CoderefineError as error:
        return _fail(str(error), error.exit_code)
    except BrokenPipeError:
        _discard_unwritable(sys.stdout)  # the reader (`| head`) has ended: neither our failure nor a success
        return FINDINGS
    except OSError as error:
        _discard_unwritable(sys.stdout)
        return _fail(noted(error, refused(error)), USAGE)
    except Exception as error:  # any other exception is our bug, and must not look like a verdict
        import traceback
        from contextlib import suppress

        with suppress(OSError):
            traceback.print_exc()
        bug = noted(error, f"this is a bug in coderefine {__version__}")
        return _fail(f"{bug}. Please report the lines above", BUG)
    return code


def _interrupted(interrupt: BaseException) -> int:
    cause = interrupt if isinstance(interrupt, KeyboardInterrupt) else interrupt.__cause__  # click wraps it
    return _fail(str(cause or "") or NOTHING_WRITTEN, INTERRUPTED)


def _fail(message: str, code: int) -> int:
    from contextlib import suppress

    from coderefine.core.plurals import printable

    with suppress(OSError):
        print(printable(f"coderefine: {message}", "\n\t"), file=sys.stderr)
    _discard_unwritable(sys.stderr)
    return code


def _discard_unwritable(stream: TextIO) -> None:
    """If `stream` cannot be written, discard what it holds: Python would try again at the end, and exit with 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
