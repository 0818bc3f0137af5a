"""Fingerprints by which other programs recognise a finding from run to run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from coderefine.core import Finding


def fingerprints(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Yield each finding with the sha256 of its identity (no line, no message); equal identities are numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        seen[finding.identity] += 1
        text = "\0".join((*finding.identity, str(seen[finding.identity])))
        yield finding, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
