"""Naturalness of code: a token trigram model trained on the project's files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

TOKEN = re.compile(
    r"""[A-Za-z_]\w*|\d[\w.]*|[rbfuRBFU]{0,2}(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\*\*=|//=|>>=|<<=|==|!=|<=|>=|->|:=|\*\*|//|<<|>>|[-+*/%&|^@]=|[^\s\w]"""
)
START = ("", "")
ENOUGH = 1500
"""Number of learnt tokens that raise the trust in the counts by 1; see `Trigrams.trust`."""
FLOOR = 1e-5
"""Probability of an unknown token."""


@lru_cache(maxsize=20_000)
def tokens(text: str) -> tuple[str, ...]:
    """Split code into tokens, without comments. The code need not consist of complete statements."""
    return tuple(_kind(token) for line in text.splitlines() for token in TOKEN.findall(_bare(line)))


def _kind(token: str) -> str:
    """Return `token`, but "2" for all numbers except 0 and 1: how often a number occurs says nothing about the code."""
    return "2" if token[0].isdigit() and token not in ("0", "1") else token


def _bare(line: str) -> str:
    at = line.find("#")
    return line[:at] if at >= 0 and line.count('"', 0, at) % 2 == 0 and line.count("'", 0, at) % 2 == 0 else line


class _Counts:
    """Counts of one statement, which its model subtracts from the counts of the whole project.

    `grams`: occurrences of each n-gram. `totals`: occurrences of all n-grams with a context, by context. `kinds`: by
    context, the number of different n-grams that no other statement has.
    """

    def __init__(self) -> None:
        self.grams: Counter[tuple[str, ...]] = Counter()
        self.totals: Counter[tuple[str, ...]] = Counter()
        self.kinds: Counter[tuple[str, ...]] = Counter()


class Trigrams:
    """Trigram model with Witten-Bell interpolation, trained statement by statement."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._totals: Counter[tuple[str, ...]] = Counter()
        self._kinds: Counter[tuple[str, ...]] = Counter()
        self._own = _Counts()
        self._memo: dict[tuple[str, str, str], float] = {}

    @property
    def trust(self) -> float:
        """Return the weight of the counts, 0.2..1, which grows with the size of the corpus."""
        return min(1.0, 0.2 + self._totals[()] / ENOUGH)

    def learn(self, words: Sequence[str]) -> None:
        """Count the tokens of one statement."""
        for context, gram in _grams(words):
            if gram not in self._counts:
                self._kinds[context] += 1
            self._counts[gram] += 1
            self._totals[context] += 1

    def without(self, words: Sequence[str]) -> Trigrams:
        """Return the model without the statement `words`: a faulty statement must not raise its own probability."""
        rest = Trigrams()
        rest._counts, rest._totals, rest._kinds = self._counts, self._totals, self._kinds
        for context, gram in _grams(words):
            if rest._own.grams[gram] < self._counts[gram]:
                rest._own.grams[gram] += 1
                rest._own.totals[context] += 1
                rest._own.kinds[context] += rest._own.grams[gram] == self._counts[gram]
        return rest

    def logp(self, first: str, second: str, third: str) -> float:
        """Return the log probability of the token `third` after the tokens `first` and `second`."""
        key = (first, second, third)
        found = self._memo.get(key)
        if found is None:
            single = self._blend((third,), (), FLOOR)
            double = self._blend((second, third), (second,), single)
            found = self._memo[key] = math.log(self._blend(key, (first, second), double))
        return found

    def _blend(self, gram: tuple[str, ...], context: tuple[str, ...], lower: float) -> float:
        own = self._own
        total, kinds = self._totals[context] - own.totals[context], self._kinds[context] - own.kinds[context]
        return (self._counts[gram] - own.grams[gram] + kinds * lower) / (total + kinds) if total else lower


def _grams(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the context and the whole of each n-gram of a statement, n = 1 to 3."""
    chain = (*START, *words, "\n")
    for at in range(2, len(chain)):
        for size in (0, 1, 2):
            yield chain[at - size : at], chain[at - size : at + 1]
