"""Replace secrets by placeholders in everything that is sent, and restore them in answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coderefine.sensitive import TOKENS, is_secret

PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.+?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
FORMS = tuple(re.compile(pattern) for pattern in TOKENS)
SETTING = re.compile(r"[\s>+-]*(?:export |set )?([A-Za-z][\w.-]*)(\s*[:=]\s*)([^\s'\"]+)(?:\s+#.*)?\s*")
"""Matches a line of a settings file with a value without quotes: name, sign and value."""
CODE = re.compile(r"[A-Za-z_][\w.]*|.*[(){}\[\],].*")
PLACEHOLDER = re.compile(r"REDACTED_SECRET_(\d+)_")
NOISY = {"IPPublicDetector", "KeywordDetector", "PrivateKeyDetector", "HexHighEntropyString", "Base64HighEntropyString"}
"""Plug-ins of detect_secrets that are not used: they search without a regex, or report hashes, addresses and words."""
SHORTEST = 6
"""Minimum length of a secret; shorter literals next to the word "password" are usually test values."""


class Redactor:
    """Replaces secrets by placeholders, numbered by first occurrence, so that equal runs send equal texts."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = tuple(sorted((secret for secret in known if len(secret) >= SHORTEST), key=len, reverse=True))
        self._numbers: dict[str, int] = {}
        self._patterns: tuple[re.Pattern[str], ...] | None = None
        self._keyword: Any = None

    def clean(self, text: str) -> str:
        """Replace every secret in `text` by its placeholder."""
        for secret in dict.fromkeys(self._found(text)):
            text = text.replace(secret, f"REDACTED_SECRET_{self._numbers.setdefault(secret, len(self._numbers) + 1)}_")
        return text

    def restore(self, text: str) -> str:
        """Replace the placeholders of this redactor in `text` by the original secrets."""
        secrets = {number: secret for secret, number in self._numbers.items()}
        return PLACEHOLDER.sub(lambda match: secrets.get(int(match[1]), match[0]), text)

    def scrub(self, text: str) -> str:
        """Remove the known secrets, such as the model's key, from `text`, for messages to the user."""
        for secret in self._known:
            text = text.replace(secret, "[key]")
        return text

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
        yield from _assigned(line)
        yield from (value for value in self._keyword.analyze_string(line) if _plausible(value))

    def _load(self) -> None:
        if self._patterns is None:
            from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
            from detect_secrets.plugins.keyword import KeywordDetector

            known: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
            plugins = [kind() for kind in known.values() if kind.__name__ not in NOISY]
            self._patterns = tuple(pattern for plugin in plugins for pattern in getattr(plugin, "denylist", ()))
            self._keyword = KeywordDetector()


def _assigned(line: str) -> Iterator[str]:
    """Yield the value without quotes that the line gives to the name of a secret, as in `DB_PASS=x` or `secret: x-1`.

    Code has lines such as `token: Token2`. So the value must not be a name or a number, except after NAME=.
    """
    found = SETTING.fullmatch(line)
    if not found or not is_secret(re.sub("[.-]", "_", found[1]), ""):
        return
    name, sign, value = found.groups()
    variable = name.isupper() and sign == "=" and not value.isdigit()
    mixed = re.search("[0-9]", value) and re.search("[A-Za-z]", value) and not CODE.fullmatch(value)
    if (variable or mixed) and _plausible(value):
        yield value


def _essence(match: re.Match[str]) -> str:
    """Return the secret in a match: its longest group if that is long enough, else the whole match."""
    longest = max((group for group in match.groups() if group), key=len, default="")
    return longest if len(longest) >= SHORTEST else match[0]


def _plausible(value: str) -> bool:
    """Return whether a literal next to a word like "password" may be a secret, not a plain word or a placeholder."""
    word = value.isalpha() and len(value) < 12
    return len(value) >= SHORTEST and not word and not re.search(r"[\s{}<>()]|^REDACTED_SECRET_|^\$", value)
