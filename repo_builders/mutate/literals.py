"""Perturbing a numeric literal the way a slip of the pen does: one digit, visible but not absurd."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?([fFlL]?)")
_LEAST = 1e-4
"""Smaller literals are tolerances and guards, not physics."""


def significant_digits(literal: str) -> str:
    """The significant digits of a decimal literal: `0.0550` → `55`."""
    match = _DECIMAL.fullmatch(literal)
    return match[1].replace(".", "").strip("0") if match else ""


def is_simple(literal: str) -> bool:
    """Whether a literal is one that a formula's derivation gives: 2, 0.5, 12, but not 0.0055."""
    match = _DECIMAL.fullmatch(literal)
    return match is not None and match[2] is None and len(significant_digits(literal)) <= 2


def perturbed(literal: str, seed: int) -> str | None:
    """Another value in the same notation, chosen by `seed`; None where the literal is no coefficient.

    One of the first three significant digits moves by one to three, so that the value changes by
    between 0.1 % and a factor of a few.
    """
    match = _DECIMAL.fullmatch(literal)
    if match is None or abs(float(match[1] + (match[2] or ""))) < _LEAST:
        return None
    mantissa = match[1]
    first = next(i for i, c in enumerate(mantissa) if c in "123456789")
    places = [i for i, c in enumerate(mantissa) if i >= first and c.isdigit()][:3]
    if "." not in mantissa:
        places = [i for i in places if i == len(mantissa) - 1 or mantissa[i + 1 :].strip("0") != ""] or places[:1]
    place = places[seed % len(places)]
    return (
        mantissa[:place]
        + _moved(mantissa[place], seed, leading=place == first)
        + mantissa[place + 1 :]
        + ((match[2] or "") + match[3])
    )


def _moved(digit: str, seed: int, *, leading: bool) -> str:
    """`digit` moved by one to three, and not to zero where it leads."""
    step = 1 + seed // 7 % 3
    value = int(digit)
    for candidate in (value + step, value - step, value + 1, value - 1):
        if (1 if leading else 0) <= candidate <= 9:
            return str(candidate)
    raise AssertionError("one of ±1 is always a digit")
