"""Installed valves: the flow an open valve passes, where it chokes, its Reynolds factor and its noise over opening."""

import json
import os

import numpy as np
from fluids import control_valve as valves

DEFAULTS = {
    "openings": [0.17, 0.43, 0.71, 0.93],
    "rated_kv": 163.0,
    "body_m": [0.1541, 0.2027, 0.1023],
    "oil": {"rho": 853.0, "Psat": 4.1e3, "Pc": 1.9e6, "P1": 9.7e5, "P2": 7.3e5},
    "steam": {"T": 511.0, "MW": 18.015, "mu": 1.81e-5, "gamma": 1.31, "Z": 0.953, "P1": 1.31e6, "P2": 8.9e5},
    "viscosities_pa_s": [7e-4, 0.117, 2.9],
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def passed(required, kv, low, high):
    """The flow (m3/s) whose required coefficient is `kv`, by bisection; the coefficient grows with the flow."""
    for _ in range(60):
        flow = np.sqrt(low * high)
        low, high = (flow, high) if required(flow) < kv else (low, flow)
    return np.sqrt(low * high)


def liquid_kv(flow, body, oil):
    return valves.size_control_valve_l(Q=flow, FL=0.87, Fd=0.41, full_output=True, **body, **oil)["Kv"]


def gas_kv(flow, body, gas):
    return valves.size_control_valve_g(Q=flow, FL=0.87, Fd=0.41, xT=0.71, full_output=True, **body, **gas)["Kv"]


def characteristics(given):
    """Share of the rated coefficient by opening, for the three inherent characteristics."""
    laws = (valves.Cv_char_quick_opening, valves.Cv_char_linear, valves.Cv_char_equal_percentage)
    return np.array([[law(o) for o in given["openings"]] for law in laws])


def flows(given):
    """Oil and steam flows (m3/s) through the valve as it opens: bare, between reducers, and in a line of its size."""
    d1, d2, d = given["body_m"]
    bodies = ({"D1": d1, "D2": d2, "d": d}, {"D1": d, "D2": d, "d": d})
    fluids = [(gas_kv, given["steam"]), *[(liquid_kv, {**given["oil"], "mu": mu}) for mu in given["viscosities_pa_s"]]]
    rows = []
    for share in characteristics(given)[2]:
        kv = float(share) * given["rated_kv"]
        for law, fluid in fluids:
            bare = kv / law(1.0, {}, fluid)  # without fittings the coefficient is proportional to the flow
            rows.append(bare)
            for body in bodies:
                rows.append(passed(lambda q, a=law, b=body, f=fluid: a(q, b, f), kv, 0.003 * bare, 1.1 * bare))
    return np.array(rows)


def falling_outlet(given):
    """Required coefficients (m3/h) as the outlet pressure falls through choking; steam and oil, bare and fitted."""
    steam, oil = given["steam"], {**given["oil"], "mu": 7e-4}
    gas_choke = valves.control_valve_choke_P_g(0.71, steam["gamma"], P1=steam["P1"])
    oil_choke = valves.control_valve_choke_P_l(oil["Psat"], oil["Pc"], 0.87, P1=oil["P1"])
    rows = []
    for factor in (1.02, 0.9, 0.6):
        for body in ({}, {"D1": 0.2, "D2": 0.2, "d": 0.1}):
            rows.append(gas_kv(1.7, body, {**steam, "P2": factor * gas_choke}))
            rows.append(liquid_kv(0.047, body, {**oil, "P2": factor * oil_choke}))
    pressures = [
        gas_choke,
        oil_choke,
        valves.control_valve_choke_P_l(oil["Psat"], oil["Pc"], 0.87, P2=oil["P2"]),
        valves.control_valve_choke_P_g(0.71, 1.31, P2=4.1e5),
    ]
    back = [
        valves.control_valve_choke_P_g(0.71, steam["gamma"], P2=gas_choke) / steam["P1"] - 1.0,
        valves.control_valve_choke_P_l(oil["Psat"], oil["Pc"], 0.87, P2=oil_choke) / oil["P1"] - 1.0,
    ]
    return {
        "falling_outlet_kv": np.array(rows),
        "choking_pressure": np.array(pressures),
        "choking_round_trip": np.array(back),
    }


def indices(given):
    """Cavitation index, critical pressure ratio, and conversions between coefficients."""
    oil = given["oil"]
    rows = [valves.cavitation_index(oil["P1"], f * oil["P1"], oil["Psat"]) for f in (0.3, 0.7)]
    rows.append(valves.FF_critical_pressure_ratio_l(oil["Psat"], oil["Pc"]))
    rows += [valves.convert_flow_coefficient(0.0031, "Av", s) for s in ("Kv", "Cv")]
    rows += [valves.convert_flow_coefficient(41.0, s, "Av") for s in ("Kv", "Cv")]
    return np.array(rows)


def corrections():
    """Reynolds numbers, viscous factors for both trims, and the loss of reducers."""
    rows = []
    for kv, bore in ((61.0, 103.0), (0.71, 26.0)):
        for flow in (0.013, 3.1, 71.0):
            reynolds = valves.Reynolds_valve(nu=2.3e-4, Q=flow, D1=1.3 * bore, FL=0.87, Fd=0.41, C=kv)
            rows.append(reynolds)
            for trim in (True, False):
                rows += [valves.Reynolds_factor(0.87, kv, bore, r, full_trim=trim) for r in (1.7, 61.0, 3.1e3)]
    rows += [valves.loss_coefficient_piping(80.0, a, b) for a, b in ((104.0, None), (None, 154.0), (104.0, 154.0))]
    rows.append(float(valves.is_choked_turbulent_l(460.2, 680.0, 70.1, 0.94, FLP=0.65, FP=0.91)))
    rows.append(float(valves.is_choked_turbulent_g(0.544, 0.929, xTP=0.625)))
    return np.array(rows)


def noise(given):
    """Sound level (dB(A)) over opening of a liquid and a gas valve."""
    rows = []
    for share in characteristics(given)[1]:
        kv = float(share) * given["rated_kv"]
        for p2 in (8.8e5, 5.3e5, 2.9e5):
            rows.append(valves.control_valve_noise_l_2015(
                m=0.31 * kv, P1=1.3e6, P2=p2, Psat=3.1e3, rho=987.0, c=1473.0, Kv=kv, d=0.1023, Di=0.1541, FL=0.87,
                Fd=0.41, t_pipe=0.0071,
            ))  # fmt: skip
        for p2 in (1.13e6, 6.9e5, 4.7e5, 2.0e5, 0.61e5):
            rows.append(valves.control_valve_noise_g_2011(
                m=0.037 * kv, P1=1.3e6, P2=p2, T1=397.0, rho=7.31, gamma=1.29, MW=18.9, Kv=kv, d=0.1023, Di=0.1541,
                t_pipe=0.0071, Fd=0.41, FL=0.87,
            ))  # fmt: skip
    rows += [
        valves.control_valve_noise_g_2011(
            m=1.31, P1=1.3e6, P2=5.7e5, T1=397.0, rho=7.31, gamma=1.29, MW=18.9, Kv=41.0, d=bore, Di=1.4 * bore,
            t_pipe=0.0071, Fd=0.41, FL=None, FLP=0.79, FP=0.94,
        )
        for bore in (0.0371, 0.0831, 0.191)
    ]  # fmt: skip
    return np.array(rows)


def main():
    given = inputs()
    np.savez(
        "observables.npz",
        characteristics=characteristics(given),
        passed_flow=flows(given),
        **falling_outlet(given),
        indices=indices(given),
        corrections=corrections(),
        noise=noise(given),
    )


main()
