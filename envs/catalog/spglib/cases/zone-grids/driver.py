"""Grids over the Brillouin zone: little groups of q, orbits of grid points, and addresses folded into the zone."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "mesh": [6, 6, 4],
    "odd_mesh": [5, 3, 5],
    "shift": [0, 0, 1],
    "qpoints": [
        [0.0, 0.0, 0.5],
        [0.25, 0.25, 0.0],
        [0.3333333333333333, 0.3333333333333333, 0.0],
        [0.5, 0.0, 0.0],
        [0.5, 0.5, 0.25],
    ],
    "hall_numbers": [523, 529, 485, 424, 438, 227, 81, 357, 495],
}
LATTICES = {
    "face-centred": np.ones((3, 3)) - np.eye(3),
    "body-centred": np.ones((3, 3)) - 2.0 * np.eye(3),
    "hexagonal": np.array([[1.0, 0.0, 0.0], [-0.5, np.sqrt(0.75), 0.0], [0.0, 0.0, 1.6]]),
    "monoclinic": np.array([[1.1, 0.0, 0.0], [0.0, 1.3, 0.0], [-0.4, 0.0, 0.9]]),
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def point_rotations(hall):
    return np.unique(spglib.get_symmetry_from_database(hall)["rotations"], axis=0).astype("intc")


def little_groups(given):
    """Counts of irreducible points under the little group of each q, with and without time reversal."""
    rows, checks = [], []
    for hall in given["hall_numbers"]:
        rotations = point_rotations(hall)
        for q in given["qpoints"]:
            for mesh, shift in ((given["mesh"], given["shift"]), (given["odd_mesh"], [0, 0, 0])):
                for reversal in (True, False):
                    mapping, grid = spglib.get_stabilized_reciprocal_mesh(
                        mesh, rotations, is_shift=shift, is_time_reversal=reversal, qpoints=q
                    )
                    kept, weights = np.unique(mapping, return_counts=True)
                    rows.append([len(kept), weights.max(), int((weights**2).sum())])
        dense, _ = spglib.get_stabilized_reciprocal_mesh(given["mesh"], rotations, is_dense=True)
        checks.append(int((dense[dense] != dense).sum()))
        numbers = [spglib.get_grid_point_from_address(address, given["odd_mesh"]) for address in grid]
        checks.append(int((np.array(numbers) != np.arange(len(grid))).sum()))
    return np.array(rows), np.array(checks)


def orbits(given):
    """Sizes of orbits of grid points under the reciprocal rotations, and orbits that disagree with the mesh's map."""
    sizes, disagreements = [], []
    for hall in given["hall_numbers"]:
        rotations = point_rotations(hall)
        reciprocal = np.array([r.T for r in rotations], dtype="intc")
        mapping, grid = spglib.get_stabilized_reciprocal_mesh([4, 4, 4], rotations, is_time_reversal=False)
        for address in grid[::5]:
            images = spglib.get_grid_points_by_rotations(address, reciprocal, [4, 4, 4])
            sizes.append(len(np.unique(images)))
            disagreements.append(len(np.unique(mapping[images])) - 1)
            shifted = spglib.get_grid_points_by_rotations(address, reciprocal, [4, 4, 4], is_shift=[1, 1, 1])
            sizes.append(len(np.unique(shifted)))
    return np.array(sizes), np.array(disagreements)


def folded(given):
    """Numbers of addresses in and on the zone, the mean squared length there, and how many lie farther than need be."""
    counts, lengths, far, images = [], [], [], []
    for lattice in LATTICES.values():
        reciprocal = np.linalg.inv(lattice)
        for mesh, shift in (
            (given["mesh"], [0, 0, 0]),
            (given["mesh"], given["shift"]),
            (given["odd_mesh"], [0, 0, 0]),
        ):
            _, grid = spglib.get_stabilized_reciprocal_mesh(mesh, [np.eye(3)], is_shift=shift)
            inside, places = spglib.relocate_BZ_grid_address(grid, mesh, reciprocal, is_shift=shift)
            points = (inside + np.array(shift) / 2.0) / np.array(mesh)
            norms = np.linalg.norm(points @ reciprocal.T, axis=1)
            offsets = np.array(np.meshgrid(*[[-2, -1, 0, 1, 2]] * 3)).reshape(3, -1).T
            nearest = np.linalg.norm((points[:, None] + offsets[None]) @ reciprocal.T, axis=2).min(axis=1)
            counts.append([len(inside), len(grid)])
            lengths.append((norms**2).mean())
            far.append((norms - nearest).max())
            inversion = np.array([np.eye(3), -np.eye(3)], dtype="intc")
            for address in inside[:: max(1, len(inside) // 6)]:
                found = spglib.get_BZ_grid_points_by_rotations(address, inversion, mesh, places, is_shift=shift)
                images.append(int(np.abs(inside[found[0]] - address).sum()))
    return np.array(counts), np.array(lengths), np.array(far), np.array(images)


def main():
    given = inputs()
    stars, checks = little_groups(given)
    sizes, disagreements = orbits(given)
    counts, lengths, far, images = folded(given)
    np.savez(
        "observables.npz",
        little_group_points=stars,
        inconsistent_points=checks,
        orbit_sizes=sizes,
        orbit_disagreements=disagreements,
        zone_addresses=counts,
        mean_square_length=lengths,
        beyond_zone=far,
        identity_images=images,
    )


main()
