"""Secrets are replaced by placeholders in everything that is sent, and put back into what returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coderefine.sensitive import TOKENS

PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.+?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
FORMS = tuple(re.compile(pattern) for pattern in TOKENS)
PLACEHOLDER = re.compile(r"REDACTED_SECRET_(\d+)_")
NOISY = {"IPPublicDetector", "KeywordDetector", "PrivateKeyDetector", "HexHighEntropyString", "Base64HighEntropyString"}
"""Plug-ins that are no plain regex, or that fire on hashes, addresses and ordinary words of a program."""

SHORTEST = 6
"""A shorter literal beside the word "password" is a test value more often than a secret."""


class Redactor:
    """Remembers each secret under a number, in the order of first sight, so that equal runs send equal text."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = tuple(sorted((secret for secret in known if len(secret) >= SHORTEST), key=len, reverse=True))
        self._numbers: dict[str, int] = {}
        self._patterns: tuple[re.Pattern[str], ...] | None = None
        self._keyword: Any = None

    def clean(self, text: str) -> str:
        """`text` with every secret replaced by its placeholder."""
        for secret in dict.fromkeys(self._found(text)):
            text = text.replace(secret, self._placeholder(secret))
        return text

    def restore(self, text: str) -> str:
        """`text` with the placeholders of this redactor replaced by what they stand for."""
        secrets = {number: secret for secret, number in self._numbers.items()}
        return PLACEHOLDER.sub(lambda match: secrets.get(int(match[1]), match[0]), text)

    def scrub(self, text: str) -> str:
        """`text` without the known secrets (the model's key): for messages people see."""
        for secret in self._known:
            text = text.replace(secret, "[key]")
        return text

    def _placeholder(self, secret: str) -> str:
        return f"REDACTED_SECRET_{self._numbers.setdefault(secret, len(self._numbers) + 1)}_"

    def _found(self, text: str) -> Iterator[str]:
        yield from (secret for secret in self._known if secret in text)
        yield from (match[0] for match in PEM.finditer(text))
        yield from (secret for secret in self._numbers if secret in text)
        self._load()
        for line in text.splitlines():
            yield from self._in_line(line)

    def _in_line(self, line: str) -> Iterator[str]:
        for pattern in (*FORMS, *(self._patterns or ())):
            yield from (_essence(match) for match in pattern.finditer(line))
        yield from (value for value in self._keyword.analyze_string(line) if _plausible(value))

    def _load(self) -> None:
        if self._patterns is None:
            from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
            from detect_secrets.plugins.keyword import KeywordDetector

            known: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
            kinds = [kind for kind in known.values() if kind.__name__ not in NOISY]
            self._patterns = tuple(_patterns(kind() for kind in kinds))
            self._keyword = KeywordDetector()


def _patterns(plugins: Iterable[Any]) -> Iterator[re.Pattern[str]]:
    for plugin in plugins:
        yield from getattr(plugin, "denylist", ())


def _essence(match: re.Match[str]) -> str:
    """The secret in a match: its longest group when that is long enough to be one, else all of it."""
    longest = max((group for group in match.groups() if group), key=len, default="")
    return longest if len(longest) >= SHORTEST else match[0]


def _plausible(value: str) -> bool:
    """Whether a literal beside a word like "password" looks like one: no word, blanks, template or mark of ours."""
    word = value.isalpha() and len(value) < 12
    return len(value) >= SHORTEST and not word and not re.search(r"[\s{}<>()]|^REDACTED_SECRET_|^\$", value)
