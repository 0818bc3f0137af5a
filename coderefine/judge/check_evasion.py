"""Detect evasion of checks: comments that silence a tool, code that detects a test run, monkey-patched modules."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from coderefine.judge.change import PYTHON, Change, FileVersion, name_set, nodes
from coderefine.judge.code_values import CodeValues
from coderefine.judge.equality import COMPARISONS
from coderefine.judge.forbidden_names import MODULES
from coderefine.judge.main_guard import main_guard
from coderefine.judge.name_resolution import Bindings, bindings, dotted, text
from coderefine.judge.violations import Exemption, Violation
from coderefine.source import last_name

CODES = re.compile(r"[A-Za-z]+[A-Za-z0-9_-]*")
WITH_CODES = {
    "noqa": re.compile(r"#\s*noqa\b(?P<codes>\s*:[\sA-Z0-9,]+)?", re.I),
    "type: ignore": re.compile(r"#\s*type:\s*ignore\b(?P<codes>\[[^\]]*\])?", re.I),
    "pyright: ignore": re.compile(r"#\s*pyright:\s*ignore\b(?P<codes>\[[^\]]*\])?", re.I),
    "nosec": re.compile(r"#\s*nosec\b(?P<codes>\s*:?[\sB0-9,]+)?", re.I),
    "pylint: disable": re.compile(
        r"#.*?\bpylint:\s*(?:disable(?:-next)?|skip-file)\b(?P<codes>\s*=[\sa-zA-Z0-9,_-]+)?"
    ),
}
WHOLE = re.compile(
    r"#\s*(?P<what>(?:ruff|flake8|isort|fmt|yapf|black|autopep8|pydocstyle|pyright|pytype|pyre|pyrefly|ty|codespell"
    r"|cspell|bandit|docformatter|zuban|refurb|fixit|autoflake|unimport|typos|spell-?checker|snyk|checkov|trivy|tfsec"
    r"|semgrep|gitleaks|xdoctest)\s*:\s*(?:(?:noqa|off|skip|ignore|allow|split|basic|standard)(?![\w-])|isort\s*:\s*\w+"
    r"|(?:disable|skip|ignore|file|dont)[-_]\w[\w-]*|disable|report[A-Z]\w+)"
    r"|mypy\s*:\s*[a-z]+[-_][\w-]+|(?:mypy|pyright)\s*:[^#=]*\w=\w+|sourcery\s+skip\b|codeql\[[^\]]*\]|skipcq\b|nocov\b"
    r"|pragma:?\s*(?:allow|white)list\b|(?:trunk|lint)-(?:ignore|fixme)\S*"
    r"|pragma:?\s*no[\s-]*(?:cover|branch|partial|mutate|qa|type)\w*|pyre-(?:ignore|fixme|unsafe)\S*|nosem(?:grep)?\b|nosonar"
    r"|noinspection\b|lgtm\b|isort:skip_file|(?:lizard|radon)\s*:?\s*(?:forgives?|ignore|skip|disable)\w*)",
    re.I,
)
"""Directives that silence a tool; other words after the name of a tool are prose (`# black: moves down`)."""
STRICT = re.compile(r"#\s*(?:pyre-strict|(?:pyright|mypy)\s*:.*)")
STRICT_OPTION = re.compile(r"strict|(?:disallow|warn|check|enable|no-implicit)[\w-]*(?:=\w+)?")
"""Directives that may make a type checker stricter, and their options that do."""
HARMLESS_COMMENT = re.compile(r"pyright:ignore|ruff:isort:(on|split)")

VARIABLE = re.compile(r"PYTEST_[A-Z]\w*|CODEREFINE_\w+|TOX_ENV\w*|COVERAGE_(RUN|PROCESS\w*)|HYPOTHESIS_\w+")
TOOL = re.compile(
    r"_?pytest|py\.test|\bunittest\b|conftest|^pluggy|^iniconfig|^_coderefine|^/proc/\w+/(cmdline|environ)",
    re.IGNORECASE,
)
TEST_FILE = re.compile(r"(^|[\\/])(test_\w*|\w+_test|conftest)\.py$|(^|[\\/])tests?[\\/]")
QUERIES = name_set(
    "startswith endswith get getenv find index rfind count search match fullmatch findall open Path exists isfile "
    "is_file isdir is_dir glob rglob pop find_spec getmodule get_option fnmatch listdir read_text write_text "
    "joinpath getline getlines loadtxt read_csv"
)
"""Functions whose string arguments may influence a decision."""

COMPARING = name_set("startswith endswith find index count search match fullmatch fnmatch")
"""Those of QUERIES that search a string for another one."""
HARMLESS_ATTRIBUTES = name_set(
    "sys.stdout sys.stderr sys.stdin sys.excepthook sys.tracebacklimit sys.dont_write_bytecode sys.ps1 sys.ps2 "
    "sys.displayhook sys.unraisablehook logging.raiseExceptions threading.excepthook warnings.formatwarning"
)
FOREIGN = sys.stdlib_module_names | MODULES | {"__builtins__"}
CLASS_ATTRIBUTE = re.compile(rf"(?!(?:{'|'.join(MODULES)})\.)[\w.]+\.[A-Z]\w+\.[a-z]\w*")
"""An attribute of a class, outside of test tools."""
INTERNALS = COMPARISONS | name_set("__code__ __bases__ __globals__ __defaults__ __kwdefaults__")
SETTERS = frozenset(("setattr", "delattr", "__setattr__", "__delattr__"))
UPDATES = (".__dict__.update", ".__dict__.setdefault", ".__dict__.__setitem__")

QUIET = name_set("WARNING WARN ERROR CRITICAL FATAL")
"""Log levels that show no more messages than the default does; as numbers, QUIET_LEVEL and more."""
QUIET_LEVEL = 30
LOGGER = re.compile(r"\blog|_log", re.IGNORECASE)
"""What occurs in a file with a logger."""
FILTERS = name_set("warnings.simplefilter warnings.filterwarnings warnings.resetwarnings warnings.filters")


def suppressions(side: FileVersion) -> Iterator[Violation]:
    """Yield a violation for each silenced rule.

    A comment that silences all rules may be replaced by a comment that silences some, but not the other way round.
    """
    for line, comment in _comments(side.text) if side.path.endswith(PYTHON) else ():
        for name, pattern in WITH_CODES.items():
            for match in pattern.finditer(comment):
                codes = CODES.findall(match["codes"] or "")
                if not codes:
                    yield Violation(f"adds `# {name}`", line, moves=True)
                for code in codes:
                    yield Violation(f"adds `# {name}: {code}`", line, wider=f"adds `# {name}`", moves=True)
        for match in WHOLE.finditer(comment):
            if not HARMLESS_COMMENT.match(re.sub(r"\s+", "", match["what"].lower())):
                yield Violation(f"adds `# {' '.join(match['what'].split())}`", line)


def removed_strictness(change: Change) -> Iterator[str]:
    """Yield a reason for each removed directive, or option of a directive, that makes a type checker stricter."""
    if change.python and change.old_text is not None and change.new_text is not None:
        old, new = (Counter(_strict_options(text)) for text in (change.old_text, change.new_text))
        yield from (f"removes `# {what}` from {change.path}" for what in old - new)


def _strict_options(text: str) -> Iterator[str]:
    for _, comment in _comments(text):
        if found := STRICT.search(comment):
            tool, colon, options = found[0].lstrip("# ").partition(":")
            every = ("".join(option.split()) for option in options.split(","))
            yield from (f"{tool.strip()}: {option}" for option in every if STRICT_OPTION.fullmatch(option))
            yield from () if colon else (tool.strip(),)


def silenced_warnings(side: FileVersion) -> Iterator[Violation]:
    """Yield violations for code that may change the warning filters, so that a warning is no longer an error."""
    if side.tree is None:
        return
    names = bindings(side.tree)
    for node in nodes(side.tree):
        if _silences(node, names):
            yield Violation("silences warnings, which the tests take for errors", getattr(node, "lineno", 0))


def _silences(node: ast.AST, names: Bindings) -> bool:
    match node:
        case ast.Name() | ast.Attribute():
            return dotted(node, names) in FILTERS
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=errors):
            return _names_warning(*errors)
        case ast.Call(func=function, keywords=keywords):
            return last_name(function) == "catch_warnings" and any(item.arg == "action" for item in keywords)
        case ast.ExceptHandler(type=ast.expr() as caught):
            return _names_warning(caught)
    return False


def _names_warning(*errors: ast.expr) -> bool:
    return any(last_name(inner).endswith("Warning") for error in errors for inner in ast.walk(error))


def silenced_logs(side: FileVersion) -> Iterator[Violation]:
    """Yield violations for code that may keep messages from the log that a failing test reads."""
    if side.tree is None or not LOGGER.search(side.text):
        return
    names = bindings(side.tree)
    for node in nodes(side.tree):
        for what, value in _set_in_log(node, names):
            if _makes_quiet(what, value, names):
                yield Violation("silences the log, which a failing test reads", value.lineno, Exemption.USED_BEFORE)


def _set_in_log(node: ast.AST, names: Bindings) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that `node` sets, each with its value; for a tuple of values, with each of them."""
    for target, value in _stored(node):
        if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store):
            yield from ((target.attr, item) for item in getattr(value, "elts", [value]))
    match node:
        case ast.Call(func=ast.Attribute(attr="setLevel"), args=args, keywords=keywords):
            yield from (("level", value) for value in (*args, *(item.value for item in keywords)))
        case ast.Call(func=function, args=[*_, name, value]) if last_name(function) in SETTERS:
            yield names.text(name) or "", value


def _makes_quiet(what: str, value: ast.expr, names: Bindings) -> bool:
    """Return whether a logger whose attribute `what` is `value` certainly shows fewer messages."""
    known = names.value(value)
    if what == "level":
        terms = [value.left, value.right] if isinstance(value, ast.BinOp) else [value]  # `logging.CRITICAL + 1`
        quiet = any(dotted(term, names).rpartition(".")[2] in QUIET for term in terms)
        return quiet or (known >= QUIET_LEVEL if isinstance(known, int) else str(known).upper() in QUIET)
    return (what == "disabled" and bool(known)) or (what == "propagate" and known == 0)


def _comments(source: str) -> list[tuple[int, str]]:
    """Return (line, comment) pairs from tokens, so that strings are not mistaken for comments."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        # If the text cannot be tokenised: everything after a `#` on any line.
        lines = enumerate(source.split("\n"), 1)
        return [(number, line[line.index("#") :]) for number, line in lines if "#" in line]


def test_detection(side: FileVersion) -> Iterator[Violation]:
    """Yield uses of sys.modules, and strings that name a test tool, a test file, or an environment variable of a tool.

    Strings count only where they may influence a decision. Code under a main guard is left out.
    """
    if side.tree is None:
        return
    names, guarded, common = bindings(side.tree), main_guard(side.tree), _common_lookups(side.tree)
    for node in nodes(side.tree):
        line = getattr(node, "lineno", 0)
        if line in guarded:
            continue
        for word in _words(node, names):
            yield from _test_words(word, line, compared=_compares(node))
        reference = isinstance(node, ast.Attribute | ast.Name | ast.Call) and id(node) not in common
        if reference and dotted(node, names) == "sys.modules":
            yield Violation("reads or changes sys.modules", line, Exemption.USED_BEFORE)


def _words(node: ast.AST, names: Bindings) -> Iterator[str]:
    """Yield the strings in `node` on which a decision depends."""
    for place in _deciding(node):
        items = place.elts if isinstance(place, ast.Tuple | ast.List | ast.Set) else [place]
        yield from filter(None, (_text(item, names) for item in items))


def _text(item: ast.expr, names: Bindings) -> str | None:
    """Return the string that `item` evaluates to, with "x" for the values in an f-string; None for anything else."""
    if isinstance(item, ast.JoinedStr):
        return "".join(names.text(part) or "x" for part in item.values)
    return names.text(item)


def _test_words(word: str, line: int, *, compared: bool) -> Iterator[Violation]:
    """Yield violations for a string that names a test tool, a test file or a tool's environment variable.

    `compared`: whether a comparison uses the string. If so, a file name is allowed if a failing test contains it.
    """
    if VARIABLE.fullmatch(word):
        yield Violation(f"reads {word}", line)
    elif len(word) < 200 and (TOOL.search(word) or TEST_FILE.search(word)):
        asked = word if compared and not TOOL.search(word) else ""
        yield Violation(f"depends on the tests ({word[:40]!r})", line, Exemption.USED_BEFORE, asked=asked)


def _compares(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and last_name(node.func) in COMPARING)


def _deciding(node: ast.AST) -> list[ast.expr]:
    """Return the expressions on whose value a decision depends."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Subscript(slice=key):
            return [key]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=owner, attr="join"), args=args) if last_name(owner) in ("path", "sep"):
            return args
        case ast.Call(func=function, args=args, keywords=keywords) if last_name(function) in QUERIES:
            return [*args, *(keyword.value for keyword in keywords)]
        case ast.MatchValue(value=value):
            return [value]
    return []


def _common_lookups(tree: ast.Module) -> frozenset[int]:
    """Return ids of nodes to ignore: `sys.modules[__name__]` and `"numpy" in sys.modules` are common and harmless."""
    common: set[int] = set()
    for node in nodes(tree):
        match node:
            case ast.Subscript(value=value, slice=ast.Name(id="__name__"), ctx=ast.Load()):
                common.add(id(value))
            case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if text(key) is not None:
                common.add(id(value))
            case ast.Compare(left=left, comparators=others) if text(left) is not None:
                common.update(map(id, others))
    return frozenset(common)


def monkeypatching(side: FileVersion) -> Iterator[Violation]:
    """Yield replaced attributes of the standard library and test tools, and replaced internals such as `__code__`.

    Attributes of other libraries count, too, if they are replaced by code, or set by a call such as `setattr`.
    """
    if side.tree is None:
        return
    names, libraries = bindings(side.tree), _libraries(side.tree, side.path)
    code = CodeValues.of(side.tree, names)
    values = {target: value for node in nodes(side.tree) for target, value in _stored(node)}
    for node in nodes(side.tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            name = dotted(node, names)
            yield from _replaced(node, name, libraries, values.get(node), code)
        yield from _set_by_call(node, names, libraries)


def _replaced(
    target: ast.Attribute | ast.Subscript, name: str, libraries: set[str], value: ast.expr | None, code: CodeValues
) -> Iterator[Violation]:
    """Yield violations if `target` is an attribute or item that must not be replaced. `name`: its dotted name.

    These are attributes of the standard library and of test tools (except harmless ones), and INTERNALS such as
    `__code__`; attributes of `libraries` only if the new `value` may be code. Classes of the standard library may get
    a number (`TCPServer.allow_reuse_address = True`).
    """
    outside = value if _is_outside(name, libraries) else None  # the value of any other target does not matter
    by_code = outside is not None and code.may_be_code(outside, name)
    if _foreign(name, by_code=by_code) and not (_is_number(value) and CLASS_ATTRIBUTE.fullmatch(name)):
        yield Violation(f"replaces {name}", target.lineno, Exemption.USED_BEFORE)
    elif by_code and _top(name) in libraries:
        yield Violation(f"replaces {name}", target.lineno, Exemption.USED_BEFORE, module=_top(name))
    if isinstance(target, ast.Attribute) and target.attr in INTERNALS:
        yield Violation(f"replaces {target.attr} of an object", target.lineno, Exemption.USED_BEFORE)


def _is_number(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def _is_outside(name: str, libraries: set[str]) -> bool:
    return _foreign(name, by_code=True) or _top(name) in libraries


def _libraries(tree: ast.Module, path: str) -> set[str]:
    """Return the top-level modules of other libraries from which the file imports, without its own package."""
    found: set[str] = set()
    for node in nodes(tree):
        match node:
            case ast.Import(names=aliases):
                found.update(alias.name for alias in aliases)
            case ast.ImportFrom(module=str(name), level=0) | ast.Call(args=[ast.Constant(value=str(name))]):
                found.add(name)  # the call may be `import_module("numpy")`
    return {_top(name) for name in found}.difference(FOREIGN, PurePosixPath(path).with_suffix("").parts)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _stored(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield the targets of `node`, also those inside a tuple, each with the whole value that is assigned.

    For a loop or comprehension, this value is the iterable; for `with`, the context manager.
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case (
            ast.AnnAssign(target=ast.expr() as target, value=ast.expr() as value)
            | ast.AugAssign(target=ast.expr() as target, value=value)
            | ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
        ):
            targets = [target]
        case _:
            return
    yield from ((inner, value) for target in targets for inner in ast.walk(target))


def _set_by_call(node: ast.AST, names: Bindings, libraries: set[str]) -> Iterator[Violation]:
    """Yield violations if `node` is `setattr(…)` or `….__dict__.update(…)` of a library, or the like."""
    if not isinstance(node, ast.Call):
        return
    function = dotted(node.func, names)
    owners = {function.partition(".__dict__.")[0]} if function.endswith(UPDATES) else set()
    if {last_name(node.func), function} & SETTERS:
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        owners = {dotted(item, names) for item in (*owner, *node.args[:1])}
    for name in owners:
        if _foreign(f"{name}.x", by_code=True):
            yield Violation(f"replaces attributes of {name}", node.lineno, Exemption.USED_BEFORE)
        elif _top(name) in libraries:
            yield Violation(f"replaces attributes of {name}", node.lineno, Exemption.USED_BEFORE, module=_top(name))


def _foreign(name: str, *, by_code: bool) -> bool:
    """Return whether `name` is an attribute of the standard library or of a test tool, and not a harmless one.

    `by_code`: whether the new value is code; then names with a part `testing` or `assert…` count too.
    """
    module, *attributes = name.split(".")
    if not attributes or module in ("", "<own>") or name in HARMLESS_ATTRIBUTES or name.startswith("os.environ"):
        return False
    testing = any(part == "testing" or part.startswith("assert") for part in (module, *attributes))
    return module in FOREIGN or (testing and by_code)
