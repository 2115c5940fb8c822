"""Nothing that a command started outlives it."""


def test_background_processes_are_gone(box):
    result = box.run("sleep 300 & (setsid sleep 300 &) ; nohup sleep 300 >/dev/null 2>&1 & echo started")
    assert result.output == b"started\n"
    assert result.wall_s < 60
    assert box.run("grep -l sleep /proc/[0-9]*/comm").exit_code != 0


def test_background_writers_do_not_hold_the_answer_up(box):
    result = box.run("(while :; do echo noise; sleep 0.01; done) & echo done")
    assert b"done\n" in result.output
    box.run("rm -f mark")
    box.run("(sleep 0.3; touch /work/mark) &")
    assert box.run("sleep 0.6; ls mark").exit_code != 0


def test_zombies_are_reaped(box):
    orphans = "for i in $(seq 20); do (sleep 0 & exec true); done; sleep 0.2; "
    assert box.run(orphans + "cat /proc/[0-9]*/stat | grep -c ') Z '").output.strip() == b"0"


def test_daemons_are_gone(box):
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        for fd in range(3): os.close(fd)\n"
        "        time.sleep(300)\n"
        "    os._exit(0)\n"
    )
    assert box.run(["python", "-c", code]).exit_code == 0
    assert box.run("ls -d /proc/[0-9]* | wc -l").output.strip() in (b"2", b"3", b"4")


def test_shared_memory_is_gone(box):
    make = (
        "import ctypes; c = ctypes.CDLL(None); "
        "print(c.shmget(0x5c1, 4096, 0o1666) >= 0, c.msgget(0x5c1, 0o1666) >= 0, c.semget(0x5c1, 1, 0o1666) >= 0)"
    )
    find = (
        "import ctypes; c = ctypes.CDLL(None); "
        "print(c.shmget(0x5c1, 4096, 0) >= 0, c.msgget(0x5c1, 0) >= 0, c.semget(0x5c1, 1, 0) >= 0)"
    )
    assert box.run(["python", "-c", make]).text == "True True True\n"
    assert box.run(["python", "-c", find]).text == "False False False\n"


def test_a_stopped_process_is_gone(box):
    box.run("sleep 300 & kill -STOP $!")
    assert box.run("grep -l sleep /proc/[0-9]*/comm").exit_code != 0
