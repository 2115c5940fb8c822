"""Boiling and condensing lines: pressure profiles along a changing quality by every correlation, and flow maps."""

import json
import os

import numpy as np
from fluids import two_phase

DEFAULTS = {
    "refrigerant": {"rhol": 1207.0, "rhog": 32.4, "mul": 1.95e-4, "mug": 1.17e-5, "sigma": 0.00811},
    "lines": [[0.00143, 0.00071], [0.0103, 0.0317], [0.0103, 0.0047], [0.0489, 0.91]],
    "pressure_pa": [6.6e5, 4.059e6],
    "steam": {"rhol": 743.0, "rhog": 35.1, "mul": 9.1e-5, "mug": 1.88e-5, "sigma": 0.0198},
    "slopes_deg": [-83.0, -7.0, 0.0, 31.0],
}
REGIMES = ("annular", "bubbly", "intermittent", "stratified wavy", "stratified smooth")
SPLIT = ("Hwang_Kim", "Kim_Mudawar", "Lockhart_Martinelli", "Mishima_Hibiki", "Wang_Chiang_Lu", "Zhang_Hibiki_Mishima")


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def profile(given):
    """Drop in Pa of 1.7 m of line as it boils from 6 % to 88 % gas, by Gauss's rule, per line and correlation."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    qualities, shares = 0.47 + 0.41 * nodes, 0.5 * weights
    rows = []
    for bore, flow in given["lines"]:
        state = {"m": flow, "rhol": given["refrigerant"]["rhol"], "D": bore, "L": 1.7, "roughness": 9e-7, "angle": -2.0}
        state |= given["refrigerant"] | dict(zip(("P", "Pc"), given["pressure_pa"], strict=True))
        names = sorted(two_phase.two_phase_dP_methods(x=0.5, **state))
        drops = [[two_phase.two_phase_dP(x=x, Method=name, **state) for name in names] for x in qualities]
        rows.append(shares @ np.array(drops))
    return np.array(rows)


def multipliers(given):
    """Growth of the drop with the flow: d ln dp / d ln m, per correlation, on a steam line."""
    steam = given["steam"] | {"P": 6.9e6, "Pc": 2.2064e7, "roughness": 2.3e-5, "angle": 0.0}
    rows = []
    for bore, flow in ((0.0127, 0.163), (0.0761, 7.3), (0.203, 3.1)):
        for x in (0.093, 0.61):
            names = sorted(two_phase.two_phase_dP_methods(m=flow, x=x, D=bore, **steam))
            at = [two_phase.two_phase_dP(m=flow, x=x, D=bore, Method=n, **steam) for n in names]
            more = [two_phase.two_phase_dP(m=1.02 * flow, x=x, D=bore, Method=n, **steam) for n in names]
            rows.append(np.log(np.array(more) / at) / np.log(1.02))
    return np.array(rows)


def hills(given):
    """Beggs and Brill on slopes, segregated to distributed flow; with and without acceleration (Pa/m)."""
    rows = []
    for bore, flow in ((0.0613, 0.31), (0.0613, 2.9), (0.0613, 17.0), (0.153, 4.1), (0.0213, 2.1)):
        for x in (0.0013, 0.017, 0.29):
            for slope in given["slopes_deg"]:
                state = dict(m=flow, x=x, P=6.9e6, D=bore, angle=slope, roughness=4e-5, **given["steam"])
                rows.append(two_phase.Beggs_Brill(**state))
                rows.append(two_phase.Beggs_Brill(**state, acceleration=False))
    return np.array(rows)


def maps(given):
    """Regimes met by each line on two flow maps, and the dimensionless coordinates there."""
    plain = {k: v for k, v in given["steam"].items() if k != "sigma"}
    numbers, coordinates = [], []
    for bore in (0.0277, 0.127):
        for flux in (13.0, 170.0, 2300.0):
            for x in (2e-4, 0.011, 0.23, 0.87):
                flow = flux * np.pi / 4 * bore**2
                name, *where = two_phase.Taitel_Dukler_regime(flow, x, D=bore, angle=2.1, roughness=3e-5, **plain)
                other, *speeds = two_phase.Mandhane_Gregory_Aziz_regime(flow, x, D=bore, **given["steam"])
                numbers.append([REGIMES.index(name), two_phase.Mandhane_Gregory_Aziz_regimes[other]])
                coordinates.append([*where, *speeds])
    where = np.array(coordinates)
    return {"regime": np.array(numbers), "dimensionless_groups": where[:, :4], "superficial_velocity": where[:, 4:]}


def split_multiplier(given):
    """Drop of separated-flow models in Pa/m over the squared mass flux, in laminar and turbulent phases."""
    steam = given["steam"]
    rows = []
    for bore, flow, x in ((0.00213, 0.00131, 0.21), (0.0171, 0.231, 0.33), (0.00313, 7.1e-5, 0.47)):
        for name in SPLIT:
            dp = two_phase.two_phase_dP(m=flow, x=x, D=bore, L=1.0, Method=name, **steam)
            rows.append(dp / (flow / (np.pi / 4 * bore**2)) ** 2)
    return np.array(rows)


def momentum(given):
    """Acceleration and hydrostatic terms of a riser, over its length and per metre."""
    rho_l, rho_g = given["steam"]["rhol"], given["steam"]["rhog"]
    drops, gradients, identities = [], [], []
    for void in (0.27, 0.71):
        speeding = (1.31, 0.0533, 0.07, 0.37, 0.5 * void, void, rho_l, rho_g)
        drops.append(two_phase.two_phase_dP_acceleration(*speeding))
        drops.append(two_phase.two_phase_dP_acceleration(*speeding, 730.0, 29.0))
        drops.append(two_phase.two_phase_dP_gravitational(79.0, 11.0, void, rho_l, rho_g))
        drops.append(two_phase.two_phase_dP_gravitational(79.0, 11.0, void, rho_l, rho_g, 1.2 * void, 730.0, 29.0))
        gradients.append(two_phase.two_phase_dP_dz_gravitational(53.0, void, rho_l, rho_g))
        gradients.append(
            two_phase.two_phase_dP_dz_acceleration(1.31, 0.0533, 0.37, rho_l, rho_g, -3e-12, -5e-9, 3e-8, 4.7e3, 2.1e-3)
        )
        column = two_phase.two_phase_dP_gravitational(53.0, 11.0, void, rho_l, rho_g)
        identities.append(column / (11.0 * two_phase.two_phase_dP_dz_gravitational(53.0, void, rho_l, rho_g)) - 1.0)
        mean = void * rho_g + (1.0 - void) * rho_l
        identities.append(column / (9.80665 * 11.0 * np.sin(np.radians(53.0)) * mean) - 1.0)
    return {
        "riser_drop": np.array(drops),
        "riser_gradient": np.array(gradients),
        "column_identities": np.array(identities),
    }


def main():
    given = inputs()
    np.savez(
        "observables.npz",
        boiling_drop=profile(given),
        flow_exponent=multipliers(given),
        hill_gradient=hills(given),
        **maps(given),
        separated_flow=split_multiplier(given),
        **momentum(given),
    )


main()
