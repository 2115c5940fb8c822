"""Crystals grown from tabulated symmetry operations: the search must give back the group they came from."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"first_hall": 2, "stride": 9, "seed": 417, "symprec": 1e-4}
HALL_SYMBOLS = 530
"""So many settings of the 230 space groups are tabulated."""


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def invariant_lattice(rotations, random):
    """A random lattice (rows) whose metric is kept by all rotations, found by averaging a random metric."""
    start = np.diag(random.uniform(4.0, 9.0, 3)) @ (np.eye(3) + random.uniform(-0.18, 0.18, (3, 3)))
    metric = np.mean([r.T @ (start @ start.T) @ r for r in rotations], axis=0)
    return np.linalg.cholesky(metric)


def grow(rotations, translations, random):
    """Positions and kinds of the orbits of three points in general position."""
    positions, kinds = [], []
    for kind in (1, 2, 3):
        point = random.uniform(0.03, 0.97, 3)
        orbit = (rotations @ point + translations) % 1.0
        positions.append(orbit)
        kinds += [kind] * len(orbit)
    return np.vstack(positions), kinds


def change_setting(lattice, positions, random):
    """Another basis of the same lattice, another origin, another orientation."""
    shears = [np.eye(3, dtype=int) for _ in range(3)]
    for shear in shears:
        row, other = random.choice(3, size=2, replace=False)
        shear[row, other] = random.choice([-1, 1])
    skew = shears[0] @ shears[1] @ shears[2]
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    turn = turn * np.sign(np.linalg.det(turn))
    return skew @ lattice @ turn.T, ((positions + random.uniform(0, 1, 3)) @ np.linalg.inv(skew)) % 1.0


def standard_residual(cell, found):
    """Largest fractional distance from atoms carried to the standard setting to those they map to."""
    _, positions, _ = cell
    moved = positions @ found.transformation_matrix.T + found.origin_shift
    target = found.std_positions
    gaps = []
    for number, place in zip(found.mapping_to_primitive, moved, strict=True):
        partners = target[found.std_mapping_to_primitive == number]
        gap = partners - place
        gaps.append(np.abs(gap - np.rint(gap)).max(axis=1).min())
    return max(gaps)


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    groups, halls, orders, residuals, volumes = [], [], [], [], []
    for hall in range(given["first_hall"], HALL_SYMBOLS + 1, given["stride"]):
        table = spglib.get_symmetry_from_database(hall)
        lattice = invariant_lattice(table["rotations"], random)
        positions, kinds = grow(table["rotations"], table["translations"], random)
        cell = (*change_setting(lattice, positions, random), kinds)
        found = spglib.get_symmetry_dataset(cell, symprec=given["symprec"])
        groups.append([found.number, found.hall_number])
        halls.append(spglib.get_spacegroup_type(hall).number)
        orders.append(len(found.rotations) - len(table["rotations"]))
        residuals.append(standard_residual((*cell[:2], kinds), found))
        volumes.append(np.linalg.det(found.transformation_matrix))
    np.savez(
        "observables.npz",
        space_group=np.array(groups),
        wrong_group=np.array(groups)[:, 0] - np.array(halls),
        missing_operations=np.array(orders),
        standard_residual=np.array(residuals),
        volume_ratio=np.array(volumes),
    )


main()
