"""Tells Gymnasium about our environments; done when `scienceide` is imported."""

from __future__ import annotations

REPAIR = "scienceide/Repair-v0"


def register() -> None:
    """Register every environment id; repeating it changes nothing."""
    import gymnasium

    if REPAIR not in gymnasium.registry:
        gymnasium.register(
            REPAIR,
            entry_point="scienceide.envs.gym_env:ScienceEnv",
            vector_entry_point="scienceide.envs.vector:ScienceVectorEnv",
        )
