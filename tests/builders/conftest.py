"""A small scientific code of the builders' own: a pendulum, its recipe and its cases."""

import pytest

from scienceide.envs.sources import folder_sha256

CODE = '''\
"""Leapfrog integration of a harmonic oscillator."""

import math


def acceleration(position, stiffness):
    return -stiffness * position


def step(position, velocity, stiffness, dt):
    velocity = velocity + 0.5 * dt * acceleration(position, stiffness)
    position = position + dt * velocity
    velocity = velocity + 0.5 * dt * acceleration(position, stiffness)
    return position, velocity


def energy(position, velocity, stiffness):
    return 0.5 * velocity**2 + 0.5 * stiffness * position**2


def run(position, velocity, stiffness, dt, steps):
    path = [(position, velocity)]
    for _ in range(steps):
        position, velocity = step(position, velocity, stiffness, dt)
        path.append((position, velocity))
    return path


def period(stiffness):
    return 2.0 * math.pi / math.sqrt(stiffness)
'''

ENERGY = """\
import json, os
from oscillator import energy, run
inputs = {"stiffness": 1.7, **json.load(open(os.environ["CASE_INPUT"]))}
k = inputs["stiffness"]
path = run(1.0, 0.2, k, 0.01, 500)
values = {"energy": [energy(x, v, k) for x, v in path], "position": [x for x, _ in path]}
json.dump(values, open("observables.json", "w"))
"""

PERIOD = """\
import json, os
from oscillator import period, run
k = json.load(open(os.environ["CASE_INPUT"])).get("stiffness", 2.3)
path = run(1.0, 0.0, k, 0.001, 6000)
first = next(i for i, (_, v) in enumerate(path) if i > 10 and v >= 0.0)
json.dump({"formula": period(k), "measured": 2 * first * 0.001}, open("observables.json", "w"))
"""

ENVIRONMENT = """\
schema = 1
name = "{name}"
title = "A pendulum"
science = "physics"
# A comment that stays.
[source]
kind = "folder"
name = "pendulum"
path = "code"
sha256 = "{sha256}"
licence = "Apache-2.0"
[build.environment]
PYTHONPATH = "{{tree}}"
[editable]
include = ["*.py"]
[limits]
memory = "256 MiB"
processes = 32
disk = "64 MiB"
step_cpu = "20 s"
"""

ENERGY_CASE = """\
schema = 1
title = "Energy drift of the leapfrog integrator over 500 steps"
visible = true
variants = [{stiffness = 2.9}]
[[observable]]
name = "energy"
from = {file = "observables.json", key = "energy"}
unit = "J"
criterion = {kind = "conserved", tolerance = 1e-4}
[[observable]]
name = "position"
from = {file = "observables.json", key = "position"}
unit = "m"
shape = ["step"]
criterion = {kind = "norm", norm = "linf", scale = "field", tolerance = 1e-10}
"""

PERIOD_CASE = """\
schema = 1
title = "Period by formula and from the orbit"
visible = false
variants = [{stiffness = 4.1}]
[[observable]]
name = "formula"
from = {file = "observables.json", key = "formula"}
unit = "s"
criterion = {kind = "norm", scale = "relative", tolerance = 1e-12}
[[observable]]
name = "measured"
from = {file = "observables.json", key = "measured"}
unit = "s"
criterion = {kind = "norm", scale = "relative", tolerance = 1e-3}
"""


def write_pendulum(folder):
    """The recipe as a folder, whose name is the environment's."""
    files = {
        "code/oscillator.py": CODE,
        "cases/energy/driver.py": ENERGY,
        "cases/energy/case.toml": ENERGY_CASE,
        "cases/period/driver.py": PERIOD,
        "cases/period/case.toml": PERIOD_CASE,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    text = ENVIRONMENT.format(name=folder.name, sha256=folder_sha256(folder / "code"))
    (folder / "environment.toml").write_text(text)
    return folder


@pytest.fixture(scope="session")
def pendulum(tmp_path_factory):
    return write_pendulum(tmp_path_factory.mktemp("recipes") / "pendulum")
