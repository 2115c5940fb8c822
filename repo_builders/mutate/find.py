"""Walking a source file and turning the operators' proposals into edits of the task format."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tree_sitter import Node

from scienceide.base.errors import UserError
from scienceide.envs.defects import content_of, line_sha256, to_bytes, to_text
from scienceide.envs.formats import Edit
from scienceide.repo_builders.mutate.grammar import (
    GRAMMARS,
    SUFFIXES,
    function_name,
    is_pruned,
    parser_of,
    text_of,
)
from scienceide.repo_builders.mutate.operators import OPERATORS, Place, Proposal


@dataclass(frozen=True)
class Candidate:
    """One possible defect and where it stands."""

    edit: Edit
    function: str
    derivable: bool
    """Whether its fix follows from the code's own documentation or from a formula, not from recall alone."""
    statement: int
    """First line of the statement that the edit lies in."""

    @property
    def lineage(self) -> str:
        """Twins, defects of one function, share it."""
        return f"{self.edit.file}::{self.function}"


def language_of(file: str) -> str | None:
    """`python`, `c` or `cpp` by a file's name; None for anything else."""
    return SUFFIXES.get(PurePosixPath(file).suffix)


def candidates(source: str, language: str, file: str) -> list[Candidate]:
    """All mutations of one source file, in the order of their places.

    Args:
        source: its text, as `envs.defects.to_text` gives it.
        language: `python`, `c` or `cpp`.
        file: its path in the tree, for the edits.

    Raises:
        UserError: the language is none of those.
    """
    if language not in GRAMMARS:
        raise UserError(f"{file}: defects can be made in {', '.join(GRAMMARS)}, not in {language!r}.")
    data = to_bytes(source)
    root = parser_of(language).parse(data).root_node
    lines = source.split("\n")
    found: dict[tuple[int, tuple[int, int], str], Candidate] = {}
    for proposal, function, statement in _walk(root, Place(GRAMMARS[language], ""), ""):
        edit = _edit(proposal, data, lines, file)
        if edit is not None:
            key = (edit.line, edit.span, edit.new)
            found.setdefault(key, Candidate(edit, function, proposal.derivable, statement))
    return [found[key] for key in sorted(found)]


def _walk(node: Node, place: Place, function: str) -> Iterator[tuple[Proposal, str, int]]:
    """Proposals below `node`, each with the function and the first line of the statement it lies in."""
    if is_pruned(node, place.grammar):
        return
    if node.type in place.grammar.functions:
        name = function_name(node)
        function = f"{function}.{name}" if function else name
        place = dataclasses.replace(place, documentation=_documentation(node), in_index=False)
    elif function:
        for operator in OPERATORS:
            for proposal in operator(node, place):
                yield proposal, function, place.statement
    for child in node.children:
        yield from _walk(child, _place_of_child(node, child, place), function)


def _place_of_child(node: Node, child: Node, place: Place) -> Place:
    grammar = place.grammar
    if child.type.endswith(("_statement", "_clause", "declaration")):
        place = dataclasses.replace(place, statement=child.start_point.row + 1)
    if node.type in grammar.subscript and child != node.children[0] and child.is_named:
        return dataclasses.replace(place, in_index=True)
    if node.type in grammar.call and child.type == "argument_list":
        # The arguments of a call inside an index are values again, in a language that checks its indices.
        return dataclasses.replace(place, in_index=place.in_index and grammar.bounds_unchecked)
    if node.type in grammar.loops:
        return dataclasses.replace(place, in_loop_head=child != node.child_by_field_name("body"))
    return place


def _documentation(function: Node) -> str:
    """Docstring and comments of a function, where its formulae are stated."""
    parts = [text_of(sibling) for sibling in _preceding_comments(function)]
    todo = [function]
    while todo:
        node = todo.pop()
        if node.type in ("comment", "string"):
            parts.append(text_of(node))
        else:
            todo.extend(node.children)
    return "\n".join(parts)


def _preceding_comments(node: Node) -> Iterator[Node]:
    sibling = node.prev_sibling
    while sibling is not None and sibling.type == "comment":
        yield sibling
        sibling = sibling.prev_sibling


def _edit(proposal: Proposal, data: bytes, lines: list[str], file: str) -> Edit | None:
    """A proposal as an edit, if it lies in one line and leaves something of it."""
    start_of_line = data.rfind(b"\n", 0, proposal.start) + 1
    if b"\n" in data[proposal.start : proposal.end]:
        return None
    number = data.count(b"\n", 0, proposal.start) + 1
    line = content_of(lines[number - 1])
    start = len(to_text(data[start_of_line : proposal.start]))
    end = len(to_text(data[start_of_line : proposal.end]))
    if end > len(line) or line[start:end] == proposal.new:
        return None
    return Edit(
        file=file,
        line=number,
        span=(start, end),
        line_sha256=line_sha256(line),
        operator=proposal.operator,
        new=proposal.new,
    )
