"""One crystal in each tabulated setting of its group, and slabs by layer group."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"types": [5, 9, 14, 15, 17, 39, 48, 62, 73, 86, 125, 146, 166, 201], "seed": 2718, "symprec": 1e-4}
HALL_SYMBOLS = 530


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def grow(hall, random):
    """A crystal of one tabulated setting: an invariant lattice and the orbits of two points."""
    table = spglib.get_symmetry_from_database(hall)
    rotations, translations = table["rotations"], table["translations"]
    start = np.diag(random.uniform(5.0, 9.0, 3)) @ (np.eye(3) + random.uniform(-0.15, 0.15, (3, 3)))
    metric = np.mean([r.T @ (start @ start.T) @ r for r in rotations], axis=0)
    points = [(rotations @ random.uniform(0.05, 0.95, 3) + translations) % 1.0 for _ in range(2)]
    return np.linalg.cholesky(metric), np.vstack(points), [1] * len(rotations) + [2] * len(rotations)


def settings(given, random):
    """Each setting of each type asked of a crystal in the first one: choice, axes, and what carries atoms there."""
    found_settings, metrics, residuals = [], [], []
    types = [spglib.get_spacegroup_type(hall).number for hall in range(1, HALL_SYMBOLS + 1)]
    for number in given["types"]:
        halls = [hall for hall, other in enumerate(types, start=1) if other == number]
        cell = grow(halls[0], random)
        for hall in halls:
            found = spglib.get_symmetry_dataset(cell, symprec=given["symprec"], hall_number=hall)
            found_settings.append([found.number, found.hall_number, len(found.rotations)])
            metric = found.std_lattice @ found.std_lattice.T
            metrics.append(metric[np.triu_indices(3)])
            table = spglib.get_symmetry_from_database(hall)
            moved = cell[1] @ found.transformation_matrix.T + found.origin_shift
            images = np.einsum("rij,nj->rni", table["rotations"], moved[::7]) + table["translations"][:, None]
            gaps = images[:, :, None] - moved
            residuals.append(np.abs(gaps - np.rint(gaps)).max(axis=3).min(axis=2).max())
    return np.array(found_settings), np.array(metrics), np.array(residuals)


def slabs(random):
    """Layer groups of slabs as given, shifted, and with the aperiodic axis first; orders and standard cells."""
    with open("slabs.json", encoding="utf-8") as file:
        known = json.load(file)
    groups, metrics = [], []
    for slab in known.values():
        shift = np.append(random.uniform(0, 1, 2), random.uniform(-0.1, 0.1))
        for axis, order in ((2, [0, 1, 2]), (0, [2, 0, 1])):
            turned = np.array(slab["lattice"])[order]
            moved = (np.array(slab["positions"]) + shift)[:, order]
            found = spglib.get_symmetry_layerdataset((turned, moved, slab["numbers"]), aperiodic_dir=axis, symprec=1e-4)
            groups.append([found.number, found.hall_number, len(found.rotations), len(set(found.equivalent_atoms))])
            metric = found.std_lattice @ found.std_lattice.T
            metrics.append(metric[np.triu_indices(3)])
    return np.array(groups), np.array(metrics)


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    found, metrics, residuals = settings(given, random)
    groups, layer_metrics = slabs(random)
    np.savez(
        "observables.npz",
        setting=found,
        setting_metric=metrics,
        setting_residual=residuals,
        layer_group=groups,
        layer_metric=layer_metrics,
    )


main()
