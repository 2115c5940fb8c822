"""Control valves for liquids and gases: required coefficients, choking, viscous and fitting corrections, noise."""

import json
import os

import numpy as np
from fluids import control_valve as valves

DEFAULTS = {
    "liquid": {"rho": 965.4, "Psat": 7.01e4, "Pc": 2.2120e7, "mu": 3.1472e-4},
    "pairs_pa": [[6.8e5, 2.2e5], [6.8e5, 6.1e5], [6.8e5, 5.1e5]],
    "gas": {"T": 433.0, "MW": 44.01, "mu": 1.4665e-4, "gamma": 1.30, "Z": 0.988},
    "gas_pairs_pa": [[6.8e5, 3.1e5], [6.8e5, 2.5e5], [6.8e5, 5.7e5]],
    "bodies_m": [[0.153, 0.153, 0.153], [0.1023, 0.1281, 0.0761], [0.0527, 0.0527, 0.0407]],
    "flow_m3_s": 0.0797,
}
RECOVERY, STYLE = 0.85, 0.46
OILS = ((1.3e-3, 871.0), (0.61, 913.0), (19.0, 931.0))


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def numbers(full):
    """The numeric entries of a sizing sheet in a fixed order; what does not apply counts as zero."""
    keys = ("Kv", "choked", "laminar", "FP", "FLP", "xTP", "FR", "Rev", "FF", "Y")
    return [float(full.get(key) or 0.0) for key in keys]


def liquids(given):
    """Sizing sheets of liquid valves: bare, with reducers, choked or not, thin to very viscous."""
    rows = []
    for p1, p2 in given["pairs_pa"]:
        for d1, d2, d in given["bodies_m"]:
            flow = given["flow_m3_s"] * (d / 0.153) ** 2
            fitted = {"D1": d1, "D2": d2, "d": d, "FL": RECOVERY, "Fd": STYLE, "P1": p1, "P2": p2, "full_output": True}
            rows.append(numbers(valves.size_control_valve_l(Q=flow, **fitted, **given["liquid"])))
            for mu, rho in OILS:
                oil = {"rho": rho, "Psat": 310.0, "Pc": 2.1e6, "mu": mu}
                rows.append(numbers(valves.size_control_valve_l(Q=flow / 37.0, **fitted, **oil)))
        bare = dict(FL=RECOVERY, Fd=STYLE, P1=p1, P2=p2, Q=given["flow_m3_s"], **given["liquid"])
        rows.append(numbers(valves.size_control_valve_l(**bare, full_output=True)))
        rows.append(numbers(valves.size_control_valve_l(**bare, allow_choked=False, full_output=True)))
    table = np.array(rows)
    return {"liquid_kv": table[:, 0], "liquid_factors": table[:, 1:]}


def gases(given):
    """Sizing sheets of gas valves over the same bodies."""
    rows = []
    for p1, p2 in given["gas_pairs_pa"]:
        for d1, d2, d in given["bodies_m"]:
            for share in (1.0, 0.021, 6e-6):
                fitted = {
                    "D1": d1,
                    "D2": d2,
                    "d": d,
                    "FL": RECOVERY,
                    "Fd": STYLE,
                    "xT": 0.6,
                    "P1": p1,
                    "P2": p2,
                    "full_output": True,
                }
                flow = share * 7.5 * (d / 0.153) ** 2
                rows.append(numbers(valves.size_control_valve_g(Q=flow, **fitted, **given["gas"])))
        bare = dict(FL=RECOVERY, Fd=STYLE, xT=0.6, P1=p1, P2=p2, Q=10.5, **given["gas"])
        rows.append(numbers(valves.size_control_valve_g(**bare, full_output=True)))
    table = np.array(rows)
    return {"gas_kv": table[:, 0], "gas_factors": table[:, 1:]}


def choking(given):
    """Choking pressures (Pa), their inverse, and whether flow chokes a little on either side of them."""
    psat, pc = given["liquid"]["Psat"], given["liquid"]["Pc"]
    pressures, factors, identities = [], [], []
    for p1, p2 in given["pairs_pa"]:
        outlet = valves.control_valve_choke_P_l(psat, pc, 0.81, P1=p1)
        gas_outlet = valves.control_valve_choke_P_g(0.63, given["gas"]["gamma"], P1=p1)
        factor = valves.FF_critical_pressure_ratio_l(psat, pc)
        pressures += [outlet, gas_outlet]
        factors += [factor, valves.cavitation_index(p1, p2, psat)]
        identities.append(valves.control_valve_choke_P_l(psat, pc, 0.81, P2=outlet) / p1 - 1.0)
        identities.append(valves.control_valve_choke_P_g(0.63, given["gas"]["gamma"], P2=gas_outlet) / p1 - 1.0)
        identities.append((p1 - outlet) / (0.81**2 * (p1 - factor * psat)) - 1.0)
        for side, expected in ((1.001, 1.0), (0.999, 0.0)):
            drop = side * (p1 - outlet)
            identities.append(float(valves.is_choked_turbulent_l(drop, p1, psat, factor, FL=0.81)) - expected)
            x = side * (p1 - gas_outlet) / p1
            identities.append(float(valves.is_choked_turbulent_g(x, given["gas"]["gamma"] / 1.4, xT=0.63)) - expected)
    scales = [valves.convert_flow_coefficient(13.7, a, b) for a in ("Cv", "Kv", "Av") for b in ("Cv", "Kv", "Av")]
    identities += [scales[1] * scales[3] / 13.7**2 - 1.0, scales[2] * scales[6] / 13.7**2 - 1.0]
    return {
        "choking_pressure": np.array(pressures),
        "choking_factors": np.array(factors),
        "scale_conversion": np.array(scales) / 13.7,
        "choking_identities": np.array(identities),
    }


def noise():
    """Sound level (dB(A)) a metre from valves: turbulent and cavitating liquid, gas through all five regimes."""
    liquid = {
        "Psat": 2.32e3,
        "rho": 997.0,
        "c": 1400.0,
        "Kv": 77.848,
        "d": 0.1,
        "Di": 0.1071,
        "FL": 0.92,
        "Fd": 0.42,
        "t_pipe": 0.0036,
    }
    rows = [valves.control_valve_noise_l_2015(40.0, 1e6, p2, **liquid) for p2 in (8.3e5, 6.5e5, 4.1e5, 0.9e5)]
    rows.append(valves.control_valve_noise_l_2015(40.0, 1e6, 6.5e5, xFz=0.21, **liquid))
    gas = {
        "P1": 1e6,
        "T1": 450.0,
        "rho": 5.3,
        "gamma": 1.22,
        "MW": 19.8,
        "Kv": 77.85,
        "d": 0.0931,
        "Di": 0.2031,
        "t_pipe": 0.008,
        "Fd": 0.296,
    }
    for p2 in (8.2e5, 5.9e5, 4.3e5, 1.7e5, 0.49e5):
        rows.append(valves.control_valve_noise_g_2011(2.22, P2=p2, FL=0.792, **gas))
        rows.append(valves.control_valve_noise_g_2011(11.3, P2=p2, FL=None, FLP=0.71, FP=0.93, T2=431.0, **gas))
    small = {**gas, "d": 0.0413, "Di": 0.0627}
    rows.append(valves.control_valve_noise_g_2011(0.61, P2=5.9e5, FL=0.792, **small))
    return np.array(rows)


def main():
    given = inputs()
    np.savez(
        "observables.npz",
        **liquids(given),
        **gases(given),
        **choking(given),
        noise=noise(),
    )


main()
