"""Which rules of the judge are needed: `python -m tests.bench.judge.run`.

Every attack (the cheats of tests/attacks, the refused patches of tests/judge) is given to each rule separately. Where a
rule refuses an attack alone, the judge without this rule would let it through.
"""

from __future__ import annotations

import importlib
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from coderefine.core import Patch
from coderefine.judge import copied_answers, equality, public_api, removed_behavior
from coderefine.judge.admit import SCANS
from coderefine.judge.change import Change, changes
from coderefine.judge.test_literals import test_literals
from coderefine.judge.violations import Scan, new_violations
from coderefine.judge.weakened_tests import changed_examples
from tests.attacks.cheats import CHEATS
from tests.attacks.shop import FILES
from tests.support.judging import Deed, files, judged

Changes = Sequence[Change]
Rule = Callable[[Changes, Deed, str], Iterable[object]]
"""Given the changes, the attack and the source of its tests, returns reasons to refuse."""


def attacks() -> Iterator[Deed]:
    """Yield the patches to refuse."""
    for cheat in CHEATS:
        before = {path: text for path, text in FILES.items() if path in cheat.edits}
        yield Deed(f"{cheat.guard}: {cheat}", before, cheat.files(), tests=FILES["tests/test_shop.py"])
    for path in sorted(Path("tests/judge").glob("test_*.py")):
        tables = vars(importlib.import_module(f"tests.judge.{path.stem}")).values()
        listed = chain.from_iterable(table for table in tables if isinstance(table, list | tuple))
        yield from (deed for deed in listed if isinstance(deed, Deed) and deed.says)


def scanning(scan: Scan) -> Rule:
    return lambda changed, _, tests: new_violations(tuple(changed), scan, (tests,))


def each(rule: Callable[[Change, Deed, str], Iterable[object]]) -> Rule:
    return lambda changed, deed, tests: chain.from_iterable(rule(one, deed, tests) for one in changed)


RULES: Mapping[str, Rule] = {
    **{scan.__name__: scanning(scan) for scan in SCANS},
    "shrunk": lambda changed, _, __: removed_behavior.shrunk(tuple(changed)),
    "emptied": each(lambda one, _, __: removed_behavior.emptied(one)),
    "removed": each(lambda one, deed, tests: public_api.removed(one, deed.findings, (tests,))),
    "narrowed": each(lambda one, deed, tests: public_api.narrowed(one, deed.findings, (tests,))),
    "loosened": each(lambda one, _, __: equality.loosened(one)),
    "changed_examples": each(lambda one, _, __: changed_examples(one)),
    "copied_answers": each(lambda one, _, tests: copied_answers.copied_answers(one, test_literals((tests,)))),
}


def main() -> None:
    refused, alone = Counter[str](), Counter[str]()
    total = by_judge = 0
    for deed in attacks():
        after, before = files(deed.after), files(deed.before)
        changed = changes(Patch(after), {path: before.get(path) for path in after})
        hits = [name for name, rule in RULES.items() if any(rule(changed, deed, textwrap.dedent(deed.tests)))]
        refused.update(hits)
        alone.update(hits if len(hits) == 1 else ())
        total, by_judge = total + 1, by_judge + (not judged(deed))
    print(f"{total} attacks, {by_judge} refused by the judge as a whole")
    for name in RULES:
        print(f"{name:20} refuses {refused[name]:3}, alone {alone[name]:3}")


if __name__ == "__main__":
    main()
