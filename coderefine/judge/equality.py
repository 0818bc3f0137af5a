"""Detect comparison methods (`__eq__` and others) whose result does not depend on the content of the objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy

from coderefine.judge.change import Change, FileVersion, bound, name_set, nodes, own_nodes, positional, statements
from coderefine.judge.compared import compared
from coderefine.judge.constant_folding import Names, NotLiteralError, constants, fold
from coderefine.judge.removed_behavior import work
from coderefine.judge.violations import Exemption, Violation
from coderefine.source import Function, last_name

BOTH = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))
"""Methods whose result must depend on the content of both objects."""
COMPARISONS = BOTH | {"__contains__", "__instancecheck__", "__subclasscheck__"}
BUILT_IN = name_set(
    "int float complex str bytes bool list tuple dict set frozenset UserString UserList UserDict Decimal Fraction "
    "OrderedDict Counter defaultdict ChainMap deque date datetime time timedelta NamedTuple IntEnum StrEnum"
)
"""Types of Python that compare their whole content."""
NUMERIC = frozenset(
    ("__sub__", "__rsub__", "__add__", "__radd__", "__abs__", "__round__", "__float__", "__int__", "__index__")
)
"""Methods whose result an approximate comparison uses."""
KINDS = frozenset(("isinstance", "issubclass", "type", "hasattr", "callable", "bool", "id"))
"""Functions that do not read the content of an object."""
SETTERS = {
    **dict.fromkeys(("setattr", "__setattr__"), "sets {} of an object"),
    **dict.fromkeys(("fromkeys", "zip", "setdefault", "__setitem__"), "passes {} to a function"),
}
"""Functions that may set a method by its name, which is an argument; and what the violation says of this name."""
TRUE = frozenset(("repr", "ascii", "iter", "map", "zip", "filter", "reversed", "enumerate", "object"))
"""Functions whose results are always true."""
HARMLESS_DECORATORS = frozenset(("override", "overload", "abstractmethod", "no_type_check"))
UNCOMPARED = re.compile(r"\b(ClassVar|InitVar|KW_ONLY)\b")
"""Annotations of attributes that a data class does not compare."""
KIND = frozenset(("__class__", "__name__", "__qualname__", "__module__"))


def equality(side: FileVersion) -> Iterator[Violation]:
    """Yield suspicious definitions of comparison methods.

    These are methods that ignore the content of the objects, that override the method of a built-in type, that are
    decorated, or that are set by name.
    """
    if side.tree is None:
        return
    own = {node.name: node for node in nodes(side.tree) if isinstance(node, Function)}
    names = constants(side.tree)
    for node in nodes(side.tree):
        if isinstance(node, ast.ClassDef):
            yield from _class(node, own)
        else:
            found = _by_name(node, names)
            yield from (Violation(what, getattr(node, "lineno", 0), Exemption.USED_BEFORE) for what in found)


def _by_name(node: ast.AST, names: Names) -> Iterator[str]:
    """Yield a text for each comparison method that `node` may set by name, given as a string or a keyword."""
    match node:
        case ast.Dict(keys=keys):
            yield from (f"puts {name} into a dictionary" for name in _named(keys, names))
        case ast.DictComp(key=name) | ast.Subscript(slice=name, ctx=ast.Store()):
            yield from (f"puts {name} into a dictionary" for name in _named([name], names))
        case ast.Tuple(elts=[name, value]) | ast.List(elts=[name, value]) if not _strings(value, names):
            yield from (f"pairs {name} with a value" for name in _named([name], names))
        case ast.Call(func=function, args=args) if what := SETTERS.get(last_name(function)):
            yield from (what.format(name) for name in _named(args, names))
        case ast.keyword(arg=str(name)) if name in COMPARISONS:
            yield f"passes {name} to a function"


def _named(items: Sequence[ast.expr | None], names: Names) -> list[str]:
    """Return the names of comparison methods (such as `__eq__`) among `items`, and in the collections among `items`.

    "a special method" stands for a computed name with two underscores on both sides.
    """
    given = [item for item in items if item is not None]
    found = {word for item in given for word in _strings(item, names)}
    return sorted(COMPARISONS & found) + ["a special method" for item in given if _is_computed(item, names)]


def _strings(item: ast.expr, names: Names) -> set[str]:
    """Return the string that `item` evaluates to, in a set, or the strings in the collection that it evaluates to."""
    try:
        value = fold(item, names)
    except NotLiteralError:
        return set()
    items = value if isinstance(value, list | tuple | set | frozenset | dict) else [value]
    return {one for one in items if isinstance(one, str)}


def _is_computed(item: ast.expr, names: Names) -> bool:
    """Return whether `item` puts a value between two underscores on each side: `f"__{x}__"`, `"__" + x + "__"`."""
    if _strings(item, names):
        return False
    match item:
        case ast.JoinedStr(values=[ast.Constant() as first, *_, ast.Constant() as last]):
            pass
        case ast.BinOp(left=ast.BinOp(left=ast.Constant() as first), op=ast.Add(), right=ast.Constant() as last):
            pass
        case ast.BinOp(left=ast.Constant() as first, op=ast.Mod()):
            last = first
        case ast.Call(func=ast.Attribute(value=ast.Constant() as first, attr="format")):
            last = first
        case _:
            return False
    return str(first.value).startswith("__") and str(last.value).endswith("__")


def _class(node: ast.ClassDef, own: Mapping[str, Function]) -> Iterator[Violation]:
    built_in = not BUILT_IN.isdisjoint(map(last_name, node.bases))
    if _compares_no_field(node):
        yield Violation(f"makes every {node.name} answer __eq__ alike", node.lineno)
    for item in statements(node):
        for name in _blind(item, node, own):
            yield Violation(f"makes every {node.name} answer {name} alike", item.lineno)
        if isinstance(item, Function):
            yield from (
                Violation(what, item.lineno, exemption) for what, exemption in _method(item, node, built_in=built_in)
            )


def _method(item: Function, owner: ast.ClassDef, *, built_in: bool) -> Iterator[tuple[str, Exemption]]:
    """Yield (text, exemption) for each suspicious property of a method other than those that `_blind` finds.

    `built_in`: whether `owner` inherits from a built-in type.
    """
    if built_in and item.name in BOTH:
        yield f"compares a {last_name(owner.bases[0])} in its own way", Exemption.USED_BEFORE
    if built_in and item.name in NUMERIC and _is_constant(item):
        yield f"makes every {owner.name} answer {item.name} alike", Exemption.NEVER
    if item.name in COMPARISONS and not HARMLESS_DECORATORS.issuperset(map(last_name, item.decorator_list)):
        yield f"decorates {item.name}", Exemption.USED_BEFORE


def _compares_no_field(owner: ast.ClassDef) -> bool:
    """Return whether `owner` is a data class that holds state, and generates an `__eq__` that compares nothing."""
    fields = [item for item in owner.body if isinstance(item, ast.AnnAssign)]
    stores = _stores(owner) or not all("ClassVar" in ast.unparse(item.annotation) for item in fields)
    return stores and _generates_equality(owner) and not any(map(_compared_field, fields))


def _generates_equality(owner: ast.ClassDef) -> bool:
    words = " ".join(map(ast.unparse, owner.decorator_list))
    defined = {name for item in statements(owner) for name in bound(item)}
    return "dataclass" in words and "eq=False" not in words and not owner.bases and "__eq__" not in defined


def _blind(item: ast.stmt, owner: ast.ClassDef, own: Mapping[str, Function]) -> list[str]:
    """Return the names of the comparison methods that `item` defines without reading both objects.

    `item`: a statement in the class `owner`. Methods that always return the same constant, and imported methods, count
    as well. `own`: the functions of the module, by name: `__eq__ = f` makes `f` a method.
    """
    if isinstance(item, Function):
        return [item.name] if _defined_blindly(item, owner) else []
    if isinstance(item, ast.ImportFrom):
        return sorted({alias.asname or alias.name for alias in item.names} & COMPARISONS)
    return [name for name in sorted({*bound(item)} & COMPARISONS) if _bound_blindly(name, item, own)]


def _defined_blindly(function: Function, owner: ast.ClassDef) -> bool:
    if function.name not in COMPARISONS:
        return False
    both = function.name in BOTH
    half = _holds_state(owner) and not _reads_both(function) if both else not _examines(function)
    return (half and not _is_stub(function, owner)) or _is_constant(function)


def _is_stub(function: Function, owner: ast.ClassDef) -> bool:
    """Return whether a method only raises an error, or is empty because it is abstract or in a protocol."""
    match work(function):
        case [ast.Raise()]:
            return True
        case [] | [ast.Pass()]:
            words = " ".join(map(ast.unparse, (*owner.bases, *function.decorator_list)))
            return "abstractmethod" in words or "Protocol" in words
    return False


def _bound_blindly(name: str, item: ast.stmt, own: Mapping[str, Function]) -> bool:
    """Return whether `item` binds `name` to a function that does not read both objects, or to another comparison."""
    values = list(own_nodes(item))
    others = {one.attr for one in values if isinstance(one, ast.Attribute)} & COMPARISONS - {name}
    functions = [one for value in values for one in _functions(value, own)]
    return bool(others) or any(_is_constant(one) or not _reads_both(one) for one in functions)


def _functions(value: ast.AST, own: Mapping[str, Function]) -> list[Function]:
    """Return the function of the module that `value` names, or the lambda `value`, in a list; [] for anything else."""
    if isinstance(value, ast.Lambda):
        return [ast.FunctionDef("", value.args, [ast.Return(value.body)], [])]
    return [own[value.id]] if isinstance(value, ast.Name) and value.id in own else []


def loosened(change: Change) -> Iterator[str]:
    """Yield a reason for each comparison that uses fewer attributes of the objects, or less of them, than before.

    It may be a comparison method, or a field of a data class that is no longer compared.
    """
    if change.old is None or change.new is None:
        return
    yield from _uncompared_fields(change.old, change.new)
    was = dict(_methods(change.old))
    for name, function in _methods(change.new):
        lost = _lost((was[name], change.old), (function, change.new)) if name in was else []
        if lost:
            yield f"no longer compares {', '.join(lost)} in {name}"


def _lost(*versions: tuple[Function, ast.Module]) -> list[str]:
    """Return the attributes that the old version of a comparison method compares, and the new one does not.

    A new comparison of the objects as a whole may compare all attributes.
    """
    objects = set(positional(versions[1][0])[:2])
    simple = [_simplified(function) for function, _ in versions]
    was, now = (
        compared(function, constants(tree), _blind_functions(tree))
        for function, (_, tree) in zip(simple, versions, strict=True)
    )
    if objects <= now - was:
        return []
    read, reads = map(_attributes, simple)
    return sorted((was - now | read - reads) - objects) or ["its objects"] * bool(was and not now)


def _blind_functions(tree: ast.Module) -> Mapping[str, bool]:
    return {node.name: not _reads_both(node) for node in nodes(tree) if isinstance(node, Function)}


def _uncompared_fields(old: ast.Module, new: ast.Module) -> Iterator[str]:
    """Yield a reason for each field of a data class that is kept, but no longer compared.

    Attributes that a removed `__eq__` compared count as fields.
    """
    was, now, methods = _fields(old), _fields(new), dict(_methods(new))
    for name, function in _methods(old):
        if name not in methods:
            was |= {f"{name.rpartition('.')[0]}.{attribute}": True for attribute in _attributes(function)}
    for name, is_compared in was.items():
        if is_compared and now.get(name) is False:
            yield f"no longer compares {name}"


def _fields(tree: ast.Module) -> dict[str, bool]:
    """Return `Class.name` -> whether a data class compares this attribute.

    All decorated classes are taken for data classes; attributes without annotation are left out.
    """
    return {
        f"{node.name}.{item.target.id}": _compared_field(item)
        for node in nodes(tree)
        if isinstance(node, ast.ClassDef) and node.decorator_list
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def _compared_field(item: ast.AnnAssign) -> bool:
    options = item.value.keywords if isinstance(item.value, ast.Call) else []
    ignored = any(one.arg in ("compare", "eq") and _known(one.value) is False for one in options)
    return not ignored and not UNCOMPARED.search(ast.unparse(item.annotation))


def _methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in nodes(tree):
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
            yield from ((f"{node.name}.{item.name}", item) for item in methods if item.name in BOTH)


def _attributes(function: Function) -> set[str]:
    """Return the attributes of the two objects that a comparison method reads."""
    objects = set(positional(function))
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and last_name(node.value) in objects and not node.attr.startswith("__")
    }


def _is_constant(function: Function) -> bool:
    """Return whether a function always gives the same result.

    The result is a constant, and nothing is raised; or the result is an object that is always true (see `_is_lazy`).
    """
    inner = list(ast.walk(_simplified(function)))
    returns = [item.value for item in inner if isinstance(item, ast.Return) and item.value is not None]
    raises = any(isinstance(item, ast.Raise) for item in inner)
    same = not raises and all(map(_fixed, returns)) and len({ast.dump(value) for value in returns}) == 1
    return same or _is_lazy(function)


def _is_lazy(function: Function) -> bool:
    """Return whether a call of `function` only creates a coroutine or generator, which is true."""
    parts = (inner for item in statements(function) for inner in own_nodes(item))
    yields = any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in parts)
    return isinstance(function, ast.AsyncFunctionDef) or yields


def _fixed(value: ast.expr) -> bool:
    """Return whether `value` is a constant, or `isinstance(other, object)`."""
    if isinstance(value, ast.Call):
        return last_name(value.func) == "isinstance" and last_name(value.args[-1]) == "object"
    return isinstance(value, ast.Constant)


def _holds_state(owner: ast.ClassDef) -> bool:
    """Return whether objects of the class may differ in content, as far as can be detected."""
    return _stores(owner) or any(isinstance(item, ast.AnnAssign) for item in owner.body) or bool(owner.bases)


def _stores(owner: ast.ClassDef) -> bool:
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and last_name(node.value) == "self"
        for node in ast.walk(owner)
    )


def _reads_both(function: Function) -> bool:
    """Return whether the result depends on the content of both objects, not only on their type or on None.

    This is assumed for a function with fewer than two parameters, or one that calls `super`.
    """
    simple = _simplified(function)
    looked = {name for node in ast.walk(simple) for name in _content(node)}
    both = positional(function)[:2]
    return len(both) < 2 or looked.issuperset(both) or any(last_name(node) == "super" for node in ast.walk(simple))


def _examines(function: Function) -> bool:
    """Return whether the result depends on the last parameter: on more than its truth, or whether it is None."""
    asked, simple = positional(function)[-1:], _simplified(function)
    pairs = ((parent, child) for parent in ast.walk(simple) for child in ast.iter_child_nodes(parent))
    return not asked or any(last_name(child) in asked and not _asks_truth(parent) for parent, child in pairs)


def _asks_truth(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            equal = all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in ops)
            return equal and any(isinstance(side, ast.Constant) for side in (left, *others))
        case ast.Call(func=function):
            return last_name(function) in ("bool", "id")
        case ast.UnaryOp(op=operator):
            return isinstance(operator, ast.Not)
    return isinstance(node, ast.BoolOp | ast.IfExp | ast.If | ast.Return)


def _content(node: ast.AST) -> Iterator[str]:
    """Yield the names of objects whose content `node` reads."""
    if (isinstance(node, ast.Attribute) and node.attr not in KIND) or isinstance(node, ast.Subscript):
        yield last_name(node.value)
    elif isinstance(node, ast.Call) and last_name(node.func) not in KINDS:
        yield from map(last_name, node.args)
    elif isinstance(node, ast.BinOp):
        yield from map(last_name, (node.left, node.right))
    elif isinstance(node, ast.Compare):
        yield from _compared([node.left, *node.comparators], node.ops)


def _compared(sides: list[ast.expr], ops: list[ast.cmpop]) -> Iterator[str]:
    # `self is other` compares the objects; `other is None` does not depend on their content.
    if not any(isinstance(op, ast.Is | ast.IsNot) for op in ops) or all(isinstance(side, ast.Name) for side in sides):
        yield from map(last_name, sides)


def _simplified(function: Function) -> Function:
    """Return a copy of `function` with simpler conditions and results: `x or True`, `x == x`, `a if True else b`.

    In the body of a function (not an asynchronous one), statements after the first `return` or `raise` are removed.
    """
    found = _Simplifier().visit(deepcopy(function))
    return found if isinstance(found, Function) else function


class _Simplifier(ast.NodeTransformer):
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decided = isinstance(node.op, ast.Or)
        for value in node.values:
            if _known(value) is decided:
                return ast.Constant(decided)
        values = [value for value in node.values if _known(value) is None]
        return ast.BoolOp(node.op, values) if len(values) > 1 else values[0] if values else ast.Constant(not decided)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        known = _known(node.operand)
        return ast.Constant(not known) if isinstance(node.op, ast.Not) and known is not None else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and ast.dump(node.left) == ast.dump(node.comparators[0]):
            return ast.Constant(isinstance(node.ops[0], ast.Eq | ast.LtE | ast.GtE | ast.Is))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        known = _known(node.test)
        node.body, node.orelse = _truth(node.body), _truth(node.orelse)
        if ast.dump(node.body) == ast.dump(node.orelse) or known:
            return node.body
        return node if known is None else node.orelse

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        return ast.Return(node.value and _truth(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        ends = (place for place, item in enumerate(node.body, 1) if isinstance(item, ast.Return | ast.Raise))
        node.body = node.body[: next(ends, len(node.body))]
        return node


def _known(value: ast.expr) -> bool | None:
    """Return the constant truth value of `value`, or None if it is not constant."""
    if _is_true(value):
        return True
    try:
        return bool(fold(value))
    except NotLiteralError:
        return None


def _is_true(value: ast.expr) -> bool:
    """Return whether `value` is an object that is true whatever it holds, such as a pair."""
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return not all(isinstance(item, ast.Starred) for item in items)
        case ast.Call(func=ast.Name(id=name)):
            return name in TRUE
    return isinstance(value, ast.Lambda | ast.GeneratorExp)


def _truth(value: ast.expr) -> ast.expr:
    return ast.Constant(value=True) if _is_true(value) else value
