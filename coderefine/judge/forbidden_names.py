"""Find uses of names that a repair of product code does not legitimately need (violations.py finds the new ones)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from coderefine.judge.change import FileVersion, name_set, nodes
from coderefine.judge.main_guard import main_guard
from coderefine.judge.name_resolution import (
    ANY,
    IMPORTS,
    OWN,
    POWERFUL,
    Bindings,
    attribute_lookup,
    bindings,
    dotted,
)
from coderefine.judge.violations import Exemption, Violation
from coderefine.source import Function, last_name

NEVER, USED_BEFORE, CLI = Exemption.NEVER, Exemption.USED_BEFORE, Exemption.CLI
ENDS = "ends the process"
SKIPS = "skips or excuses tests"
CALLERS = "looks at its callers"
HOOKS = "hooks into imports or tracing"
DETECTS = "detects that tests run"
DYNAMIC = "runs code from text"
REACHES = "reaches into the interpreter"

_REFERENCES = (
    (ENDS, NEVER, "os._exit os.abort os.kill os.killpg posix._exit"),
    (ENDS, NEVER, "signal.raise_signal signal.pthread_kill _thread.interrupt_main"),
    (ENDS, CLI, "sys.exit exit quit builtins.exit builtins.quit"),
    ("reads the command line", CLI, "sys.argv sys.orig_argv"),
    ("silences the log", CLI, "logging.disable"),
    ("silences the type checker", NEVER, "typing.no_type_check"),
    ("changes signals", USED_BEFORE, "signal.*"),
    ("acts when the process ends", USED_BEFORE, "atexit.*"),
    (SKIPS, NEVER, "pytest.skip pytest.exit pytest.xfail pytest.importorskip"),
    (SKIPS, NEVER, "pytest.mark.skip pytest.mark.skipif pytest.mark.xfail"),
    (SKIPS, NEVER, "unittest.skip unittest.skipIf unittest.skipUnless"),
    (SKIPS, NEVER, "unittest.SkipTest unittest.case.SkipTest unittest.expectedFailure"),
    (CALLERS, USED_BEFORE, "inspect.stack inspect.currentframe inspect.getouterframes inspect.trace"),
    (CALLERS, USED_BEFORE, "sys._getframe sys._getframemodulename sys._current_frames"),
    (CALLERS, USED_BEFORE, "traceback.extract_stack traceback.walk_stack traceback.format_stack traceback.print_stack"),
    (CALLERS, USED_BEFORE, "traceback.StackSummary.extract inspect.getinnerframes tracemalloc.get_object_traceback"),
    (CALLERS, USED_BEFORE, "faulthandler.dump_traceback faulthandler.dump_traceback_later"),
    (ENDS, USED_BEFORE, "os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe"),
    (HOOKS, USED_BEFORE, "sys.settrace sys.setprofile sys.monitoring.* sys.meta_path sys.path_hooks sys.addaudithook"),
    (HOOKS, USED_BEFORE, "threading.settrace threading.setprofile importlib.reload"),
    (HOOKS, USED_BEFORE, "importlib.util.module_from_spec importlib.util.spec_from_file_location"),
    (DETECTS, USED_BEFORE, "sys.gettrace sys.getprofile sys.stdout.__class__ sys.stderr.__class__"),
    (DETECTS, CLI, "sys.warnoptions"),
    (DYNAMIC, USED_BEFORE, "exec eval compile builtins.exec builtins.eval builtins.compile"),
    (
        DYNAMIC,
        USED_BEFORE,
        "types.CodeType types.FunctionType marshal.loads marshal.load runpy.* codeop.* code.InteractiveInterpreter "
        "code.InteractiveConsole code.interact timeit.timeit timeit.repeat timeit.Timer timeit.main profile.run "
        "profile.runctx cProfile.run cProfile.runctx pdb.run pdb.runeval bdb.Bdb trace.Trace",
    ),
    (REACHES, NEVER, "__builtins__ gc.get_objects gc.get_referrers"),
    ("changes sys.path", USED_BEFORE, "sys.path.insert sys.path.append sys.path.extend"),
)
REFERENCES = {name: (what, exemption) for what, exemption, names in _REFERENCES for name in names.split()}
DANGEROUS = POWERFUL | name_set(
    "atexit faulthandler importlib.util marshal pickle pydoc pytest runpy threading timeit traceback tracemalloc "
    "unittest"
)
"""Modules that must not be passed on as a value, because their later uses would not be recognised.

Other modules, such as `signal` and `types`, are left out: attributes and objects of projects often have these names.
"""
MODULES = name_set(
    "pytest _pytest unittest mock nose doctest hypothesis conftest test tests __main__ ctypes _ctypes gc pluggy xdist "
    "coverage sitecustomize usercustomize importlib.abc importlib.machinery dirty_equals hamcrest testfixtures"
)
TESTS_OF_PYTHON = re.compile(r"(?:_(?:ctypes_)?test|_xxtest|xxlimited)\w*")
"""Modules that exist for the tests of the standard library only."""
_ATTRIBUTES = (
    (SKIPS, NEVER, "skipTest"),
    (ENDS, USED_BEFORE, "_exit interrupt_main"),
    (CALLERS, USED_BEFORE, "f_back f_globals f_locals f_builtins tb_frame gi_frame cr_frame ag_frame"),
    (CALLERS, USED_BEFORE, "_getframe _getframemodulename _current_frames currentframe findCaller"),
    (HOOKS, USED_BEFORE, "settrace setprofile addaudithook meta_path path_hooks"),
    (REACHES, USED_BEFORE, "__subclasses__ __globals__ __builtins__ __loader__"),
    (REACHES, USED_BEFORE, "get_referrers get_objects pythonapi cell_contents"),
)
ATTRIBUTES = {name: (what, exemption) for what, exemption, names in _ATTRIBUTES for name in names.split()}
"""Attributes that are forbidden on any object."""
COMMON = name_set("_exit")
"""Those of ATTRIBUTES that are allowed on objects of the file itself."""
FIELD = re.compile(r"\{[^{}]*\.[^{}]*\}")
PART = re.compile(r"[.\[](\w+)")
"""An attribute or key in the field of a format string, or in the argument of `get_field`."""
TRACEBACK = name_set("__traceback__ tb_next")
IMPORTING = frozenset(("__import__", "builtins.__import__", *IMPORTS))
UNPICKLING = name_set("pickle.loads pickle.load pickle.Unpickler _pickle.loads _pickle.load _pickle.Unpickler")
LOOKING_UP = IMPORTING | {"getattr", "builtins.getattr"}
"""Functions that may be called with a known name, but may not be passed to other code."""
MAY_TAKE_MODULES = name_set(
    "hasattr isinstance issubclass type id repr callable reload getattr __getattribute__ __setattr__"
)
"""Functions to which a module of DANGEROUS may be passed."""
STORED = re.compile(
    r"pytest_plugins|pytestmark|collect_ignore(_glob)?|__test__|__tracebackhide__|__unittest\w*|load_tests"
)
DEFINED = re.compile(r"pytest_\w+|load_tests|setUpModule|tearDownModule")
STARTING = name_set("Popen Process create_subprocess_exec create_subprocess_shell")
"""Classes and functions that start a child process."""
OWN_PROCESS = name_set("current_process parent_process getpid getppid getpgrp getsid get_native_id psutil")
"""Functions, and a library, through which code finds its own process or that of its parent."""
INPUT = name_set("sys.stdin input builtins.input")
ASKING = name_set("isatty encoding reconfigure")
"""Attributes of `sys.stdin` that raise no such error in a test."""
INPUT_ERRORS = name_set("OSError IOError EnvironmentError UnsupportedOperation Exception BaseException")
Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.With | ast.Try
Found = Iterator[tuple[str, Exemption]]


def forbidden_names(side: FileVersion) -> Iterator[Violation]:
    """Yield uses of names that end, skip, observe or manipulate the test run.

    Under a main guard, where code does not run at import, only uses without any exemption (Exemption.NEVER) count.
    """
    if side.tree is None:
        return
    names, guarded = bindings(side.tree), main_guard(side.tree)
    harmless = _harmless_kills(side.tree, names)
    for node in nodes(side.tree):
        if node in harmless:
            continue
        found = ((getattr(node, "lineno", 0), *one) for one in _found(node, names))
        for line, what, exemption in (*found, *_passed_around(node, names)):
            if exemption is NEVER or line not in guarded:
                yield Violation(what, line, exemption)


def _found(node: ast.AST, names: Bindings) -> Found:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imports(node)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        yield from _raises(node.exc, names)
    elif isinstance(node, Block) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
        yield from _special(node, names)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        yield from _references(node, names)
        yield from _attributes(node, names)
    elif isinstance(node, ast.Constant):
        yield from _attributes(node, names)


def _harmless_kills(tree: ast.Module, names: Bindings) -> set[ast.expr]:
    """Return the functions of the calls that only test whether a process exists, or that end a child."""
    calls = [node for node in nodes(tree) if isinstance(node, ast.Call)]
    kills = [call for call in calls if _kills_child(call)]
    children = kills if kills and _knows_only_children(tree, names) else []
    return {call.func for call in (*filter(_probes, calls), *children)}


def _knows_only_children(tree: ast.Module, names: Bindings) -> bool:
    """Return whether the file starts child processes, sets no `pid`, and does not ask for its own process or parent."""
    used = {part for node in nodes(tree) for part in dotted(node, names).split(".")}
    return bool(used & STARTING) and not (used & OWN_PROCESS or any(_sets_pid(node, names) for node in nodes(tree)))


def _probes(call: ast.Call) -> bool:
    """Return whether `call` is `….kill(pid, 0)`, which only tests whether a process exists."""
    match call:
        case ast.Call(func=ast.Attribute(attr="kill" | "killpg"), args=[_, ast.Constant(value=0)], keywords=[]):
            return True
    return False


def _kills_child(call: ast.Call) -> bool:
    """Return whether `call` is `….kill(x.pid, …)` or `….killpg(…)` of such a process or of its process group."""
    match call:
        case ast.Call(func=ast.Attribute(attr="kill" | "killpg"), args=[target, _], keywords=[]):
            group = isinstance(target, ast.Call) and last_name(target.func) == "getpgid" and len(target.args) == 1
            process = target.args[0] if isinstance(target, ast.Call) and group else target
            return isinstance(process, ast.Attribute) and process.attr == "pid"
    return False


def _sets_pid(node: ast.AST, names: Bindings) -> bool:
    """Return whether `node` gives a value to an attribute or name `pid`, which may then be any process.

    Text with this name counts, too: `"pid"`, `"name, pid"`.
    """
    match node:
        case ast.keyword(arg="pid") | ast.FunctionDef(name="pid") | ast.AsyncFunctionDef(name="pid"):
            return True
        case ast.Attribute(attr="pid", ctx=ast.Store()) | ast.Name(id="pid", ctx=ast.Store()):
            return True
        case ast.expr():
            words = (names.text(node) or "").replace(",", " ").split()
            return "pid" in words and all(map(str.isidentifier, words))
    return False


def _special(node: Block | ast.Name, names: Bindings) -> Found:
    """Yield definitions and assignments of names that pytest or unittest reads.

    Yield also `with` statements that can learn the line of a caller (see `_records_callers`), and statements that find
    out whether there is an input, which pytest replaces (see `_tries_input`).
    """
    if isinstance(node, Function) and DEFINED.fullmatch(node.name):
        yield f"defines {node.name}()", USED_BEFORE
    elif isinstance(node, ast.Name) and STORED.fullmatch(node.id):
        yield f"sets {node.id}", USED_BEFORE
    elif isinstance(node, ast.With) and _records_callers(node):
        yield f"{CALLERS} (stacklevel)", USED_BEFORE
    elif isinstance(node, ast.With | ast.Try) and _tries_input(node, names):
        yield f"{DETECTS} (sys.stdin)", USED_BEFORE


def _tries_input(node: ast.With | ast.Try, names: Bindings) -> bool:
    """Return whether `node` reads the standard input and catches the error that this raises in a test."""
    errors = {last_name(inner) for item in _caught(node) for inner in ast.walk(item)}
    return not INPUT_ERRORS.isdisjoint(errors) and any(_reads_input(item, names) for item in node.body)


def _reads_input(statement: ast.stmt, names: Bindings) -> bool:
    """Return whether `statement` uses the standard input for more than ASKING."""
    asked = {one.value for one in ast.walk(statement) if isinstance(one, ast.Attribute) and one.attr in ASKING}
    return any(dotted(one, names) in INPUT for one in ast.walk(statement) if one not in asked)


def _caught(node: ast.With | ast.Try) -> list[ast.expr]:
    """Return the exceptions that `try` catches, or that are passed to the calls of `with` (`suppress`).

    Handlers that use the exception, as in a message, or that end with `raise` are left out.
    """
    if isinstance(node, ast.Try):
        return [item.type or ast.Name("BaseException") for item in node.handlers if not _reports(item)]
    calls = [item.context_expr for item in node.items]
    return [part for call in calls if isinstance(call, ast.Call) for part in call.args]


def _reports(handler: ast.ExceptHandler) -> bool:
    uses = any(isinstance(inner, ast.Name) and inner.id == handler.name for inner in ast.walk(handler))
    return uses or isinstance(handler.body[-1], ast.Raise)


def _records_callers(node: ast.With) -> bool:
    """Return whether `node` can learn the line of a caller: it catches warnings, and sets a `stacklevel`."""
    calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    recorded = any(last_name(call.func) == "catch_warnings" for call in calls)
    return recorded and any(item.arg == "stacklevel" for call in calls for item in call.keywords)


def _imports(node: ast.Import | ast.ImportFrom) -> Found:
    for alias in node.names:
        origin = f"{node.module or ''}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        what, exemption = _listed(origin)
        if what and isinstance(node, ast.ImportFrom) and exemption is not CLI:
            yield f"{what} ({origin})", exemption
        yield from _module(origin, whole=isinstance(node, ast.Import))


def _listed(name: str) -> tuple[str, Exemption]:
    module, _, attribute = name.rpartition(".")
    everything = "" if attribute.isupper() else f"{module}.*"  # `signal.SIGKILL` alone does nothing
    return REFERENCES.get(name) or REFERENCES.get(everything) or ("", NEVER)


def _module(name: str, *, whole: bool = False) -> Found:
    """Yield imports of test tools and test modules, through which a patch could manipulate the tests that judge it.

    `whole`: whether the last part of `name` is certainly a module, too.
    """
    parts = name.strip(".").split(".")
    modules = parts if whole else parts[:-1] or parts
    if (
        not {"tests", "conftest"}.isdisjoint(modules)
        or {parts[0], ".".join(parts[:2])} & MODULES
        or _tests_of_python(parts)
    ):
        yield f"imports {parts[0]}", USED_BEFORE


def test_modules(side: FileVersion) -> Iterator[Violation]:
    """Yield imports of modules that are named like tests (`test_…`).

    Product code may have such a name. Therefore each violation has the path of the module, with which this is decided.
    """
    if side.tree is None:
        return
    names = bindings(side.tree)
    for node in nodes(side.tree):
        for parts in _imported(node, names):
            ends = [place for place, part in enumerate(parts, 1) if part.startswith("test_")]
            if ends:
                line, module = getattr(node, "lineno", 0), "/".join(parts[: ends[-1]])
                yield Violation(f"imports {parts[0]}", line, USED_BEFORE, module=module)


def _imported(node: ast.AST, names: Bindings) -> Iterator[list[str]]:
    """Yield the name, split at its dots, of each module that `node` imports or whose function `node` calls."""
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name.split(".") for alias in aliases)
        case ast.ImportFrom(module=str(module)):
            yield module.split(".")
        case ast.ImportFrom(names=aliases):
            yield from ([alias.name] for alias in aliases)
        case ast.Call() if (name := dotted(node, names)) and not name.startswith((OWN, ANY)):
            parts = name.strip(".").split(".")
            yield parts if _imports_by_name(node, names) else parts[:-1] or parts


def _imports_by_name(node: ast.AST, names: Bindings) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func, names) in IMPORTING


def _tests_of_python(parts: list[str]) -> bool:
    """Return whether a module is one of Python's own tests, where some objects equal everything.

    `parts`: its dotted name, split at the dots.
    """
    inside = parts[0] in sys.stdlib_module_names and not {"test", "idle_test"}.isdisjoint(parts)
    return inside or TESTS_OF_PYTHON.fullmatch(parts[0]) is not None


def _raises(exception: ast.expr, names: Bindings) -> Found:
    name = dotted(exception.func if isinstance(exception, ast.Call) else exception, names).removeprefix("builtins.")
    if name == "SystemExit":
        yield ENDS, CLI
    elif name == "KeyboardInterrupt":
        yield f"{ENDS} (KeyboardInterrupt)", USED_BEFORE


def _references(node: ast.expr, names: Bindings) -> Found:
    name = dotted(node, names)
    what, exemption = _listed(name)
    if what:
        yield what if exemption is CLI else f"{what} ({name})", exemption
    elif isinstance(node, ast.Call) and name and not name.startswith((OWN, ANY)):
        yield from _module(name, whole=_imports_by_name(node, names))
    if name.endswith(".__dict__") and name.partition(".")[0] in sys.stdlib_module_names:
        yield f"{REACHES} ({name})", USED_BEFORE
    elif isinstance(node, ast.Call):
        yield from _computed(node, names)


def _computed(node: ast.Call, names: Bindings) -> Found:
    """Yield lookups of computed names in tracebacks and modules of POWERFUL, and imports of computed names.

    Yield also the unpickling of literals, and `type(sys.stdout)` or `type(sys.stderr)`.
    """
    if _looks_up_unknown(node, names):
        yield "looks up a computed name", USED_BEFORE
    function = dotted(node.func, names)
    if (function in IMPORTING or _finds_class(node)) and not _is_known_or_relative(node, names):
        yield "imports a computed name", USED_BEFORE
    elif function == "type" and dotted((*node.args, node)[0], names) in ("sys.stdout", "sys.stderr"):
        yield DETECTS, USED_BEFORE
    elif function in UNPICKLING and any(_has_bytes(item) for item in node.args[:1]):
        yield DYNAMIC, USED_BEFORE


def _is_known_or_relative(node: ast.Call, names: Bindings) -> bool:
    """Return whether `node` imports a known name, or one that certainly begins with "." and is in the same package."""
    if dotted(node, names):
        return True
    match node.args:
        case [ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]), ast.Name(id="__name__" | "__package__")]:
            return start.startswith(".")
        case [ast.Subscript(value=table), ast.Name(id="__name__" | "__package__")]:
            known = names.value(table)
            return isinstance(known, dict) and all(str(name).startswith(".") for name in known.values())
    return False


def _finds_class(node: ast.Call) -> bool:
    """Return whether `node` calls `find_class` of an unpickler, which imports a name; not `super().find_class`."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return False
    return last_name(node.func) == "find_class"


def _has_bytes(node: ast.AST) -> bool:
    """Return whether bytes are written in `node`."""
    return any(isinstance(one, ast.Constant) and isinstance(one.value, bytes) for one in ast.walk(node))


def _looks_up_unknown(node: ast.Call, names: Bindings) -> bool:
    base, wanted = attribute_lookup(node, names) or (None, node)
    if base is None or names.text(wanted) is not None:
        return False
    return dotted(base, names) in POWERFUL or _is_traceback(base, names)


def _is_traceback(node: ast.expr, names: Bindings) -> bool:
    """Return whether `node` contains a traceback, from which frames can be reached, or is a name for such a value."""
    if isinstance(node, ast.Name):
        known = names.constants.get(node.id)
        return known is not None and not isinstance(known, ast.Name) and _is_traceback(known, names)
    inner = list(ast.walk(node))
    attributes = {one.attr for one in inner if isinstance(one, ast.Attribute)}
    return not TRACEBACK.isdisjoint(attributes) or any(dotted(one, names) == "sys.exc_info" for one in inner)


def _attributes(node: ast.expr, names: Bindings) -> Found:
    """Yield uses of attributes that are forbidden on any object, also if named by a string (`getattr`).

    `__self__`, which leads from a method or built-in function to its owner, is allowed only on names of this file.
    """
    for attribute in ATTRIBUTES.keys() & _taken(node, names):
        what, exemption = ATTRIBUTES[attribute]
        if attribute not in COMMON or not dotted(node, names).startswith(OWN):
            yield f"{what} ({attribute})", exemption
    if isinstance(node, ast.Attribute) and node.attr == "__self__" and not dotted(node.value, names).startswith(OWN):
        yield f"{REACHES} (__self__)", USED_BEFORE


def _taken(node: ast.expr, names: Bindings) -> set[str]:
    """Return the attributes that `node` reads, also by a format string: `"{0.f_back}".format(frame)`."""
    if isinstance(node, ast.Constant):
        return _of_fields(node.value) if isinstance(node.value, str) else set()
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Subscript):
        return {names.text(node.slice) or ""}
    return _taken_by_call(node, names) if isinstance(node, ast.Call) else set()


def _taken_by_call(node: ast.Call, names: Bindings) -> set[str]:
    first = [names.text(item) or "" for item in node.args[:1]]
    match node.func:
        case ast.Attribute(attr="get_field"):
            return {part for text in first for part in PART.findall(text)}
        case ast.Attribute(value=owner, attr="format" | "format_map" | "vformat"):
            return _of_fields(" ".join([names.text(owner) or "", *first]))
    looked_up = attribute_lookup(node, names)
    return set((names.text(looked_up[1]) or "").split(".")) if looked_up else set()


def _of_fields(text: str) -> set[str]:
    """Return the attributes and keys in the fields of a format string."""
    fields = FIELD.findall(text.replace("{{", "").replace("}}", ""))
    return {part for one in fields for part in PART.findall(one)}


def _passed_around(node: ast.AST, names: Bindings) -> Iterator[tuple[int, str, Exemption]]:
    """Yield dangerous modules, and lookup functions such as `getattr`, that `node` uses as a value, with their lines.

    The parts of `node` that `_harmless` returns are allowed.
    """
    allowed = isinstance(node, ast.Call) and last_name(node.func) in MAY_TAKE_MODULES
    for given in ast.iter_child_nodes(node):
        if not isinstance(given, ast.Name | ast.Attribute) or not isinstance(given.ctx, ast.Load):
            continue
        name = dotted(given, names)
        looks_up = name in LOOKING_UP and not _reduces_own(node, names)
        if (looks_up or (name in DANGEROUS and not allowed)) and given not in _harmless(node, names):
            yield given.lineno, f"passes {name} around", USED_BEFORE


def _reduces_own(node: ast.AST, names: Bindings) -> bool:
    """Return whether `node` is `reduce(getattr, path, base)`, which begins at an object of the file."""
    match node:
        case ast.Call(func=function, args=[_, _, base]) if dotted(function, names) == "functools.reduce":
            return dotted(base, names).startswith(OWN)
    return False


def _harmless(node: ast.AST, names: Bindings) -> Sequence[ast.AST | None]:
    """Return the parts of `node` whose value is only looked at, or only gets a name that name resolution follows.

    Such a name is a plain name in an assignment (not in a class), or a parameter with a default.
    """
    match node:
        case ast.Attribute(value=part) | ast.Call(func=part) | ast.UnaryOp(operand=part) | ast.Expr(value=part):
            return [part]
        case ast.If(test=part) | ast.While(test=part) | ast.IfExp(test=part) | ast.Assert(test=part):
            return [part]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BoolOp(op=ast.And(), values=[*parts, _]):
            return parts
        case ast.Assign(targets=targets, value=part) if all(isinstance(item, ast.Name) for item in targets):
            return [] if isinstance(names.scopes[node].node, ast.ClassDef) else [part]
        case ast.AnnAssign(target=ast.Name(), value=part) | ast.NamedExpr(value=part):
            return [part]
        case ast.arguments(defaults=positional, kw_defaults=named):
            return [*positional, *named]
    return []
