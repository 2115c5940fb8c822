"""`python -m benchmarks [name …]`: all benchmarks, or those named."""

from __future__ import annotations

import importlib
import sys

from benchmarks.measure import console
from scienceide.infra import this_machine

NAMES = ("sandbox", "episodes", "verification")


def main(names: list[str]) -> None:
    """Run and print."""
    console.print(this_machine().line(), style="bold", highlight=False)
    for name in names or NAMES:
        if name not in NAMES:
            sys.exit(f"No benchmark named {name!r}; there are {', '.join(NAMES)}.")
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
