"""Pressure drop along pipe, coil and plate routes, with its friction, acceleration and gravity parts."""

import json
import os

import numpy as np
from fluids.friction import (
    Blasius,
    Colebrook,
    Prandtl_von_Karman_Nikuradse,
    friction_factor,
    friction_factor_curved,
    friction_factor_curved_methods,
    friction_factor_methods,
    friction_plate_Kumar,
    friction_plate_Martin_1999,
    friction_plate_Martin_VDI,
    friction_plate_Muley_Manglik,
    ft_Crane,
    material_roughness,
    one_phase_dP,
    one_phase_dP_acceleration,
    one_phase_dP_dz_acceleration,
    one_phase_dP_gravitational,
    roughness_Farshad,
    transmission_factor,
    von_Karman,
)

DEFAULTS = {
    "fluids": [[998.1, 1.004e-3, 2.3], [871.0, 0.0113, 6.1], [5.17, 1.83e-5, 0.174]],
    "bores_m": [0.0263, 0.0779, 0.2027],
    "roughness_m": 4.57e-5,
}
REFERENCE_RATIO = ("Schmidt", "Ito", "Srinivasan", "Seth Stahel", "Kubair Kuloor", "Kutateladze Borishanskii")
GRAVITY = 9.80665


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def pipes(given):
    """Drop in Pa of 37 m of pipe by every correlation, and how far that is from Darcy and Weisbach."""
    names = sorted(friction_factor_methods(2e5, 1e-3, check_ranges=False))
    rough = given["roughness_m"]
    drops, defects = [], []
    for rho, mu, flow in given["fluids"]:
        for bore in given["bores_m"]:
            velocity = flow / (rho * np.pi / 4 * bore**2)
            reynolds = rho * velocity * bore / mu
            for name in names:
                drop = one_phase_dP(flow, rho, mu, bore, roughness=rough, L=37.0, Method=name)
                factor = friction_factor(reynolds, rough / bore, Method=name)
                drops.append(drop)
                defects.append(drop / (factor * 37.0 / bore * 0.5 * rho * velocity**2) - 1.0)
    return np.array(drops), np.array(defects)


def closures(given):
    """Ratios to Colebrook's relation: of its own smooth and rough limits, and of forms that only come near."""
    smooth = [Prandtl_von_Karman_Nikuradse(re) / Colebrook(re, 0.0) for re in (7.7e3, 3.1e5, 2.3e7)]
    rough = [von_Karman(ed) / Colebrook(4e11, ed) for ed in (6e-5, 1.7e-3, 0.021)]
    fittings = [ft_Crane(bore) / von_Karman(given["roughness_m"] / bore) for bore in given["bores_m"]]
    blasius = [Blasius(re) / Colebrook(re, 0.0) for re in (1.3e4, 3.3e4, 7.1e4)]
    return np.array([*smooth, *rough]), np.array([*fittings, *blasius])


def coils(given):
    """Drop per turn (Pa) of a coil by each correlation, and the flow at which it turns turbulent."""
    rho, mu, _ = given["fluids"][0]
    names = sorted(friction_factor_curved_methods(1e4, 0.02, 0.5, check_ranges=False))
    rows = []
    for bore, coil in ((0.0113, 0.247), (0.0331, 1.42)):
        for velocity in (0.023, 0.31, 2.7):
            reynolds = rho * velocity * bore / mu
            head = np.pi * coil / bore * 0.5 * rho * velocity**2
            rows += [friction_factor_curved(reynolds, bore, coil, 3e-5, Method=n) * head for n in names]
            rows += [friction_factor_curved(1.3e4, bore, coil, Rec_method=n) * head for n in REFERENCE_RATIO]
            rows.append(friction_factor_curved(reynolds, bore, coil) * head)
    return np.array(rows)


def plates():
    """Fanning friction of chevron plates, one point for each branch of the correlations."""
    rows = []
    for angle in (28.5, 37.0, 47.0, 54.0, 62.0):
        for re in (8.7, 34.0, 190.0, 760.0, 2600.0):
            rows.append(friction_plate_Kumar(re, angle))
            rows.append(friction_plate_Martin_1999(re, angle))
            rows.append(friction_plate_Martin_VDI(re, angle))
            rows.append(friction_plate_Muley_Manglik(re, angle, 1.19))
    return np.array(rows) / 4.0


def mechanics(given):
    """Acceleration and gravity terms of a pipe, and the roughness of real walls."""
    drops, gradients, densities = [], [], []
    for rho, _, flow in given["fluids"]:
        drops.append(one_phase_dP_acceleration(flow, 0.0779, rho_o=0.83 * rho, rho_i=rho))
        drops.append(one_phase_dP_acceleration(flow, 0.0779, rho_o=0.83 * rho, rho_i=rho, D_i=0.0627))
        gradients.append(one_phase_dP_dz_acceleration(flow, 0.0779, rho, dv_dP=-1.1e-5, dP_dL=5e3, dA_dL=1.7e-4))
        densities += [one_phase_dP_gravitational(a, rho, L=3.7) / (3.7 * GRAVITY) for a in (-63.0, 17.0, 81.0)]
    walls = [roughness_Farshad("Cr13, bare", d) for d in given["bores_m"]]
    walls.append(roughness_Farshad(coeffs=(0.0021, -1.0055), D=0.0627))
    walls.append(material_roughness("Unlined tunnels, Shale, diameter 9-12 m"))
    return {
        "acceleration_drop": np.array(drops),
        "acceleration_gradient": np.array(gradients),
        "column_density": np.array(densities),
        "wall_roughness": np.array(walls),
        "transmission": np.array([transmission_factor(fd=0.0217), transmission_factor(F=13.1)]),
    }


def main():
    given = inputs()
    drops, defects = pipes(given)
    ratios, approximate = closures(given)
    np.savez(
        "observables.npz",
        pipe_drop=drops,
        darcy_weisbach=defects,
        limit_ratio=ratios,
        approximate_ratio=approximate,
        coil_drop=coils(given),
        plate_fanning=plates(),
        **mechanics(given),
    )


main()
