"""Flow through packings: friction laws of packed beds and their limits, irrigated columns up to flooding."""

import json
import os

import numpy as np
from fluids.packed_bed import (
    dP_packed_bed,
    dP_packed_bed_methods,
    voidage_Benyahia_Oneil,
    voidage_Benyahia_Oneil_cylindrical,
    voidage_Benyahia_Oneil_spherical,
)
from fluids.packed_tower import (
    Robbins,
    Stichlmair_dry,
    Stichlmair_flood,
    Stichlmair_wet,
    dP_demister_dry_Setekleiv_Svendsen,
    dP_demister_dry_Setekleiv_Svendsen_lit,
    dP_demister_wet_ElDessouky,
    separation_demister_ElDessouky,
    specific_area_mesh,
    voidage_experimental,
)

DEFAULTS = {
    "particles_m": [2.3e-4, 1.7e-3, 8.9e-3],
    "voidages": [0.367, 0.443],
    "velocities_m_s": [1.3e-3, 0.031, 0.57],
    "fluid": [998.4, 1.01e-3],
    "tube_m": 0.0713,
    "packing": [0.683, 267.0, 31.0, 1.3, 0.41],
    "liquid_m_s": [0.0021, 0.0057],
}
GAS = (1.187, 1.83e-5)
LIQUID = 1007.0
GRAVITY = 9.80665


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def beds(given):
    """Drop in Pa of 0.83 m of bed by every correlation, with a wall where the correlation knows one."""
    rho, mu = given["fluid"]
    drops = []
    for size in given["particles_m"]:
        for void in given["voidages"]:
            for speed in given["velocities_m_s"]:
                at = {"dp": size, "voidage": void, "vs": speed, "rho": rho, "mu": mu, "L": 0.83}
                names = sorted(dP_packed_bed_methods(**at, Dt=given["tube_m"]))
                drops += [dP_packed_bed(**at, Dt=given["tube_m"], Method=name) for name in names]
                drops += [dP_packed_bed(**at, Method=name) for name in names if not name.startswith("Guo")]
                drops += [dP_packed_bed(**at), dP_packed_bed(**at, sphericity=0.71), dP_packed_bed(**at, Dt=0.31)]
    return np.array(drops)


def viscous_constants():
    """Blake and Kozeny's constant that each law approaches as inertia vanishes."""
    size, void, speed, rho, mu = 3.1e-4, 0.391, 2.7e-9, 998.0, 1.1e-3
    unit = mu * speed / size**2 * (1.0 - void) ** 2 / void**3
    names = (
        "Ergun",
        "Kuo & Nydegger",
        "Tallmadge",
        "Jones & Krier",
        "Carman",
        "Brauer",
        "KTA",
        "Erdim, Akgiray & Demir",
    )
    return np.array([dP_packed_bed(size, void, speed, rho, mu, Method=name) / unit for name in names])


def ergun_balance(given):
    """Ergun's law as the sum of a viscous and an inertial part, minus one."""
    rho, mu = given["fluid"]
    rows = []
    for size in given["particles_m"]:
        for void in given["voidages"]:
            for speed in given["velocities_m_s"]:
                viscous = 150.0 * mu * speed * (1.0 - void) ** 2 / (void**3 * size**2)
                inertial = 1.75 * rho * speed**2 * (1.0 - void) / (void**3 * size)
                rows.append(
                    dP_packed_bed(size, void, speed, rho, mu, L=1.0, Method="Ergun") / (viscous + inertial) - 1.0
                )
    return np.array(rows)


def irrigated(given):
    """Dry and wet drop (Pa) of a packed column, its flooding velocity (m/s), and how close to it the drop rises."""
    void, area, *shape = given["packing"]
    rho, mu = GAS
    rows, floods = [], []
    for liquid in given["liquid_m_s"]:
        flood = Stichlmair_flood(liquid, rho, LIQUID, mu, void, area, *shape, H=2.3)
        floods.append(flood)
        for share in (0.31, 0.62, 0.88):
            dry = Stichlmair_dry(share * flood, rho, mu, void, area, *shape, H=2.3)
            wet = Stichlmair_wet(share * flood, liquid, rho, LIQUID, mu, void, area, *shape, H=2.3)
            rows.append([dry, wet])
    return np.array(rows), np.array(floods)


def holdup_residual(given, rows, floods):
    """What the wet drop leaves of the hold-up balance of a column, over the drop itself."""
    void, area, c1, c2, c3 = given["packing"]
    rho, mu = GAS
    residuals = []
    for number, (dry, wet) in enumerate(rows):
        liquid, flood = given["liquid_m_s"][number // 3], floods[number // 3]
        reynolds = (0.31, 0.62, 0.88)[number % 3] * flood * rho * 6.0 * (1.0 - void) / area / mu
        factor = c1 / reynolds + c2 / np.sqrt(reynolds) + c3
        slope = -(c1 / reynolds + 0.5 * c2 / np.sqrt(reynolds)) / factor
        held = 0.555 * (liquid**2 * area / (GRAVITY * void**4.65)) ** (1.0 / 3.0)
        held *= 1.0 + 20.0 * (wet / (2.3 * LIQUID * GRAVITY)) ** 2
        grown = ((1.0 - void + held) / (1.0 - void)) ** ((2.0 + slope) / 3.0)
        residuals.append(dry * grown * (void / (void - held)) ** 4.65 / wet - 1.0)
    return np.array(residuals)


def internals(given):
    """Random packing by Robbins, wire-mesh demisters, and the voidage of spheres in a tube."""
    random = [Robbins(L, G, LIQUID, 2.71, 8.7e-4, H=1.9, Fpd=31.0) for L in (3.1, 11.7) for G in (0.71, 2.3)]
    mesh = specific_area_mesh(0.9763, 2.71e-4)
    wire = [dP_demister_dry_Setekleiv_Svendsen(mesh, 0.9763, v, *GAS, L=0.061) for v in (0.83, 3.7)]
    wire += [dP_demister_dry_Setekleiv_Svendsen_lit(mesh, 0.9763, v, *GAS, L=0.061) for v in (0.83, 3.7)]
    wire += [dP_demister_wet_ElDessouky(v, 0.9763, 2.71e-4, L=0.061) for v in (0.83, 3.7)]
    tube = given["tube_m"]
    voids = [voidage_Benyahia_Oneil_spherical(d, tube) for d in given["particles_m"]]
    voids += [voidage_Benyahia_Oneil(d, tube, 0.87) for d in given["particles_m"]]
    voids += [voidage_Benyahia_Oneil_cylindrical(d, tube, 0.87) for d in given["particles_m"]]
    return {
        "random_packing_drop": np.array(random),
        "demister_drop": np.array(wire),
        "mesh_area": np.array([mesh]),
        "demister_catch": np.array([separation_demister_ElDessouky(1.35, 0.97, 2.7e-4, d) for d in (2.3e-5, 5.1e-5)]),
        "voidage": np.array([*voids, voidage_experimental(5.3, 8010.0, tube, 0.613)]),
    }


def main():
    given = inputs()
    rows, floods = irrigated(given)
    np.savez(
        "observables.npz",
        bed_drop=beds(given),
        viscous_constant=viscous_constants(),
        ergun_balance=ergun_balance(given),
        column_drop=rows,
        flooding_velocity=floods,
        holdup_residual=holdup_residual(given, rows, floods),
        **internals(given),
    )


main()
