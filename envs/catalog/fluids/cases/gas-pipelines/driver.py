"""Gas pipelines: isothermal flow and the transmission formulas, each solved for each of its unknowns."""

import json
import os

import numpy as np
from fluids import compressible
from fluids.compressible import (
    P_isothermal_critical_flow,
    P_upstream_isothermal_critical_flow,
    isothermal_gas,
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


def main():
    given = inputs()
    np.savez("observables.npz", **isothermal(given), **transmission(given))


main()
