"""Decides by values alone: what may be tried, which attempt is better, what may be published."""

from coderefine.judge.admit import admit, exact_for
from coderefine.judge.beside import beside
from coderefine.judge.change import changes
from coderefine.judge.evidence import changed_statements, covered, evidence, running
from coderefine.judge.hunks import Hunk, hunks, pieces
from coderefine.judge.ledger import ledger_line
from coderefine.judge.mutants import Mutant, mutants
from coderefine.judge.normal import digest, digests, normal, parse
from coderefine.judge.pinned import pinned
from coderefine.judge.publishable import publishable
from coderefine.judge.score import Score, bad, flipped, gone, lost, score, unheard
from coderefine.judge.size import diff_size
from coderefine.judge.weigh import listed, weigh

__all__ = [
    "Hunk",
    "Mutant",
    "Score",
    "admit",
    "bad",
    "beside",
    "changed_statements",
    "changes",
    "covered",
    "diff_size",
    "digest",
    "digests",
    "evidence",
    "exact_for",
    "flipped",
    "gone",
    "hunks",
    "ledger_line",
    "listed",
    "lost",
    "mutants",
    "normal",
    "parse",
    "pieces",
    "pinned",
    "publishable",
    "running",
    "score",
    "unheard",
    "weigh",
]
