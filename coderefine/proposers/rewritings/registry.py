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
    "D205": docstrings.separate_summary,
    "D401": docstrings.imperative,
    "E501": long_lines.shorten,
    "E701": statements.split_header,
    "E702": statements.split_statements,
    "E712": unsafe_fixes.test_condition,
    "E721": statements.compare_types,
    "E722": statements.catch_all,
    "E741": names.rename_ambiguous,
    "G001": statements.split_format,
    "G002": statements.split_percent,
    "G004": statements.split_f_string,
    "N806": names.lower_name,
    "PERF401": loops.comprehend,
    "PERF402": loops.comprehend,
    "PLC0206": loops.unpack_items,
    "PLR1714": unsafe_fixes.test_membership,
    "PLW2901": names.keep_loop_variable,
    "RUF012": classes.annotate_class_variable,
    "SIM102": statements.merge_nested_if,
    "SIM117": statements.merge_with,
    "TD004": statements.add_colon,
    "TD007": statements.add_space,
    "TRY203": statements.remove_useless_try,
    "TRY300": statements.move_return_to_else,
    "UP031": unsafe_fixes.format_values,
    "W505": long_lines.shorten,
}

WITHOUT_UNSAFE_FIX: Mapping[str, str] = {
    "B006": "makes a new object in each call, which forgets what earlier calls have kept in it",
    "B011": "raises an exception also where assertions are disabled",
    "B028": "attributes warnings to another file",
    "C419": "does not evaluate what follows the first value that decides",
    "E712": "takes other values than True for true",
    "F401": "removes a name that other code may import from here",
    "PLR1714": "raises an exception for an object that is not hashable",
    "PLW1514": "reads and writes files in another encoding",
    "RUF005": "accepts other iterables than lists or tuples",
    "T201": "prints no more",
    "T203": "prints no more",
    "TC001": "removes a name at run time that annotations may be evaluated with",
    "TC002": "removes a name at run time that annotations may be evaluated with",
    "TC003": "removes a name at run time that annotations may be evaluated with",
    "TRY400": "writes tracebacks into the log",
    "UP028": "closes the iterable if the generator is closed",
    "UP031": "takes a tuple for one value",
}
"""Rules whose unsafe fix is not tried, with the change of behaviour that the fix may cause, perhaps where no test
notices. For those that are also in RULES, the rewriting is tried."""
