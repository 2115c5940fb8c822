"""Niggli reduction of skewed lattices: the unique reduced metric, and what any basis change must keep."""

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


def main():
    given = inputs()
    random = np.random.default_rng(given["seed"])
    generic = [
        random.uniform(1.0, 9.0, 3)[:, None] * (np.eye(3) + random.uniform(-0.6, 0.6, (3, 3)))
        for _ in range(given["lattices"])
    ]
    special = [np.array(p) @ np.array(c) for p in BRAVAIS for c in CONVENTIONAL]
    metrics, changes, orders, broken = [], [], [], []
    for start in [*generic, *special]:
        handed = start if np.linalg.det(start) > 0 else -start
        lattice = skew(random, given["steps"]) @ handed
        reduced = spglib.niggli_reduce(lattice, eps=given["eps"])
        change = reduced @ np.linalg.inv(lattice)
        metrics.append(gram(reduced))
        changes.append(np.abs(change - np.rint(change)).max())
        orders.append(np.linalg.det(reduced) / np.linalg.det(lattice) - 1.0)
        broken.append(violation(metrics[-1]))
    np.savez(
        "observables.npz",
        metric=np.array(metrics[: len(generic)]),
        bravais_metric=np.array(metrics[len(generic) :]),
        volume_change=np.array(orders),
        non_integer=np.array(changes),
        violation=np.array(broken),
    )


main()
