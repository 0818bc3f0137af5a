"""Put the statements of new functions back in place of the calls, to show that the statements were only moved.

Each step is guessed and then checked: the statements that were put back are extracted again (`examined`, `extracted`),
and the result must be the same new function and call. Thus the rules for drafts hold, and a wrong guess proves nothing.
A mistake in these rules could make the proof wrong: therefore Python's own symbol tables must agree, too
(`_has_same_names`).
Before these steps, causes of exceptions (`raise … from …`) are removed (`equal_forms.py`).
"""

from __future__ import annotations

import ast
import copy
import re
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock, destroys_early, examined, rebound
from coderefine.proposers.refactorings.extraction import extracted
from coderefine.proposers.refactorings.files import belongs, python_files
from coderefine.proposers.refactorings.flow import called, own_nodes, parameters, uses
from coderefine.proposers.refactorings.trees import Unit
from coderefine.runner.equal_forms import READS_CAUSES, without_causes
from coderefine.source import Function, arguments, last_name, syntax

if TYPE_CHECKING:
    from coderefine.core import View
    from coderefine.project import Place, Protection

FINALIZED = re.compile(r"def __del__|\bimport weakref|\bfrom weakref\b|\bweakref\.")
"""If a project contains such code, the destruction of any of its objects may have an effect."""
ANY = re.compile("")
SEES_FRAMES = re.compile(
    r"\b(_getframe|currentframe|getouterframes|extract_stack|format_stack|print_stack|settrace|setprofile)\b"
    r"|inspect\.stack\b|stacklevel\s*=\s*(?!1\b|2\b)|def __getattribute__"
    r"|\bwarn\((?:[^()]|\([^()]*\))*,[^()]*,\s*(?![12]\b)\d+\s*[,)]"
    r"|funcName|FUNC_NAME|\bco_name\b|\bco_qualname\b|\bloguru\b"
)
"""Code that may depend on the number of calls on the stack, or on the name of the running function, as logs do.
`stacklevel=2` only names the calling file, which does not change."""
LISTS_FUNCTIONS = re.compile(
    r"(?:\bgetmembers\(|\bfor \w+ in (?:list\(|sorted\()?(?:(?:dir|globals|vars)\(|[\w.]+(?<!\bself)\.__dict__)"
    r"|(?:\bglobals\(\)|\bvars\((?!self\b|args\b)[^()]+\)|(?<!\bself)\.__dict__)\.(?:copy|items|values)\()"
    r"(?!(?:.(?!\n\n)){0,150}(?:startswith|isinstance|issubclass|isclass|\[0\]))",
    re.DOTALL,
)
"""Code that may find all functions of a module or a class. Code that soon asks for a class, or for the beginning of the
name, does not find new private functions: 9 of 42 packages have other such code."""
PRIVATE, OF_CLASS = re.compile(r"\b_[A-Za-z]\w*"), re.compile(r"\b(?=([A-Za-z_]\w*\.[A-Za-z_]\w*))")
TRANSPARENT = frozenset(
    """property cached_property staticmethod classmethod setter getter deleter abstractmethod overload override final
    contextmanager asynccontextmanager wraps lru_cache cache total_ordering singledispatch register""".split()
)
"""Decorators that do not depend on how a function is divided; others may read the function's code, or compile it."""
MARK = ast.Expr(ast.Constant(b"put back"))
"""A mark before statements that were put back; it also separates an `if` from an `else` directly above it."""
Classes = tuple[ast.ClassDef, ...]


@dataclass(frozen=True)
class _Definition:
    """A function that is in no other function.

    `classes`: the classes that contain it, outermost first; `home`: the list of statements that contains it.
    """

    node: Function
    classes: Classes
    home: list[ast.stmt]

    @property
    def name(self) -> str:
        return ".".join((*(one.name for one in self.classes), self.node.name))


@dataclass(frozen=True, slots=True)
class _Project:
    """Facts that decide whether a project may notice new functions, or removed causes of exceptions.

    `words`: the private names and the dotted names (CLASS.METHOD) in the project. `sees_frames`, `lists_functions`,
    `finalized`, `reads_causes`: whether some code may depend on the call stack, on all functions of a module or class,
    on the destruction of objects, or on the causes of exceptions.
    """

    words: AbstractSet[str]
    sees_frames: bool
    lists_functions: bool
    finalized: bool
    reads_causes: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """A file after the statements of new functions were put back.

    `text`: its new text; `before`: the text to compare it with. `without_causes`: whether causes of exceptions were
    removed from both texts. `names`: the new functions that were put back; `methods`: the methods (as CLASS.METHOD)
    that called one of these functions as a method. `holds`: whether a variable of a new function may be the last
    reference to an object.
    """

    before: str
    text: str
    names: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    holds: bool = False
    without_causes: bool = False

    def is_unnoticed(self, project: _Project) -> bool:
        seen = project.sees_frames or project.lists_functions or (project.finalized and self.holds)
        if seen and self.names:
            return False
        if self.without_causes and project.reads_causes:
            return False
        return project.words.isdisjoint(self.names | self.methods)


class Inlining:
    """Returns files with the statements of their new functions put back, if the project cannot notice a difference.

    The project must not contain the names of the new functions, nor the text CLASS.METHOD for a method that now calls a
    new method: this could be a call with an object of another class. If the change affects the call stack, the list
    of functions, causes of exceptions, or the destruction of objects, no code except tests may depend on that.
    """

    def __init__(self, place: Place, protection: Protection) -> None:
        self._place, self._protection = place, protection

    def __call__(self, view: View, texts: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """Return, by path, the pairs (before, after) to compare in place of those in `texts`.

        In these pairs, the statements of new functions are put back, and causes of exceptions are removed. Files in
        which this changes nothing, or in which the project could notice a difference, are left out.
        """
        every = {path: found for path, pair in texts.items() if (found := restored(*pair))}
        project = self._project(view) if every else None
        if project is None:
            return {}
        return {path: (one.before, one.text) for path, one in every.items() if one.is_unnoticed(project)}

    def _project(self, view: View) -> _Project | None:
        """Read the project's Python files; None if there are too many."""
        files = python_files(view.host_path / self._place.prefix)
        if files is None:
            return None
        read = [(file.relative_to(view.host_path).as_posix(), file.read_bytes()) for file in files]
        every = [data.decode("utf-8", "replace") for _, data in read]
        program = [text for text, (path, _) in zip(every, read, strict=True) if not self._protection.is_test(path)]
        words = {word for text in every for kind in (PRIVATE, OF_CLASS) for word in kind.findall(text)}
        found = (any(map(sign.search, program)) for sign in (SEES_FRAMES, LISTS_FUNCTIONS, FINALIZED, READS_CAUSES))
        return _Project(words, *found)


@lru_cache(maxsize=64)
def restored(before: str, after: str) -> Restored | None:
    """Return the file `after` with the statements of new functions put back, where they were only moved.

    Causes of exceptions are removed from both texts. Return None if there are neither such functions nor causes, or if
    a text cannot be parsed.
    """
    plain = without_causes(before, after)
    before, after = plain or (before, after)
    old, new = syntax(before), syntax(after)
    if old is None or new is None:
        return None
    known = {one.name for one in _definitions(old.body, ())}
    fresh = {one.name for one in _definitions(new.body, ()) if _is_new(one.node, before, after)} - known
    # `_is_extraction` does not see the module: it takes `len(x)` for a call of the built-in function, which never
    # returns None. Therefore nothing is put back if the module binds such a name.
    done = [*_all_put_back(new, fresh)] if not rebound(new) else []
    return _result(before, new, done, without_causes=plain is not None) if done or plain else None


def _all_put_back(tree: ast.Module, fresh: AbstractSet[str]) -> Iterator[tuple[_Definition, _Definition]]:
    """Put the functions in `fresh` back in `tree`, one after another; yield (caller, function) for each."""
    while done := next(_steps(tree, fresh), None):
        caller, helper, function = done
        caller.home[caller.home.index(caller.node)] = function
        helper.home.remove(helper.node)
        yield caller, helper


def _result(
    before: str, new: ast.Module, done: Sequence[tuple[_Definition, _Definition]], *, without_causes: bool
) -> Restored:
    return Restored(
        before,
        ast.unparse(new),
        names=frozenset(helper.node.name for _, helper in done),
        methods=frozenset(f"{one.classes[-1].name}.{caller.node.name}" for caller, one in done if one.classes),
        holds=any(destroys_early(helper.node.body, _returned(helper.node), ANY) for _, helper in done),
        without_causes=without_causes,
    )


def _definitions(body: list[ast.stmt], classes: Classes) -> Iterator[_Definition]:
    for node in body:
        if isinstance(node, Function):
            yield _Definition(node, classes, body)
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, (*classes, node))


def _is_new(node: Function, before: str, after: str) -> bool:
    """Return whether a function is private and new, and its name occurs in exactly one other place, perhaps a call."""
    word = re.compile(rf"\b{re.escape(node.name)}\b")
    private = node.name.startswith("_") and not node.name.startswith("__")
    return private and len(word.findall(after)) == 2 and not word.search(before)


def _steps(tree: ast.Module, fresh: AbstractSet[str]) -> Iterator[tuple[_Definition, _Definition, Function]]:
    """Yield (caller, helper, new caller): in the new caller, the statements of the helper are put back.

    `fresh`: the names of the new functions, which are the possible helpers.
    """
    every = list(_definitions(tree.body, ()))
    # Begin with callers that are not new: statements that are put back may call further new functions.
    for caller in sorted(every, key=lambda one: one.name in fresh):
        for helper in (one for one in every if one.name in fresh):
            if _may_call(tree, caller, helper) and all(map(_is_transparent, _marks(caller))):
                yield from ((caller, helper, one) for one in _put_back(caller, helper))


def _may_call(tree: ast.Module, caller: _Definition, helper: _Definition) -> bool:
    """Return whether `caller` calls `helper`: a method of its class, or a function above it in the module."""
    if not any(called(node) == helper.node.name for node in ast.walk(caller.node)):
        return False
    if helper.classes:
        return helper.classes == caller.classes
    top: ast.stmt = caller.classes[0] if caller.classes else caller.node
    return tree.body.index(helper.node) < tree.body.index(top)


def _marks(caller: _Definition) -> Iterator[ast.expr]:
    """Yield the decorators of a function, and what is called with it beside it: `njit` in `fast = njit(caller)`."""
    yield from caller.node.decorator_list
    for node in own_nodes(caller.home):
        if isinstance(node, ast.Call) and any(getattr(one, "id", "") == caller.node.name for one in node.args):
            yield node.func


def _is_transparent(mark: ast.expr) -> bool:
    mark = mark.func if isinstance(mark, ast.Call) else mark
    return last_name(mark) in TRANSPARENT


def _put_back(caller: _Definition, helper: _Definition) -> Iterator[Function]:
    """Yield the caller with the helper's statements in place of a call, if extracting them restores both functions."""
    for body, first, count in _places(caller.node, helper.node.name):
        kept = body[first : first + count]
        for guess in filter(None, _guesses(kept, helper.node)):
            body[first : first + count] = copy.deepcopy([MARK, *guess])
            function = _normal(caller.node)
            body[first : first + len(guess) + 1] = kept
            if isinstance(function, Function) and _is_extraction(function, len(guess), caller, helper):
                yield _Unmarked().visit(function)


def _places(node: ast.AST, name: str) -> Iterator[tuple[list[ast.stmt], int, int]]:
    """Yield (suite, position, count) for each statement that calls `name`.

    `count` is 2 if the next statement is `if x is not None: return x` for the result `x` of the call; else it is 1.
    """
    for part in ast.walk(node):
        suites: Iterator[object] = (getattr(part, branch, None) for branch in ("body", "orelse", "finalbody"))
        for suite in (one for one in suites if isinstance(one, list)):
            for first, statement in enumerate(suite):
                if called(_call(statement)) == name:
                    result = isinstance(statement, ast.Assign) and _is_result(statement, suite[first + 1 : first + 2])
                    yield suite, first, 1 + result


def _call(node: ast.AST | None) -> ast.AST:
    """Return the call of a statement, without `await` and `yield from`; another node if there is no call."""
    match node:
        case ast.Expr(value=value) | ast.Assign(value=value) | ast.Return(value=value) | ast.If(test=value):
            return _call(value)
        case ast.Await(value=value) | ast.YieldFrom(value=value):
            return _call(value)
    return node or ast.Pass()


def _is_result(node: ast.Assign, following: Sequence[ast.stmt]) -> bool:
    """Return whether the next statement is `if x is not None: return x`, and `node` sets this variable `x`."""
    match node, following:
        case ast.Assign(targets=[ast.Name(id=name)]), [ast.If(test=test, body=[ast.Return(value=value)], orelse=[])]:
            return ast.unparse(test) == f"{name} is not None" and getattr(value, "id", "") == name
    return False


def _guesses(kept: Sequence[ast.stmt], helper: Function) -> Iterator[list[ast.stmt]]:
    """Yield guesses of the statements that were in the caller before `helper` was extracted.

    `kept`: the statements that are there now and call `helper`.
    """
    body = list(helper.body)
    if not body:
        return
    if ast.get_docstring(helper) is not None:
        yield from _guesses(kept, ast.FunctionDef(helper.name, helper.args, body[1:], [], None))
    match kept[0]:
        case ast.Return():
            yield body
        case ast.If(body=[leave], orelse=[]):
            yield _left(body, ast.Constant(value=True), leave)
        case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]) if len(kept) == 1:
            yield from _with_results(body, target)
        case ast.Assign() | ast.Expr():
            yield _left(body, ast.Constant(value=None) if len(kept) == 2 else None, ast.Continue())


def _left(body: Sequence[ast.stmt], value: ast.expr | None, leave: ast.stmt) -> list[ast.stmt]:
    """Return `body` with `leave` in place of each `return` of `value`, and without a `return` at its end.

    `value` is None for a `return` without a value.
    """
    *others, last = body
    kept = others if isinstance(last, ast.Return) and others else body
    leaver = _Leaver(value, leave)
    return [leaver.visit(copy.deepcopy(one)) for one in kept]


def _with_results(body: Sequence[ast.stmt], target: ast.expr) -> Iterator[list[ast.stmt]]:
    """Yield variants of `body` that set the variables in `target` and return nothing, as before the extraction."""
    *others, last = body
    if not isinstance(last, ast.Return) or last.value is None:
        return
    results = copy.deepcopy(last.value)
    yield _left(body, results, ast.Continue())
    yield list(others)
    if ast.unparse(target) != ast.unparse(results):
        assigned = ast.Assign([copy.deepcopy(target)], results, lineno=0)
        yield [*others, assigned]
        yield [*_left([*others, ast.Pass()], copy.deepcopy(target), ast.Continue())[:-1], assigned]


class _Leaver(ast.NodeTransformer):
    """Replaces each `return VALUE` of a function by another statement."""

    def __init__(self, value: ast.expr | None, leave: ast.stmt) -> None:
        self._value, self._leave = _shown(value), leave

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return copy.deepcopy(self._leave) if _shown(node.value) == self._value else node


def _shown(value: ast.expr | None) -> str:
    return ast.unparse(value) if value is not None else ""


def _normal(node: ast.stmt) -> ast.stmt | None:
    """Return a statement after unparsing and parsing it; None if it cannot be unparsed."""
    try:
        tree = syntax(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))))
    except (ValueError, RecursionError):
        return None
    return tree.body[0] if tree is not None and tree.body else None


def _is_extraction(function: Function, count: int, caller: _Definition, helper: _Definition) -> bool:
    """Return whether extracting the `count` statements after the mark gives exactly the caller and the helper."""
    unit = Unit(ast.unparse(function), *belongs(function, caller.classes), far=bool(helper.classes))
    for suite in unit.suites:
        for at, statement in enumerate(suite.statements, 1):
            if _is_mark(statement) and suite.cut(at, at + count) is not None:
                found = examined(StatementBlock(unit, suite, at, at + count))
                if isinstance(found, str) or _written(found, helper) != _dumps((caller.node, helper.node)):
                    return False
                return _has_same_names(found.block, caller, helper)
    return False


def _has_same_names(block: StatementBlock, caller: _Definition, helper: _Definition) -> bool:
    """Return whether each name keeps its meaning if `block` is extracted from its function as `helper`.

    `caller`: the rest of this function. A global or built-in name in `caller` or `helper` must be one in the whole
    function, too. The data flow must know every local variable. Outside of classes, `__class__`, which `super()` reads,
    counts as a global name.
    """
    flow = block.unit.flow
    try:
        shared, own = _scope(flow.function, caller.classes)
        outside, _ = _scope(caller.node, caller.classes)
        inside, moved = _scope(helper.node, helper.classes)
    except SyntaxError:  # Python's compiler refuses more than its parser
        return False
    known = (outside | inside) - {helper.node.name} <= shared
    return known and own <= flow.locals and moved <= block.used.bound | parameters(helper.node)


def _scope(function: Function, classes: Classes) -> tuple[set[str], set[str]]:
    """Return (global names in a function and its inner functions, its own local names), as Python's compiler sees them.

    The local names include the parameters.
    """
    text = ast.unparse(ast.fix_missing_locations(_AsGenerators().visit(copy.deepcopy(function))))
    if classes:
        text = f"class {classes[-1].name}:\n{textwrap.indent(text, ' ')}"
    every = _tables(symtable.symtable(text, "function", "exec"))
    own = next(one for one in every if isinstance(one, symtable.Function) and one.get_name() == function.name)
    symbols = (symbol for table in _tables(own) for symbol in table.get_symbols())
    return {one.get_name() for one in symbols if one.is_global()}, {*own.get_locals()}


class _AsGenerators(ast.NodeTransformer):
    """Makes each comprehension a generator expression: since Python 3.12, only these have a scope of their own."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        value = ast.Tuple([node.key, node.value], ast.Load()) if isinstance(node, ast.DictComp) else node.elt
        return ast.GeneratorExp(value, node.generators)

    visit_SetComp = visit_ListComp
    visit_DictComp = visit_ListComp


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield a symbol table and all below it."""
    yield table
    for one in table.get_children():
        yield from _tables(one)


class _Unmarked(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if _is_mark(node) else node


def _is_mark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and ast.dump(node) == ast.dump(MARK)


def _written(found: Extraction, helper: _Definition) -> list[str]:
    """Return dumps of both functions after an extraction.

    Return [] if it may change behaviour (`doubt`), or if it makes a method of a function, or the reverse.
    """
    if found.doubt or found.method != bool(helper.classes):
        return []
    text, added = extracted(found, helper.node.name)
    return _dumps((_Unmarked().visit(ast.parse(text).body[0]), ast.parse(added.text).body[0]))


def _dumps(body: Iterable[ast.stmt]) -> list[str]:
    return list(map(_dump, body))


def _dump(node: ast.stmt) -> str:
    """Return a dump of a statement; for a function, without docstring and annotations, which are compared elsewhere."""
    found = _normal(node) or node
    if isinstance(found, Function):
        found.body = found.body[ast.get_docstring(found) is not None :]
        found.returns = None
        for one in arguments(found):
            one.annotation = None
    return ast.dump(found)


def _returned(function: Function) -> set[str]:
    nodes = (node for node in own_nodes(function.body) if isinstance(node, ast.Return))
    return {name for node in nodes for name in uses([node.value]).reads}
