"""ScienceIDE: scientific code as verified training grounds for agents.

    import scienceide as si

    si.environments()                               # what there is
    env = si.make("fluids/…", sandbox="auto")       # a gymnasium.Env
    run = si.train(model="smollm2-135m", algorithm="grpo", steps=4)   # returns at once
    run.watch(); run.metrics; run.plot()

Importing it registers `scienceide/Repair-v0` with Gymnasium; everything else is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scienceide.registration import register

if TYPE_CHECKING:
    from scienceide.api import RunHandle, environments, evaluate, make, play, plot, runs, tasks, train

__version__ = "0.1.0"

__all__ = ["RunHandle", "__version__", "environments", "evaluate", "make", "play", "plot", "runs", "tasks", "train"]


register()


def __getattr__(name: str) -> Any:
    if name in __all__:
        import scienceide.api

        return getattr(scienceide.api, name)
    raise AttributeError(f"module 'scienceide' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
