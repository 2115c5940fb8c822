"""Text outputs as a hostile program might write them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scienceide.verifiers import read_outputs, text
from tests.verifiers.helpers import EXACT, as_json, observable


def read(data, file, criterion=None, **location):
    result = read_outputs({file: data}, [observable(file=file, criterion=criterion, **location)])
    return result.arrays.get("x"), result.failures.get("x")


def values(data, file, criterion=None, **location):
    array, failure = read(data, file, criterion, **location)
    assert failure is None, str(failure)
    return array


def name(data, file, criterion=None, **location):
    array, failure = read(data, file, criterion, **location)
    assert array is None
    return failure.name


DOCUMENT = as_json(
    {"run": {"energy": [1.5, 2], "n": 3, "flags": [True, False], "grid": [[1, 2], [3, 4]]}, "list": [[7]]}
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("run.energy", [1.5, 2.0]),
        ("run.energy.1", 2),
        ("run.n", 3),
        ("run.flags", [True, False]),
        ("run.grid", [[1, 2], [3, 4]]),
        ("list.0.0", 7),
    ],
)
def test_json_values(key, expected):
    array = values(DOCUMENT, "o.json", key=key)
    assert array.tolist() == expected
    assert array.shape == np.shape(expected)


def test_a_whole_json_document():
    assert values(b"\xef\xbb\xbf[1, 2]", "o.json").tolist() == [1, 2]
    assert values(b"[]", "o.json").shape == (0,)
    assert values(b"[[], []]", "o.json").shape == (2, 0)


def test_json_text_is_for_exact_criteria():
    data = as_json({"group": ["Fm-3m", "P1"]})
    assert values(data, "o.json", EXACT, key="group").tolist() == ["Fm-3m", "P1"]
    assert name(data, "o.json", key="group") == "not numeric"


@pytest.mark.parametrize(
    "key", ["runs", "run.energies", "run.energy.2", "run.energy.-1", "run.n.0", "", "run.", "run.energy.²"]
)
def test_missing_json_keys(key):
    assert name(DOCUMENT, "o.json", key=key) == "missing key"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "unreadable"),
        (b"{", "unreadable"),
        (b"\xff\xfe", "unreadable"),
        (b"[" * 200_000, "unreadable"),
        (b"[" * 40 + b"1" + b"]" * 40, "wrong shape"),
        (b"1" * 10_000, "unreadable"),
        (b"99999999999999999999999", "not numeric"),
        (b"[0.5, 1" + b"0" * 400 + b"]", "non-finite"),
        (b"[1.0, NaN]", "non-finite"),
        (b"[-Infinity]", "non-finite"),
        (b"1e999", "non-finite"),
        (b"[[1, 2], [3]]", "wrong shape"),
        (b"[[1, 2], 3]", "wrong shape"),
        (b"null", "not numeric"),
        (b"[1, null]", "not numeric"),
        (b'[1, "2"]', "not numeric"),
        (b"[true, 2]", "not numeric"),
        (b'{"a": 1}', "not numeric"),
    ],
)
def test_bad_json_has_names(data, expected):
    assert name(data, "o.json") == expected


@pytest.mark.parametrize(("words", "expected"), [(["a\0"], "unreadable"), (["a" * 5000], "too large")])
def test_bad_words_have_names(words, expected):
    assert name(as_json(words), "o.json", EXACT) == expected


def test_one_long_word_does_not_widen_a_million_others(monkeypatch):
    monkeypatch.setattr(text, "TEXT_ARRAY_BYTES", 4 * 1000)
    assert name(as_json(["a"] * 900 + ["long"]), "o.json", EXACT) == "too large"


CSV = b"t,energy,label\r\n0,1.5,a\r\n1,2.5,b\r\n\r\n2,3.5,c\r\n"
TABLE = b"# a run\n#  t   energy\n 0.0 1.5\n1.0\t2.5D+00\n# half time\n2.0 3.5\n"


@pytest.mark.parametrize(
    ("data", "column", "expected"),
    [
        (CSV, "t", [0, 1, 2]),
        (CSV, "energy", [1.5, 2.5, 3.5]),
        (CSV, 1, [1.5, 2.5, 3.5]),
        (TABLE, "energy", [1.5, 2.5, 3.5]),
        (TABLE, "t", [0, 1, 2]),
        (TABLE, 1, [1.5, 2.5, 3.5]),
        (b",a,b\n0,1,2\n1,3,4\n", "b", [2, 4]),
        (b'"time (s)","x, y"\n0,1\n', "x, y", [1]),
        (b"#t,x\n0,1\n", "t", [0]),
        (b"1 2\n3 4", 0, [1, 3]),
        (b"\n", 0, []),
        (b"x\n", "x", []),
    ],
)
def test_columns(data, column, expected):
    assert values(data, "o.dat", column=column).tolist() == expected


def test_text_columns_are_for_exact_criteria():
    assert values(CSV, "o.csv", EXACT, column="label").tolist() == ["a", "b", "c"]
    assert values(CSV, "o.csv", EXACT, column="t").tolist() == [0, 1, 2]
    assert name(CSV, "o.csv", column="label") == "not numeric"


def test_whole_tables():
    assert values(TABLE, "o.dat").tolist() == [[0, 1.5], [1, 2.5], [2, 3.5]]
    assert values(b"a b\n1 2\n", "o.dat").tolist() == [[1, 2]]
    assert values(b"", "o.dat").shape == (0, 0)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("1", 1),
        ("-3", -3),
        ("1.", 1),
        (".5", 0.5),
        ("1e3", 1000),
        ("1.5E-3", 0.0015),
        ("1.5D-3", 0.0015),
        ("1.5d3", 1500),
        ("1.5-103", 1.5e-103),
        ("-1.5+103", -1.5e103),
        ("1234567890123456789012", 1234567890123456789012.0),
    ],
)
def test_numbers_as_languages_write_them(cell, expected):
    assert values(f"{cell} 0\n".encode(), "o.dat", column=0).tolist() == [expected]


@pytest.mark.parametrize(
    ("data", "column", "expected"),
    [
        (CSV, "power", "missing key"),
        (CSV, 7, "missing key"),
        (b"a b\n1 2\n3\n", 1, "missing key"),
        (b"a b\n1 2\n3\n", None, "wrong shape"),
        (b"1 2\n****** 3\n", 0, "not numeric"),
        (b"1\n1_000\n", 0, "not numeric"),
        ("1\n٣\n".encode(), 0, "not numeric"),
        (b"1\n0x10\n", 0, "not numeric"),
        (b"1\n" + b"1" * 100 + b"\n", 0, "not numeric"),
        (b"1\nnan\n", 0, "non-finite"),
        (b"1\n-Infinity\n", 0, "non-finite"),
        (b"1\n1e999\n", 0, "non-finite"),
        (b"\x00\xff", 0, "unreadable"),
        (b"1,2\n3,\r4\n", 0, "unreadable"),
    ],
)
def test_bad_tables_have_names(data, column, expected):
    assert name(data, "o.csv", column=column) == expected


LOG = b"step 1 E = -1.5e-3 J\nnothing\nstep 2 E = 2.5 J E = 3.5 J\r\ncode Fm-3m\n"


def test_patterns_find_all_numbers_in_order():
    assert values(LOG, "run.log", pattern=r"E = (\S+)").tolist() == [-0.0015, 2.5, 3.5]
    assert values(LOG, "run.log", pattern=r"^step (\d+)").tolist() == [1, 2]
    assert values(LOG, "run.log", EXACT, pattern=r"code (\S+)$").tolist() == ["Fm-3m"]


def test_a_pattern_may_look_into_files_of_any_text_kind():
    assert values(b"1 2\nE = 7\n", "o.csv", pattern=r"E = (\S+)").tolist() == [7]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"F = (\S+)", "missing key"), (r"code (\S+)", "not numeric"), (r"E = |(\d)x", "not numeric")],
)
def test_bad_matches_have_names(pattern, expected):
    assert name(LOG, "run.log", pattern=pattern) == expected


def test_a_pattern_sees_only_the_beginning_of_a_long_line():
    assert name(b" " * text.LINE + b"E = 1\n", "run.log", pattern=r"E = (\S+)") == "missing key"


@pytest.mark.parametrize(
    ("file", "location", "limit"),
    [("o.json", {}, "TEXT_BYTES"), ("o.csv", {}, "TEXT_BYTES"), ("o.log", {"pattern": "(1)"}, "LOG_BYTES")],
)
def test_long_texts_are_too_large(file, location, limit):
    assert name(b"1" * (getattr(text, limit) + 1), file, **location) == "too large"


@given(st.text(max_size=200), st.sampled_from(["o.json", "o.csv", "o.dat"]), st.booleans())
@settings(deadline=None)
def test_no_text_raises(content, file, exact):
    location = {} if file == "o.json" else {"column": 0} if file == "o.csv" else {"pattern": r"(\S+)"}
    array, failure = read(content.encode("utf-8", "surrogatepass"), file, EXACT if exact else None, **location)
    assert (array is None) == (failure is not None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(json_values, st.booleans())
@settings(deadline=None)
def test_no_json_raises(value, exact):
    array, failure = read(json.dumps(value).encode(), "o.json", EXACT if exact else None)
    assert (array is None) == (failure is not None)
