"""Command-line options that the benchmarks of this folder share."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.bench.real.projects import HALVES


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The shared ones. Besides, being terminated becomes an exception, so that no suite goes on without us."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    ours = Path(sys.executable).parent / "coderefine"
    parser.add_argument("--coderefine", type=Path, default=ours, help="the command under test (default: %(default)s)")
    parser.add_argument("--half", choices=HALVES, default=HALVES[0])
    parser.add_argument("--only", default="", help="names, or parts of them, with commas")
    parser.add_argument("--report", action="store_true", help="run nothing, report what was measured")
    parser.add_argument("--again", action="store_true", help="run what has a row, too")
    return parser
