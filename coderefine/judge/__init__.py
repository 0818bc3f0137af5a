"""Judge patches without side effects: what may be tried, which attempt is better, what may be published."""

from coderefine.judge.acceptance import not_judged, still_failing
from coderefine.judge.admit import admit
from coderefine.judge.change import changes, digest, digests, normal, parse, unreadable
from coderefine.judge.changed_settings import changed_settings
from coderefine.judge.changed_tests import changed_tests, dodged_tests
from coderefine.judge.diff import Hunk, diff_size, hunks, line_after, pieces
from coderefine.judge.evidence import changed_statements, evidence, hidden, reaching, running, unrequested_changes
from coderefine.judge.mutants import Mutant, mutants
from coderefine.judge.new_constants import new_constants
from coderefine.judge.publishable import publishable, worse
from coderefine.judge.score import TESTS, collected, flipped, gone, incomplete, is_among, lost, remarks, score, weigh
from coderefine.judge.varying import may_vary

__all__ = [
    "TESTS",
    "Hunk",
    "Mutant",
    "admit",
    "changed_settings",
    "changed_statements",
    "changed_tests",
    "changes",
    "collected",
    "diff_size",
    "digest",
    "digests",
    "dodged_tests",
    "evidence",
    "flipped",
    "gone",
    "hidden",
    "hunks",
    "incomplete",
    "is_among",
    "line_after",
    "lost",
    "may_vary",
    "mutants",
    "new_constants",
    "normal",
    "not_judged",
    "parse",
    "pieces",
    "publishable",
    "reaching",
    "remarks",
    "running",
    "score",
    "still_failing",
    "unreadable",
    "unrequested_changes",
    "weigh",
    "worse",
]
