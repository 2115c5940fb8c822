"""Magnets grown from tabulated magnetic operations: the search must give back the magnetic group they came from."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"first": 7, "stride": 31, "largest": 64, "seed": 5147, "symprec": 1e-4}
GROUPS = 1651
"""So many magnetic space-group types are tabulated."""


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


def grow(table, lattice, random):
    """Positions, kinds and moments of the orbits of one magnetic and one bare atom in general position.

    A group that holds time reversal alone leaves no moment; averaging over each site's images finds that out.
    """
    rotations, translations, reversals = (table[k] for k in ("rotations", "translations", "time_reversals"))
    frames = np.array([lattice.T @ r @ np.linalg.inv(lattice.T) for r in rotations])
    parity = np.linalg.det(frames) * np.where(reversals, -1.0, 1.0)
    positions, kinds, moments = [], [], []
    for kind in (1, 2):
        point, moment = random.uniform(0.04, 0.96, 3), random.normal(size=3) * (kind == 1)
        places = (rotations @ point + translations) % 1.0
        images = parity[:, None] * (frames @ moment)
        same = (np.abs((places[:, None] - places + 0.5) % 1.0 - 0.5) < 1e-5).all(axis=2)
        for number in np.flatnonzero(same.argmax(axis=1) == np.arange(len(places))):  # first of its kind
            positions.append(places[number])
            kinds.append(kind)
            moments.append(images[same[number]].mean(axis=0))
    return np.array(positions), kinds, np.array(moments)


def move(lattice, positions, moments, random):
    """The same crystal from another origin, in another orientation."""
    rotation, _ = np.linalg.qr(random.normal(size=(3, 3)))
    rotation = rotation * np.sign(np.linalg.det(rotation))
    return lattice @ rotation.T, (positions + random.uniform(0, 1, 3)) % 1.0, moments @ rotation.T


def standard_gaps(cell, found):
    """Largest gaps between the crystal carried to the standard setting and the standard crystal: place, moment."""
    _, positions, _, moments = cell
    gaps = (positions @ found.transformation_matrix.T + found.origin_shift)[:, None] - found.std_positions
    distance = np.abs(gaps - np.rint(gaps)).max(axis=2)
    nearest = distance.argmin(axis=1)
    turned = np.array(moments) @ found.std_rotation_matrix.T
    return [distance.min(axis=1).max(), np.abs(turned - found.std_tensors[nearest]).max()]


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    found_groups, wrong, missing, volumes, kinds_found, gaps = [], [], [], [], [], []
    for number in range(given["first"], GROUPS + 1, given["stride"]):
        table = spglib.get_magnetic_symmetry_from_database(number)
        if len(table["rotations"]) > given["largest"]:  # the search takes the cube of that
            continue
        lattice = invariant_lattice(table["rotations"], random)
        positions, kinds, moments = grow(table, lattice, random)
        lattice, positions, moments = move(lattice, positions, moments, random)
        cell = (lattice, positions, kinds, moments)
        found = spglib.get_magnetic_symmetry_dataset(cell, is_axial=True, symprec=given["symprec"])
        found_groups.append([found.uni_number, found.msg_type, found.hall_number])
        gaps.append(standard_gaps(cell, found))
        wrong.append(found.uni_number - number)
        missing.append(found.n_operations - len(table["rotations"]))
        volumes.append(abs(np.linalg.det(found.std_lattice)) / abs(np.linalg.det(lattice)))
        kind = spglib.get_magnetic_spacegroup_type_from_symmetry(
            found.rotations, found.translations, found.time_reversals, lattice=lattice, symprec=given["symprec"]
        )
        kinds_found.append([kind.number, kind.type])
    np.savez(
        "observables.npz",
        magnetic_group=np.array(found_groups),
        wrong_group=np.array(wrong),
        missing_operations=np.array(missing),
        volume_ratio=np.array(volumes),
        standard_place=np.array(gaps)[:, 0],
        standard_moment=np.array(gaps)[:, 1],
        group_from_operations=np.array(kinds_found),
    )


main()
