"""Runs upstream tests and keeps the numbers they check: the *actual* side of each numerical assertion.

Reads $CASE_INPUT (`tests`: pytest ids relative to $SCIENCEIDE_TREE) and writes `observables.npz`, one array
for each test function with its numbers in order, and `durations.json`. A failing comparison is recorded and
does not end its test, so that what follows is recorded as well. Needs pytest and numpy.
"""

from __future__ import annotations

import decimal
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan)\s*==", re.IGNORECASE)


class Recorder:
    """A pytest plugin: collects numbers under the name of the test that is running."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.current: str | None = None
        self.depth = 0

    def add(self, actual: Any) -> None:
        """Keep a number or an array of them; anything else is not ours."""
        if self.current is None or self.depth:
            return
        try:
            array = np.asarray(actual)
        except ValueError:
            return
        if array.dtype.kind in "iufb":
            self.values[self.current].extend(array.astype(float).ravel().tolist())
        elif array.dtype.kind == "c":
            self.values[self.current].extend(array.astype(complex).ravel().view(float).tolist())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Name the running test; parametrised ones share their function's name."""
        self.current = item.nodeid.partition("[")[0]
        self.values.setdefault(self.current, [])
        started = time.perf_counter()
        try:
            return (yield)
        finally:
            spent = time.perf_counter() - started
            self.seconds[self.current] = self.seconds.get(self.current, 0.0) + spent
            self.current = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which tests do not pass."""
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])

    def pytest_assertion_pass(self, item: pytest.Item, lineno: int, orig: str, expl: str) -> None:
        """A plain `assert a == b` with a number on the left; what approx() compares is recorded there."""
        match = _NUMBER.match(expl)
        if match and "approx" not in orig and "±" not in expl:
            self.add(float(match[1]))


def spied(recorder: Recorder, original: Callable[..., None]) -> Callable[..., None]:
    """A comparison function of numpy.testing that records its first argument and never raises."""

    def comparison(*arguments: Any, **named: Any) -> None:
        recorder.add(arguments[0] if arguments else named.get("actual"))
        recorder.depth += 1
        try:
            original(*arguments, **named)
        except AssertionError:
            pass
        finally:
            recorder.depth -= 1

    return comparison


def install(recorder: Recorder) -> None:
    """Put the spies in place, before any test module imports the originals."""
    import numpy.testing as testing

    for name in ("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal"):
        original = getattr(testing, name, None)
        if original is not None:
            setattr(testing, name, spied(recorder, original))
    isclose = math.isclose

    def recorded_isclose(a: Any, b: Any, **named: Any) -> bool:
        recorder.add(a)
        isclose(a, b, **named)
        return True

    math.isclose = recorded_isclose
    # What approx() returns differs between versions of pytest: ask it, and take all that compares.
    samples = (1.0, [1.0], {"a": 1.0}, np.ones(1), decimal.Decimal(1))
    kinds = {kind for value in samples for kind in type(pytest.approx(value)).__mro__ if "pprox" in kind.__name__}
    for kind in kinds:
        if "__eq__" in vars(kind):
            setattr(kind, "__eq__", _recorded_eq(recorder, vars(kind)["__eq__"]))  # noqa: B010


def _recorded_eq(recorder: Recorder, original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def equal(self: Any, actual: Any) -> bool:
        recorder.add(actual)
        recorder.depth += 1
        try:
            original(self, actual)
        finally:
            recorder.depth -= 1
        return True

    return equal


def main() -> None:
    """Run the tests that the input names and write what they checked."""
    with open(os.environ["CASE_INPUT"], encoding="utf-8") as stream:
        tests = json.load(stream)["tests"]
    here = os.getcwd()
    recorder = Recorder()
    install(recorder)
    os.chdir(os.environ["SCIENCEIDE_TREE"])
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-o", "enable_assertion_pass_hook=true", "-o", "addopts="]
    code = pytest.main([*options, *tests], plugins=[recorder])
    os.chdir(here)
    arrays: dict[str, Any] = {name: np.array(values) for name, values in recorder.values.items() if values}
    np.savez("observables.npz", **arrays)
    with open("durations.json", "w", encoding="utf-8") as out:
        json.dump({"seconds": recorder.seconds, "failed": sorted(recorder.failed)}, out)
    # Failing tests are a result; only pytest's own trouble (2 and above) is an error.
    sys.exit(0 if code in (0, 1) else int(code))


if __name__ == "__main__":
    main()
