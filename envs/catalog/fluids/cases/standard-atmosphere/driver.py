"""The standard atmosphere's balance, gas law and layers; the air far above it; the sun over a place below it."""

import datetime
import json
import os

import numpy as np
from fluids.atmosphere import (
    ATMOSPHERE_1976,
    ATMOSPHERE_NRLMSISE00,
    airmass,
    earthsun_distance,
    solar_irradiation,
    solar_position,
    sunrise_sunset,
)

DEFAULTS = {
    "heights_m": [-310, 1730, 7410, 13300, 17900, 24700, 29100, 36400, 44300, 49100, 58800, 67300, 78100, 84900],
    "offset_k": 11.7,
    "angles_deg": [83.0, 57.0, 31.0],
    "place": [46.2, 7.9, 1730.0],
    "moment": [2017, 5, 23, 10, 43, 11],
    "upper_height_m": 187000.0,
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


def upper_air(given):
    """Species densities (1/m3), mass density (kg/m3) and pressure (Pa) far up, and their gas law, minus one."""
    air = ATMOSPHERE_NRLMSISE00(given["upper_height_m"], *given["place"][:2], day=143, seconds=31700.0, f107=121.0)
    counts = np.array([getattr(air, f"{name}_density") for name in ("N2", "O2", "Ar", "He", "O", "H", "N")])
    constant = 1.380649e-23
    return {
        "upper_number_density": np.append(counts, air.O_anomalous_density),
        "upper_density": np.array([air.rho]),
        "upper_temperature": np.array([air.T, air.T_exospheric]),
        "upper_gas_law": np.array([air.P / (counts.sum() * constant * air.T) - 1.0, sum(air.zs) - 1.0]),
        "upper_mass": np.array([air.rho_calculated / air.rho - 1.0]),
    }


def sunshine(given):
    """The sun's distance, place in the sky, rise and set, and what a tilted plane receives."""
    latitude, longitude, height = given["place"]
    moment = datetime.datetime(*given["moment"])
    angles = solar_position(moment, latitude, longitude, Z=height, T=283.0, P=82000.0)
    events = sunrise_sunset(moment, latitude, longitude)
    power = solar_irradiation(latitude, longitude, height, moment, 37.0, 153.0, linke_turbidity=2.9)
    clear = solar_irradiation(latitude, longitude, height, moment, 37.0, 153.0, T=283.0, P=82000.0, linke_turbidity=2.9)
    return {
        "sun_distance": np.array([earthsun_distance(moment)]),
        "sun_angles": np.array(angles[:5]),
        "sun_times": np.array([(e - moment).total_seconds() for e in events]),
        "irradiation": np.array([power, clear]),
    }


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
        **upper_air(given),
        **sunshine(given),
        hydrostatic=np.array([pressure_gradient(z) for z in heights]) / weight + 1.0,
        gas_law=found["pressure"] * AIR / (found["density"] * GAS_CONSTANT * found["temperature"]) - 1.0,
        heat_capacity_ratio=kappa,
        layer_jump=np.array([jump(h) for h in LAYER_TOPS]),
        pressure_drop=np.array(drops),
        airmass=np.array([airmass(lambda z: ATMOSPHERE_1976(z).rho, a) for a in given["angles_deg"]]),
    )


main()
