"""Irreducible points of Brillouin-zone meshes: counts, and integrals that symmetry must not change."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "meshes": [[6, 6, 6], [5, 5, 5], [7, 7, 4], [4, 6, 5]],
    "shifts": [[0, 0, 0], [1, 1, 1], [0, 0, 1]],
    "qpoints": [[0.5, 0.0, 0.0], [0.25, 0.25, 0.0], [0.5, 0.5, 0.5]],
    "harmonics": [[1, 0, 0], [1, 1, 0], [1, -1, 2], [2, 1, -1]],
}
GRAPHITE = [[2.46, 0, 0], [-1.23, 1.23 * np.sqrt(3), 0], [0, 0, 6.71]]
SELENIUM = [[4.37, 0, 0], [-2.185, 2.185 * np.sqrt(3), 0], [0, 0, 4.95]]
MONOCLINIC = [[5.1, 0, 0], [0, 6.3, 0], [-1.3, 0, 4.9]]
FACE_CENTRED = np.ones((3, 3)) - np.eye(3)
STRUCTURES = (
    (np.eye(3) * 3.35, [[0, 0, 0]], [84]),
    (FACE_CENTRED * 1.805, [[0, 0, 0]], [29]),
    (FACE_CENTRED * 2.715, [[0, 0, 0], [0.25, 0.25, 0.25]], [14, 14]),
    (np.diag([3.25, 3.25, 4.95]), [[0, 0, 0], [0.5, 0.5, 0.5]], [49, 49]),
    (GRAPHITE, [[0, 0, 0.25], [0, 0, 0.75], [1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]], [6] * 4),
    (SELENIUM, [[0.225, 0, 1 / 3], [0, 0.225, 2 / 3], [0.775, 0.775, 0]], [34] * 3),
    (MONOCLINIC, [[0.11, 0.23, 0.31], [0.11, 0.77, 0.31], [0.4, 0, 0.2]], [1, 1, 2]),
)
"""Polonium, copper, silicon, indium, graphite, selenium and a polar monoclinic crystal, as primitive cells
but for indium."""


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def symmetrised(harmonic, rotations):
    """The star of a plane wave in reciprocal space: a function with the crystal's own symmetry."""
    return np.array([r @ np.array(harmonic) for r in rotations] + [-(r @ np.array(harmonic)) for r in rotations])


def average(points, weights, star):
    """Mean over a mesh of a sum of plane waves (real part)."""
    return float(weights @ np.cos(2 * np.pi * points @ star.T).mean(axis=1) / weights.sum())


def little_group(rotations, given):
    """Irreducible points under the rotations that keep a q-point, by mesh and shift."""
    rows = []
    for q in given["qpoints"]:
        for shift in given["shifts"]:
            mapping, _ = spglib.get_stabilized_reciprocal_mesh([4, 4, 4], rotations, is_shift=shift, qpoints=q)
            rows.append(len(np.unique(mapping)))
    return rows


def folded(lattice, given):
    """A mesh folded into the Brillouin zone: its size with the surface, and its mean squared length (1/A^2)."""
    reciprocal, mesh, shift = np.linalg.inv(lattice), given["meshes"][-1], given["shifts"][-1]
    _, grid = spglib.get_stabilized_reciprocal_mesh(mesh, [np.eye(3, dtype="intc")], is_shift=shift)
    inside, places = spglib.relocate_BZ_grid_address(grid, mesh, reciprocal, is_shift=shift)
    inversion = np.array([np.eye(3), -np.eye(3)], dtype="intc")
    images = [spglib.get_BZ_grid_points_by_rotations(a, inversion, mesh, places, is_shift=shift)[0] for a in inside]
    shuffled = spglib.get_grid_points_by_rotations(grid[3], inversion, mesh, is_shift=shift)
    points = (inside + np.array(shift) / 2.0) / np.array(mesh) @ reciprocal.T
    return [len(inside), len(np.unique(images)), *shuffled], (points**2).sum(axis=1).mean()


def main():
    given = inputs()
    little, zones, spreads = [], [], []
    counts, moved, differences, reversal = [], [], [], []
    for lattice, positions, numbers in STRUCTURES:
        cell = (np.array(lattice), positions, numbers)
        rotations = spglib.get_symmetry_dataset(cell, symprec=1e-5).rotations
        little.append(little_group(np.unique(rotations, axis=0), given))
        size, spread = folded(cell[0], given)
        zones.append(size)
        spreads.append(spread)
        for mesh in given["meshes"]:
            for shift in given["shifts"]:
                mapping, grid = spglib.get_ir_reciprocal_mesh(mesh, cell, is_shift=shift)
                points = (grid + np.array(shift) / 2.0) / np.array(mesh)
                kept, weights = np.unique(mapping, return_counts=True)
                counts.append([len(kept), weights.max(), int((weights**2).sum())])
                moved.append(int((mapping[mapping] != mapping).sum()))
                one_way, _ = spglib.get_ir_reciprocal_mesh(mesh, cell, is_shift=shift, is_time_reversal=False)
                reversal.append(len(np.unique(one_way)))
                if len(set(mesh)) == 1 and len(set(shift)) == 1:  # the mesh has the full symmetry
                    for harmonic in given["harmonics"]:
                        star = symmetrised(harmonic, rotations)
                        whole = average(points, np.ones(len(points)), star)
                        differences.append(average(points[kept], weights.astype(float), star) - whole)
    np.savez(
        "observables.npz",
        counts=np.array(counts),
        counts_without_time_reversal=np.array(reversal),
        unstable_representatives=np.array(moved),
        integral_change=np.array(differences),
        little_group_points=np.array(little),
        zone_points=np.array(zones),
        mean_square_length=np.array(spreads),
    )


main()
