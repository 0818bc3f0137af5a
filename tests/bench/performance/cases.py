"""Ten slow functions, each with a faster version, and one that is faster and wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`slow`, `fast` and `wrong` are bodies of `def name(args)`; `call` is what is timed, `test` what must hold."""

    name: str
    args: str
    slow: str
    fast: str
    wrong: str
    call: str
    test: str

    def files(self) -> dict[str, str]:
        return {
            "work.py": self.module(self.slow),
            "test_work.py": f"from work import {self.name}\n\n\ndef test_it():\n    assert {self.test}\n",
            "bench.py": f"from work import {self.name}\n\n{self.call}\n",
        }

    def module(self, body: str) -> str:
        lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
        return f'"""Work that takes time."""\n\n\ndef {self.name}({self.args}):\n{lines}'

    @property
    def slower(self) -> str:
        """The slow version, whose result is thrown away once."""
        inner = "".join(f"    {line}\n" for line in self.slow.strip().splitlines())
        return f"def once({self.args}):\n{inner}\nonce({self.args})\nreturn once({self.args})"


CASES = (
    Case(
        "distinct",
        "xs",
        "out = []\nfor x in xs:\n    if x not in out:\n        out.append(x)\nreturn out",
        "return list(dict.fromkeys(xs))",
        "return sorted(set(xs))",
        "distinct(list(range(2500)) * 2)",
        "distinct([3, 1, 3, 2, 1]) == [3, 1, 2]",
    ),
    Case(
        "counts",
        "words",
        "return {word: words.count(word) for word in words}",
        "found = {}\nfor word in words:\n    found[word] = found.get(word, 0) + 1\nreturn found",
        "return {word: 1 for word in words}",
        "counts([str(n % 900) for n in range(2700)])",
        "counts(['a', 'b', 'a']) == {'a': 2, 'b': 1}",
    ),
    Case(
        "backwards",
        "xs",
        "found = []\nfor x in xs:\n    found.insert(0, x)\nreturn found",
        "return list(xs)[::-1]",
        "return sorted(xs, reverse=True)",
        "backwards(range(25000))",
        "backwards([1, 3, 2]) == [2, 3, 1]",
    ),
    Case(
        "primes",
        "n",
        "return [p for p in range(2, n) if all(p % d for d in range(2, p))]",
        "sieve = [True] * n\nfor p in range(2, n):\n    for q in range(p * p, n, p):\n        sieve[q] = False\n"
        "return [p for p in range(2, n) if sieve[p]]",
        "return [p for p in range(3, n, 2) if all(p % d for d in range(3, p, 2))]",
        "primes(3500)",
        "primes(12) == [2, 3, 5, 7, 11]",
    ),
    Case(
        "pairs",
        "xs, total",
        "return any(xs[i] + xs[j] == total for i in range(len(xs)) for j in range(i))",
        "seen = set()\nfor x in xs:\n    if total - x in seen:\n        return True\n    seen.add(x)\nreturn False",
        "return any(total - x in set(xs[:1]) for x in xs)",
        "pairs(list(range(1100)), -1)",
        "pairs([1, 2, 4], 6) and not pairs([3], 6)",
    ),
    Case(
        "averages",
        "xs, width",
        "return [sum(xs[i : i + width]) / width for i in range(len(xs) - width + 1)]",
        "now = sum(xs[:width])\nfound = [now / width]\nfor old, new in zip(xs, xs[width:]):\n    now += new - old\n"
        "    found.append(now / width)\nreturn found",
        "now = sum(xs[:width])\nfound = [now / width]\nfor new in xs[width:]:\n    now += new\n"
        "    found.append(now / width)\nreturn found",
        "averages(list(range(6000)), 1500)",
        "averages([1, 2, 3, 4], 2) == [1.5, 2.5, 3.5]",
    ),
    Case(
        "flat",
        "lists",
        "found = []\nfor one in lists:\n    found = found + one\nreturn found",
        "return [item for one in lists for item in one]",
        "return sorted(item for one in lists for item in one)",
        "flat([[n, n] for n in range(3500)])",
        "flat([[2], [1, 3]]) == [2, 1, 3]",
    ),
    Case(
        "ordered",
        "xs",
        "xs = list(xs)\nfor i in range(len(xs)):\n    for j in range(len(xs) - 1 - i):\n        if xs[j] > xs[j + 1]:\n"
        "            xs[j], xs[j + 1] = xs[j + 1], xs[j]\nreturn xs",
        "return sorted(xs)",
        "return sorted(set(xs))",
        "ordered(range(750, 0, -1))",
        "ordered([2, 3, 1, 2]) == [1, 2, 2, 3]",
    ),
    Case(
        "anagrams",
        "words",
        "found = []\nfor word in words:\n    for group in found:\n        if sorted(group[0]) == sorted(word):\n"
        "            group.append(word)\n            break\n    else:\n        found.append([word])\nreturn found",
        "found = {}\nfor word in words:\n    found.setdefault(''.join(sorted(word)), []).append(word)\n"
        "return list(found.values())",
        "found = {}\nfor word in words:\n    found.setdefault(len(word), []).append(word)\nreturn list(found.values())",
        "anagrams([f'{n:09b}' * 2 + chr(97 + n) for n in range(260)])",
        "anagrams(['ab', 'cd', 'ba']) == [['ab', 'ba'], ['cd']]",
    ),
    Case(
        "cleaned",
        "lines",
        "import re\nfound = ''\nfor line in lines:\n    re.purge()\n"
        "    found = found + re.sub(r'\\s+', ' ', line) + ';'\nreturn found",
        "return ''.join(' '.join(line.split()) + ';' for line in lines)",
        "return ''.join(line.replace('  ', ' ') + ';' for line in lines)",
        "cleaned(['a  b c'] * 500)",
        "cleaned(['a   b', 'c']) == 'a b;c;'",
    ),
)
