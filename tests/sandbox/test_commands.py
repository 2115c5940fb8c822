"""What a command gets and what comes back from it."""

import json

import pytest


def test_exit_code_and_output(box):
    result = box.run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.output, result.killed_by, result.bytes_cut) == (3, b"out\nerr\n", None, 0)


def test_death_by_own_signal_is_an_exit_code(box):
    assert box.run("kill -SEGV $$").exit_code == 128 + 11
    assert box.run("kill -9 $$").exit_code == 128 + 9


def test_stdout_and_stderr_keep_their_order(box):
    lines = "".join(f"echo {n}; echo {n} >&2; " for n in range(50))
    assert box.run(lines).output.split() == [b"%d" % (n // 2) for n in range(100)]


def test_argument_vector_is_not_a_shell_line(box):
    result = box.run(["printf", "%s|", "$HOME", "a b", "*", "'", "\n", ""])
    assert result.output == b"$HOME|a b|*|'|\n||"


def test_shell_line_is_one(box):
    assert box.run("x=2; echo $((x * 21)) | tr 4 5").output == b"52\n"


@pytest.mark.parametrize("size", [0, 1, 65536, 3_000_000])
def test_stdin_arrives_whole_and_ends(box, size):
    data = bytes(range(256)) * (size // 256 + 1)
    assert box.run("wc -c", stdin=data[:size]).output.strip() == b"%d" % size


def test_unread_stdin_does_no_harm(box):
    assert box.run("exec true", stdin=b"x" * 1_000_000).exit_code == 0


def test_working_directory(box):
    assert box.run("pwd").output == b"/work\n"
    assert box.run("pwd", cwd="/tmp").output == b"/tmp\n"
    assert box.run("pwd", cwd="pkg").output == b"/work/pkg\n"


def test_missing_working_directory_is_the_commands_failure(box):
    result = box.run("pwd", cwd="/nowhere")
    assert result.exit_code == 127
    assert result.text == "/nowhere: No such file or directory\n"


def test_working_directory_may_be_removed_by_the_command(box):
    box.run("mkdir gone")
    assert box.run("rmdir /work/gone; echo left", cwd="gone").output == b"left\n"
    assert box.run("pwd", cwd="gone").exit_code == 127


def test_unknown_program(box):
    assert box.run(["no-such-program"]).exit_code == 127
    assert box.run("no-such-program").exit_code == 127


@pytest.mark.parametrize("argv", [["/etc/passwd"], ["/work"], ["echo", "a\0b"]])
def test_what_cannot_be_executed(box, argv):
    result = box.run(argv)
    assert result.exit_code == 126
    assert result.output


def test_environment_is_given_and_nothing_else(box, monkeypatch):
    monkeypatch.setenv("HOST_SECRET", "s3cret")
    box_environment = dict(
        line.split("=", 1) for line in box.run(["env"], environment={"GIVEN": "a b=c"}).text.splitlines()
    )
    assert box_environment["GIVEN"] == "a b=c"
    assert "HOST_SECRET" not in box_environment
    assert "s3cret" not in box.run("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").text


def test_spec_environment_yields_to_the_calls(acquire, spec):
    from dataclasses import replace

    sandbox = acquire(replace(spec, environment={"A": "spec", "B": "spec"}))
    assert sandbox.run("echo $A $B", environment={"B": "call"}).output == b"spec call\n"


def test_locale_time_zone_and_threads_are_fixed(box):
    code = (
        "import json, locale, os, sys, time; print(json.dumps([sys.getfilesystemencoding(), "
        "locale.getpreferredencoding(), time.timezone, os.environ['OMP_NUM_THREADS'], hash('x')]))"
    )
    first, second = (json.loads(box.run(["python", "-c", code]).output) for _ in range(2))
    assert first == second
    assert [first[0], first[1].lower(), first[2], first[3]] == ["utf-8", "utf-8", 0, "1"]


def test_output_is_bytes(box):
    assert box.run(["printf", r"\377\000\376"]).output == b"\xff\x00\xfe"
    assert "�" in box.run(["printf", r"\377"]).text


def test_long_output_keeps_head_and_tail_and_counts_the_rest(box):
    result = box.run("echo first; head -c 100000 /dev/zero | tr '\\0' x; echo; echo last")
    total = len("first\n") + 100000 + len("\nlast\n")
    assert result.bytes_cut == total - 8192
    note = b"\n[... %d bytes cut ...]\n" % result.bytes_cut
    assert result.output.startswith(b"first\nxxx")
    assert result.output.endswith(b"xxx\nlast\n")
    assert note in result.output
    assert len(result.output) == 8192 + len(note)


def test_output_of_exactly_the_limit_is_whole(box):
    result = box.run("head -c 8192 /dev/zero | tr '\\0' x")
    assert (result.output, result.bytes_cut) == (b"x" * 8192, 0)


def test_times_are_reported(box):
    result = box.run(["python", "-c", "import time\nwhile time.process_time() < 0.3: pass"])
    assert result.cpu_s >= 0.3
    assert result.wall_s >= result.cpu_s * 0.9
    assert box.run("sleep 0.3").cpu_s < 0.2


def test_cpu_time_of_children_counts(box):
    burn = "python -c 'import time\nwhile time.process_time() < 0.2: pass'"
    assert box.run(f"{burn}; ({burn}); {burn} & wait").cpu_s >= 0.6


def test_device_oddities(box):
    assert box.run("echo x > /dev/full").exit_code == 1
    assert box.run(
        "echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c"
    ).output.split() == [
        b"3",
        b"5",
    ]


def test_there_is_no_terminal(box):
    assert box.run("test -t 0 || test -t 1 || test -t 2 || ( : > /dev/tty ) 2>/dev/null").exit_code != 0


def test_signal_dispositions_are_the_usual(box):
    assert box.run("yes 2>&1 | head -n 1; echo ${PIPESTATUS[0]}").output == b"y\n141\n"


def test_python_of_the_root(box):
    result = box.run("python -c 'import sys; print(sys.prefix, sys.version_info >= (3, 11))'")
    assert result.text == "/opt/env True\n"


def test_compiler_where_there_is_one(box):
    if box.run("command -v gcc").exit_code != 0:
        pytest.skip("this root has no C compiler")
    box.write("t.c", b'#include <math.h>\n#include <stdio.h>\nint main(void) { printf("%.0f\\n", pow(2, 10)); }\n')
    assert box.run("gcc -O2 t.c -o t -lm && ./t").text == "1024\n"
