"""Beginnings and ends: of sandboxes, of those who own them, and what is left then."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import owner, provider
from scienceide.envs.sandbox.protocol import Provider, Sandbox

from .census import census, nothing, records, wait_for_nothing


@pytest.fixture
def alone(maker, tmp_path, monkeypatch):
    """A fresh provider of the same kind with a cache of its own, so that its remains can be counted."""
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path / "cache"))
    made = provider(maker.name)
    yield made
    made.close()
    assert nothing(wait_for_nothing(tmp_path / "cache", -1))


def test_they_are_what_the_protocol_says(maker, acquire):
    assert isinstance(maker, Provider)
    assert isinstance(acquire(), Sandbox)
    assert maker.availability().ok


def test_closing_twice_and_using_afterwards(acquire, tmp_path):
    sandbox = acquire()
    sandbox.close()
    sandbox.close()
    for use in (
        lambda: sandbox.run("true"),
        lambda: sandbox.write("x", b""),
        lambda: sandbox.read("x"),
        sandbox.changes,
        sandbox.reset,
        lambda: sandbox.export(tmp_path),
    ):
        with pytest.raises(SandboxError, match="closed"):
            use()


def test_close_leaves_nothing(alone, spec, tmp_path):
    sandbox = alone.acquire(spec)
    sandbox.run("sleep 100 & echo x > y; mkfifo p; chmod 000 .")
    census(tmp_path / "cache", os.getpid())
    sandbox.close()
    alone.close()
    found = census(tmp_path / "cache", -1)
    assert nothing(found), found


def test_closing_the_provider_closes_its_sandboxes(alone, spec, tmp_path):
    sandboxes = [alone.acquire(spec) for _ in range(3)]
    alone.close()
    for sandbox in sandboxes:
        with pytest.raises(SandboxError, match="closed"):
            sandbox.run("true")
    assert nothing(census(tmp_path / "cache", -1))


def test_many_lives_leave_nothing(alone, spec, tmp_path):
    for number in range(25):
        sandbox = alone.acquire(spec)
        assert sandbox.run(f"test ! -e mark && echo {number} > mark && cat mark").output == b"%d\n" % number
        sandbox.close()
    alone.close()
    assert nothing(census(tmp_path / "cache", -1))


def test_open_files_do_not_grow(alone, spec):
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    for _ in range(3):
        alone.acquire(spec).close()
    before = count()
    for _ in range(10):
        sandbox = alone.acquire(spec)
        sandbox.run("true")
        sandbox.reset()
        sandbox.close()
    assert count() <= before + 2


def test_a_killed_sandbox_is_a_sandbox_error_and_the_next_one_works(alone, spec, tmp_path):
    sandbox = alone.acquire(replace(spec, purpose="build"))
    (record,) = records(tmp_path / "cache")
    os.kill(record["inside"]["pid"], signal.SIGKILL)
    with pytest.raises(SandboxError, match=r"died during 'run'.*ended with"):
        sandbox.run("true")
    with pytest.raises(SandboxError, match="died"):
        sandbox.read("a.txt")
    sandbox.close()
    assert alone.acquire(spec).run("echo fine").output == b"fine\n"


def test_killed_in_the_middle_of_a_command(alone, spec, tmp_path):
    sandbox = alone.acquire(replace(spec, purpose="build"))
    (record,) = records(tmp_path / "cache")
    timer = threading.Timer(0.3, os.kill, (record["inside"]["pid"], signal.SIGKILL))
    timer.start()
    with pytest.raises(SandboxError, match="died during 'run'"):
        sandbox.run("sleep 30")
    timer.join()


def test_many_at_once_from_threads(alone, spec):
    seen = {}

    def work(number):
        sandbox = alone.acquire(spec)
        sandbox.run(f"echo {number} > own; sleep 0.1")
        seen[number] = sandbox.run("cat own; ls | wc -l").output
        sandbox.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: b"%d\n7\n" % number for number in range(6)}


def test_a_sandbox_outlives_the_thread_that_made_it(alone, spec):
    made = []
    thread = threading.Thread(target=lambda: made.append(alone.acquire(spec)))
    thread.start()
    thread.join()
    assert made[0].run("echo fine").output == b"fine\n"


@pytest.fixture
def run_runner(maker, root, layers):
    """Starts a process that has sandboxes; whatever a test does, it does not live on."""
    started = []

    def run(end):
        program = Path(__file__).with_name("runner.py")
        words = [sys.executable, str(program), maker.name, json.dumps(asdict(root)), str(layers[1]), end]
        process = subprocess.Popen(words, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(cache))
    return cache


@pytest.mark.parametrize("end", ["idle", "working"])
def test_killing_the_owner_leaves_nothing(run_runner, own_cache, end):
    process = run_runner(end)
    assert len(records(own_cache)) >= 2
    assert not nothing(census(own_cache, process.pid))
    process.kill()
    process.wait()
    found = wait_for_nothing(own_cache, process.pid)
    assert nothing(found), found


def test_ending_without_closing_leaves_nothing(run_runner, own_cache):
    process = run_runner("return")
    process.wait()
    found = wait_for_nothing(own_cache, process.pid)
    assert nothing(found), found


def test_what_owner_and_watchdog_left_is_swept_at_the_next_start(maker, run_runner, spec, own_cache):
    process = run_runner("idle")
    for watchdog in _watchdogs(process.pid):
        os.kill(watchdog, signal.SIGKILL)
    process.kill()
    process.wait()
    assert records(own_cache)
    fresh = provider(maker.name)
    try:
        assert fresh.acquire(spec).run("echo fine").output == b"fine\n"
        assert {r["owner"]["pid"] for r in records(own_cache)} == {os.getpid()}
    finally:
        fresh.close()
    found = wait_for_nothing(own_cache, process.pid)
    assert nothing(found), found


def _watchdogs(pid):
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(w.endswith(b"waiting.py") for w in words) and str(pid).encode() in words:
                found.append(int(entry.name))
    assert found
    return found


def test_the_living_are_not_swept(alone, spec, tmp_path):
    from scienceide.envs.sandbox.sweep import sweep

    sandbox = alone.acquire(spec)
    assert sweep() == 0
    assert sandbox.run("echo fine").output == b"fine\n"


def test_a_process_is_known_by_its_start_too():
    me = owner.this_process()
    assert me.alive
    assert not replace(me, start=me.start - 1).alive
    assert not replace(me, boot="another").alive
    child = subprocess.Popen(["sleep", "100"])
    known = owner.identify(child.pid)
    child.kill()
    assert known is not None
    child.wait()
    assert not known.alive
