"""Upper atmosphere, air mass and sunshine at places and times: densities, the sun's path, clear-sky irradiation."""

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
    "places": [[51.04, -114.07, 1045.0], [-23.6, 133.9, 580.0], [7.3, 80.6, 490.0]],
    "days": [[2011, 2, 17], [2019, 7, 29], [2023, 10, 9]],
    "heights_m": [2300.0, 47000.0, 118000.0, 310000.0],
    "low_heights_m": [900.0, 6700.0, 14700.0, 28900.0, 41000.0, 49900.0, 66600.0, 82000.0, 85500.0],
}
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
AVOGADRO, GAS_CONSTANT = 6.02214076e23, 8.31446261815324
SPECIES = ("N2", "O2", "Ar", "He", "O", "H", "N")
MASSES = (28.0134, 31.9988, 39.948, 4.002602, 15.9994, 1.00794, 14.0067)


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def thermosphere(given):
    """Density, temperature, pressure by height, and what the gas law and the species' masses make of them."""
    bulk, densities, identities = [], [], []
    for number, height in enumerate(given["heights_m"]):
        latitude, longitude, _ = given["places"][number % len(given["places"])]
        storm = [4.0 + number] * 7 if number % 2 else None
        air = ATMOSPHERE_NRLMSISE00(
            height, latitude, longitude, day=41 + 83 * number, seconds=9000.0 * number, f107=131.0, f107_avg=143.0,
            geomagnetic_disturbance_indices=storm,
        )  # fmt: skip
        counts = np.array([getattr(air, f"{name}_density") for name in SPECIES])
        bulk.append([air.rho, air.P, air.T, air.T_exospheric])
        densities.append([*counts, air.O_anomalous_density])
        identities.append([
            air.P * AVOGADRO / (counts.sum() * GAS_CONSTANT * air.T) - 1.0,
            air.rho_calculated * 1000.0 * AVOGADRO / (counts @ np.array(MASSES)) - 1.0,
            sum(air.zs) - 1.0,
            air.zs[1] * air.particle_density / counts[1] - 1.0,
        ])  # fmt: skip
    density, pressure, temperature, exospheric = np.array(bulk).T
    return {
        "upper_density": density,
        "upper_pressure": pressure,
        "upper_temperature": np.array([temperature, exospheric]),
        "number_density": np.array(densities),
        "mixture_identities": np.array(identities),
    }


def lower_air(given):
    """A warm standard atmosphere by height, slant columns of air, and the drop of pressure over warm layers."""
    layers = [ATMOSPHERE_1976(height, dT=7.3) for height in given["low_heights_m"]]
    exponential = [airmass(lambda z: 1.219 * np.exp(-z / 8430.0), angle) for angle in (74.0, 39.0, 17.0)]
    drop = [
        ATMOSPHERE_1976.pressure_integral(281.0, 91000.0, 67.0),
        ATMOSPHERE_1976.pressure_integral(240.0, 31000.0, 210.0),
    ]
    found = {name: np.array([getattr(air, at) for air in layers]) for name, at in PROPERTIES.items()}
    return {**found, "slant_column": np.array(exponential), "pressure_drop": np.array(drop)}


def seconds_of_day(moment):
    return moment.hour * 3600.0 + moment.minute * 60.0 + moment.second + moment.microsecond * 1e-6


def sunshine(given):
    """The sun's distance (m), angles (degrees) and times (s), and irradiation of tilted planes (W/m2)."""
    distance, angles, times, power = [], [], [], []
    for (latitude, longitude, height), day in zip(given["places"], given["days"], strict=True):
        noon = datetime.datetime(*day, 12, 7, 19) - datetime.timedelta(hours=longitude / 15.0)
        distance.append(earthsun_distance(noon))
        angles.append(solar_position(noon, latitude, longitude, Z=height, T=291.0, P=93000.0))
        times.append([seconds_of_day(m) for m in sunrise_sunset(noon, latitude, longitude)])
        for tilt, azimuth in ((23.0, 171.0), (51.0, 117.0)):
            power.append(solar_irradiation(
                latitude, longitude, height, noon, tilt, azimuth, T=291.0, P=93000.0, linke_turbidity=2.6,
            ))  # fmt: skip
        power.append(solar_irradiation(
            latitude, longitude, height, noon, 31.0, 203.0, linke_turbidity=3.3, albedo=0.31,
        ))  # fmt: skip
    return np.array(distance), np.array(angles), np.array(times), np.array(power)


def main():
    given = inputs()
    distance, angles, times, power = sunshine(given)
    np.savez(
        "observables.npz",
        **thermosphere(given),
        **lower_air(given),
        sun_distance=distance,
        sun_angles=angles[:, :5],
        equation_of_time=angles[:, 5],
        sun_times=times,
        irradiation=power,
        components=power[:, 0] / power[:, 1:3].sum(axis=1) - 1.0,
    )


main()
