"""Verifying a one-file patch of the compiled environment, beside a clean build with all cases, in one run."""

from __future__ import annotations

import time

from benchmarks.measure import Row, show
from scienceide.envs.catalog import load_environment
from scienceide.envs.grading import measure
from scienceide.envs.patch import Patch
from scienceide.envs.pristine import forget, prepare
from scienceide.envs.sandbox import available
from scienceide.envs.workshop import Workshop

ENVIRONMENT, FILE = "spglib", "src/niggli.c"
TIMES = 3


def main() -> None:
    """Print a table per sandbox."""
    for sandbox in ("bubblewrap", "docker"):
        if available()[sandbox].ok:
            show(f"Verification of {ENVIRONMENT}, {sandbox}", _rows(sandbox))


def _rows(sandbox: str) -> list[Row]:
    with Workshop(sandbox, thrifty=False) as shop:
        environment = load_environment(ENVIRONMENT)
        ready = shop.environment(environment)
        before = (ready.pristine.layer / FILE).read_bytes()
        patched, clean, builds = [], [], []
        for number in range(TIMES):
            # A comment changes the file and so its object, but not what is right.
            patch = Patch({FILE: before + f"\n/* {number} {time.time()} */\n".encode()})
            started = time.perf_counter()
            measured = measure(ready.pristine, patch.files)
            patched.append(time.perf_counter() - started)
            if measured.build_log or measured.failures:
                raise SystemExit(f"The patched code fails: {measured.build_log or measured.failures}")
            started = time.perf_counter()
            fresh = prepare(environment, shop.provider, extra={"SCIENCEIDE_BENCHMARK": str(time.time())})
            builds.append(time.perf_counter() - started)
            measure(fresh, {})
            clean.append(time.perf_counter() - started)
            forget(fresh)
    ratios = [100 * p / c for p, c in zip(patched, clean, strict=True)]
    return [
        Row(f"verify a patch of {FILE}: rebuild and all cases", patched, "s", "≤ 10 s"),
        Row("clean build alone", builds, "s"),
        Row("clean build and all cases", clean, "s"),
        Row("patch over clean build and all cases", ratios, "%", "≤ 25 %"),
    ]
