"""Badly skewed and nearly degenerate lattices: both reductions find the same shortest edges, crystals follow."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"seed": 8117, "lattices": 60, "steps": 17, "strains": [0.0, 3e-7, 2e-4, 0.013], "symprec": 1e-5}
SPECIAL = {
    "face-centred": np.ones((3, 3)) - np.eye(3),
    "body-centred": np.ones((3, 3)) - 2.0 * np.eye(3),
    "rhombohedral": np.array([[2.1, -1.2124, 3.3], [0.0, 2.4249, 3.3], [-2.1, -1.2124, 3.3]]),
    "base-centred": np.array([[1.7, 2.9, 0.0], [-1.7, 2.9, 0.0], [0.0, 0.0, 4.3]]),
    "hexagonal": np.array([[3.1, 0.0, 0.0], [-1.55, 1.55 * np.sqrt(3), 0.0], [0.0, 0.0, 5.3]]),
    "monoclinic": np.array([[4.9, 0.0, 0.0], [0.0, 3.7, 0.0], [-2.45, 0.0, 6.1]]),
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def shear(random, steps):
    """A unimodular integer matrix as a product of elementary shears."""
    matrix = np.eye(3)
    for _ in range(steps):
        row, other = random.choice(3, size=2, replace=False)
        factor = np.eye(3)
        factor[row, other] = random.choice([-1, 1])
        matrix = factor @ matrix
    return matrix


def edges(lattice):
    return np.sort(np.linalg.norm(lattice, axis=1))


def generic(given, random):
    """Edges (angstrom) of generic lattices by Niggli, and how much Delaunay's shortest edges differ from them."""
    found, gaps = [], []
    for _ in range(given["lattices"]):
        lattice = shear(random, given["steps"]) @ (random.normal(size=(3, 3)) + 2.0 * np.eye(3))
        niggli = edges(spglib.niggli_reduce(lattice))
        found.append(niggli)
        gaps.append(edges(spglib.delaunay_reduce(lattice)) - niggli)
    return np.array(found), np.array(gaps)


def degenerate(given, random):
    """Edges and angles of special lattices under a growing strain, by both reductions at two tolerances."""
    rows = []
    for lattice in SPECIAL.values():
        for strain in given["strains"]:
            bent = lattice @ (np.eye(3) + strain * np.array([[1.0, 0.37, 0.0], [0.37, -0.4, 0.21], [0.0, 0.21, 0.3]]))
            skewed = shear(random, 5) @ bent
            for eps in (1e-5, 1e-2):
                rows.append(edges(spglib.niggli_reduce(skewed, eps=eps)))
                rows.append(edges(spglib.delaunay_reduce(skewed, eps=eps)))
    return np.array(rows)


def crystals(given, random):
    """Triclinic and centred crystals: volumes of primitive cells, and edges and angles of standardised ones."""
    volumes, shapes = [], []
    for lattice in [*SPECIAL.values(), np.array([[5.1, 0.3, -0.2], [0.9, 6.3, 0.4], [-1.7, 0.8, 7.9]])]:
        for copies in ([1, 1, 1], [2, 1, 1], [1, 1, 3]):
            inner = np.array([[0.11, 0.07, 0.23], [0.52, 0.31, 0.77]])
            cells = [[i, j, k] for i in range(copies[0]) for j in range(copies[1]) for k in range(copies[2])]
            points = (inner[None] + np.array(cells)[:, None]).reshape(-1, 3) / copies
            change = shear(random, 4)
            cell = (change @ np.diag(copies) @ lattice, (points @ np.linalg.inv(change)) % 1.0, [1, 2] * len(cells))
            primitive = spglib.find_primitive(cell, symprec=given["symprec"])
            volumes.append([np.linalg.det(primitive[0]) / abs(np.linalg.det(lattice)), len(primitive[2])])
            standard = spglib.get_symmetry_dataset(cell, symprec=given["symprec"]).std_lattice
            metric = standard @ standard.T
            shapes.append(metric[np.triu_indices(3)])
    return np.array(volumes), np.array(shapes)


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    found, gaps = generic(given, random)
    volumes, shapes = crystals(given, random)
    np.savez(
        "observables.npz",
        shortest_edges=found,
        reduction_gap=gaps,
        degenerate_edges=degenerate(given, random),
        primitive_volume=volumes,
        standard_metric=shapes,
    )


main()
