"""The same sandbox tests for every kind of sandbox: `box` is a pristine one of each kind in turn."""

import pytest

from scienceide.envs.sandbox import available, provider
from scienceide.envs.sandbox.protocol import Limits, SandboxSpec

KINDS = ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
LIMITS = Limits(memory=256 * 2**20, processes=32, disk=64 * 2**20, cpu_s=20.0, wall_s=20.0, output=8192)


@pytest.fixture(scope="session", params=KINDS)
def maker(request):
    """A provider of each kind that works here."""
    state = available()[request.param]
    if not state.ok:
        pytest.skip(f"{request.param}: {state.reason}")
    made = provider(request.param)
    yield made
    made.close()


@pytest.fixture(scope="session")
def root(maker):
    return maker.prepare_root()


@pytest.fixture(scope="session")
def layers(tmp_path_factory):
    """Two layers: `top` hides one file of `bottom`."""
    top, bottom = tmp_path_factory.mktemp("top"), tmp_path_factory.mktemp("bottom")
    (bottom / "pkg").mkdir()
    (bottom / "a.txt").write_text("bottom a\n")
    (bottom / "b.txt").write_text("bottom b\n")
    (bottom / "pkg" / "one.py").write_text("one = 1\n")
    (bottom / "pkg" / "two.py").write_text("two = 2\n")
    (bottom / "tool.sh").write_text("#!/bin/sh\necho tool\n")
    (bottom / "tool.sh").chmod(0o755)
    (bottom / "link").symlink_to("a.txt")
    (top / "b.txt").write_text("top b\n")
    (top / "c.txt").write_text("top c\n")
    return top, bottom


@pytest.fixture
def spec(root, layers):
    return SandboxSpec(root=root, layers=layers, limits=LIMITS)


@pytest.fixture(scope="session")
def shared(maker, root, layers):
    sandbox = maker.acquire(SandboxSpec(root=root, layers=layers, limits=LIMITS))
    yield sandbox
    sandbox.close()


@pytest.fixture
def box(shared, layers):
    """A pristine sandbox over both layers."""
    shared.reset(layers)
    return shared


@pytest.fixture
def acquire(maker, spec):
    """Sandboxes of a test's own, closed at its end."""
    made = []

    def one(wanted=spec):
        made.append(maker.acquire(wanted))
        return made[-1]

    yield one
    for sandbox in made:
        sandbox.close()
