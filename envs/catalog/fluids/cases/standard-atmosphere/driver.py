"""The 1976 standard atmosphere: hydrostatic balance, gas law, transport properties, layer continuity."""

import json
import os

import numpy as np
from fluids.atmosphere import ATMOSPHERE_1976, airmass

DEFAULTS = {
    "heights_m": [-310, 1730, 7410, 13300, 17900, 24700, 29100, 36400, 44300, 49100, 58800, 67300, 78100, 84900],
    "offset_k": 11.7,
    "angles_deg": [83.0, 57.0, 31.0],
}
GAS_CONSTANT = 8.31432
AIR = 0.0289644
LAYER_TOPS = (11000.0, 20000.0, 32000.0, 47000.0, 51000.0, 71000.0)
EARTH = 6356766.0
PROPERTIES = {
    "temperature": "T",
    "pressure": "P",
    "density": "rho",
    "sound_speed": "v_sonic",
    "viscosity": "mu",
    "conductivity": "k",
    "gravity": "g",
}
"""Observable names and the attributes that hold them."""


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def pressure_gradient(height, step=25.0):
    """dp/dz in Pa/m by a fourth-order central difference."""
    p = [ATMOSPHERE_1976(height + n * step).P for n in (-2, -1, 1, 2)]
    return (p[0] - 8.0 * p[1] + 8.0 * p[2] - p[3]) / (12.0 * step)


def jump(geopotential):
    """Relative change of temperature and pressure over the centimetre around a layer's top."""
    height = EARTH * geopotential / (EARTH - geopotential)
    below, above = ATMOSPHERE_1976(height - 5e-3), ATMOSPHERE_1976(height + 5e-3)
    return [above.T / below.T - 1.0, above.P / below.P - 1.0]


def main():
    given = inputs()
    heights = given["heights_m"]
    standard = [ATMOSPHERE_1976(z) for z in heights]
    warm = [ATMOSPHERE_1976(z, given["offset_k"]) for z in heights]
    found = {name: np.array([getattr(a, at) for a in standard + warm]) for name, at in PROPERTIES.items()}
    weight = np.array([a.rho * a.g for a in standard])
    kappa = np.array([a.rho * a.v_sonic**2 / a.P for a in standard])
    drops = [
        ATMOSPHERE_1976.pressure_integral(t, p, dh) for t, p, dh in ((288.6, 84100.0, 31.0), (270.2, 61000.0, 440.0))
    ]
    np.savez(
        "observables.npz",
        **found,
        hydrostatic=np.array([pressure_gradient(z) for z in heights]) / weight + 1.0,
        gas_law=found["pressure"] * AIR / (found["density"] * GAS_CONSTANT * found["temperature"]) - 1.0,
        heat_capacity_ratio=kappa,
        layer_jump=np.array([jump(h) for h in LAYER_TOPS]),
        pressure_drop=np.array(drops),
        airmass=np.array([airmass(lambda z: ATMOSPHERE_1976(z).rho, a) for a in given["angles_deg"]]),
    )


main()
