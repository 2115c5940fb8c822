"""Differential-pressure meters, weirs and channels: coefficients, expansibilities, discharge and lost pressure."""

import json
import os

import numpy as np
from fluids import flow_meter as meters
from fluids import open_flow as channel

DEFAULTS = {
    "bores_m": [0.0567, 0.1541],
    "ratios": [0.43, 0.67],
    "pressures_pa": [3.13e5, 2.81e5],
    "gas": [3.71, 1.79e-5, 1.317],
    "flow_kg_s": 0.873,
    "weir_m": [0.187, 0.413, 1.71, 2.63],
}
SIMPLE = sorted(meters.beta_simple_meters - {meters.UNSPECIFIED_METER})
SHAPED = (meters.CONE_METER, meters.HOLLINGSHEAD_CONE, meters.WEDGE_METER, meters.HOLLINGSHEAD_WEDGE)
TAPS = {
    meters.MILLER_ORIFICE: ("corner", "flange", "D and D/2", "pipe"),
    meters.MILLER_ECCENTRIC_ORIFICE: ("flange", "vena contracta"),
    meters.MILLER_SEGMENTAL_ORIFICE: ("flange", "vena contracta"),
    meters.SEGMENTAL_ORIFICE: ("flange",),
    meters.ISO_5167_ORIFICE: ("corner", "flange", "D"),
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def coefficients(given):
    """Discharge coefficient, expansibility and discharge (kg/s) of every meter, by taps and tap position."""
    p1, p2 = given["pressures_pa"]
    rho, mu, k = given["gas"]
    rows = []
    for bore in given["bores_m"]:
        for ratio in given["ratios"]:
            for kind in (*SIMPLE, *SHAPED):
                for taps in TAPS.get(kind, (None,)):
                    for place in ("180 degree", "90 degree") if "eccentric" in kind else (None,):
                        throat = ratio * bore
                        c, y = meters.differential_pressure_meter_C_epsilon(
                            bore, throat, given["flow_kg_s"], p1, p2, rho, mu, k, kind, taps, place
                        )
                        flow = meters.flow_meter_discharge(bore, throat, p1, p2, rho, c, y, kind)
                        rows.append([c, y, flow])
    coefficient, expansibility, discharge = np.array(rows).T
    return {"coefficient": coefficient, "expansibility": expansibility, "discharge": discharge}


def losses(given):
    """Unrecovered share of the differential pressure, by kind of meter."""
    p1, p2 = given["pressures_pa"]
    kinds = [k for k in (*SIMPLE, *SHAPED) if k != meters.VENTURI_NOZZLE]
    return np.array([
        meters.differential_pressure_meter_dP(bore, ratio * bore, p1, p2, C=0.613, meter_type=kind) / (p1 - p2)
        for bore in given["bores_m"]
        for ratio in given["ratios"]
        for kind in kinds
    ])  # fmt: skip


def energy_identities(given):
    """Relations between coefficient, loss coefficient and lost pressure that follow from energy alone."""
    p1, p2 = given["pressures_pa"]
    rows = []
    for ratio in given["ratios"]:
        for c in (0.603, 0.771):
            loss = meters.discharge_coefficient_to_K(1.0, ratio, c)
            rows.append(meters.K_to_discharge_coefficient(1.0, ratio, loss) / c - 1.0)
            approach = meters.velocity_of_approach_factor(1.0, ratio)
            rows.append(meters.flow_coefficient(1.0, ratio, c) / (c * approach) - 1.0)
            rows.append(approach**2 * (1.0 - ratio**4) - 1.0)
            lost = meters.dP_orifice(1.0, ratio, p1, p2, c) / (p1 - p2)
            root = np.sqrt(1.0 - ratio**4 * (1.0 - c**2))
            rows.append(lost * (root + c * ratio**2) / (root - c * ratio**2) - 1.0)
        rows.append(meters.diameter_ratio_cone_meter(1.0, np.sqrt(1.0 - ratio**2)) / ratio - 1.0)
        rows.append(meters.nozzle_expansibility(1.0, ratio, 1e5, 99999.99, 1.31) - 1.0)
        rows.append(meters.orifice_expansibility(1.0, ratio, 1e5, 99999.99, 1.31) - 1.0)
    return np.array(rows)


def wet_gas():
    """Correction, lost pressure and older forms for meters in wet gas."""
    rows = []
    for liquid in (0.031, 0.61):
        for height in (1.0, 1.35):
            args = (5.31, liquid, 50.0, 817.0, 0.1021, 0.0617)
            rows.append(meters.C_Reader_Harris_Gallagher_wet_venturi_tube(*args, H=height))
            rows.append(meters.dP_Reader_Harris_Gallagher_wet_venturi_tube(
                0.1021, 0.0617, 6e6, 5.94e6, liquid, 5.31, 817.0, 50.0, H=height) / 6e4)  # fmt: skip
    rows += [meters.C_wedge_meter_Miller(d, 0.43 * d) for d in (0.0153, 0.0311, 0.0779)]
    rows += [meters.orifice_expansibility_1989(0.0779, 0.0431, 3.1e5, 2.6e5, 1.37)]
    return np.array(rows)


def open_channels(given):
    """Discharge (m3/s) over weirs, and uniform flow velocities (m/s) by Manning and by Chezy."""
    h1, h2, width, whole = given["weir_m"]
    weirs = [channel.Q_weir_V_Shen(h1, angle=a) for a in (27.0, 51.0, 73.0, 94.0)]
    weirs.append(channel.Q_weir_rectangular_Kindsvater_Carter(h1, h2, width))
    weirs.append(channel.Q_weir_rectangular_SIA(h1, h2, width, whole))
    weirs.append(channel.Q_weir_rectangular_full_Ackers(h1, h2, width))
    weirs.append(channel.Q_weir_rectangular_full_SIA(h1, h2, width))
    weirs.append(channel.Q_weir_rectangular_full_Rehbock(h1, h2, width))
    weirs.append(channel.Q_weir_rectangular_full_Kindsvater_Carter(h1, h2, width))
    velocities, chezys, same = [], [], []
    for radius, slope, n in ((0.231, 1.3e-3, 0.0127), (1.87, 2.1e-4, 0.0331)):
        manning = channel.V_Manning(radius, slope, n)
        chezy = channel.n_Manning_to_C_Chezy(n, radius)
        velocities.append(manning)
        chezys.append(chezy)
        same.append(channel.V_Chezy(radius, slope, chezy) / manning - 1.0)
        same.append(channel.C_Chezy_to_n_Manning(chezy, radius) / n - 1.0)
    return {
        "weir_discharge": np.array(weirs),
        "uniform_velocity": np.array(velocities),
        "chezy": np.array(chezys),
        "manning_chezy": np.array(same),
    }


def main():
    given = inputs()
    np.savez(
        "observables.npz",
        **coefficients(given),
        lost_share=losses(given),
        energy_identities=energy_identities(given),
        wet_gas=wet_gas(),
        **open_channels(given),
    )


main()
