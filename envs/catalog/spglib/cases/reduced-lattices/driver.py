"""Niggli and Delaunay reduction of skewed lattices: reduced metrics, and what any basis change must keep."""

import json
import os

import numpy as np
import spglib

DEFAULTS = {"seed": 20310, "lattices": 160, "steps": 7, "eps": 1e-5}
BRAVAIS = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
    [[-0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.5, 0.5, -0.5]],
    [[0.5, 0.5, 0], [-0.5, 0.5, 0], [0, 0, 1]],
    [[2 / 3, 1 / 3, 1 / 3], [-1 / 3, 1 / 3, 1 / 3], [-1 / 3, -2 / 3, 1 / 3]],
]
"""Primitive bases of the centrings P, F, I, C and R in units of the conventional basis."""
CONVENTIONAL = [
    [[4.1, 0, 0], [0, 4.1, 0], [0, 0, 4.1]],
    [[3.3, 0, 0], [0, 3.3, 0], [0, 0, 7.9]],
    [[3.1, 0, 0], [0, 4.7, 0], [0, 0, 8.3]],
    [[3.7, 0, 0], [-1.85, 1.85 * np.sqrt(3), 0], [0, 0, 9.1]],
    [[5.3, 0, 0], [0, 4.2, 0], [-1.4, 0, 6.6]],
]
"""Cubic, tetragonal, orthorhombic, hexagonal and monoclinic conventional bases as rows, in angstrom."""


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def skew(random, steps):
    """A unimodular matrix as a product of elementary shears."""
    matrix = np.eye(3)
    for _ in range(steps):
        row, other = random.choice(3, size=2, replace=False)
        shear = np.eye(3)
        shear[row, other] = random.choice([-1, 1])
        matrix = shear @ matrix
    return matrix


def gram(lattice):
    """a.a, b.b, c.c, 2b.c, 2a.c, 2a.b of basis vectors in rows."""
    g = lattice @ lattice.T
    return np.array([g[0, 0], g[1, 1], g[2, 2], 2 * g[1, 2], 2 * g[0, 2], 2 * g[0, 1]])


def violation(metric):
    """By how much a metric breaks the main conditions of a Niggli cell, over its longest squared edge."""
    a, b, c, xi, eta, zeta = metric
    worst = max(a - b, b - c, abs(xi) - b, abs(eta) - a, abs(zeta) - a)
    if min(xi, eta, zeta) <= 0:  # all angles obtuse
        worst = max(worst, xi, eta, zeta, -(xi + eta + zeta + a + b))
    return max(worst, 0.0) / c


def starts(given, random):
    """Right-handed lattices, generic ones first, then primitive cells of the Bravais types."""
    shapes = [np.eye(3) + random.uniform(-0.6, 0.6, (3, 3)) for _ in range(given["lattices"])]
    generic = [random.uniform(1.0, 9.0, 3)[:, None] * shape for shape in shapes]
    special = [np.array(p) @ np.array(c) for p in BRAVAIS for c in CONVENTIONAL]
    return [start if np.linalg.det(start) > 0 else -start for start in [*generic, *special]]


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    lattices = [skew(random, given["steps"]) @ start for start in starts(given, random)]
    niggli = [spglib.niggli_reduce(lattice, eps=given["eps"]) for lattice in lattices]
    delaunay = [spglib.delaunay_reduce(lattice, eps=given["eps"]) for lattice in lattices]
    changes = np.array([new @ np.linalg.inv(old) for old, new in zip(lattices * 2, niggli + delaunay, strict=True)])
    count = given["lattices"]
    np.savez(
        "observables.npz",
        niggli_metric=np.array([gram(lattice) for lattice in niggli[:count]]),
        niggli_bravais=np.array([gram(lattice) for lattice in niggli[count:]]),
        niggli_violation=np.array([violation(gram(lattice)) for lattice in niggli]),
        delaunay_metric=np.array([np.abs(gram(lattice)) for lattice in delaunay[:count]]),
        delaunay_edges=np.array([np.sort(gram(lattice)[:3]) for lattice in delaunay[count:]]),
        volume_change=np.linalg.det(changes) - 1.0,
        non_integer=np.abs(changes - np.rint(changes)).max(axis=(1, 2)),
    )


main()
