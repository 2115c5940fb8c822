"""Which verifier judged: a hash of its code, and of the specs it judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from scienceide.base.paths import content_hash
from scienceide.verifiers.spec import ObservableSpec


def verifier_hash(specs: Mapping[str, Sequence[ObservableSpec]] | None = None) -> str:
    """A short content address: equal hashes mean that the same code judged by the same specs.

    Args:
        specs: observables by case; None for the code alone.
    """
    if specs is None:
        return _code_hash()
    stated = {case: [spec.model_dump(mode="json") for spec in group] for case, group in specs.items()}
    return content_hash(_code_hash(), stated)


@cache
def _code_hash() -> str:
    modules = sorted(Path(__file__).parent.glob("*.py"))
    return content_hash({module.name: module.read_text(encoding="utf-8") for module in modules})
