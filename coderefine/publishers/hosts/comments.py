"""The texts to post.

Everything that comes from a repository is in code spans and fences, so that mentions, links and HTML in it have no
effect.
"""

from __future__ import annotations

import hashlib
import re

from coderefine.core.markdown_code import fence, span
from coderefine.publishers.hosts.bundle import CONTROL, Bundle, Suggestion

MARK = re.compile(r"<!-- coderefine:([0-9a-f]{32}) -->")
SUMMARY = "<!-- coderefine:summary -->"
ABOUT = re.compile(r"<!-- coderefine:about (\S+) ([0-9a-f]{16}) -->")
EVIDENCE = re.compile(r"^- evidence: .*$", re.MULTILINE)
LONGEST = 65_000
"""Maximum length of a body; GitHub refuses more than 65,536 characters."""
SHOWN = 50_000
"""Maximum number of characters of a patch that are shown in the summary."""


def remark(suggestion: Suggestion, *, offset: str = "", distrust: bool = False) -> str:
    """Return an inline comment: the reason, the suggestion, and a hidden mark.

    `offset`: the lines that a suggestion on GitLab replaces (`:-0+2`). `distrust`: see `summary`.
    """
    marks = fence("\n".join(suggestion.new))
    body = "".join(f"{line}\n" for line in suggestion.new)
    text = f"{span(suggestion.why)}\n\n{marks}suggestion{offset}\n{body}{marks}\n"
    source = "the pull request's own run reports it" if distrust else "coderefine"
    return f"{text}\n<sub>{source} ran all tests with this change alone.</sub>\n{mark(suggestion)}"


def mark(suggestion: Suggestion) -> str:
    """Return the hidden comment by which a posted suggestion is recognised."""
    return f"<!-- coderefine:{suggestion.fingerprint} -->"


def summary(bundle: Bundle, checkout: str, *, inline: int = 0, fetch: str = "", distrust: bool = False) -> str:
    """Return the summary comment: what the patch does, the evidence, and a command that applies it.

    `checkout`: the command that checks out the pull request. `inline`: number of inline suggestions. `fetch`: a command
    that downloads the patch if it is too long to show. `distrust`: the evidence was reported only by the pull request's
    own run.
    """
    lines = [f"### coderefine proved a patch for `{bundle.head[:10]}`", "", f"- {span(bundle.summary)}"]
    lines.append(f"- evidence: {span(bundle.evidence)}")
    if inline == 1:
        lines.append("- 1 of its pieces passes alone and is suggested inline; accept it, or apply all:")
    elif inline:
        lines.append(f"- {inline} of its pieces pass alone and are suggested inline; accept one, or apply all:")
    if distrust:
        lines.append("- the evidence comes from the pull request's own run, which its author controls: read the patch")
    text = "\n".join((*lines, "", *_command(bundle, fetch or f"{checkout} && coderefine fix")))
    source, digest = _source(bundle, distrust=distrust)
    last = f"<!-- coderefine:about {source} {digest} -->\n{SUMMARY}"
    return f"{text[: LONGEST - len(last) - 2]}\n\n{last}"


def is_alike(body: str, other: str) -> bool:
    """Return whether two summaries are equal but for the evidence, whose measured values may differ in another run."""
    return EVIDENCE.sub("", body) == EVIDENCE.sub("", other)


def settled(body: str, bundle: Bundle, *, distrust: bool = False) -> bool:
    """Return whether `body` is the summary of another patch for the same commit; then nothing more is posted.

    A second run may prove another patch that is as good; replacing the first one would only cause notifications. If
    the patch is the same, it is posted again: the host may now accept suggestions that it refused before.
    """
    about = ABOUT.search(body)
    source, digest = _source(bundle, distrust=distrust)
    return bool(about and bundle.patch and about[1] == source and about[2] != digest)


def _source(bundle: Bundle, *, distrust: bool) -> tuple[str, str]:
    """Return two hidden marks: the commit, with "?" if its evidence is not trusted; and the patch's digest."""
    return f"{bundle.head}{'?' * distrust}", hashlib.sha256(bundle.patch.encode()).hexdigest()[:16]


def _command(bundle: Bundle, fetch: str) -> list[str]:
    """Return the lines with the command that applies the patch.

    A patch with control characters is fetched, not shown: what is pasted into a shell must be what is shown.
    """
    patch = bundle.patch
    if len(patch) > SHOWN or CONTROL.search(patch.replace("\n", " ").replace("\t", " ")):
        return ["```sh", fetch, "```"]
    end = f"END_{hashlib.sha256(patch.encode()).hexdigest()[:12]}"
    marks = fence(patch)
    body = patch if patch.endswith("\n") else patch + "\n"
    return [
        "<details><summary>Apply all of it (copy, paste into a shell)</summary>",
        "",
        f"{marks}sh\ngit apply <<'{end}'\n{body}{end}\n{marks}",
        "",
        "</details>",
    ]
