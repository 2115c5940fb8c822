"""Gas pipelines: isothermal flow, transmission formulas and the stations that compress, by each unknown."""

import json
import os

import numpy as np
from fluids import compressible
from fluids.compressible import (
    P_critical_flow,
    P_isothermal_critical_flow,
    P_stagnation,
    P_upstream_isothermal_critical_flow,
    T_critical_flow,
    T_stagnation,
    T_stagnation_ideal,
    is_critical_flow,
    isentropic_efficiency,
    isentropic_T_rise_compression,
    isentropic_work_compression,
    isothermal_gas,
    isothermal_work_compression,
    polytropic_exponent,
    stagnation_energy,
)

DEFAULTS = {
    "density_kg_m3": 11.3,
    "friction": 0.00185,
    "inlet_pa": 1.013e6,
    "openings": [0.31, 0.52, 0.77, 0.93],
    "lengths_m": [137.0, 1040.0, 9100.0],
    "bore_m": 0.487,
    "gas_gravity": 0.643,
    "temperature_k": 283.7,
    "route": {"L": 1.27e5, "D": 0.347, "P1": 8.9e6, "P2": 2.3e6},
    "service": {"L": 73.0, "D": 0.147, "P1": 1.087e5, "P2": 1.041e5},
}
LONG_DISTANCE = ("Panhandle_A", "Panhandle_B", "Weymouth", "Spitzglass_high", "Oliphant", "Fritzsche", "Muller", "IGT")
VISCOUS = ("Muller", "IGT")


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def momentum_residual(flow, density, friction, inlet, outlet, length, bore):
    """Integrated momentum balance of isothermal flow, over the driving term; zero for a solution."""
    flux = flow / (0.25 * np.pi * bore**2)
    driving = density * (inlet**2 - outlet**2) / inlet
    return flux**2 * (friction * length / bore + 2.0 * np.log(inlet / outlet)) / driving - 1.0


def isothermal(given):
    """Flow between choking and rest, its momentum balance, and the unknowns won back from it."""
    rho, fd, inlet, bore = (given[k] for k in ("density_kg_m3", "friction", "inlet_pa", "bore_m"))
    flows, residuals, recovered, choking, returned = [], [], [], [], []
    for length in given["lengths_m"]:
        choked = P_isothermal_critical_flow(inlet, fd, bore, length)
        choking.append(choked)
        returned.append(P_upstream_isothermal_critical_flow(choked, fd, bore, length) / inlet - 1.0)
        for opening in given["openings"]:
            outlet = choked + opening * (inlet - choked)
            flow = isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=length, D=bore)
            flows.append(flow)
            residuals.append(momentum_residual(flow, rho, fd, inlet, outlet, length, bore))
            recovered.append(isothermal_gas(rho, fd, P1=None, P2=outlet, L=length, D=bore, m=flow) / inlet)
            recovered.append(isothermal_gas(rho, fd, P1=inlet, P2=None, L=length, D=bore, m=flow) / outlet)
            recovered.append(isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=None, D=bore, m=flow) / length)
            if opening > 0.5 and length == max(given["lengths_m"]):  # the bore is sought from far below
                recovered.append(isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=length, D=None, m=flow) / bore)
    return {
        "mass_flow": np.array(flows),
        "choked_pressure": np.array(choking),
        "isothermal_residual": np.array(residuals + returned),
        "isothermal_recovered": np.array(recovered) - 1.0,
    }


def formula(name, route, given, **more):
    """One transmission formula on one route, as a function of what is left unknown."""
    viscosity = {"mu": 1.13e-5} if name in VISCOUS else {}
    return getattr(compressible, name)(
        SG=given["gas_gravity"], Tavg=given["temperature_k"], Ts=288.7, Ps=101325.0, Zavg=0.937, E=0.94,
        **{**route, **viscosity, **more},
    )  # fmt: skip


def transmission(given):
    """Standard volume flow by each formula, and the four other unknowns won back from it."""
    routes = [(name, given["route"]) for name in LONG_DISTANCE] + [("Spitzglass_low", given["service"])]
    flows, recovered = [], []
    for name, route in routes:
        flow = formula(name, route, given)
        flows.append(flow)
        for unknown, value in route.items():
            found = formula(name, {**route, unknown: None}, given, Q=flow)
            recovered.append(found / value - 1.0)
    return {"standard_flow": np.array(flows), "transmission_recovered": np.array(recovered)}


def station(given):
    """Work (J/mol) and outlet (K) of compressors, states where the gas is brought to rest or chokes, identities."""
    t, p1, p2 = given["temperature_k"], given["route"]["P2"], given["route"]["P1"]
    works, temperatures, pressures, identities = [isothermal_work_compression(p1, p2, t, Z=0.93)], [], [], []
    for k, eta in ((1.287, 0.741), (1.371, 0.853)):
        works.append(isentropic_work_compression(t, k, Z=0.93, P1=p1, P2=p2, eta=eta))
        temperatures.append(isentropic_T_rise_compression(t, p1, p2, k, eta=eta))
        identities.append(isentropic_work_compression(t, k, Z=0.93, P1=p1, W=works[-1], eta=eta) / p2)
        identities.append(isentropic_work_compression(t, k, Z=0.93, P2=p2, W=works[-1], eta=eta) / p1)
        identities.append(isentropic_work_compression(t, k, Z=0.93, P1=p1, P2=p2, W=works[-1]) / eta)
        small = isentropic_efficiency(p1, p2, k, eta_s=eta)
        exponent = polytropic_exponent(k, eta_p=small)
        identities.append(isentropic_efficiency(p1, p2, k, eta_p=small) / eta)
        identities.append(polytropic_exponent(k, n=exponent) / small)
        identities.append(t * (p2 / p1) ** ((exponent - 1.0) / exponent) / temperatures[-1])
        speed = 1.17 * np.sqrt(k * 8.314462618 / 0.0171 * t)
        rest = T_stagnation_ideal(t, speed, k / (k - 1.0) * 8.314462618 / 0.0171)
        temperatures += [rest, T_critical_flow(t, k)]
        pressures += [P_stagnation(p1, t, rest, k), P_critical_flow(p1, k)]
        identities.append(T_stagnation(t, p1, pressures[-2], k) / rest)
        identities.append((rest / t - 1.0) / (0.5 * (k - 1.0) * 1.17**2))
        identities.append(stagnation_energy(speed) / (0.5 * speed**2))
        identities.append(1.0 + is_critical_flow(p1, 1.01 * pressures[-1], k))
        identities.append(2.0 - is_critical_flow(p1, 0.99 * pressures[-1], k))
    return {
        "compression_work": np.array(works),
        "gas_temperature": np.array(temperatures),
        "gas_pressure": np.array(pressures),
        "station_identities": np.array(identities) - 1.0,
    }


def main():
    given = inputs()
    np.savez("observables.npz", **isothermal(given), **transmission(given), **station(given))


main()
