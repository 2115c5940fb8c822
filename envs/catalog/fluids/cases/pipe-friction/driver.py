"""Darcy friction factors: Colebrook's relation and its explicit forms, smooth and rough limits, coils, plates."""

import json
import os

import numpy as np
from fluids.friction import (
    Blasius,
    Colebrook,
    Prandtl_von_Karman_Nikuradse,
    friction_factor,
    friction_factor_curved,
    friction_factor_curved_methods,
    friction_factor_methods,
    friction_laminar,
    friction_plate_Kumar,
    friction_plate_Martin_1999,
    friction_plate_Martin_VDI,
    friction_plate_Muley_Manglik,
    ft_Crane,
    helical_Re_crit,
    transmission_factor,
    von_Karman,
)

DEFAULTS = {
    "re_low": 4.3e3,
    "re_high": 6.1e7,
    "roughness_low": 1.3e-6,
    "roughness_high": 0.037,
    "points": 7,
    "coil": [0.0217, 0.613],
    "chevron_deg": [27.0, 41.0, 58.0, 63.0],
}
TRANSITIONS = ("Seth Stahel", "Ito", "Kubair Kuloor", "Kutateladze Borishanskii", "Schmidt", "Srinivasan")


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


def rough_pipes(given):
    """All correlations over the Moody chart, and what Colebrook's relation says of the exact ones."""
    reynolds = np.geomspace(given["re_low"], given["re_high"], given["points"])
    roughness = np.geomspace(given["roughness_low"], given["roughness_high"], given["points"] - 1)
    grid = [(re, ed) for re in reynolds.tolist() for ed in roughness.tolist()]
    names = sorted(set(friction_factor_methods(2e5, 1e-3, check_ranges=False)) - {"laminar"})
    table = {name: np.array([friction_factor(re, ed, Method=name) for re, ed in grid]) for name in names}
    iterated = np.array([Colebrook(re, ed, tol=1e-13) for re, ed in grid])
    exact = np.array([table["Colebrook"], table["Clamond"], iterated])
    close = ("Serghides_1", "Zigrang_Sylvester_2", "Buzzelli_2008", "Romeo_2002")
    return {
        "rough_pipe": np.array([table[name] for name in names]),
        "residual": colebrook_residual(exact, *np.array(grid).T),
        "deviation": np.array([table[name] / table["Colebrook"] - 1.0 for name in close]),
    }


def limits(given):
    """Laminar, smooth and fully rough pipes, and the transmission factor with its inverse."""
    reynolds = np.geomspace(given["re_low"], given["re_high"], 5).tolist()
    smooth = [[Blasius(re), Prandtl_von_Karman_Nikuradse(re)] for re in reynolds]
    rough = [[von_Karman(ed), ft_Crane(d)] for ed, d in ((3e-4, 0.0087), (7e-3, 0.043), (0.03, 0.31))]
    laminar = [friction_laminar(0.41 * re / given["re_low"]) for re in reynolds]
    factors = [transmission_factor(fd=row[1]) for row in smooth]
    back = [transmission_factor(F=f) for f in factors]
    return np.concatenate([np.ravel(smooth), np.ravel(rough), laminar, factors, back])


def coils(given):
    """Coiled tubes: every curved-pipe correlation, and the critical Reynolds numbers."""
    bore, coil = given["coil"]
    names = sorted(friction_factor_curved_methods(1e4, bore, coil, check_ranges=False))
    flows = [137.0, 870.0, 4100.0, 1.9e4, 8.3e4]
    rough = 4.3e-5
    factors = [[friction_factor_curved(re, bore, coil, rough, Method=n, Darcy=False) for re in flows] for n in names]
    critical = [helical_Re_crit(bore, coil, Method=n) for n in TRANSITIONS]
    return np.array(factors), np.array(critical)


def plates(given):
    """Chevron-plate heat exchangers by four correlations."""
    rows = []
    for angle in given["chevron_deg"]:
        for re in (7.3, 61.0, 210.0, 470.0, 1730.0, 9400.0):
            rows.append([
                friction_plate_Martin_1999(re, angle),
                friction_plate_Martin_VDI(re, angle),
                friction_plate_Kumar(re, angle),
                friction_plate_Muley_Manglik(re, angle, 1.27),
            ])  # fmt: skip
    return np.array(rows)


def main():
    given = inputs()
    coil_factor, critical = coils(given)
    np.savez(
        "observables.npz",
        **rough_pipes(given),
        limits=limits(given),
        coil_factor=coil_factor,
        critical_reynolds=critical,
        plate_factor=plates(given),
    )


main()
