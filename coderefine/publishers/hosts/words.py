"""What is posted. Whatever comes from a repository stands in code spans and fences: no mention, link or HTML acts."""

from __future__ import annotations

import hashlib
import re

from coderefine.publishers.hosts.artifact import CONTROL
from coderefine.publishers.hosts.bundle import Bundle, Suggestion

MARK = re.compile(r"<!-- coderefine:([0-9a-f]{32}) -->")
SUMMARY = "<!-- coderefine:summary -->"
ABOUT = re.compile(r"<!-- coderefine:about (\S+) ([0-9a-f]{16}) -->")
LONGEST = 65_000
"""Characters of a body; GitHub refuses more than 65,536."""
SHOWN = 50_000
"""Characters of a patch that are shown in the summary."""


def remark(suggestion: Suggestion, *, offset: str = "", distrust: bool = False) -> str:
    """An inline remark: why, the suggestion, the mark. `offset` is GitLab's `:-0+2`; `distrust` as in `summary`."""
    fence = _fence("\n".join(suggestion.new))
    body = "".join(f"{line}\n" for line in suggestion.new)
    text = f"{span(suggestion.why)}\n\n{fence}suggestion{offset}\n{body}{fence}\n"
    who = "the pull request's own run reports it" if distrust else "coderefine"
    return f"{text}\n<sub>{who} ran all tests with this change alone.</sub>\n{mark(suggestion)}"


def mark(suggestion: Suggestion) -> str:
    """The comment nobody sees, by which a remark is found again."""
    return f"<!-- coderefine:{suggestion.fingerprint} -->"


def summary(
    bundle: Bundle, *, number: int, inline: int = 0, fetch: str = "", distrust: bool = False, host: str = "github"
) -> str:
    """The sticky comment: what the patch does, on what evidence, and one command that applies all of it.

    `inline`: suggestions that stand on the pull request. `fetch`: a command that gets the patch where it is too
    long to show. `distrust`: nobody but the pull request's own run vouches for the evidence.
    """
    checkout = f"glab mr checkout {number}" if host == "gitlab" else f"gh pr checkout {number}"
    fetch = fetch or f"{checkout} && coderefine fix"
    said = "\n".join(_lines(bundle, inline, fetch, distrust=distrust))
    last = f"{_about(bundle, distrust=distrust)}\n{SUMMARY}"
    return f"{said[: LONGEST - len(last) - 2]}\n\n{last}"


def settled(body: str, bundle: Bundle, *, distrust: bool = False) -> bool:
    """Whether `body` is a summary of another patch for this very commit: then all has been said.

    A second run may prove another patch that is as good; to take back the first for it would be noise. The same
    patch is gone through again: what the host refused the first time may go now.
    """
    about = ABOUT.search(body)
    mine = ABOUT.search(_about(bundle, distrust=distrust))
    assert mine
    return bool(about and bundle.patch and about[1] == mine[1] and about[2] != mine[2])


def _about(bundle: Bundle, *, distrust: bool) -> str:
    """Nobody sees it: the commit and who vouches for it, and the patch."""
    digest = hashlib.sha256(bundle.patch.encode()).hexdigest()[:16]
    return f"<!-- coderefine:about {bundle.head}{'?' if distrust else ''} {digest} -->"


def _lines(bundle: Bundle, inline: int, fetch: str, *, distrust: bool) -> list[str]:
    lines = [f"### coderefine proved a patch for `{bundle.head[:10]}`", "", f"- {span(bundle.summary)}"]
    lines.append(f"- evidence: {span(bundle.evidence)}")
    if inline == 1:
        lines.append("- 1 of its pieces passes alone and is suggested inline; accept it, or apply all:")
    elif inline:
        lines.append(f"- {inline} of its pieces pass alone and are suggested inline; accept one, or apply all:")
    if distrust:
        lines.append("- the evidence comes from the pull request's own run, which its author controls: read the patch")
    return [*lines, "", *_command(bundle, fetch)]


def _command(bundle: Bundle, fetch: str) -> list[str]:
    """A patch with control characters is not shown: what is pasted into a shell must be what is seen."""
    patch = bundle.patch
    if len(patch) > SHOWN or CONTROL.search(patch.replace("\n", " ").replace("\t", " ")):
        return ["```sh", fetch, "```"]
    end = f"END_{hashlib.sha256(patch.encode()).hexdigest()[:12]}"
    fence = _fence(patch)
    body = patch if patch.endswith("\n") else patch + "\n"
    return [
        "<details><summary>Apply all of it (copy, paste into a shell)</summary>",
        "",
        f"{fence}sh\ngit apply <<'{end}'\n{body}{end}\n{fence}",
        "",
        "</details>",
    ]


def span(text: str) -> str:
    """`text` as a code span: nothing in it acts."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:400]}`" if plain else ""


def _fence(text: str) -> str:
    """One backtick more than the longest run inside, at least three."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
