"""The mutation operators: each looks at one node and proposes replacements of spans within it.

A proposal never quotes the source: it gives a byte range and what stands there instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node

from scienceide.envs.defects import SWAP
from scienceide.repo_builders.mutate.grammar import Grammar, text_of
from scienceide.repo_builders.mutate.literals import is_simple, perturbed

_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
_COMPARISONS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<=")}
_NUMERICS = re.compile(r"tol|eps|iter|guess|damp|digits|seed|attempt|maxfev|precision", re.IGNORECASE)
"""Names of settings that steer a solver or guard it; wrong ones give noise, not wrong physics."""


@dataclass(frozen=True)
class Proposal:
    """Replace bytes `start` to `end` of the source by `new`."""

    start: int
    end: int
    operator: str
    new: str
    derivable: bool = True
    """False where only recall would give the value back."""


@dataclass(frozen=True)
class Place:
    """What a node's surroundings say."""

    grammar: Grammar
    documentation: str
    """Docstring and comments of the enclosing function."""
    in_index: bool = False
    in_loop_head: bool = False
    statement: int = 1
    """First line of the innermost statement or clause."""


Operator = Callable[[Node, Place], Iterator[Proposal]]


def sign(node: Node, place: Place) -> Iterator[Proposal]:
    """A unary minus is lost."""
    if node.type not in place.grammar.unary or text_of(node.children[0]) != "-":
        return
    argument = node.children[-1]
    if place.in_index or (argument.type in place.grammar.numbers and not _inside_arithmetic(node, place)):
        return
    yield Proposal(node.children[0].start_byte, argument.start_byte, "sign", "")


def operator_swap(node: Node, place: Place) -> Iterator[Proposal]:
    """+ for −, × for ÷, and the other way round."""
    if node.type not in place.grammar.binary:
        return
    operator = node.child_by_field_name("operator")
    swapped = _ARITHMETIC.get(text_of(operator))
    if operator is None or swapped is None or place.in_loop_head:
        return
    if place.in_index and place.grammar.bounds_unchecked:
        return
    if any(child.type == "string" or _is_setting(child) for child in node.children):
        return
    kind = "sign" if swapped in "+-" else "operator"
    yield Proposal(operator.start_byte, operator.end_byte, kind, swapped)


def comparison(node: Node, place: Place) -> Iterator[Proposal]:
    """The boundary falls on the other side, or the comparison is turned round."""
    if node.type not in place.grammar.compare or place.in_loop_head or _NUMERICS.search(text_of(node)):
        return
    for child in node.children:
        for new in _COMPARISONS.get(text_of(child), ()) if not child.is_named else ():
            yield Proposal(child.start_byte, child.end_byte, "comparison", new)


def coefficient(node: Node, place: Place) -> Iterator[Proposal]:
    """A literal in an arithmetic expression has one digit wrong."""
    if node.type not in place.grammar.numbers or place.in_index or place.in_loop_head:
        return
    if not _inside_arithmetic(node, place):
        return
    literal = text_of(node)
    new = perturbed(literal, _seed(node))
    if new is None or literal.strip("0.") in ("", "1"):
        return
    stated = re.search(rf"(?<![\d.]){re.escape(literal.rstrip('0.') or literal)}0*(?!\d)", place.documentation)
    yield Proposal(node.start_byte, node.end_byte, "coefficient", new, is_simple(literal) or stated is not None)


def off_by_one(node: Node, place: Place) -> Iterator[Proposal]:
    """An index, an offset or a loop's bound is off by one, never beyond the array where nothing checks."""
    if node.type in place.grammar.numbers and place.in_index:
        yield from _shifted_index(node, place)
    elif node.type == "for_statement" and place.grammar.name != "python":
        yield from _shorter_c_loop(node)
    elif node.type in place.grammar.call and text_of(node.child_by_field_name("function")) in ("range", "arange"):
        yield from _shorter_range(node)


def swapped_arguments(node: Node, place: Place) -> Iterator[Proposal]:
    """Two neighbouring arguments of a call change places."""
    if node.type not in place.grammar.call:
        return
    arguments = node.child_by_field_name("arguments")
    if arguments is None or arguments.type != "argument_list":
        return
    for left, right in pairwise(arguments.named_children):
        alike = left.type == right.type and left.type in place.grammar.simple
        if not alike or text_of(left) == text_of(right) or left.start_point.row != right.end_point.row:
            continue
        a, b = len(text_of(left)), right.start_byte - left.start_byte
        if not text_of(node).isascii():
            continue
        yield Proposal(left.start_byte, right.end_byte, SWAP, f"0:{a},{b}:{b + len(text_of(right))}")


def dropped_term(node: Node, place: Place) -> Iterator[Proposal]:
    """One term of a sum is missing."""
    if node.type not in place.grammar.binary or place.in_index or place.in_loop_head:
        return
    operator = text_of(node.child_by_field_name("operator"))
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if operator not in ("+", "-") or left is None or right is None:
        return
    if "string" in (left.type, right.type) or _is_setting(left) or _is_setting(right):
        return
    yield Proposal(left.end_byte, node.end_byte, "dropped-term", "")
    if operator == "+":
        yield Proposal(node.start_byte, right.start_byte, "dropped-term", "")


OPERATORS: tuple[Operator, ...] = (
    sign,
    operator_swap,
    comparison,
    coefficient,
    off_by_one,
    swapped_arguments,
    dropped_term,
)


def _shifted_index(node: Node, place: Place) -> Iterator[Proposal]:
    literal = text_of(node)
    if not literal.isdecimal():
        return
    value = int(literal)
    parent = node.parent
    if parent is not None and parent.type in place.grammar.binary:
        left = parent.child_by_field_name("left")
        if value == 1 and left is not None and node == parent.child_by_field_name("right"):
            yield Proposal(left.end_byte, node.end_byte, "off-by-one", "")
        return
    yield Proposal(node.start_byte, node.end_byte, "off-by-one", str(value - 1 if value else 1))


def _shorter_c_loop(node: Node) -> Iterator[Proposal]:
    """`i = 0` begins at 1; `i < n` ends one earlier."""
    start = node.child_by_field_name("initializer")
    condition = node.child_by_field_name("condition")
    if start is not None:
        for inner in (start, *start.named_children):
            value = inner.child_by_field_name("right") or inner.child_by_field_name("value")
            if text_of(value) == "0" and value is not None:
                yield Proposal(value.start_byte, value.end_byte, "off-by-one", "1")
                break
    if condition is not None and condition.type == "binary_expression":
        bound = condition.child_by_field_name("right")
        operator = condition.child_by_field_name("operator")
        if bound is not None and operator is not None and text_of(operator) in ("<", "<="):
            yield Proposal(bound.end_byte, bound.end_byte, "off-by-one", " - 1")


def _shorter_range(node: Node) -> Iterator[Proposal]:
    arguments = node.child_by_field_name("arguments")
    places = arguments.named_children if arguments is not None else []
    if places and all(p.type != "keyword_argument" for p in places):
        stop = places[min(1, len(places) - 1)]
        yield Proposal(stop.end_byte, stop.end_byte, "off-by-one", " - 1")


def _inside_arithmetic(node: Node, place: Place) -> bool:
    """Whether a node is an operand, perhaps within parentheses, and no setting of a solver."""
    parent = node.parent
    while parent is not None and parent.type in ("parenthesized_expression", *place.grammar.unary):
        parent = parent.parent
    if parent is None or parent.type not in place.grammar.binary:
        return False
    operator = text_of(parent.child_by_field_name("operator"))
    if operator not in ("+", "-", "*", "/", "**"):
        return False
    while parent.parent is not None and not parent.type.endswith(("statement", "declaration", "block")):
        if parent.type in ("keyword_argument", "assignment", "init_declarator", "assignment_expression"):
            return _NUMERICS.search(text_of(parent.children[0])) is None
        parent = parent.parent
    return True


def _is_setting(node: Node) -> bool:
    """Whether an operand is a guard such as `eps`, or a multiple of one."""
    return len(text_of(node)) < 24 and _NUMERICS.search(text_of(node)) is not None


def _seed(node: Node) -> int:
    """A number that depends on where a literal stands and what it is, and on nothing else."""
    key = f"{node.start_point.row}:{node.start_point.column}:{text_of(node)}"
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")
