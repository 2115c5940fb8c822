"""Isothermal gas flow in a long pipe: each of its unknowns recovers the same state."""

import json
import os

import numpy as np
from fluids.compressible import (
    P_isothermal_critical_flow,
    P_upstream_isothermal_critical_flow,
    isothermal_gas,
    isothermal_work_compression,
)

DEFAULTS = {
    "density_kg_m3": 11.3,
    "friction": 0.00185,
    "inlet_pa": 1.013e6,
    "outlet_over_inlet": [0.31, 0.52, 0.77, 0.93],
    "lengths_m": [137.0, 1040.0, 9100.0],
    "diameter_m": 0.487,
    "temperature_k": 301.3,
}


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def momentum_residual(mass_flow, density, friction, inlet, outlet, length, diameter):
    """Integrated momentum balance of isothermal flow, over the driving term; zero for a solution."""
    flux = mass_flow / (0.25 * np.pi * diameter**2)
    driving = density * (inlet**2 - outlet**2) / inlet
    return flux**2 * (friction * length / diameter + 2.0 * np.log(inlet / outlet)) / driving - 1.0


def main():
    given = inputs()
    rho, fd, inlet, diameter = (given[k] for k in ("density_kg_m3", "friction", "inlet_pa", "diameter_m"))
    flows, residuals, returns, bores = [], [], [], []
    for length in given["lengths_m"]:
        choked = P_isothermal_critical_flow(inlet, fd, diameter, length)
        for ratio in given["outlet_over_inlet"]:
            outlet = choked + ratio * (inlet - choked)
            flow = isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=length, D=diameter)
            flows.append(flow)
            residuals.append(momentum_residual(flow, rho, fd, inlet, outlet, length, diameter))
            returns.append([
                isothermal_gas(rho, fd, P1=None, P2=outlet, L=length, D=diameter, m=flow) / inlet - 1.0,
                isothermal_gas(rho, fd, P1=inlet, P2=None, L=length, D=diameter, m=flow) / outlet - 1.0,
                isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=None, D=diameter, m=flow) / length - 1.0,
            ])  # fmt: skip
            if ratio > 0.5 and length == max(given["lengths_m"]):  # the bore is sought from far below
                bores.append(isothermal_gas(rho, fd, P1=inlet, P2=outlet, L=length, D=None, m=flow))
    choke = np.array([P_isothermal_critical_flow(inlet, fd, diameter, x) for x in given["lengths_m"]])
    back = [
        P_upstream_isothermal_critical_flow(p, fd, diameter, x)
        for p, x in zip(choke, given["lengths_m"], strict=True)
    ]
    work = [
        isothermal_work_compression(inlet * r, inlet, given["temperature_k"], Z=0.947)
        for r in given["outlet_over_inlet"]
    ]
    np.savez(
        "observables.npz",
        mass_flow=np.array(flows),
        momentum_residual=np.array(residuals),
        recovered=np.array(returns),
        recovered_bore=np.array(bores) / diameter - 1.0,
        choked_pressure=choke,
        choked_round_trip=np.array(back) / inlet - 1.0,
        compression_work=np.array(work),
    )


main()
