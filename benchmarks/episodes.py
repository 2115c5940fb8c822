"""Whole episodes: how much of the time is the code's own, how many end per second, what importing costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.measure import Row, repeat, show
from scienceide.envs.agents import make_agent, run
from scienceide.envs.sandbox import available
from scienceide.envs.workshop import Workshop

TRIVIAL = "oscillator/kick-sign"
CATALOG = Path(__file__).parent.parent / "tests" / "fixtures" / "catalog"
JOBS = 2


def main() -> None:
    """Print the table."""
    os.environ["SCIENCEIDE_CATALOG"] = str(CATALOG)
    rows = [
        Row("import scienceide", repeat(_import, 7), "ms", "≤ 300 ms"),
        Row("warm oracle reward, new process", repeat(_first_reward, 3, warmup=1, scale=1), "s", "≤ 10 s"),
    ]
    for name in ("bubblewrap", "docker"):
        if available()[name].ok:
            rows += _episodes(name)
    show("Episodes", rows)


def _episodes(sandbox: str) -> list[Row]:
    with Workshop(sandbox, thrifty=False) as shop:
        _oracle(shop, TRIVIAL)
        rates = []
        shares = []
        for _ in range(3):
            started = time.perf_counter()
            with ThreadPoolExecutor(JOBS) as pool:
                records = list(pool.map(lambda _: _oracle(shop, TRIVIAL), range(16)))
            wall = time.perf_counter() - started
            rates.append(len(records) / wall)
        started = time.perf_counter()
        with ThreadPoolExecutor(JOBS) as pool:
            records = list(pool.map(lambda _: _oracle(shop, _real_task()), range(32)))
        wall = time.perf_counter() - started
        shares.append(100 * sum(r.verdict.cpu_s for r in records if r.verdict) / (JOBS * wall))
    return [
        Row(f"oracle on a trivial task, {JOBS} at a time, {sandbox}", rates, "episodes/s", "≥ 2.5 (Docker)"),
        Row(f"32 oracle episodes, {sandbox}: CPU in cases and commands", shares, "% of cores", "≥ 80 %"),
    ]


def _real_task() -> str:
    from scienceide.envs.catalog import task_ids

    return task_ids(environment="fluids", split="train")[0]


def _oracle(shop: Workshop, task: str):  # noqa: ANN202
    record = run(make_agent("oracle"), shop, task, seed=0)
    if record.reward != 1.0:
        raise SystemExit(f"The oracle earned {record.reward} on {task}: {record.fault}")
    return record


def _import() -> None:
    subprocess.run([sys.executable, "-c", "import scienceide"], check=True)


def _first_reward() -> None:
    command = [sys.executable, "-m", "scienceide", "episode", "run", TRIVIAL, "--agent", "oracle", "--json"]
    subprocess.run(command, check=True, capture_output=True)
