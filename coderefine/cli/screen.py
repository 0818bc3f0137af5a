"""tmp"""
from __future__ import annotations
import contextlib, sys
from collections.abc import Iterator
class Screen:
    def __init__(self, quiet, format_): self.quiet=quiet
    def listen(self, e):
        if not self.quiet: print(f"[{e.seconds:.2f}] {e.kind} {e.text} {e.done}/{e.total} {e.cost or ''}", file=sys.stderr)
    def checks(self, checks):
        for c in checks:
            print(c.critic, c.tool, len(c.cases), c.seconds, c.notes)
            for f in c.findings: print("  ", f.where, f.rule, f.severity.value, f.message)
    def outcome(self, o, line, run):
        print(o.stop, o.why, o.evidence, o.cost); print(line, run)
        for f in o.remaining: print("left", f.where, f.rule, f.message)
    def prompt(self, r): print(r)
@contextlib.contextmanager
def screen(*, quiet, format_):
    yield Screen(quiet, format_)
