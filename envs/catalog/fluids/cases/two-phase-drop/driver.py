"""Two-phase pressure drop in pipes: every correlation over quality and flow, and the single-phase limits."""

import json
import os

import numpy as np
from fluids.two_phase import (
    Beggs_Brill,
    Mandhane_Gregory_Aziz_regime,
    Mandhane_Gregory_Aziz_regimes,
    Muller_Steinhagen_Heck,
    Taitel_Dukler_regime,
    Theissing,
    two_phase_dP,
    two_phase_dP_acceleration,
    two_phase_dP_dz_acceleration,
    two_phase_dP_dz_gravitational,
    two_phase_dP_gravitational,
    two_phase_dP_methods,
)

DEFAULTS = {
    "mixture": {"rhol": 915.0, "rhog": 2.67, "mul": 1.83e-4, "mug": 1.41e-5, "sigma": 0.0487},
    "pipes": [[0.0021, 0.0017], [0.0213, 0.213], [0.0527, 1.31], [0.0527, 6.1], [0.0083, 0.0067], [0.0779, 0.061]],
    "qualities": [0.0173, 0.137, 0.43, 0.81],
    "angles_deg": [-41.0, 0.0, 23.0, 77.0],
}
PRESSURE, CRITICAL = 4.03e5, 2.2064e7
REGIMES = ("annular", "bubbly", "intermittent", "stratified wavy", "stratified smooth")
GRAVITY = 9.80665


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def drops(given):
    """Drop in Pa/m by every correlation (columns) in each pipe at each quality (rows)."""
    rows = []
    for bore, flow in given["pipes"]:
        for x in given["qualities"]:
            state = {
                "m": flow,
                "x": x,
                "D": bore,
                "L": 1.0,
                "P": PRESSURE,
                "Pc": CRITICAL,
                "roughness": 1.3e-5,
                "angle": 11.0,
            }
            state.update(given["mixture"])
            names = sorted(two_phase_dP_methods(**state))
            rows.append([two_phase_dP(Method=name, **state) for name in names] + [two_phase_dP(**state)])
    return np.array(rows)


def single_phase_limits(given):
    """Drops at vanishing or full gas content over those of liquid or gas alone."""
    mix = given["mixture"]
    rows = []
    for bore, flow in given["pipes"]:
        sized = dict(m=flow, D=bore, **{k: mix[k] for k in ("rhol", "rhog", "mul", "mug")})
        liquid, gas = (Theissing(x=x, **sized) for x in (0, 1))
        rows.append(Muller_Steinhagen_Heck(x=1e-14, **sized) / liquid)
        rows.append(Muller_Steinhagen_Heck(x=1.0 - 1e-15, **sized) / gas)
        for name, x, alone in (
            ("Chisholm", 1e-15, liquid),
            ("Baroczy_Chisholm", 1e-15, liquid),
            ("Tran", 1e-18, liquid),
        ):
            rows.append(two_phase_dP(x=x, Method=name, sigma=mix["sigma"], **sized) / alone)
    return np.array(rows) - 1.0


def inclined(given):
    """Beggs and Brill in lines up and down hill: with acceleration, and how the hill alone adds to the drop."""
    rows = []
    for bore, flow in given["pipes"]:
        for x in given["qualities"]:
            for angle in given["angles_deg"]:
                args = dict(m=flow, x=x, P=PRESSURE, D=bore, angle=angle, roughness=1.3e-5, L=7.0, **given["mixture"])
                rows.append(Beggs_Brill(**args) / 7.0)
                rows.append(Beggs_Brill(**args, acceleration=False) / 7.0)
    return np.array(rows)


def regimes(given):
    """Regime numbers on two maps, and the maps' coordinates."""
    mix = given["mixture"]
    plain = {k: mix[k] for k in ("rhol", "rhog", "mul", "mug")}
    numbers, coordinates = [], []
    for bore, flow in given["pipes"]:
        for x in (1e-4, 3e-3, *given["qualities"]):
            name, *where = Taitel_Dukler_regime(flow, x, D=bore, angle=1.3, roughness=1e-5, **plain)
            other, *speeds = Mandhane_Gregory_Aziz_regime(flow, x, D=bore, sigma=mix["sigma"], **plain)
            numbers.append([REGIMES.index(name), Mandhane_Gregory_Aziz_regimes[other]])
            coordinates.append([*where, *speeds])
    where = np.array(coordinates)
    return {"regime": np.array(numbers), "dimensionless_groups": where[:, :4], "superficial_velocity": where[:, 4:]}


def mechanics(given):
    """Acceleration and gravity terms, and the identities that tie the integrated to the local forms."""
    mix = given["mixture"]
    rho_l, rho_g = mix["rhol"], mix["rhog"]
    drops, gradients, identities = [], [], []
    for angle in (13.0, 61.0):
        for void in (0.31, 0.87):
            local = two_phase_dP_dz_gravitational(angle, void, rho_l, rho_g)
            whole = two_phase_dP_gravitational(angle, 3.1, void, rho_l, rho_g)
            gradients.append(local)
            drops.append(two_phase_dP_gravitational(angle, 3.1, void, rho_l, rho_g, 0.9, 0.97 * rho_l, 0.8 * rho_g))
            identities.append(whole / (3.1 * local) - 1.0)
    for x in given["qualities"]:
        void = x / rho_g / (x / rho_g + (1.0 - x) / rho_l)
        drops.append(two_phase_dP_acceleration(0.613, 0.0213, 0.4 * x, x, 0.83 * void, void, rho_l, rho_g))
        gradients.append(two_phase_dP_dz_acceleration(0.613, 0.0213, x, rho_l, rho_g, -1e-12, -4e-6, 4e-7, 5e5, 1.7e-4))
        plug = two_phase_dP_acceleration(0.613, 0.0213, x, x, void, void, rho_l, rho_g, 0.9 * rho_l, 0.9 * rho_g)
        flux = 0.613 / (np.pi / 4 * 0.0213**2)
        identities.append(plug / (flux**2 * (x / rho_g + (1.0 - x) / rho_l) * (1 / 0.9 - 1.0)) - 1.0)
    return {
        "acceleration_gravity": np.array(drops),
        "acceleration_gravity_gradient": np.array(gradients),
        "homogeneous_identities": np.array(identities),
    }


def main():
    given = inputs()
    np.savez(
        "observables.npz",
        drop=drops(given),
        single_phase_limit=single_phase_limits(given),
        inclined_drop=inclined(given),
        **regimes(given),
        **mechanics(given),
    )


main()
