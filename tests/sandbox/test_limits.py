"""Limits hold, and the sandbox serves the next command as if nothing had been."""

from dataclasses import replace

import pytest

from .conftest import LIMITS

BURN = "while :; do :; done"


@pytest.fixture
def box(box):
    """The sandbox must still work after each of these tests."""
    yield box
    assert box.run("echo fine").output == b"fine\n"
    assert _others(box) == []


def _others(box):
    """Processes besides the server and the command that looks."""
    code = "import os; print(*[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())])"
    return box.run(["python", "-c", code]).text.split()


def test_wall_time(box):
    result = box.run("echo before; sleep 60", limits=replace(LIMITS, wall_s=0.3))
    assert (result.exit_code, result.killed_by, result.output) == (None, "wall", b"before\n")


@pytest.mark.parametrize(
    "line",
    [
        "sleep 60 & sleep 60",
        "setsid sleep 60 & setsid -w sleep 60",
        "trap '' TERM INT HUP; sleep 60; sleep 60",
        "(setsid sh -c '(setsid sleep 60 &) & sleep 60' &); sleep 60",
        "exec python -c 'import os, signal, time; signal.signal(15, signal.SIG_IGN); os.fork(); time.sleep(60)'",
        "kill -STOP $$",
    ],
)
def test_a_hanging_command_goes_with_all_its_children(box, line):
    assert box.run(line, limits=replace(LIMITS, wall_s=0.3)).killed_by == "wall"


def test_cpu_time_of_one(box):
    result = box.run(BURN, limits=replace(LIMITS, cpu_s=0.3))
    assert (result.exit_code, result.killed_by) == (None, "cpu")
    assert result.cpu_s > 0.3


def test_cpu_time_of_many_children_together(box):
    line = f"for i in 1 2 3 4; do ({BURN}) & done; wait"
    assert box.run(line, limits=replace(LIMITS, cpu_s=0.5)).killed_by == "cpu"


def test_cpu_time_of_children_that_nobody_waits_for(box):
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for _ in range(1000):\n"
        "    if os.fork() == 0:\n"
        "        while time.process_time() < 0.1: pass\n"
        "        os._exit(0)\n"
        "    try: os.wait()\n"
        "    except OSError: pass\n"
    )
    assert box.run(["python", "-c", code], limits=replace(LIMITS, cpu_s=0.6)).killed_by == "cpu"


def test_memory_of_one(box):
    result = box.run(["python", "-c", "x = []\nwhile True: x.append(bytearray(2**20))"])
    assert result.killed_by == "memory" or b"MemoryError" in result.output
    assert result.exit_code != 0


def test_memory_of_many_together(box):
    line = "for i in 1 2 3 4 5 6; do python -c 'import time; x = bytearray(90 * 2**20); time.sleep(60)' & done; wait"
    assert box.run(line).killed_by == "memory"


def test_shared_pages_count_once(box):
    code = (
        "import os, time\nx = bytearray(120 * 2**20)\n"
        "children = [os.fork() for _ in range(2)]\n"
        "time.sleep(0.3)\n"
        "print('held')\n"
    )
    result = box.run(["python", "-c", code])
    assert (result.exit_code, result.killed_by) == (0, None)


def test_large_reservation_that_is_not_used_is_no_memory(box):
    code = (
        "import mmap; m = mmap.mmap(-1, 2**31, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000); print('reserved')"
    )
    assert box.run(["python", "-c", code]).output == b"reserved\n"


def test_fork_bomb(box):
    result = box.run("bomb() { bomb | bomb & }; bomb; sleep 60", limits=replace(LIMITS, wall_s=10.0))
    assert result.killed_by in ("processes", "wall")


def test_number_of_processes(box):
    result = box.run("for i in $(seq 60); do sleep 60 & done; wait")
    assert result.killed_by == "processes" or b"fork" in result.output


def test_as_many_processes_as_allowed(box):
    assert box.run("for i in $(seq 25); do sleep 0.1 & done; wait; echo ok").output == b"ok\n"


@pytest.mark.parametrize("place", ["/work", "/tmp", "/dev/shm"])
def test_full_disk(box, place):
    result = box.run(["python", "-c", f"f = open('{place}/big', 'wb')\nwhile True: f.write(bytes(2**20)); f.flush()"])
    assert result.exit_code != 0
    assert b"No space left" in result.output or b"File too large" in result.output or result.exit_code == 128 + 25
    box.run(["rm", "-f", f"{place}/big"])
    assert box.run(f"echo x > {place}/small && cat {place}/small").output == b"x\n"


def test_many_small_files_run_out_too(box):
    result = box.run(
        ["python", "-c", "import os\nfor n in range(10**6): os.close(os.open(f'/tmp/{n}', os.O_CREAT | os.O_WRONLY))"],
        limits=replace(LIMITS, cpu_s=60, wall_s=60),
    )
    assert b"No space left" in result.output
    box.run("rm -rf /tmp/*; find /tmp -delete")


def test_one_file_may_not_exceed_the_disk(box):
    result = box.run(["truncate", "-s", str(LIMITS.disk * 2), "sparse"])
    assert result.exit_code != 0


def test_endless_output(box):
    result = box.run("yes 0123456789")
    assert result.killed_by == "output"
    assert result.bytes_cut > 2**29
    assert len(result.output) < 10000


def test_output_that_nobody_asked_for_does_not_block(box):
    result = box.run("head -c 30000000 /dev/zero; echo done >&2")
    assert result.exit_code == 0
    assert result.output.endswith(b"done\n")


def test_a_command_may_be_given_more_than_the_sandbox(acquire, spec):
    sandbox = acquire(spec)
    more = replace(LIMITS, disk=160 * 2**20, memory=600 * 2**20, processes=64)
    code = "x = bytearray(350 * 2**20); open('/work/big', 'wb').write(bytes(100 * 2**20)); print('ok')"
    assert sandbox.run(["python", "-c", code], limits=more).output == b"ok\n"


def test_no_core_dumps(box):
    assert box.run("ulimit -c; ulimit -Hc").output == b"0\n0\n"
