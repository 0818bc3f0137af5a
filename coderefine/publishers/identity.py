"""The author of a commit, where the configuration names one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coderefine.errors import PublishError

AUTHOR = re.compile(r"^\s*(?P<name>[^<>\n]*?)\s*<(?P<address>[^<>\n]*)>\s*$")


def author_env(author: str | None) -> Mapping[str, str]:
    """Return `Name <address>` as git's environment variables; empty for None.

    Raises PublishError for any other form.
    """
    if author is None:
        return {}
    found = AUTHOR.match(author)
    if not found or not found["name"]:
        raise PublishError(f"the author must read `Name <address>`, not {author!r}: see [tool.coderefine] author")
    return {"GIT_AUTHOR_NAME": found["name"], "GIT_AUTHOR_EMAIL": found["address"]}
