"""Darcy friction factor of rough pipes: the implicit Colebrook relation and its explicit approximations."""

import json
import os

import numpy as np
from fluids.friction import Clamond, Colebrook, friction_factor, friction_factor_methods

DEFAULTS = {"re_low": 4.3e3, "re_high": 6.1e7, "roughness_low": 1.3e-6, "roughness_high": 0.037, "points": 9}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def colebrook_residual(factor, reynolds, roughness):
    """What the implicit relation leaves over for a factor, in units of f^(-1/2)."""
    root = 1.0 / np.sqrt(factor)
    return root + 2.0 * np.log10(roughness / 3.7 + 2.51 / reynolds * root)


def main():
    given = inputs()
    reynolds = np.geomspace(given["re_low"], given["re_high"], given["points"])
    roughness = np.geomspace(given["roughness_low"], given["roughness_high"], given["points"] - 2)
    grid = [(re, ed) for re in reynolds.tolist() for ed in roughness.tolist()]
    names = sorted(
        set(friction_factor_methods(2e5, 1e-3, check_ranges=False)) - {"Colebrook", "Clamond", "laminar"}
    )

    colebrook = np.array([Colebrook(re, ed) for re, ed in grid])
    clamond = np.array([Clamond(re, ed) for re, ed in grid])
    iterated = np.array([Colebrook(re, ed, tol=1e-13) for re, ed in grid[::3]])
    explicit = np.array([[friction_factor(re, ed, Method=name) for re, ed in grid] for name in names])
    recent = [names.index(n) for n in ("Serghides_1", "Zigrang_Sylvester_2", "Buzzelli_2008", "Romeo_2002")]
    np.savez(
        "observables.npz",
        colebrook=colebrook,
        clamond=clamond,
        explicit=explicit,
        residual=colebrook_residual(colebrook, *np.array(grid).T),
        iterated_residual=colebrook_residual(iterated, *np.array(grid[::3]).T),
        clamond_deviation=clamond / colebrook - 1.0,
        explicit_deviation=explicit[recent] / colebrook - 1.0,
    )


main()
