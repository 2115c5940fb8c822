"""Magnetic space groups of known orderings, with moments as axial vectors, as signs along an axis, and as none."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "origin": [0.231, 0.077, 0.389],
    "axis": [0.48, 0.6, -0.64],
    "angle_deg": 61.0,
    "symprec": 1e-4,
}

CENTRINGS = {"P": [[0, 0, 0]], "R": [[0, 0, 0], [2 / 3, 1 / 3, 1 / 3], [1 / 3, 2 / 3, 2 / 3]]}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def basis(a, b, c, alpha, beta, gamma):
    """Basis vectors as rows from lengths and angles (degrees)."""
    ca, cb, cg = np.cos(np.radians([alpha, beta, gamma]))
    sg = np.sin(np.radians(gamma))
    cx, cy = cb, (ca - cb * cg) / sg
    return np.array([[a, 0, 0], [b * cg, b * sg, 0], [c * cx, c * cy, c * np.sqrt(1 - cx**2 - cy**2)]])


def turn(axis, degrees):
    """Rotation matrix about an axis (Rodrigues)."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    t = np.radians(degrees)
    return np.eye(3) + np.sin(t) * k + (1 - np.cos(t)) * k @ k


def crystal(entry, given):
    """The structure from another origin, in another orientation; moments are Cartesian and turn along."""
    sites = np.array(entry["sites"])
    rotation = turn(given["axis"], given["angle_deg"])
    shifts = np.array(CENTRINGS[entry.get("centring", "P")])
    positions = (sites[:, None, 1:] + shifts + np.array(given["origin"])).reshape(-1, 3) % 1.0
    numbers = np.repeat(sites[:, 0].astype(int), len(shifts))
    moments = np.repeat(np.array(entry["moments"]), len(shifts), axis=0)
    return basis(*entry["cell"]) @ rotation.T, positions, numbers, moments @ rotation.T


def broken_symmetry(cell, found):
    """Largest change of a moment when the operations found are applied to the crystal (axial vectors)."""
    lattice, positions, _, moments = cell
    worst = 0.0
    for r, t, reversal in zip(found.rotations, found.translations, found.time_reversals, strict=True):
        cartesian = lattice.T @ r @ np.linalg.inv(lattice.T)
        images = moments @ cartesian.T * np.linalg.det(r) * (-1.0 if reversal else 1.0)
        gaps = positions[None] - (positions @ r.T + t)[:, None]
        targets = np.abs(gaps - np.rint(gaps)).max(axis=2).argmin(axis=1)
        worst = max(worst, np.abs(images - moments[targets]).max())
    return worst


def standard_gaps(cell, found):
    """Largest gaps between the crystal carried to the standard setting and the standard crystal: place, moment."""
    _, positions, _, moments = cell
    gaps = (positions @ found.transformation_matrix.T + found.origin_shift)[:, None] - found.std_positions
    distance = np.abs(gaps - np.rint(gaps)).max(axis=2)
    nearest = distance.argmin(axis=1)
    turned = np.array(moments) @ found.std_rotation_matrix.T
    return [distance.min(axis=1).max(), np.abs(turned - found.std_tensors[nearest]).max()]


def signs(cell):
    """The same crystal with a scalar for each moment: its projection on the largest one."""
    lattice, positions, numbers, moments = cell
    longest = moments[np.linalg.norm(moments, axis=1).argmax()]
    return lattice, positions, numbers, moments @ longest / max(1.0, np.linalg.norm(longest))


def main():
    given = inputs()
    with open("structures.json", encoding="utf-8") as file:
        structures = json.load(file)
    groups, operations, broken, again, scalar, gaps, shapes = [], [], [], [], [], [], []
    for entry in structures.values():
        cell = crystal(entry, given)
        found = spglib.get_magnetic_symmetry_dataset(cell, is_axial=True, symprec=given["symprec"])
        groups.append([found.uni_number, found.msg_type, found.hall_number])
        operations.append([found.n_operations, int(np.sum(found.time_reversals)), len(set(found.equivalent_atoms))])
        broken.append(broken_symmetry(cell, found))
        gaps.append(standard_gaps(cell, found))
        shapes.append((found.std_lattice @ found.std_lattice.T)[np.triu_indices(3)])
        kind = spglib.get_magnetic_spacegroup_type_from_symmetry(
            found.rotations, found.translations, found.time_reversals, lattice=cell[0], symprec=given["symprec"]
        )
        again.append(kind.uni_number - found.uni_number)
        for polar in (True, False):
            other = spglib.get_magnetic_symmetry(signs(cell), is_axial=polar, symprec=given["symprec"])
            scalar.append([len(other["rotations"]), int(np.sum(other["time_reversals"]))])
        single = spglib.get_magnetic_symmetry(cell, symprec=given["symprec"], with_time_reversal=False)
        scalar.append([len(single["rotations"]), len(set(single["equivalent_atoms"]))])
    np.savez(
        "observables.npz",
        magnetic_group=np.array(groups),
        operations=np.array(operations),
        broken_symmetry=np.array(broken),
        standard_place=np.array(gaps)[:, 0],
        standard_moment=np.array(gaps)[:, 1],
        standard_metric=np.array(shapes),
        group_from_operations=np.array(again),
        scalar_moments=np.array(scalar),
    )


main()
