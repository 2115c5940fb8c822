"""Measured crystals: noise on atoms and axes below the tolerance hides nothing, above it symmetry falls in steps."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"first_hall": 4, "stride": 23, "noise": 2e-4, "symprec": 4e-3, "seed": 99}
HALL_SYMBOLS = 530
TOLERANCES = (1e-5, 0.02, 0.09, 0.4)


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def grow(hall, random):
    """A crystal of one tabulated group: an invariant lattice and the orbits of two points."""
    table = spglib.get_symmetry_from_database(hall)
    rotations, translations = table["rotations"], table["translations"]
    start = np.diag(random.uniform(5.0, 9.0, 3)) @ (np.eye(3) + random.uniform(-0.15, 0.15, (3, 3)))
    metric = np.mean([r.T @ (start @ start.T) @ r for r in rotations], axis=0)
    points = [(rotations @ random.uniform(0.05, 0.95, 3) + translations) % 1.0 for _ in range(2)]
    return np.linalg.cholesky(metric), np.vstack(points), [1] * len(rotations) + [2] * len(rotations)


def disturbed(cell, size, random):
    """The crystal with every atom and axis moved by up to `size` angstrom."""
    lattice, positions, numbers = cell
    shifts = random.uniform(-1.0, 1.0, positions.shape) * size / np.sqrt(3.0)
    bent = lattice + random.uniform(-1.0, 1.0, (3, 3)) * size / 10.0
    return bent, positions + shifts @ np.linalg.inv(bent), numbers


def farthest(cell, found):
    """The longest way (angstrom) from an atom carried to the standard setting to the nearest idealised one."""
    gaps = (cell[1] @ found.transformation_matrix.T + found.origin_shift)[:, None] - found.std_positions
    squares = (((gaps - np.rint(gaps)) @ found.std_lattice) ** 2).sum(axis=2)
    alike = np.array(cell[2])[:, None] == found.std_types
    return np.sqrt(np.where(alike, squares, np.inf).min(axis=1).max())


def tolerant(given, random):
    """Groups found under noise, how far idealisation moves atoms (angstrom), and how symmetric its result is."""
    groups, lost, moved, exact = [], [], [], []
    for hall in range(given["first_hall"], HALL_SYMBOLS + 1, given["stride"]):
        clean = grow(hall, random)
        cell = disturbed(clean, given["noise"], random)
        found = spglib.get_symmetry_dataset(cell, symprec=given["symprec"])
        groups.append([found.number, len(found.rotations)])
        lost.append(found.number - spglib.get_spacegroup_type(hall).number)
        ideal = spglib.refine_cell(cell, symprec=given["symprec"])
        again = spglib.get_symmetry_dataset(ideal, symprec=1e-7)
        exact.append([again.number - found.number, len(again.rotations)])
        moved.append(farthest(cell, found))
    return {
        "noisy_group": np.array(groups),
        "wrong_group": np.array(lost),
        "idealised_group": np.array(exact),
        "idealising_shift": np.array(moved),
    }


def staircase():
    """Groups of a distorted perovskite as the tolerance passes its distortions, by position and by angle."""
    lattice = [[3.905, 0, 0], [0, 3.913, 0], [0.0021, 0, 3.928]]
    positions = [[0, 0, 0], [0.5, 0.5, 0.511], [0.5, 0.5, -0.011], [0.5, 0, 0.489], [0, 0.5, 0.514]]
    cell = (lattice, positions, [38, 22, 8, 8, 8])
    rows = []
    for symprec in TOLERANCES:
        for angle in (-1.0, 0.01, 2.0):
            found = spglib.get_symmetry_dataset(cell, symprec=symprec, angle_tolerance=angle)
            rows.append([found.number, len(found.rotations), len(set(found.equivalent_atoms))])
    return np.array(rows)


def translations(random):
    """Primitive contents of supercells whose copies differ by noise, and the translations found in them."""
    rows = []
    lattice, inner = np.diag([4.3, 5.9, 3.7]), np.array([[0.0, 0.0, 0.0], [0.27, 0.41, 0.13]])
    for copies in ([2, 1, 1], [1, 3, 1], [2, 2, 1], [1, 2, 4]):
        cells = np.array([[i, j, k] for i in range(copies[0]) for j in range(copies[1]) for k in range(copies[2])])
        points = (inner[None] + cells[:, None]).reshape(-1, 3) / copies
        cell = disturbed((np.diag(copies) @ lattice, points, [1, 2] * len(cells)), 6e-4, random)
        for symprec in (1e-5, 1e-2):
            primitive = spglib.find_primitive(cell, symprec=symprec)
            found = spglib.get_symmetry_dataset(cell, symprec=symprec)
            pure = int(sum((r == np.eye(3)).all() for r in found.rotations))
            rows.append([len(primitive[2]), pure, len(set(found.mapping_to_primitive))])
    return np.array(rows)


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    np.savez(
        "observables.npz",
        **tolerant(given, random),
        tolerance_steps=staircase(),
        noisy_translations=translations(random),
    )


main()
