"""Binary outputs as a hostile program might write them."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scienceide.verifiers import arrays, read_outputs
from scienceide.verifiers.arrays import Archive, parse_npy
from tests.verifiers.helpers import EXACT, npy, npz, observable


class Explosive:
    """Unpickling this would call `exit`."""

    def __reduce__(self):
        return exit, (99,)


def forged(descr="'<f8'", shape="(3,)", body=bytes(24), version=1, order="False"):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + body


def failure(data, **kind):
    spec = observable(file="x.npy", **kind)
    result = read_outputs({"x.npy": data}, [spec])
    assert not result.arrays
    return result.failures["x"]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">i4"),
        np.array(3.5),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array([1.5], np.float16),
        np.array([2**64 - 1], np.uint64),
        np.array(["Fm-3m", "å"]),
        np.array("P1"),
        np.arange(24, dtype="<f4").reshape(2, 3, 4)[:, ::2],
    ],
)
def test_what_numpy_writes_is_read(array):
    back = parse_npy(npy(array))
    assert back.shape == array.shape
    assert back.dtype.isnative
    np.testing.assert_array_equal(back, array)


def test_long_doubles_become_doubles():
    assert parse_npy(npy(np.array([1.5], np.longdouble))).dtype == np.float64
    assert parse_npy(npy(np.array([1.5], np.clongdouble))).dtype == np.complex128


def test_bytes_become_text():
    assert parse_npy(npy(np.array([b"P1", b"Fm-3m"]))).tolist() == ["P1", "Fm-3m"]


def test_forged_booleans_are_true_or_false():
    values = parse_npy(forged("'|b1'", body=bytes([0, 1, 2])))
    assert (values == np.array([False, True, True])).all()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_header_versions(version):
    assert parse_npy(forged(version=version)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "unreadable"),
        (b"\x93NUMPY", "unreadable"),
        (b"not an array at all", "unreadable"),
        (npy(np.arange(3.0))[:-1], "unreadable"),
        (npy(np.array([Explosive()], dtype=object)), "not numeric"),
        (npy(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])), "unreadable"),
        (npy(np.array(["2026-01-01"], "M8[D]")), "not numeric"),
        (npy(np.array(["1.0"])), "not numeric"),
        (forged("'<f3'"), "not numeric"),
        (forged("'|V8'"), "not numeric"),
        (forged("'<U0'", body=b""), "unreadable"),
        (forged(shape="(999999999999,)"), "too large"),
        (forged(shape="(99999999999999999999, 99999999999999999999)"), "too large"),
        (forged(shape="(9,)"), "unreadable"),
        (forged(shape="(-3,)"), "unreadable"),
        (forged(shape="(3.0,)"), "unreadable"),
        (forged(shape="(0, 99999999999999999999)", body=b""), "unreadable"),
        (forged(shape=f"({'1, ' * 40})"), "unreadable"),
        (forged(shape="__import__('os').abort()"), "unreadable"),
        (forged(shape="(" * 3000), "unreadable"),
        (forged("'<f8'", order="1"), "unreadable"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{", "unreadable"),
        (npy(np.array([1.0, np.nan, -np.inf])), "non-finite"),
        (npy(np.array([1.0, complex(0, np.nan)])), "non-finite"),
    ],
)
def test_bad_arrays_have_names(data, name):
    assert failure(data).name == name


def test_text_beyond_unicode_is_unreadable():
    data = forged("'<U1'", shape="(1,)", body=struct.pack("<I", 0x110000))
    assert failure(data, criterion=EXACT).name == "unreadable"
    assert parse_npy(forged("'<U1'", shape="(1,)", body=struct.pack("<I", 0x10FFFF))).tolist() == ["\U0010ffff"]


def test_an_array_cut_short_says_so():
    assert str(failure(npy(np.arange(3.0))[:-1])) == "unreadable: the array is cut short"


def test_a_long_double_beyond_a_double_is_not_finite():
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        assert failure(npy(np.array([np.longdouble("1e4000")]))).name == "non-finite"


def test_extra_bytes_after_the_array_are_ignored():
    assert parse_npy(npy(np.arange(3.0)) + b"more").tolist() == [0, 1, 2]


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def archive_failure(data, key="x"):
    return read_outputs({"o.npz": data}, [observable(key=key)]).failures["x"]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "unreadable"),
        (b"PK\x03\x04 not really", "unreadable"),
        (npz(x=np.arange(3.0))[:-30], "unreadable"),
        (npz(y=np.arange(3.0)), "missing key"),
        (zipped({}), "missing key"),
        (zipped({"x.npy": b"what?"}), "unreadable"),
        (zipped({"x.npy": npy(np.array([Explosive()], dtype=object))}), "not numeric"),
        (zipped({"x.npy": npy(np.arange(3.0))}, zipfile.ZIP_LZMA), "unreadable"),
        (zipped({f"{n}": b"" for n in range(1001)}), "too large"),
    ],
)
def test_bad_archives_have_names(data, name):
    assert archive_failure(data).name == name


def test_encrypted_members_are_unreadable():
    data = bytearray(zipped({"x.npy": npy(np.arange(3.0))}))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    assert archive_failure(bytes(data)).detail == "encrypted, or packed in an unusual way"


def test_a_wrong_checksum_is_unreadable():
    data = bytearray(zipped({"x.npy": npy(np.arange(3.0))}, zipfile.ZIP_STORED))
    data[data.index(b"\x93NUMPY") + 130] ^= 1
    assert archive_failure(bytes(data)).name == "unreadable"


def test_a_zip_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(arrays, "ARRAY_BYTES", 2**20)
    header = forged(shape=f"({2**24},)", body=b"")
    data = zipped({"x.npy": header + bytes(2**27)})
    assert len(data) < 2**18
    assert len(Archive(data).content("x")) <= 2**20 + arrays.HEADER_BYTES
    assert archive_failure(data).name == "too large"


def test_the_size_that_a_member_claims_does_not_matter():
    data = bytearray(zipped({"x.npy": npy(np.arange(3.0))}))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 2**31)
    assert Archive(bytes(data)).array("x").tolist() == [0, 1, 2]


def test_names_without_the_ending_are_found_too():
    assert Archive(zipped({"x": npy(np.arange(2.0))})).array("x").tolist() == [0, 1]


GOOD = {"o.npz": npz(x=np.arange(4.0), y=np.array([1, 2])), "x.npy": npy(np.arange(4.0))}


@pytest.mark.parametrize("file", sorted(GOOD))
@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=12), cut=st.integers(0, 600))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_damage_raises(file, flips, cut):
    data = bytearray(GOOD[file])
    for at, value in flips:
        data[at % len(data)] = value
    result = read_outputs({file: bytes(data[: len(data) - cut])}, [observable(file=file)])
    assert set(result.arrays) ^ set(result.failures) == {"x"}
