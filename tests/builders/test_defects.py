"""Defects apply exactly once and invert byte for byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scienceide.base.errors import TaskError
from scienceide.envs.defects import (
    SWAP,
    apply_edits,
    broken_files,
    content_of,
    fixed_files,
    invert_edits,
    line_sha256,
    reader,
    to_bytes,
    to_text,
)
from scienceide.envs.formats import Defect, Edit


def edit(text, line, span, new, operator="sign", file="a.py"):
    content = content_of(text.split("\n")[line - 1])
    return Edit(file=file, line=line, span=span, line_sha256=line_sha256(content), operator=operator, new=new)


@st.composite
def texts_and_edits(draw):
    """Any bytes at all as source, and edits that do not overlap in it."""
    text = to_text(draw(st.binary(max_size=120)))
    lines = [content_of(line) for line in text.split("\n")]
    edits = []
    for number in draw(st.lists(st.integers(1, len(lines)), max_size=4, unique=True)):
        cuts = (
            sorted(draw(st.lists(st.integers(0, len(lines[number - 1])), min_size=2, max_size=6, unique=True)))
            if len(lines[number - 1]) >= 6
            else []
        )
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            new = draw(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=5))
            edits.append(edit(text, number, (start, end), new))
    return text, edits


@given(texts_and_edits())
@settings(max_examples=300)
def test_inverse_is_exact(drawn):
    text, edits = drawn
    broken = apply_edits(edits, text)
    assert to_bytes(apply_edits(invert_edits(edits, text), broken)) == to_bytes(text)


def test_endings_and_odd_bytes_survive():
    text = to_text(b"x = a + b\r\ny = '\xff\xfe'\r\n")
    broken = apply_edits([edit(text, 1, (6, 7), "-")], text)
    assert to_bytes(broken) == b"x = a - b\r\ny = '\xff\xfe'\r\n"


def test_swap_exchanges_two_ranges_and_stores_no_name():
    text = "f(alpha, b)"
    swap = edit(text, 1, (2, 10), "0:5,7:8", SWAP)
    assert apply_edits([swap], text) == "f(b, alpha)"
    assert apply_edits(invert_edits([swap], text), "f(b, alpha)") == text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"line_sha256": "0" * 64}, "not the one"),
        ({"line": 9}, "has only 2 lines"),
        ({"span": (3, 99)}, "does not lie in the line"),
        ({"operator": SWAP, "new": "x"}, "not two ranges"),
        ({"operator": SWAP, "new": "0:1,0:1"}, "one after the other"),
    ],
)
def test_defect_that_no_longer_applies_names_file_and_line(change, why):
    text = "x = a + b\n"
    broken = edit(text, 1, (6, 7), "-").model_copy(update=change)
    with pytest.raises(TaskError, match=rf"a\.py:{broken.line}: the defect no longer applies: .*{why}"):
        apply_edits([broken], text)


@pytest.mark.parametrize("spans", [((2, 5), (4, 6)), ((3, 3), (3, 3))])
def test_overlapping_edits_are_refused(spans):
    text = "abcdefgh"
    with pytest.raises(TaskError, match="overlap"):
        apply_edits([edit(text, 1, span, "z") for span in spans], text)


def test_files_of_a_tree(tmp_path):
    (tmp_path / "a.py").write_text("x = 1 + 2\n")
    (tmp_path / "b.py").write_text("y = 3 < 4\n")
    defect = Defect(
        edits=(edit("x = 1 + 2\n", 1, (6, 7), "-"), edit("y = 3 < 4\n", 1, (6, 7), "<=", "comparison", "b.py"))
    )
    assert broken_files(defect, reader(tmp_path)) == {"a.py": b"x = 1 - 2\n", "b.py": b"y = 3 <= 4\n"}
    assert fixed_files(defect, reader(tmp_path)) == {"a.py": b"x = 1 + 2\n", "b.py": b"y = 3 < 4\n"}
    (tmp_path / "b.py").unlink()
    with pytest.raises(TaskError, match=r"b\.py:1.*cannot be read"):
        broken_files(defect, reader(tmp_path))
