"""What makes a finding the same from one run to the next, for programs that compare runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from coderefine.core import Finding


def fingerprints(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each finding with a sha256 of its identity (no line, no message); the second of a kind is numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        seen[finding.identity] += 1
        text = "\0".join((*finding.identity, str(seen[finding.identity])))
        yield finding, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
