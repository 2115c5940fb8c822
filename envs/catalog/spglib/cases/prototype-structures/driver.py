"""Space group and site symmetry of textbook crystal structures in skewed settings, and layer groups of slabs."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "skew": [[1, 1, 0], [0, 1, 1], [0, 0, 1]],
    "origin": [0.137, 0.291, 0.419],
    "axis": [0.36, -0.48, 0.8],
    "angle_deg": 37.0,
    "symprec": 1e-4,
    "slab_skew": 1,
}
CENTRINGS = {
    "P": [[0, 0, 0]],
    "A": [[0, 0, 0], [0, 0.5, 0.5]],
    "I": [[0, 0, 0], [0.5, 0.5, 0.5]],
    "F": [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
    "R": [[0, 0, 0], [2 / 3, 1 / 3, 1 / 3], [1 / 3, 2 / 3, 2 / 3]],
}


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
    """The structure with another basis of the same lattice, another origin and another orientation."""
    lattice = basis(*entry["cell"])
    shifts = np.array(CENTRINGS[entry["centring"]])
    sites = np.array(entry["sites"])
    points = (sites[:, None, 1:] + shifts[None]).reshape(-1, 3)
    numbers = np.repeat(sites[:, 0].astype(int), len(shifts))
    skew = np.array(given["skew"])
    moved = (points + np.array(given["origin"])) @ np.linalg.inv(skew)
    return skew @ lattice @ turn(given["axis"], given["angle_deg"]).T, moved % 1.0, numbers


def orbits(labels):
    """Sizes of the sets of equivalent atoms, sorted."""
    return sorted(np.unique(labels, return_counts=True)[1].tolist())


def stabilizer_defect(cell, found):
    """How far orbit size times stabilizer order is from the order of the group, over all atoms; zero for a group."""
    positions = cell[1]
    images = np.einsum("rij,nj->rni", found.rotations, positions) + found.translations[:, None]
    gaps = images - positions
    kept = (np.abs(gaps - np.rint(gaps)).max(axis=2) < 1e-3).sum(axis=0)
    sizes = np.array([(found.crystallographic_orbits == label).sum() for label in found.crystallographic_orbits])
    return int(np.abs(kept * sizes - len(found.rotations)).max())


def slabs(given):
    """Layer group, its order and the orbits of atoms of slabs in a skewed cell, from another origin in the plane."""
    with open("slabs.json", encoding="utf-8") as file:
        known = json.load(file)
    rows = []
    for slab in known.values():
        change = np.array([[1, 0, 0], [given["slab_skew"], 1, 0], [0, 0, 1]])
        shift = np.array([*given["origin"][:2], 0.03])
        positions = (np.array(slab["positions"]) + shift) @ np.linalg.inv(change)
        lattice = change @ np.array(slab["lattice"]) @ turn([0, 0, 1], given["angle_deg"]).T
        found = spglib.get_symmetry_layerdataset((lattice, positions, slab["numbers"]), symprec=given["symprec"])
        rows.append([found.number, found.hall_number, len(found.rotations), len(set(found.equivalent_atoms))])
    return np.array(rows)


def main():
    given = inputs()
    with open("structures.json", encoding="utf-8") as file:
        structures = json.load(file)
    rows, operations, sizes, letters, sites, defects = [], [], [], [], [], []
    for entry in structures.values():
        cell = crystal(entry, given)
        found = spglib.get_symmetry_dataset(cell, symprec=given["symprec"])
        rows.append([found.number, found.hall_number])
        defects.append(stabilizer_defect(cell, found))
        proper = int(sum(np.linalg.det(r) > 0 for r in found.rotations))
        operations.append([len(found.rotations), proper, len(np.unique(found.mapping_to_primitive))])
        sizes.append(",".join(map(str, orbits(found.equivalent_atoms) + orbits(found.crystallographic_orbits))))
        letters.append("".join(sorted(found.wyckoffs)))
        sites.append(found.pointgroup + ": " + " ".join(sorted(set(found.site_symmetry_symbols))))
    np.savez(
        "observables.npz",
        space_group=np.array(rows),
        operations=np.array(operations),
        orbit_sizes=np.array(sizes),
        wyckoff_letters=np.array(letters),
        site_symmetry=np.array(sites),
        stabilizer_defect=np.array(defects),
        layer_group=slabs(given),
    )


main()
