"""Gas dynamics in machines: compression work and efficiencies, stagnation states, choking, line packs."""

import json
import os

import numpy as np
from fluids import compressible as gas

DEFAULTS = {
    "ratios": [1.37, 2.9, 6.1],
    "heat_capacity_ratios": [1.129, 1.303, 1.407, 1.661],
    "temperature_k": 293.4,
    "pressure_pa": 1.27e5,
    "efficiency": 0.783,
    "machs": [0.23, 0.71, 1.0, 1.9],
    "segments": [1.1e4, 3.7e4, 9.3e4],
}
GAS_CONSTANT = 8.31446261815324
LINE = {"P1": 6.1e6, "P2": 3.9e6, "D": 0.511}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def compression(given):
    """Work in J/mol and outlet temperature in K, and identities between the ways to state an efficiency."""
    t, p, eta = given["temperature_k"], given["pressure_pa"], given["efficiency"]
    works, outlets, shares, identities = [], [], [], []
    for ratio in given["ratios"]:
        works.append(gas.isothermal_work_compression(p, ratio * p, t, Z=0.971))
        for k in given["heat_capacity_ratios"]:
            work = gas.isentropic_work_compression(t, k, Z=0.971, P1=p, P2=ratio * p, eta=eta)
            outlet = gas.isentropic_T_rise_compression(t, p, ratio * p, k, eta=eta)
            eta_p = gas.isentropic_efficiency(p, ratio * p, k, eta_s=eta)
            n = gas.polytropic_exponent(k, eta_p=eta_p)
            works.append(work)
            outlets.append(outlet)
            shares += [eta_p, n]
            identities += [
                gas.isentropic_work_compression(t, k, Z=0.971, P1=p, W=work, eta=eta) / (ratio * p),
                gas.isentropic_work_compression(t, k, Z=0.971, P2=ratio * p, W=work, eta=eta) / p,
                gas.isentropic_work_compression(t, k, Z=0.971, P1=p, P2=ratio * p, W=work) / eta,
                gas.isentropic_efficiency(p, ratio * p, k, eta_p=eta_p) / eta,
                gas.polytropic_exponent(k, n=n) / eta_p,
                work / (k / (k - 1.0) * 0.971 * GAS_CONSTANT * (outlet - t)),
                ratio ** ((n - 1.0) / n) * t / outlet,
            ]
    return {
        "work": np.array(works),
        "outlet_temperature": np.array(outlets),
        "polytropic": np.array(shares),
        "efficiency_identities": np.array(identities) - 1.0,
    }


def stagnation(given):
    """States on an isentrope by Mach number: temperature, pressure, energy, and the throat at Mach one."""
    t, p = given["temperature_k"], given["pressure_pa"]
    totals, pressures, energies, chokes, identities = [], [], [], [], []
    for k in given["heat_capacity_ratios"]:
        heat_capacity = k / (k - 1.0) * GAS_CONSTANT / 0.02896
        for mach in given["machs"]:
            velocity = mach * np.sqrt(k * GAS_CONSTANT * t / 0.02896)
            total = gas.T_stagnation_ideal(t, velocity, heat_capacity)
            pressure = gas.P_stagnation(p, t, total, k)
            totals.append(total)
            pressures.append(pressure)
            energies.append(gas.stagnation_energy(velocity))
            identities += [
                total / (t * (1.0 + 0.5 * (k - 1.0) * mach**2)),
                gas.T_stagnation(t, p, pressure, k) / total,
                (total - t) * heat_capacity / gas.stagnation_energy(velocity),
            ]
        throat = gas.P_critical_flow(p, k)
        identities += [gas.P_stagnation(throat, gas.T_critical_flow(t, k), t, k) / p]
        pressures.append(throat)
        chokes += [gas.is_critical_flow(p, share * throat, k) for share in (0.997, 1.003)]
    return {
        "stagnation_temperature": np.array(totals),
        "pressure": np.array(pressures),
        "stagnation_energy": np.array(energies),
        "chokes": np.array(chokes),
        "isentropic_identities": np.array(identities) - 1.0,
    }


def line(given):
    """A gas line by all transmission formulas: its flow, and each other unknown over its nominal value."""
    names = ("Panhandle_A", "Panhandle_B", "Weymouth", "Spitzglass_high", "Oliphant", "Fritzsche", "Muller", "IGT")
    flows, shares = [], []
    for length in given["segments"]:
        for name in names:
            viscous = {"mu": 1.21e-5} if name in ("Muller", "IGT") else {}
            common = {"SG": 0.587, "Tavg": 291.0, "Zavg": 0.91, "E": 0.93, **viscous}
            solve = getattr(gas, name)
            flows.append(solve(L=length, **LINE, **common))
            shares += [solve(L=length, Q=31.0, **{**LINE, key: None}, **common) / LINE[key] for key in ("P1", "D")]
            shares.append(solve(L=length, Q=2.7, **{**LINE, "P2": None}, **common) / LINE["P2"])
            shares.append(solve(Q=31.0, **LINE, **common) / length)
        main = {"L": length / 400, "D": 0.21, "P1": 1.11e5, "P2": 1.04e5}
        low = {"SG": 0.587, "Tavg": 291.0}
        flows.append(gas.Spitzglass_low(**main, **low))
        shares += [gas.Spitzglass_low(Q=0.11, **{**main, key: None}, **low) / main[key] for key in main]
    return {"standard_flow": np.array(flows), "line_unknowns": np.array(shares)}


def isothermal(given):
    """Choking pressures and each unknown of isothermal flow in a short line, over nominal values."""
    rows = []
    for length in given["segments"]:
        pipe = {"L": length / 100, "D": LINE["D"]}
        rows += [
            gas.P_isothermal_critical_flow(LINE["P1"], 0.0113, pipe["D"], pipe["L"]) / LINE["P1"],
            gas.P_upstream_isothermal_critical_flow(LINE["P2"], 0.0113, pipe["D"], pipe["L"]) / LINE["P2"],
            gas.isothermal_gas(23.1, 0.0113, P1=6.1e6, P2=5.7e6, **pipe) / 61.0,
            gas.isothermal_gas(23.1, 0.0113, P1=6.1e6, m=61.0, **pipe) / 6.1e6,
            gas.isothermal_gas(23.1, 0.0113, P2=5.7e6, m=61.0, **pipe) / 5.7e6,
            gas.isothermal_gas(23.1, 0.0113, P1=6.1e6, P2=5.7e6, D=pipe["D"], m=61.0) / pipe["L"],
        ]
    return {"isothermal_unknowns": np.array(rows)}


def main():
    given = inputs()
    np.savez("observables.npz", **compression(given), **stagnation(given), **line(given), **isothermal(given))


main()
