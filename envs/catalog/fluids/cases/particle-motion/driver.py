"""A particle that falls, overshoots and travels: trajectories against their closed forms, and dust lines."""

import json
import os

import numpy as np
from fluids import saltation
from fluids.drag import (
    Song_Xu,
    drag_sphere,
    drag_sphere_methods,
    integrate_drag_sphere,
    time_v_terminal_Stokes,
    v_terminal,
)

DEFAULTS = {
    "creeping": [[3.1e-6, 1470.0], [8.3e-6, 2210.0]],
    "inertial": [[1.7e-3, 2470.0, 0.0], [4.1e-4, 7790.0, 11.0]],
    "air": [1.204, 1.825e-5],
    "water": [997.1, 8.9e-4],
    "feeds_kg_s": [0.113, 1.31],
}
GRAVITY = 9.80665


def inputs():
    """The defaults, with what the file named by `$CASE_INPUT` says laid over them."""
    path = os.environ.get("CASE_INPUT")
    if not path:
        return DEFAULTS
    with open(path, encoding="utf-8") as file:
        return {**DEFAULTS, **json.load(file)}


def creeping(given):
    """Stokes particles after some relaxation times: velocity and path over their closed forms, minus one."""
    rho, mu = given["air"]
    ratios = []
    for size, solid in given["creeping"]:
        tau = size**2 * solid / (18.0 * mu)
        final = tau * GRAVITY * (1.0 - rho / solid)
        for start in (0.0, 3.0 * final):
            for times in (0.41, 1.9, 4.3):
                decay = np.exp(-times)
                speed, path = integrate_drag_sphere(size, solid, rho, mu, times * tau, V=start, distance=True)
                ratios.append(speed / (final + (start - final) * decay))
                ratios.append(path / (final * times * tau + (start - final) * tau * (1.0 - decay)))
        ratios.append(v_terminal(size, solid, rho, mu) / final)
        ratios.append(time_v_terminal_Stokes(size, solid, rho, mu, V0=0.0, tol=1e-5) / (tau * np.log(1e5)))
    return np.array(ratios) - 1.0


def inertial(given):
    """Speeds and paths (m/s, m) of heavy spheres; and, released at rest for long, how far from steady they are."""
    rho, mu = given["air"]
    rows, steady = [], []
    for size, solid, start in given["inertial"]:
        for moment in (0.037, 0.21):
            rows.append(integrate_drag_sphere(size, solid, rho, mu, moment, V=start, distance=True))
        late = integrate_drag_sphere(size, solid, *given["water"], 9.0, V=start)
        steady.append(late / v_terminal(size, solid, *given["water"]) - 1.0)
    return np.array(rows), np.array(steady)


def settling_by_method(given):
    """Terminal velocity (m/s) where each drag curve holds, and the drag over buoyant weight there, minus one."""
    rho, mu = given["water"]
    speeds, imbalance = [], []
    for size, solid in ((2.3e-4, 1530.0), (8.7e-4, 2650.0), (2.9e-3, 2650.0)):
        guess = v_terminal(size, solid, rho, mu)
        for name in sorted({*drag_sphere_methods(rho * guess * size / mu), "Ceylan"}):
            speed = v_terminal(size, solid, rho, mu, Method=name)
            drag = drag_sphere(rho * speed * size / mu, Method=name)
            speeds.append(speed)
            imbalance.append(0.75 * drag * rho * speed**2 / ((solid - rho) * GRAVITY * size) - 1.0)
    shaped = [Song_Xu(re, sphericity=0.78, S=0.87) for re in (0.31, 17.0, 410.0)]
    outside = [drag_sphere(re, Method=n) for re in (0.047, 3.1e5, 7.7e5) for n in ("Clift", "Morrison", "Almedeij")]
    return np.array(speeds), np.array(imbalance), np.array([*shaped, *outside, drag_sphere(0.037), drag_sphere(4.3e5)])


def dust_lines(given):
    """Saltation velocity of fine, medium and coarse dust, and its growth exponent with the feed."""
    speeds, exponents = [], []
    for bore in (0.0531, 0.1017, 0.263):
        for feed in given["feeds_kg_s"]:
            for size, solid, fall in ((4.9e-5, 1240.0, 0.21), (7.9e-4, 2300.0, 4.9), (2.7e-3, 880.0, 7.7)):
                sized = {"rhop": solid, "dp": size, "rhog": 1.31, "D": bore}
                laws = (
                    lambda m, a=size, d=bore: saltation.Rizk(m, a, 1.31, d),
                    lambda m, a=sized, v=fall: saltation.Matsumoto_1974(m, Vterminal=v, **a),
                    lambda m, a=sized, v=fall: saltation.Matsumoto_1975(m, Vterminal=v, **a),
                    lambda m, a=sized, v=fall: saltation.Matsumoto_1977(m, Vterminal=v, **a),
                    lambda m, a=sized: saltation.Schade(m, **a),
                    lambda m, a=sized, v=fall: saltation.Weber_saltation(m, Vterminal=v, **a),
                    lambda m, d=bore: saltation.Geldart_Ling(m, 1.31, d, 1.79e-5),
                )
                speeds += [law(feed) for law in laws]
                exponents += [np.log(law(1.01 * feed) / law(feed)) / np.log(1.01) for law in laws]
    return np.array(speeds), np.array(exponents)


def main():
    given = inputs()
    rows, steady = inertial(given)
    speeds, imbalance, shaped = settling_by_method(given)
    dust, exponents = dust_lines(given)
    np.savez(
        "observables.npz",
        creeping_error=creeping(given),
        speed=rows[:, 0],
        path=rows[:, 1],
        steady_error=steady,
        terminal_velocity=speeds,
        imbalance=imbalance,
        shaped_drag=shaped,
        saltation_velocity=dust,
        feed_exponent=exponents,
    )


main()
