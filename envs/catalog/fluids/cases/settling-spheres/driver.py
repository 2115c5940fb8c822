"""Drag of spheres on every published curve, steady settling, and the gas flow that keeps solids moving."""

import json
import os

import numpy as np
from fluids import saltation
from fluids.drag import (
    drag_sphere,
    drag_sphere_methods,
    integrate_drag_sphere,
    time_v_terminal_Stokes,
    v_terminal,
)

DEFAULTS = {
    "re_low": 3.3e-3,
    "re_high": 1.7e5,
    "points": 26,
    "diameters_m": [1.9e-4, 4.3e-4, 9.7e-4, 3.9e-3],
    "solid_kg_m3": [1130.0, 2645.0, 7810.0],
    "fluid_kg_m3": 998.3,
    "viscosity_pa_s": 1.013e-3,
    "line_bore_m": 0.1473,
    "solids_kg_s": [0.083, 0.71, 5.3],
}
GRAVITY = 9.80665
STABLE = ("Barati", "Clift", "Haider_Levenspiel", "Morrison", "Almedeij")
"""Correlations whose curve covers the range of the settling balance smoothly."""


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def force_balance(velocity, drag, diameter, solid, fluid):
    """Drag over buoyant weight, minus one: zero when a sphere falls steadily."""
    weight = (solid - fluid) * GRAVITY * np.pi * diameter**3 / 6.0
    return drag * np.pi * diameter**2 / 4.0 * 0.5 * fluid * velocity**2 / weight - 1.0


def settle(given):
    """Steady velocities (sphere, correlation) and how far each is from balance."""
    fluid, viscosity = given["fluid_kg_m3"], given["viscosity_pa_s"]
    velocities, imbalance = [], []
    for diameter in given["diameters_m"]:
        for solid in given["solid_kg_m3"]:
            row = [v_terminal(diameter, solid, fluid, viscosity, Method=name) for name in STABLE]
            velocities.append(row)
            drags = [drag_sphere(fluid * v * diameter / viscosity, Method=n) for n, v in zip(STABLE, row, strict=True)]
            imbalance.append([force_balance(v, cd, diameter, solid, fluid) for v, cd in zip(row, drags, strict=True)])
    return np.array(velocities), np.array(imbalance)


def approach(given):
    """Share of its steady speed that a sphere released at rest reaches in a while: creeping ones and others."""
    fluid, viscosity = given["fluid_kg_m3"], given["viscosity_pa_s"]
    shares = []
    for solid in given["solid_kg_m3"]:
        for size, law in ((1.3e-5, "Stokes"), (given["diameters_m"][1], None)):
            final = v_terminal(size, solid, fluid, viscosity, Method=law)
            moment = 0.7 * final / GRAVITY * solid / (solid - fluid)
            speed, path = integrate_drag_sphere(size, solid, fluid, viscosity, moment, Method=law, distance=True)
            shares.append([speed / final, path / (final * moment)])
    return np.array(shares)


def conveying(given):
    """Saltation velocity (m/s) of solids in air by each correlation, on both sides of its switches."""
    bore, rows = given["line_bore_m"], []
    for feed in given["solids_kg_s"]:
        for size, solid in ((6.7e-5, 1380.0), (4.3e-4, 2570.0), (3.7e-3, 1090.0)):
            fall = v_terminal(size, solid, 1.197, 1.82e-5)
            sized = {"mp": feed, "rhop": solid, "dp": size, "rhog": 1.197, "D": bore}
            rows.append([
                saltation.Rizk(feed, size, 1.197, bore),
                saltation.Matsumoto_1974(Vterminal=fall, **sized),
                saltation.Matsumoto_1975(Vterminal=fall, **sized),
                saltation.Matsumoto_1977(Vterminal=fall, **sized),
                saltation.Schade(**sized),
                saltation.Weber_saltation(Vterminal=fall, **sized),
                saltation.Geldart_Ling(feed, 1.197, bore, 1.82e-5),
            ])  # fmt: skip
    rows.append([
        saltation.Geldart_Ling(f, 1.197, d, 1.82e-5) for f in (0.9, 71.0) for d in (0.0781, 0.0331, 0.2213)
    ] + [saltation.Rizk(0.31, 2.3e-4, 4.1, bore)])  # fmt: skip
    return np.array(rows)


def main():
    given = inputs()
    reynolds = np.geomspace(given["re_low"], given["re_high"], given["points"])
    names = sorted(drag_sphere_methods(1.0, check_ranges=False))
    curves = np.array([[drag_sphere(re, Method=name) for re in reynolds] for name in names])
    chosen = np.array([drag_sphere(re) for re in reynolds])
    creeping = np.array([[drag_sphere(re, Method=name) * re / 24.0 for re in (2.1e-5, 7.3e-5)] for name in STABLE])
    velocities, imbalance = settle(given)
    relaxation = [
        time_v_terminal_Stokes(7e-8, solid, 1.2, 1.78e-5, V0=start, tol=1e-7)
        for solid in given["solid_kg_m3"]
        for start in (0.0, 0.13)
    ]
    np.savez(
        "observables.npz",
        drag=curves,
        chosen_drag=chosen,
        creeping_ratio=creeping,
        terminal_velocity=velocities,
        imbalance=imbalance,
        relaxation_time=np.array(relaxation),
        approach=approach(given),
        saltation_velocity=conveying(given),
    )


main()
