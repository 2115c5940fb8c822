"""Shared fixtures: an own cache and run store for the whole test session, and the small test catalog."""

import os
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures" / "catalog"


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory):
    """Nothing a test writes lands in the user's folders.

    The cache of built things is kept between sessions where `SCIENCEIDE_TEST_CACHE` says so: roots and builds
    are content-addressed, so an old one is as good as a new one.
    """
    cache = os.environ.get("SCIENCEIDE_TEST_CACHE") or str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIENCEIDE_CACHE", cache)
        patch.setenv("SCIENCEIDE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("SCIENCEIDE_CATALOG", str(FIXTURES))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delenv("SCIENCEIDE_STORE", raising=False)
        yield


@pytest.fixture(scope="session")
def shop(_own_folders):
    """One workshop on bubblewrap for all tests that need a sandbox but do not test it."""
    from scienceide.envs.workshop import Workshop

    with Workshop("auto") as workshop:
        yield workshop
