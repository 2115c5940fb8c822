"""What the languages call the things that mutations look for, and what is never touched."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Language, Node, Parser


@dataclass(frozen=True)
class Grammar:
    """Node and field names of one tree-sitter grammar."""

    name: str
    functions: frozenset[str]
    """Nodes that open a function; mutations lie inside one."""
    pruned: frozenset[str]
    """Nodes that are not entered: text, declarations, diagnostics, tables of constants."""
    binary: frozenset[str]
    unary: frozenset[str]
    compare: frozenset[str]
    call: frozenset[str]
    callee: str
    subscript: frozenset[str]
    index: str
    """Field of a subscript that holds what stands between the brackets."""
    loops: frozenset[str]
    numbers: frozenset[str]
    simple: frozenset[str]
    """Arguments that are names or places, and so can be mistaken for each other."""
    bounds_unchecked: bool
    """Whether an index too large reads foreign memory: then indices and bounds may only shrink."""


_C = Grammar(
    name="c",
    functions=frozenset({"function_definition"}),
    pruned=frozenset(
        {
            "comment",
            "string_literal",
            "char_literal",
            "preproc_include",
            "preproc_def",
            "preproc_function_def",
            "array_declarator",
            "parameter_list",
            "initializer_list",
            "enum_specifier",
            "struct_specifier",
            "sizeof_expression",
            "type_descriptor",
            "template_argument_list",
            "static_assert_declaration",
            "throw_statement",
        }
    ),
    binary=frozenset({"binary_expression"}),
    unary=frozenset({"unary_expression"}),
    compare=frozenset({"binary_expression"}),
    call=frozenset({"call_expression"}),
    callee="function",
    subscript=frozenset({"subscript_expression"}),
    index="index",
    loops=frozenset({"for_statement", "while_statement"}),
    numbers=frozenset({"number_literal"}),
    simple=frozenset({"identifier", "subscript_expression", "field_expression"}),
    bounds_unchecked=True,
)

_PYTHON = Grammar(
    name="python",
    functions=frozenset({"function_definition"}),
    pruned=frozenset(
        {
            "comment",
            "string",
            "import_statement",
            "import_from_statement",
            "future_import_statement",
            "raise_statement",
            "assert_statement",
            "decorator",
            "parameters",
            "type",
            "global_statement",
            "nonlocal_statement",
        }
    ),
    binary=frozenset({"binary_operator"}),
    unary=frozenset({"unary_operator"}),
    compare=frozenset({"comparison_operator"}),
    call=frozenset({"call"}),
    callee="function",
    subscript=frozenset({"subscript"}),
    index="subscript",
    loops=frozenset({"for_statement", "while_statement"}),
    numbers=frozenset({"integer", "float"}),
    simple=frozenset({"identifier", "attribute", "subscript"}),
    bounds_unchecked=False,
)

GRAMMARS: Mapping[str, Grammar] = {"c": _C, "cpp": _C, "python": _PYTHON}

SUFFIXES: Mapping[str, str] = {
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hpp": "cpp",
}

_SIDE_EFFECTS = re.compile(
    r"(print|warn|log(ger|ging)?\b|debug|plot|plt\b|ax\b|figure|matplotlib|format|malloc|calloc|realloc|free\b"
    r"|mem(set|cpy|move)|isinstance|hasattr|getattr|abort|exit)",
    re.IGNORECASE,
)
"""Calls that do no science, or whose arguments decide over memory."""

_NO_SCIENCE = re.compile(r"plot|draw|__repr__|__str__|__hash__|^test_|print|show", re.IGNORECASE)
"""Names of functions that are left alone."""


@lru_cache(maxsize=4)
def parser_of(language: str) -> Parser:
    """A tree-sitter parser for `c`, `cpp` or `python`."""
    # The grammars are compiled modules, one for each language; only those asked for are loaded.
    module = importlib.import_module(f"tree_sitter_{language}")
    return Parser(Language(module.language()))


def text_of(node: Node | None) -> str:
    """The source text of a node, empty for None."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "surrogateescape")


def function_name(node: Node) -> str:
    """The name that a function definition gives."""
    name = node.child_by_field_name("name")
    if name is None:
        name = node.child_by_field_name("declarator")
        while name is not None and (inner := name.child_by_field_name("declarator")) is not None:
            name = inner
    return text_of(name)


def is_pruned(node: Node, grammar: Grammar) -> bool:
    """Whether nothing inside `node` may be touched."""
    if node.type in grammar.pruned or node.is_error:
        return True
    if node.type in grammar.call:
        return _SIDE_EFFECTS.search(text_of(node.child_by_field_name(grammar.callee))) is not None
    if node.type in grammar.functions:
        return _NO_SCIENCE.search(function_name(node)) is not None
    return _is_dead(node)


def _is_dead(node: Node) -> bool:
    """`if 0`, `if False`, `#if 0`, `if TYPE_CHECKING`, and a module run as a script."""
    if node.type not in ("if_statement", "preproc_if", "while_statement"):
        return False
    condition = text_of(node.child_by_field_name("condition")).strip("() \t")
    return condition in ("0", "False", "TYPE_CHECKING", "typing.TYPE_CHECKING") or condition.startswith("__name__")
