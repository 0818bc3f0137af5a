"""Rewritings of classes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from coderefine.lint import Diagnostic
from coderefine.proposers.refactorings.declared import BUILTINS
from coderefine.proposers.rewritings.code import Code, Edits, expect, names, sure

EMPTY = {"[]": "list", "{}": "dict"}
Import = ast.Import | ast.ImportFrom


def annotate_class_variable(code: Code, at: Diagnostic) -> Edits:
    """RUF012: `codes = {}` in a class → `codes: ClassVar[dict] = {}`; type checkers infer the type of other values."""
    value = code.find(at, ast.expr)
    statement = code.parents[value]
    around = code.parent(statement, ast.ClassDef)
    name, imported = _class_var(code)
    sure(_bases_are_known(code, around))
    sure(not _is_set_on_objects(code, statement, around.name))
    if isinstance(statement, ast.AnnAssign):
        kind = code.code(statement.annotation)
        sure(not kind.startswith(("'", '"')))
        return (*code.replace(statement.annotation, f"{name}[{kind}]"), *imported)
    target = expect(expect(statement, ast.Assign).targets[0], ast.Name)
    sure(len(expect(statement, ast.Assign).targets) == 1)
    made = EMPTY.get(ast.unparse(value), "")
    # A name of the class hides the built-in one.
    hint = f"{name}[{made}]" if made and made not in names(around) else name
    return (code.edit(code.end(target), code.end(target), f": {hint}"), *imported)


def _bases_are_known(code: Code, around: ast.ClassDef) -> bool:
    """Return whether the base classes and metaclasses are of this file, built in, or of the standard library.

    Others may read the annotations of the class `around`.
    """
    standard = (one for one in code.nodes if isinstance(one, Import) and _is_standard(one))
    return BUILTINS.union(*map(names, standard)).issuperset(_foreign_bases(code, around))


def _foreign_bases(code: Code, around: ast.ClassDef) -> Iterator[str]:
    """Yield the first word (`enum` of `enum.Enum`) of each base class or metaclass that is not of this file.

    Those of the base classes in this file are included.
    """
    classes = {one.name: one for one in code.nodes if isinstance(one, ast.ClassDef)}
    waiting = [around]
    for one in waiting:
        for base in (*one.bases, *(item.value for item in one.keywords)):
            name = re.split(r"\W", code.code(base))[0]
            if name not in classes:
                yield name
            elif classes[name] not in waiting:
                waiting.append(classes[name])


def _is_set_on_objects(code: Code, statement: ast.AST, owner: str) -> bool:
    """Return whether the file sets the attribute that `statement` defines on anything other than the class `owner`.

    Type checkers refuse this for a ClassVar.
    """
    defined = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    stored = (one for one in code.nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    return any(one.attr in defined and code.code(one.value) not in ("cls", owner) for one in stored)


def _class_var(code: Code) -> tuple[str, Edits]:
    """Return the name of ClassVar in this file, and the edits that import it. Raises Unsure if the name is taken."""
    top = [one for one in code.tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    typing = [one for one in top if code.code(one).startswith("from typing import ")]
    known = {item.name: item.asname or item.name for one in typing for item in one.names}
    if "ClassVar" in known:
        return known["ClassVar"], ()
    if "import typing" in map(code.code, top):
        return "typing.ClassVar", ()
    sure("ClassVar" not in names(code.tree))
    return "ClassVar", _new_import(code, top, typing)


def _new_import(code: Code, top: Sequence[Import], typing: Sequence[Import]) -> Edits:
    simple = next((one for one in typing if "(" not in code.code(one)), None)
    if simple is not None:
        return code.replace(simple, f"from typing import {', '.join(_sorted(code, simple))}")
    place = code.line_start(_place(code, top))
    return (code.edit(place, place, "from typing import ClassVar\n"),)


def _sorted(code: Code, found: Import) -> list[str]:
    """Return the imported names and ClassVar in isort's order: constants, classes, then others."""
    items = [*(code.code(item) for item in found.names), "ClassVar"]
    return sorted(items, key=lambda item: (not item.isupper(), item[0].islower(), item))


def _place(code: Code, top: Sequence[Import]) -> int:
    """Return the line before which `from typing import …` belongs: after the imports that isort places before it."""
    first = code.tree.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    after = (first.end_lineno or 0) + 1 if documented else first.lineno
    for one in top:
        if not _precedes(one):
            break
        after = (one.end_lineno or 0) + 1
    return after


def _precedes(one: Import) -> bool:
    return _is_standard(one) and (isinstance(one, ast.Import) or (one.module or "") < "typing")


def _is_standard(one: Import) -> bool:
    """Return whether an import is from the standard library."""
    module = one.names[0].name if isinstance(one, ast.Import) else "." * one.level + (one.module or "")
    return module.partition(".")[0] in sys.stdlib_module_names
