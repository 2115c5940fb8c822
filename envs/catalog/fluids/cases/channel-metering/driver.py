"""Metering backwards and channels at their normal depth: sizes, pressures and depths that give a wanted flow."""

import json
import os

import numpy as np
from fluids import flow_meter as meters
from fluids import open_flow as channel

DEFAULTS = {
    "bore_m": 0.1023,
    "small_bore_m": 0.0531,
    "throat_ratio": 0.567,
    "inlet_pa": 2.93e6,
    "outlet_pa": 2.87e6,
    "fluid": [27.9, 1.33e-5, 1.29],
    "channel": [2.31, 1.4, 7.3e-4, 0.0173],
    "wanted_m3_s": [0.41, 2.9, 11.3],
    "heads_m": [0.061, 0.153, 0.291],
}
TAPS = {
    "Miller orifice": "pipe",
    "Miller eccentric orifice": "flange",
    "Miller segmental orifice": "vena contracta",
    "segmental orifice": "flange",
}
OTHER_TAPS = {
    "Miller orifice": "flange",
    "Miller eccentric orifice": "vena contracta",
    "Miller segmental orifice": "flange",
    "segmental orifice": "vena contracta",
    "ISO 5167 orifice": "D",
}
KINDS = sorted(meters.all_meters - {meters.UNSPECIFIED_METER})


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def metering(given):
    """Flow (kg/s) of each meter in two lines, and pressures and throat that the same flow leads back to."""
    rho, mu, k = given["fluid"]
    p1, p2 = given["inlet_pa"], given["outlet_pa"]
    flows, recovered = [], []
    for bore, chosen, place in (
        (given["bore_m"], TAPS, "180 degree"),
        (given["small_bore_m"], OTHER_TAPS, "90 degree"),
    ):
        throat = given["throat_ratio"] * bore
        for kind in KINDS:

            def solve(d=bore, t=kind, c=chosen, s=place, **known):
                return meters.differential_pressure_meter_solver(
                    D=d, rho=rho, mu=mu, k=k, meter_type=t, taps=c.get(t), tap_position=s, **known
                )

            flow = solve(D2=throat, P1=p1, P2=p2)
            flows.append(flow)
            recovered.append(solve(D2=throat, P1=p1, m=flow) / p2 - 1.0)
            recovered.append(solve(D2=throat, P2=p2, m=flow) / p1 - 1.0)
            if kind in meters.beta_simple_meters and "Hollingshead" not in kind:
                recovered.append(solve(P1=p1, P2=p2, m=flow) / throat - 1.0)
    return np.array(flows), np.array(recovered)


def coefficients(given):
    """Coefficient and lost pressure (kPa) as the throat opens, in a large and a small line at low and high flow."""
    rho, mu, k = given["fluid"]
    rows = []
    for bore, flow in ((given["bore_m"], 0.0061), (given["small_bore_m"], 1.83)):
        for ratio in (0.511, 0.607, 0.683):
            for kind in KINDS:
                c, y = meters.differential_pressure_meter_C_epsilon(
                    bore, ratio * bore, flow, 6e5, 5.1e5, rho, mu, k, kind, TAPS.get(kind), "90 degree"
                )
                rows.append(c * y)
                if kind != meters.VENTURI_NOZZLE:
                    rows.append(meters.differential_pressure_meter_dP(bore, ratio * bore, 6.0, 5.1, c, kind))
    return np.array(rows)


def relations(given):
    """Loss coefficients, approach factors, wedge areas, wet gas: small relations a metering sheet rests on."""
    rows = []
    for ratio in (0.371, 0.589, 0.733):
        rows.append(meters.discharge_coefficient_to_K(0.2, 0.2 * ratio, 0.618))
        rows.append(meters.K_to_discharge_coefficient(0.2, 0.2 * ratio, 7.1))
        rows.append(meters.velocity_of_approach_factor(0.2, 0.2 * ratio))
        rows.append(meters.flow_coefficient(0.2, 0.2 * ratio, 0.623))
        rows.append(meters.diameter_ratio_wedge_meter(0.2, 0.2 * ratio))
        rows.append(meters.orifice_expansibility_1989(0.2, 0.2 * ratio, 6e5, 5.1e5, 1.41))
        rows.append(meters.nozzle_expansibility(0.2, 0.2 * ratio, 6e5, 5.1e5, 1.0))
        rows.append(meters.C_Reader_Harris_Gallagher_wet_venturi_tube(3.1, 0.19, 41.0, 790.0, 0.2, 0.2 * ratio))
        rows.append(meters.dP_Reader_Harris_Gallagher_wet_venturi_tube(
            0.2, 0.2 * ratio, 6.0, 5.1, 0.19, 3.1, 790.0, 41.0, H=1.35))  # fmt: skip
    rows += [meters.C_wedge_meter_Miller(d, 0.37 * d) for d in (0.0127, 0.0293, 0.0911)]
    return np.array(rows)


def area_and_radius(depth, bottom, bank):
    """Flow area (m2) and hydraulic radius (m) of a trapezoidal channel."""
    area = depth * (bottom + bank * depth)
    return area, area / (bottom + 2.0 * depth * np.sqrt(1.0 + bank**2))


def normal_depths(given):
    """Depth (m) of uniform flow by Manning, and the velocity Chezy's form gives at that depth over Manning's."""
    bottom, bank, slope, n = given["channel"]
    depths, ratios = [], []
    for wanted in given["wanted_m3_s"]:
        low, high = 1e-4, 30.0
        for _ in range(60):
            depth = 0.5 * (low + high)
            area, radius = area_and_radius(depth, bottom, bank)
            low, high = (depth, high) if area * channel.V_Manning(radius, slope, n) < wanted else (low, depth)
        depths.append(depth)
        chezy = channel.n_Manning_to_C_Chezy(n, radius)
        ratios.append(channel.V_Chezy(radius, slope, chezy) * area / wanted - 1.0)
        ratios.append(channel.C_Chezy_to_n_Manning(chezy, radius) / n - 1.0)
    return np.array(depths), np.array(ratios)


def weirs(given):
    """Local exponents of discharge over head: near 3/2 for rectangular crests, near 5/2 for notches."""
    laws = (
        lambda h: channel.Q_weir_V_Shen(h, angle=67.0),
        lambda h: channel.Q_weir_V_Shen(h, angle=33.0),
        lambda h: channel.Q_weir_rectangular_Kindsvater_Carter(h, 0.531, 1.13),
        lambda h: channel.Q_weir_rectangular_SIA(h, 0.531, 1.13, 2.77),
        lambda h: channel.Q_weir_rectangular_full_Ackers(h, 0.531, 1.13),
        lambda h: channel.Q_weir_rectangular_full_SIA(h, 0.531, 1.13),
        lambda h: channel.Q_weir_rectangular_full_Rehbock(h, 0.531, 1.13),
        lambda h: channel.Q_weir_rectangular_full_Kindsvater_Carter(h, 0.531, 1.13),
    )
    flows = np.array([[law(h) for h in given["heads_m"]] for law in laws])
    growth = [[np.log(law(1.01 * h) / law(h)) / np.log(1.01) for h in given["heads_m"]] for law in laws]
    return flows, np.array(growth)


def main():
    given = inputs()
    flows, recovered = metering(given)
    depths, ratios = normal_depths(given)
    discharge, growth = weirs(given)
    np.savez(
        "observables.npz",
        metered_flow=flows,
        recovered=recovered,
        coefficients=coefficients(given),
        relations=relations(given),
        normal_depth=depths,
        uniform_flow=ratios,
        weir_discharge=discharge,
        weir_exponent=growth,
    )


main()
