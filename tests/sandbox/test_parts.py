"""Parts of the sandboxes by themselves, where a whole one would show a fault only by luck."""

import errno
import os
import socket
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.base.errors import SandboxError, UserError
from scienceide.envs import sandbox as sandboxes
from scienceide.envs.sandbox import bubblewrap, cgroups, check, containers, engine, owner, sweep
from scienceide.envs.sandbox.docker_provider import kind_of
from scienceide.envs.sandbox.inside import tree, wire
from scienceide.envs.sandbox.inside.output import Cut
from scienceide.envs.sandbox.link import Link, Listener
from scienceide.envs.sandbox.protocol import Availability, Bind, Limits, Root, SandboxSpec

ROOT = Root("docker", "id", "sha256:1")


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(0, 400))
def test_cut_keeps_head_and_tail_whatever_the_pieces(pieces, limit):
    whole = b"".join(pieces)
    cut = Cut(limit)
    for piece in pieces:
        cut.add(piece)
    kept, missing = cut.finish()
    if len(whole) <= limit:
        assert (kept, missing) == (whole, 0)
    else:
        assert missing == len(whole) - limit
        head, tail = (limit + 1) // 2, limit // 2
        note = b"\n[... %d bytes cut ...]\n" % missing
        assert kept == whole[:head] + note + whole[len(whole) - tail :]


def test_cut_needs_little_memory():
    cut = Cut(1000)
    for _ in range(1000):
        cut.add(bytes(10_000))
    assert len(cut._tail) < 100_000
    assert cut.finish()[1] == 10_000_000 - 1000


@pytest.fixture
def pair():
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 1, 5_000_000])
def test_frames_arrive_whole(pair, size):
    body = os.urandom(size)
    thread = threading.Thread(target=wire.send, args=(pair[0], {"a": "ü\udcff"}, body))
    thread.start()
    assert wire.receive(pair[1], size) == ({"a": "ü\udcff"}, body)
    thread.join()


@pytest.mark.parametrize("garbage", [b"", b"\x00" * 5, b"\xff" * 64, b"\x00\x00\x00\x02" + bytes(8) + b"{x"])
def test_garbage_on_the_wire_is_the_end(pair, garbage):
    pair[0].sendall(garbage)
    pair[0].shutdown(socket.SHUT_WR)
    with pytest.raises(wire.Closed):
        wire.receive(pair[1], 100)


def test_an_answer_larger_than_asked_for_is_the_end(pair):
    wire.send(pair[0], {}, b"x" * 101)
    with pytest.raises(wire.Closed):
        wire.receive(pair[1], 100)


def test_a_silent_server_is_a_sandbox_error(pair):
    link = Link(pair[0], lambda: "")
    with pytest.raises(SandboxError, match="did not answer within"):
        link.call("ping", timeout=0.05)
    with pytest.raises(SandboxError, match="did not answer within"):
        link.call("ping")


def test_a_dead_server_is_told_with_evidence(pair):
    pair[1].close()
    with pytest.raises(SandboxError, match=r"died during 'ping': out of luck"):
        Link(pair[0], lambda: "out of luck").call("ping")


def test_a_failed_operation_is_an_os_error_of_its_kind(pair):
    wire.send(pair[1], {"errno": 2, "error": "No such file or directory", "path": "x"})
    with pytest.raises(FileNotFoundError) as caught:
        Link(pair[0], lambda: "").call("read")
    assert caught.value.filename == "x"


def test_listener_in_a_very_long_folder(tmp_path):
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    listener = Listener(folder)
    assert (folder / "s").is_socket()
    assert listener.accept(1.0, lambda: False) is None
    listener.close()
    assert list(folder.iterdir()) == []


def test_bubblewrap_command_line(tmp_path):
    spec = SandboxSpec(root=Root("bubblewrap", "id", "/env"), binds=(Bind(Path("/data"), "/data"),))
    words = bubblewrap.arguments(spec, [Path("/a"), Path("/b")], tmp_path, "/usr/bin/bwrap")
    line = " ".join(words)
    for expected in (
        "--unshare-all",
        "--as-pid-1",
        "--clearenv",
        "--cap-drop ALL",
        "--ro-bind /env /opt/env",
        "--ro-bind /a /.sandbox/layers/0 --ro-bind /b /.sandbox/layers/1",
        "--ro-bind /data /data",
        "--remount-ro /dev",
    ):
        assert expected in line
    assert "--share-net" not in words
    assert words.index("--remount-ro") < words.index("-I")
    assert "--share-net" in bubblewrap.arguments(replace(spec, network=True), [], tmp_path, "bwrap")


def test_containers_are_hardened(tmp_path):
    spec = SandboxSpec(root=ROOT, limits=Limits(memory=10 * 2**20, disk=2**20, processes=9))
    told = containers.options(spec, tmp_path, "name", 1000, 1000)
    host = told["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["ReadonlyRootfs"] is True
    assert host["NetworkMode"] == "none"
    assert host["Memory"] == host["MemorySwap"] >= 11 * 2**20
    assert 9 < host["PidsLimit"] < 64
    assert host["NanoCPUs"] > 0
    assert {"Name": "core", "Soft": 0, "Hard": 0} in host["Ulimits"]
    assert told["User"] == "1000:1000"
    assert told["Labels"]["scienceide.pid"] == str(os.getpid())
    writable = {m["Target"] for m in host["Mounts"] if not m["ReadOnly"]}
    assert writable == {"/work", "/tmp", "/dev/shm"}
    assert "Privileged" not in host


def test_kinds_of_containers():
    spec = SandboxSpec(root=ROOT)
    assert kind_of(spec) == kind_of(replace(spec, layers=(Path("/x"),), environment={"A": "b"}))
    assert kind_of(spec) != kind_of(replace(spec, purpose="verify"))
    assert kind_of(spec) != kind_of(replace(spec, limits=Limits(memory=1)))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, "AppArmor"),
        ({"user/max_user_namespaces": "0"}, "switched off"),
        ({"kernel/unprivileged_userns_clone": "0"}, "kept from ordinary users"),
        ({}, "setting up uid map: Permission denied"),
    ],
)
def test_why_bubblewrap_is_refused(tmp_path, monkeypatch, files, expected):
    monkeypatch.setattr(check.os, "geteuid", lambda: 1000)
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(value + "\n")
    state = check.explain_refusal("x\nbwrap: setting up uid map: Permission denied", tmp_path)
    assert not state.ok
    assert expected in state.reason
    assert "Docker" in state.remedy


def test_a_tmpfs_that_keeps_no_attributes(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(check.os, "setxattr", refuse)
    state = check._notes_on_tmpfs("/dev/shm")
    assert (state.ok, state.remedy) == (False, "use Docker")
    assert "6.6" in state.reason


def test_choosing_a_kind(monkeypatch):
    states = {
        "bubblewrap": Availability(False, "no Linux", "use Linux"),
        "docker": Availability(False, "no engine", "start one"),
    }
    monkeypatch.setattr(sandboxes, "available", lambda: states)
    with pytest.raises(SandboxError, match=r"No sandbox can be had.*no Linux \(use Linux\).*no engine \(start one\)"):
        sandboxes.provider()
    with pytest.raises(SandboxError, match="docker sandboxes cannot be had here: no engine; start one"):
        sandboxes.provider("docker")
    with pytest.raises(UserError, match="did you mean docker"):
        sandboxes.provider("dokcer")
    states["docker"] = Availability(True)
    assert sandboxes.provider().name == "docker"
    states["bubblewrap"] = Availability(True)
    assert sandboxes.provider().name == "bubblewrap"


def test_an_engine_that_does_not_answer(monkeypatch):
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    state = engine.availability()
    assert (state.ok, state.reason) == (False, "no Docker engine answers")
    assert "dockerd" in state.remedy


def test_a_user_who_may_not_talk_to_the_engine():
    assert "group docker" in engine._explain("('Connection aborted.', PermissionError(13, 'Permission denied'))").remedy


def test_control_groups_of_version_2(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups.os, "geteuid", lambda: 0)
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    (group,) = cgroups.create("name", tmp_path)
    assert group == str(tmp_path / "scienceide" / "name")
    for name in ("pids.max", "memory.max", "memory.swap.max"):
        Path(group, name).touch()
    cgroups.bound([group], processes=10, memory=2**30)
    assert int(Path(group, "pids.max").read_text()) > 10
    assert int(Path(group, "memory.max").read_text()) >= 2**30
    assert Path(group, "memory.swap.max").read_text() == "0"
    Path(group, "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 2\noom_kill 5\n")
    assert cgroups.out_of_memory_kills(Path(group)) == 5


def test_control_groups_that_may_not_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups.os, "geteuid", lambda: 1000)
    assert cgroups.create("name", tmp_path) == ()
    cgroups.bound((), processes=1, memory=1)
    cgroups.join((), 1)
    cgroups.remove(())


def test_records_survive_the_disk(tmp_path):
    me = owner.this_process()
    record = owner.Record(me, "docker", "episode", inside=me, container="c", cgroups=("/g",))
    owner.save(tmp_path, record)
    assert owner.load(tmp_path) == record
    (tmp_path / "owner.json").write_text('{"owner": 3')
    assert owner.load(tmp_path) is None


def test_a_folder_without_a_record_is_swept_once_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path))
    young, old = owner.sandboxes_dir() / "young", owner.sandboxes_dir() / "old"
    young.mkdir()
    old.mkdir()
    os.utime(old, (1, 1))
    sweep.sweep()
    assert [p.name for p in owner.sandboxes_dir().iterdir()] == ["young"]


def test_changes_of_an_overlay_by_hand(tmp_path):
    upper, below = tmp_path / "upper", tmp_path / "below"
    for folder in (upper / "d", below / "d"):
        folder.mkdir(parents=True)
    (below / "d" / "hidden").write_text("x")
    (below / "same").write_text("x")
    (upper / "same").write_text("x")
    (upper / "d" / "new").write_text("xy")
    try:
        os.setxattr(upper / "d", tree.OPAQUE[0], b"y")
    except OSError:
        pytest.skip("this file system keeps no user attributes")
    found = [(c["path"], c["kind"]) for c in tree.changes(str(upper), str(below))]
    assert found == [("d/hidden", "deleted"), ("d/new", "file")]


def test_copying_passes_over_what_is_no_file(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("x")
    (source / "file").chmod(0o6711)
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to("/etc/passwd")
    tree.copy(str(source), str(target))
    assert sorted(p.name for p in target.iterdir()) == ["file", "link"]
    assert stat.S_IMODE((target / "file").stat().st_mode) == 0o711
