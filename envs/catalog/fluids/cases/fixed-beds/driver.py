"""Design of fixed beds and columns: fluidisation, wall effects, local exponents, demisters, flooding charts."""

import json
import os

import numpy as np
from fluids.packed_bed import (
    Guo_Sun,
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
    "grains": [[3.7e-4, 2490.0, 0.417], [1.21e-3, 1610.0, 0.381], [4.6e-3, 2210.0, 0.459]],
    "gas": [1.83, 2.07e-5],
    "columns": [[0.741, 196.0, 17.0, 0.7, 0.23], [0.967, 231.0, 0.0, 0.0, 1.17]],
    "speeds_m_s": [0.73, 1.9, 4.4],
}
GRAVITY = 9.80665


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def incipient_speed(law, target):
    """The superficial velocity (m/s) at which a monotone drop law reaches `target` Pa/m, by bisection."""
    low, high = 1e-7, 50.0
    for _ in range(70):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if law(middle) < target else (low, middle)
    return np.sqrt(low * high)


def fluidisation(given):
    """Incipient fluidisation velocity by each law, and the law's local exponent there."""
    rho, mu = given["gas"]
    speeds, exponents = [], []
    for size, solid, void in given["grains"]:
        weight = (1.0 - void) * (solid - rho) * GRAVITY
        for name in sorted(dP_packed_bed_methods(size, void, 0.1, rho, mu, Dt=0.11)):
            tube = {"Dt": 37.0 * size} if name.startswith(("Guo", "Harrison", "Montillet")) else {}

            def law(v, n=name, t=tube, d=size, e=void):
                return dP_packed_bed(d, e, v, rho, mu, Method=n, **t)

            if name.startswith("Guo"):

                def law(v, d=size, e=void):
                    return Guo_Sun(d, e, v, rho, mu, Dt=2.6 * d)

            speed = incipient_speed(law, weight)
            speeds.append(speed)
            exponents.append(np.log(law(1.01 * speed) / law(speed)) / np.log(1.01))
    return np.array(speeds), np.array(exponents)


def ergun_root(given):
    """Incipient fluidisation by Ergun's law against the root of its quadratic, minus one."""
    rho, mu = given["gas"]
    rows = []
    for size, solid, void in given["grains"]:
        weight = (1.0 - void) * (solid - rho) * GRAVITY
        viscous = 150.0 * mu * (1.0 - void) ** 2 / (void**3 * size**2)
        inertial = 1.75 * rho * (1.0 - void) / (void**3 * size)
        root = (np.sqrt(viscous**2 + 4.0 * inertial * weight) - viscous) / (2.0 * inertial)
        found = incipient_speed(lambda v, d=size, e=void: dP_packed_bed(d, e, v, rho, mu, Method="Ergun"), weight)
        rows.append(found / root - 1.0)
    return np.array(rows)


def walls(given):
    """Drop with the wall near over drop with it far, and bed voidages by tube-to-particle ratio."""
    rho, mu = given["gas"]
    ratios, voidages = [], []
    for size, _, void in given["grains"]:
        for tubes in (6.3, 17.0, 83.0):
            for name in ("Harrison, Brunner & Hecker", "Montillet, Akkari & Comiti"):
                near = dP_packed_bed(size, void, 0.31, rho, mu, L=0.7, Dt=tubes * size, Method=name)
                ratios.append(near / dP_packed_bed(size, void, 0.31, rho, mu, L=0.7, Method=name))
            voidages.append(voidage_Benyahia_Oneil(size, tubes * size, 0.83))
            voidages.append(voidage_Benyahia_Oneil_spherical(size, tubes * size))
            voidages.append(voidage_Benyahia_Oneil_cylindrical(size, tubes * size, 0.83))
    voidages.append(voidage_experimental(11.3, 7870.0, 0.171, 0.231))
    return np.array(ratios), np.array(voidages)


def columns(given):
    """Drops (Pa) of dry and irrigated columns under their flooding point, the point itself, and Robbins' chart."""
    rho, mu = given["gas"]
    drops, floods = [], []
    for packing in given["columns"]:
        for liquid in (0.0013, 0.0037):
            flood = Stichlmair_flood(liquid, rho, 871.0, mu, *packing)
            floods.append(flood)
            for share in (0.43, 0.79):
                drops.append(Stichlmair_dry(share * flood, rho, mu, *packing, H=1.3))
                drops.append(Stichlmair_wet(share * flood, liquid, rho, 871.0, mu, *packing, H=1.3))
    drops += [Robbins(L, G, 871.0, rho, mul=5.3e-4, H=2.0) for L in (2.3, 19.0) for G in (0.31, 1.47)]
    return np.array(drops), np.array(floods)


def demisters(given):
    """Drop (Pa) of dry and wet wire mesh and its catch, with the growth exponents over velocity."""
    rho, mu = given["gas"]
    areas, values, exponents = [], [], []
    for void, wire in ((0.9831, 2.81e-4), (0.969, 1.63e-4)):
        area = specific_area_mesh(void, wire)
        areas.append(area)
        laws = (
            lambda v, e=void, a=area: dP_demister_dry_Setekleiv_Svendsen(a, e, v, rho, mu, L=0.029),
            lambda v, e=void, a=area: dP_demister_dry_Setekleiv_Svendsen_lit(a, e, v, rho, mu, L=0.029),
            lambda v, e=void, d=wire: dP_demister_wet_ElDessouky(v, e, d, L=0.13),
            lambda v, e=void, d=wire: separation_demister_ElDessouky(0.1 * v, e, d, 2.7e-5),
        )
        for speed in given["speeds_m_s"]:
            values += [law(speed) for law in laws]
            exponents += [np.log(law(1.01 * speed) / law(speed)) / np.log(1.01) for law in laws]
    values = np.array(values).reshape(-1, 4)
    return {
        "mesh_area": np.array(areas),
        "demister_drop": values[:, :3],
        "demister_catch": values[:, 3],
        "demister_exponent": np.array(exponents),
    }


def main():
    given = inputs()
    speeds, growth = fluidisation(given)
    ratios, voidages = walls(given)
    drops, floods = columns(given)
    np.savez(
        "observables.npz",
        incipient_velocity=speeds,
        bed_exponent=growth,
        ergun_root=ergun_root(given),
        wall_ratio=ratios,
        voidage=voidages,
        column_drop=drops,
        flooding_velocity=floods,
        **demisters(given),
    )


main()
