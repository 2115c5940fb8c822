"""Putting and getting single files."""

import os

import pytest

NAMES = [
    "plain.txt",
    "with space.txt",
    "new\nline.txt",
    "ünïcödé-日本.txt",
    "-leading-dash",
    "--help",
    "quote'\"$`\\.txt",
    "*?[x]",
    ".hidden",
    "x" * 255,
    "deep/er/and/deep er/file",
    "./dot/./name",
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_round_trip(box, name):
    box.write(name, b"data")
    assert box.read(name) == b"data"
    assert box.run(["cat", "--", name]).output == b"data"
    assert [c.path for c in box.changes()] == [os.path.normpath(name)]


@pytest.mark.parametrize("size", [0, 1, 65536, 5_000_001, 40_000_000])
def test_binary_of_any_size_round_trips(box, size):
    data = (os.urandom(4096) * (size // 4096 + 1))[:size]
    box.write("blob", data)
    assert box.read("blob") == data
    assert box.run("wc -c < blob").output.strip() == b"%d" % size


def test_absolute_paths_and_tmp(box):
    box.write("/tmp/cases/x/in.json", b"{}")
    assert box.run("cat cases/x/in.json", cwd="/tmp").output == b"{}"
    assert box.read("/tmp/cases/x/in.json") == b"{}"
    assert box.changes() == []


def test_mode(box):
    box.write("run.sh", b"#!/bin/sh\necho ran\n", mode=0o755)
    assert box.run("./run.sh").output == b"ran\n"
    box.write("setuid", b"", mode=0o4755)
    assert box.run("stat -c %a setuid run.sh").output == b"755\n755\n"


def test_overwriting(box):
    box.write("a.txt", b"new")
    assert box.read("a.txt") == b"new"
    box.run("chmod 444 a.txt")
    box.write("a.txt", b"newer")
    assert box.read("a.txt") == b"newer"


@pytest.mark.parametrize("path", ["/etc/passwd", "/usr/x", "/x", "/proc/x", "/opt/env/bin/python", "/dev/x"])
def test_writing_where_nothing_may_be_written(box, path):
    with pytest.raises(OSError, match=r"\w"):
        box.write(path, b"x")
    assert box.run("echo fine").output == b"fine\n"


def test_writing_onto_a_folder(box):
    with pytest.raises(IsADirectoryError):
        box.write("pkg", b"x")
    with pytest.raises(OSError, match=r"a\.txt"):
        box.write("a.txt/below", b"x")


def test_writing_without_space_leaves_nothing(box):
    with pytest.raises(OSError, match="space"):
        box.write("big", bytes(100 * 2**20))
    assert box.changes() == []
    box.write("small", b"x")


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path(box, path):
    with pytest.raises(OSError, match="path"):
        box.write(path, b"")
    with pytest.raises(OSError, match="path"):
        box.read(path)


def test_reading_what_is_not_there(box):
    with pytest.raises(FileNotFoundError):
        box.read("missing")


def test_reading_refuses_what_is_no_regular_file(box):
    box.run("mkfifo pipe; ln -s a.txt soft; ln -s /etc/passwd out; ln -s soft loop2")
    for path in ("pipe", "soft", "out", "loop2", "pkg", "/dev/zero", "/dev/tty", "/proc"):
        with pytest.raises(OSError, match=r"\w"):
            box.read(path)


def test_reading_refuses_what_is_too_large(box):
    box.write("f", b"x" * 1001)
    assert len(box.read("f", limit=1001)) == 1001
    with pytest.raises(OSError, match="larger"):
        box.read("f", limit=1000)
    with pytest.raises(OSError, match="larger"):
        box.read("/proc/self/maps", limit=3)


def test_reading_what_the_command_made_unreadable(box):
    box.run("echo x > locked; chmod 000 locked")
    with pytest.raises(PermissionError):
        box.read("locked")


def test_symbolic_link_is_replaced_not_followed(box):
    box.run("echo victim > /tmp/victim; ln -s /tmp/victim trap")
    box.write("trap", b"data")
    assert box.run("cat /tmp/victim; test -L trap").exit_code == 1
    assert box.read("trap") == b"data"


@pytest.mark.parametrize("target", ["/etc", "/.sandbox", "/proc/1/root", "/.sandbox/disk", "/opt/env"])
def test_linked_folders_lead_to_nothing_that_a_command_cannot_reach(box, target):
    box.run(["ln", "-s", target, "door"])
    with pytest.raises(OSError, match=r"\w"):
        box.write("door/evil", b"x")


def test_binary_output_file_of_a_command(box):
    box.run(["python", "-c", "open('o', 'wb').write(bytes(range(256)) * 100)"])
    assert box.read("o") == bytes(range(256)) * 100


def test_many_files(box):
    for number in range(200):
        box.write(f"many/{number}", b"%d" % number)
    assert box.run("cat many/* | wc -c; ls many | wc -l").output.split() == [b"490", b"200"]
