"""The helper container that mounts for users who are not root, tried by whoever runs the tests."""

import os

import pytest

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import available, docker_provider, engine, hands, idmap
from scienceide.envs.sandbox.protocol import SandboxSpec

from .census import nothing, wait_for_nothing
from .conftest import LIMITS

pytestmark = pytest.mark.docker


@pytest.fixture
def helped(tmp_path, monkeypatch):
    state = available()["docker"]
    if not state.ok:
        pytest.skip(f"docker: {state.reason}")
    root = docker_provider.DockerProvider().prepare_root()
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(docker_provider, "hands", hands.HelperHands)
    mine = (os.geteuid(), os.getegid())
    monkeypatch.setattr(idmap, "ownership", lambda folder: idmap.Ownership(*mine, outside=mine))
    made = docker_provider.DockerProvider(spares=0)
    yield made, root
    made.close()
    assert nothing(wait_for_nothing(tmp_path / "cache", -1))
    assert helpers() == []


def helpers():
    """The helper containers of this process."""
    found = engine.client().containers(all=True, filters={"label": f"{engine.LABEL}=helper"})
    return [c["Id"] for c in found if c["Labels"][f"{engine.LABEL}.pid"] == str(os.getpid())]


def test_a_tree_that_the_helper_lays(helped, layers, tmp_path):
    maker, root = helped
    sandbox = maker.acquire(SandboxSpec(root=root, layers=layers, limits=LIMITS))
    assert sandbox.run("cat b.txt; rm a.txt; echo x > new").output == b"top b\n"
    assert [(c.path, c.kind) for c in sandbox.changes()] == [("a.txt", "deleted"), ("new", "file")]
    out = tmp_path / "out"
    out.mkdir()
    sandbox.export(out, only_changes=True)
    assert [(p.name, p.stat().st_uid) for p in out.iterdir()] == [("new", os.geteuid())]
    sandbox.reset()
    assert sandbox.changes() == []
    sandbox.reset(layers[1:])
    assert sandbox.run("cat b.txt").output == b"bottom b\n"
    sandbox.close()


def test_without_the_helper_there_is_a_sandbox_error(helped, layers):
    maker, root = helped
    sandbox = maker.acquire(SandboxSpec(root=root, layers=layers, limits=LIMITS))
    for container in helpers():
        engine.remove_container(container)
    with pytest.raises(SandboxError, match="the container is gone"):
        sandbox.reset()


def test_the_helper_may_do_little_else(tmp_path):
    told = hands.options("image", tmp_path)
    assert told["HostConfig"]["CapDrop"] == ["ALL"]
    assert "Privileged" not in told["HostConfig"]
    assert all(mount["ReadOnly"] for mount in told["HostConfig"]["Mounts"])
    assert told["HostConfig"]["NetworkMode"] == "none"
