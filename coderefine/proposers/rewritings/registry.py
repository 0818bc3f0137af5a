"""The registry: rule of ruff → rewriting. To add a rewriting, see CONTRIBUTING.md.

A rewriting gets the parsed file and the finding. It returns edits that clear the finding and keep behaviour. It raises
Unsure if its edits might change behaviour or lose something (a name would be captured, a comment lost).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings import (
    classes,
    docstrings,
    formats,
    long_lines,
    loops,
    names,
    statements,
    unsafe_fixes,
)
from coderefine.proposers.rewritings.code import Code, Edits

Rewriting = Callable[[Code, Diagnostic], Edits]

RULES: Mapping[str, Rewriting] = {
    "A001": names.unshadow_builtin,
    "B023": loops.bind_loop_variable,
    "B904": statements.chain,
    "C416": unsafe_fixes.use_list,
    "D205": docstrings.separate_summary,
    "D401": docstrings.imperative,
    "E501": long_lines.shorten,
    "E701": statements.split_header,
    "E702": statements.split_statements,
    "E711": unsafe_fixes.test_none,
    "E712": unsafe_fixes.test_condition,
    "E721": statements.compare_types,
    "E722": statements.catch_all,
    "E741": names.rename_ambiguous,
    "F841": unsafe_fixes.remove_unused,
    "G001": statements.split_format,
    "G002": statements.split_percent,
    "G004": statements.split_f_string,
    "N806": names.lower_name,
    "PERF401": loops.comprehend,
    "PERF402": loops.comprehend,
    "PIE810": unsafe_fixes.merge_affixes,
    "PLC0206": loops.unpack_items,
    "PLR1714": unsafe_fixes.test_membership,
    "PLW2901": names.keep_loop_variable,
    "RET504": unsafe_fixes.return_value,
    "RUF012": classes.annotate_class_variable,
    "SIM102": statements.merge_nested_if,
    "SIM103": unsafe_fixes.return_truth,
    "SIM117": statements.merge_with,
    "SIM210": unsafe_fixes.test_truth,
    "TD004": statements.add_colon,
    "TD007": statements.add_space,
    "TRY201": unsafe_fixes.reraise,
    "TRY203": statements.remove_useless_try,
    "TRY300": statements.move_return_to_else,
    "UP031": formats.use_f_string,
    "W291": unsafe_fixes.strip_docstring,
    "W293": unsafe_fixes.strip_docstring,
    "W505": long_lines.shorten,
}

UNSAFE_FIXES = frozenset(
    """ANN201 ANN202 ANN204 ANN205 ANN206 B007 B905 B912 C400 C401 C402 C403 C404 C405 C406 C408 C409 C410 C411 C418
    D200 D400 D415 E731 EM101 EM102 EM103 ISC004 RET503 RUF059 SIM108 SIM211 SIM212 TID252 UP030""".split()
)
"""Rules whose unsafe fix is tried as ruff makes it: it keeps behaviour for values of all types, also those that no test
passes. The fix of another rule may change it where no test notices, or is unsafe only where it loses a comment; some of
RULES try it where it keeps behaviour."""
