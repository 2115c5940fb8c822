"""Standardised, refined and primitive cells of supercells: shapes, contents, and what no choice of cell may change."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {
    "supercell": [[2, 0, 0], [0, 1, 0], [1, 0, 1]],
    "origin": [0.317, 0.083, 0.461],
    "axis": [-0.28, 0.0, 0.96],
    "angle_deg": 53.0,
    "symprec": 1e-4,
    "radius": 4.9,
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def turn(axis, degrees):
    """Rotation matrix about an axis (Rodrigues)."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    t = np.radians(degrees)
    return np.eye(3) + np.sin(t) * k + (1 - np.cos(t)) * k @ k


def supercell(crystal, given):
    """A supercell of the crystal from another origin, in another orientation."""
    lattice, positions, numbers = (np.array(crystal[part]) for part in ("lattice", "positions", "numbers"))
    change = np.array(given["supercell"])
    reach = range(-int(np.abs(change).sum()), int(np.abs(change).sum()) + 1)
    cells = np.array([[i, j, k] for i in reach for j in reach for k in reach])
    cells = cells[(np.floor(cells @ np.linalg.inv(change) + 1e-9) == 0.0).all(axis=1)]
    points = ((positions[:, None] + cells) @ np.linalg.inv(change)).reshape(-1, 3)
    rotation = turn(given["axis"], given["angle_deg"])
    return change @ lattice @ rotation.T, (points + np.array(given["origin"])) % 1.0, np.repeat(numbers, len(cells))


def shells(cell, radius):
    """Neighbours of an atom within a radius: their number and a sum over kinds and distances, averaged over atoms."""
    lattice, positions, numbers = cell
    reach = np.ceil(radius * np.linalg.norm(np.linalg.inv(lattice), axis=0)).astype(int) + 1
    cells = np.array(np.meshgrid(*[np.arange(-n, n + 1) for n in reach])).reshape(3, -1).T
    gaps = (positions[None, :, None] + cells - positions[:, None, None]) @ lattice
    squares = (gaps**2).sum(axis=-1)
    near = (squares > 1e-6) & (squares < radius**2)
    kinds = np.array(numbers)[:, None] * np.array(numbers)[None, :]
    weight = np.exp(-squares / 4.0) * near * (1.0 + kinds[:, :, None] / 500.0)
    return [near.sum() / len(numbers), weight.sum() / len(numbers)]


def gram(lattice):
    g = np.array(lattice) @ np.array(lattice).T
    return g[np.triu_indices(3)]


def main():
    given = inputs()
    with open("crystals.json", encoding="utf-8") as file:
        crystals = json.load(file)
    metrics, contents, surroundings, volumes, turns, again = [], [], [], [], [], []
    for crystal in crystals.values():
        cell = supercell(crystal, given)
        before, density = np.array(shells(cell, given["radius"])), len(cell[2]) / np.linalg.det(cell[0])
        made = [
            spglib.standardize_cell(cell, to_primitive=p, no_idealize=n, symprec=given["symprec"])
            for p in (False, True)
            for n in (False, True)
        ]
        made += [
            spglib.refine_cell(cell, symprec=given["symprec"]),
            spglib.find_primitive(cell, symprec=given["symprec"]),
        ]
        for new in made:
            metrics.append(gram(new[0]))
            contents.append([len(new[2]), *np.unique(new[2], return_counts=True)[1][:1]])
            surroundings.append(np.array(shells(new, given["radius"])) - before)
            volumes.append(len(new[2]) / np.linalg.det(new[0]) / density - 1.0)
        found = spglib.get_symmetry_dataset(cell, symprec=given["symprec"])
        turns.append(found.std_rotation_matrix @ found.std_rotation_matrix.T - np.eye(3))
        ideal = spglib.standardize_cell(made[0], symprec=given["symprec"])
        again.append(gram(ideal[0]) - gram(made[0][0]))
    np.savez(
        "observables.npz",
        metric=np.array(metrics),
        contents=np.array(contents),
        neighbourhood_change=np.array(surroundings),
        density_change=np.array(volumes),
        rotation_defect=np.array(turns),
        second_standardisation=np.array(again),
    )


main()
