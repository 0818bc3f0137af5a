"""The table of operator families: the generic edits that the search tries.

Each family is a function of a module here; the first sentence of its docstring describes the family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from coderefine.proposers.search.operators import (
    access,
    alternatives,
    calls,
    conditions,
    constants,
    definitions,
    evident,
    guards,
    initial,
    inserted,
    moves,
    names,
    omitted,
    operands,
    produced,
    statements,
    values,
    wrapping,
)
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit


@dataclass(frozen=True, slots=True)
class Operator:
    """A family of generic edits.

    `prior`: how frequent it is among repairs of real faults, relative to the other families. `edits`: yields its edits
    of a site. `shortcut`: whether its edits remove behaviour.
    """

    name: str
    prior: float
    edits: Callable[[Site], Iterator[Edit]]
    shortcut: bool = False


TABLE: tuple[Operator, ...] = (
    Operator("comparison", 10.0, operands.comparisons),
    Operator("arithmetic", 8.0, operands.arithmetic),
    Operator("boolean", 6.0, operands.boolean),
    Operator("negation", 5.0, operands.negation),
    Operator("operand-order", 3.0, operands.operand_order),
    Operator("dropped-operand", 2.0, operands.dropped_operand, shortcut=True),
    Operator("grouping", 1.5, operands.grouping),
    Operator("by-one", 7.0, operands.by_one),
    Operator("shifted", 2.0, operands.shifted),
    Operator("number", 8.0, constants.numbers),
    Operator("misspelt", 10.0, evident.nearest),
    Operator("earlier", 8.0, statements.earlier),
    Operator("number-name", 1.5, constants.number_to_name),
    Operator("truth", 5.0, constants.truths),
    Operator("text", 6.0, constants.texts),
    Operator("text-name", 0.7, constants.text_to_name),
    Operator("format", 4.0, constants.format_pieces),
    Operator("variable", 8.0, names.variables),
    Operator("unlike-others", 2.0, names.unlike_others),
    Operator("everywhere", 1.0, names.everywhere),
    Operator("attribute", 6.0, names.attributes),
    Operator("function", 5.0, names.functions),
    Operator("global", 1.5, names.globals_),
    Operator("receiver", 2.0, access.receiver),
    Operator("qualified", 4.0, access.qualified),
    Operator("field-of", 2.5, names.field_of),
    Operator("target", 1.0, names.targets),
    Operator("difference", 5.0, evident.difference),
    Operator("zero-divisor", 5.0, evident.zero_divisor),
    Operator("other-type", 3.0, evident.other_type),
    Operator("wrap", 6.0, wrapping.wrap),
    Operator("own-wrap", 1.5, wrapping.own_wrap),
    Operator("unwrap", 3.0, wrapping.unwrap, shortcut=True),
    Operator("argument-order", 4.0, calls.argument_order),
    Operator("argument-removed", 1.5, calls.argument_removed, shortcut=True),
    Operator("argument-added", 4.0, calls.argument_added),
    Operator("argument-value", 2.0, calls.argument_value),
    Operator("narrow", 3.0, conditions.narrow),
    Operator("widen", 3.0, conditions.widen),
    Operator("condition", 2.0, conditions.replaced),
    Operator("none-check", 2.5, conditions.none_check),
    Operator("branches", 2.0, conditions.branches),
    Operator("else", 0.7, conditions.else_removed),
    Operator("unconditional", 0.7, conditions.unconditional, shortcut=True),
    Operator("made-conditional", 1.5, conditions.made_conditional),
    Operator("filter", 2.0, conditions.filters),
    Operator("ternary", 0.4, conditions.ternary),
    Operator("early-return", 3.0, guards.early_return),
    Operator("early-raise", 2.0, guards.early_raise),
    Operator("early-jump", 1.5, guards.early_jump),
    Operator("default-value", 0.8, guards.default_value),
    Operator("deletion", 1.5, statements.deletion, shortcut=True),
    Operator("exchange", 1.5, statements.exchange),
    Operator("moved", 0.7, moves.within),
    Operator("outdent", 2.5, moves.outdent),
    Operator("indent", 2.0, moves.indent),
    Operator("loop-return", 4.0, moves.loop_return),
    Operator("statement-kind", 4.0, statements.kind_changed),
    Operator("assignment-kind", 5.0, statements.assignment_kind),
    Operator("from-here", 1.2, inserted.from_here),
    Operator("invented", 4.0, inserted.invented),
    Operator("flushed", 4.0, inserted.flushed),
    Operator("loop-else", 0.5, moves.loop_else),
    Operator("next-term", 1.5, omitted.next_term),
    Operator("element", 1.5, omitted.element),
    Operator("member", 2.0, alternatives.member),
    Operator("complement", 2.0, omitted.complement),
    Operator("moved-addend", 1.0, omitted.moved_addend),
    Operator("set-default", 1.0, omitted.set_default),
    Operator("noted", 3.0, omitted.noted),
    Operator("reset", 3.0, omitted.reset),
    Operator("returned", 3.0, values.returned),
    Operator("none-value", 3.0, values.none_value),
    Operator("produced", 3.0, produced.produced),
    Operator("defined", 1.0, inserted.defined),
    Operator("initialised", 1.0, initial.initialised),
    Operator("ingredient", 3.0, values.ingredient),
    Operator("composed", 2.5, values.composed),
    Operator("rounded-up", 1.0, values.rounded_up),
    Operator("slice", 3.0, access.slices),
    Operator("around", 0.7, access.around),
    Operator("index-order", 1.5, access.index_order),
    Operator("key-access", 2.0, access.key_access),
    Operator("copy", 3.0, access.copies),
    Operator("assigned", 2.5, values.assigned),
    Operator("chain", 0.7, access.other_chain),
    Operator("extreme", 1.5, values.extreme),
    Operator("emptied", 0.7, values.emptied),
    Operator("mutable-default", 12.0, definitions.mutable_default),
    Operator("default", 1.0, definitions.defaults),
    Operator("parameter", 0.7, definitions.parameters),
    Operator("decorator", 1.5, definitions.decorators),
    Operator("exception", 4.0, definitions.exception_type),
    Operator("try", 0.5, definitions.protected_by_try, shortcut=True),
    Operator("await", 1.5, definitions.awaited),
    Operator("display", 1.0, definitions.comprehension_kind),
)
