"""Space groups as groups: tabulated operations close, and any description of them is recognised for what it is."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "first_hall": 3,
    "stride": 13,
    "change": [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
    "shift": [0.137, 0.218, 0.351],
    "lattice": [[6.1, 0.0, 0.0], [-1.1, 7.3, 0.0], [0.7, 1.9, 8.9]],
}
HALL_SYMBOLS = 530


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def codes(rotations, translations):
    """Each operation as one integer: its rotation in base three, its translation in 24ths."""
    steps = np.rint(24.0 * (translations % 1.0)).astype(int) % 24
    return ((rotations.reshape(-1, 9) + 1) @ 3 ** np.arange(9)) * 24**3 + steps @ np.array([576, 24, 1])


def outside(rotations, translations):
    """How many products of two operations are not operations of the group."""
    products = np.einsum("aij,bjk->abik", rotations, rotations).reshape(-1, 3, 3)
    moved = (np.einsum("aij,bj->abi", rotations, translations) + translations[:, None]).reshape(-1, 3)
    return int((~np.isin(codes(products, moved), codes(rotations, translations))).sum())


def described_anew(rotations, translations, given):
    """The operations in another basis and from another origin."""
    change, shift = np.array(given["change"]), np.array(given["shift"])
    inverse = np.rint(np.linalg.inv(change)).astype(int)
    moved = translations + shift - rotations @ shift
    return np.array([change @ r @ inverse for r in rotations], dtype="intc"), moved @ change.T


def metric_lattice(rotations, given):
    """A lattice (rows) with the symmetry of the rotations: the given one, its metric averaged over them."""
    start = np.array(given["lattice"])
    return np.linalg.cholesky(np.mean([r.T @ (start @ start.T) @ r for r in rotations], axis=0))


def main():
    given = inputs()
    closure, types, symbols, pointgroups, transformed = [], [], [], [], []
    for hall in range(given["first_hall"], HALL_SYMBOLS + 1, given["stride"]):
        table = spglib.get_symmetry_from_database(hall)
        rotations, translations = table["rotations"], table["translations"]
        closure.append(outside(rotations, translations))
        kind = spglib.get_spacegroup_type(hall)
        anew = described_anew(rotations, translations, given)
        lattice = np.linalg.inv(np.array(given["change"], dtype=float)).T @ metric_lattice(rotations, given)
        same = spglib.get_spacegroup_type_from_symmetry(
            rotations, translations, lattice=metric_lattice(rotations, given)
        )
        other = spglib.get_spacegroup_type_from_symmetry(*anew, lattice=lattice)
        types.append([kind.number, same.number - kind.number, other.number - kind.number, other.hall_number])
        symbols.append(f"{other.international_short} {other.schoenflies} {other.arithmetic_crystal_class_symbol}")
        symbol, number, change = spglib.get_pointgroup(np.unique(anew[0], axis=0))
        pointgroups.append([number, len(np.unique(anew[0], axis=0)), round(np.linalg.det(change))])
        transformed.append(symbol.strip())
    np.savez(
        "observables.npz",
        products_outside=np.array(closure),
        space_group=np.array(types),
        symbols=np.array(symbols),
        point_group=np.array(pointgroups),
        point_symbol=np.array(transformed),
    )


main()
