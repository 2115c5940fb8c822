"""What code inside cannot see and cannot do."""

import os
import socket

import pytest


def python(box, code):
    return box.run(["python", "-c", code])


def test_only_loopback(box):
    names = python(box, "import socket; print([n for _, n in socket.if_nameindex()])")
    assert names.text in ("['lo']\n", "[]\n")


def test_no_connection_gets_out(box):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        result = python(box, code)
    assert result.exit_code != 0
    assert b"refused" in result.output or b"unreachable" in result.output


def test_no_address_resolves(box):
    assert python(box, "import socket; socket.getaddrinfo('example.org', 80)").exit_code != 0
    assert python(box, "import socket; socket.create_connection(('192.0.2.1', 80), 2)").exit_code != 0


def test_no_abstract_sockets_of_the_host(box):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0scienceide-test-socket")
        listener.listen()
        result = python(box, "import socket; socket.socket(socket.AF_UNIX).connect('\\0scienceide-test-socket')")
    assert b"refused" in result.output


def test_host_files_are_invisible(box, tmp_path, layers):
    secret = tmp_path / "secret.txt"
    secret.write_text("host secret")
    for path in (secret, layers[0], os.environ["SCIENCEIDE_CACHE"], "/root/.bashrc", "/home", "/var/run/docker.sock"):
        assert box.run(["ls", str(path)]).exit_code != 0 or box.run(["ls", "-A", str(path)]).output == b""
    assert box.run(["ls", "-A", "/tmp"]).output == b""


def test_own_machinery_is_invisible(box):
    assert box.run(
        "find /.sandbox -name upper -o -name layers -o -name pristine -o -name exchange -o -name s"
    ).output in (
        b"",
        b"find: \xe2\x80\x98/.sandbox\xe2\x80\x99: Permission denied\n",
        b"find: '/.sandbox': Permission denied\n",
    )


def test_no_capabilities(box):
    status = box.run("grep -E '^Cap|NoNewPrivs|Seccomp:' /proc/self/status").text
    values = dict(line.split(":") for line in status.splitlines())
    assert {values[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert values["NoNewPrivs"].strip() == "1"
    assert values["Seccomp"].strip() == "2"


def user_inside(box):
    """Docker shows an ordinary user's files as they are, and so runs commands as that user."""
    return b"%d\n" % (os.geteuid() if "Docker" in type(box).__name__ and os.geteuid() != 0 else 1000)


def test_an_ordinary_user(box):
    assert box.run("id -u").output == user_inside(box)


def test_setuid_programs_give_nothing(box):
    box.run("cp $(command -v id) ./id2 && chmod 6755 ./id2")
    assert box.run("./id2 -u").output == user_inside(box)
    for name in ("su", "mount", "passwd"):
        assert (
            box.run(f"{name} --help >/dev/null 2>&1; awk '/^CapEff/ {{print $2}}' /proc/self/status").text.strip()
            == "0" * 16
        )


@pytest.mark.parametrize("name", ["maps", "mem", "environ", "auxv", "stack", "syscall", "smaps", "pagemap"])
def test_the_server_cannot_be_read(box, name):
    assert box.run(["head", "-c", "1", f"/proc/1/{name}"]).exit_code != 0


@pytest.mark.parametrize("name", ["root", "cwd", "exe", "fd/0", "fd/3", "ns/mnt", "ns/user"])
def test_the_server_cannot_be_walked_into(box, name):
    assert box.run(["readlink", f"/proc/1/{name}"]).exit_code != 0
    assert box.run(["ls", f"/proc/1/{name}/"]).exit_code != 0


def test_the_server_cannot_be_traced(box):
    code = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
        "print(c.ptrace(16, 1, 0, 0), c.ptrace(0x4206, 1, 0, 0), c.syscall(310, 1, 0, 0, 0, 0, 0))"
    )
    results = python(box, code).text.split()
    assert results[:2] == ["-1", "-1"]


def test_the_server_cannot_be_killed(box):
    box.run("for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; kill -9 -1; kill -STOP 1")
    assert box.run("echo alive").output == b"alive\n"


def test_no_files_of_the_server_are_inherited(box):
    assert box.run("ls /proc/self/fd").output.split() == [b"0", b"1", b"2", b"3"]


def test_nothing_can_be_mounted(box):
    code = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
        "print(c.mount(b'none', b'/tmp', b'tmpfs', 0, None), c.umount2(b'/tmp', 2), c.umount2(b'/.sandbox', 2), "
        "c.chroot(b'/tmp'), c.sethostname(b'x', 1))"
    )
    assert python(box, code).text == "-1 -1 -1 -1 -1\n"


@pytest.mark.parametrize("flag", [0x10000000, 0x20000, 0x20000000, 0x40000000, 0x4000000, 0x8000000, 0x2000000])
def test_no_new_namespaces(box, flag):
    unshare = f"import ctypes; print(ctypes.CDLL(None).unshare({flag}))"
    assert python(box, unshare).text == "-1\n"


def test_no_user_namespace_by_clone(box):
    code = (
        "import ctypes, os, platform\nc = ctypes.CDLL(None, use_errno=True)\n"
        "number = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
        "pid = c.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "if pid == 0: os._exit(0)\n"
        "print(pid)\n"
    )
    assert python(box, code).text == "-1\n"


@pytest.mark.parametrize("call", ["c.syscall(321, 0, 0, 0)", "c.syscall(298, 0, 0, 0, 0, 0)", "c.syscall(425, 1, 0)"])
def test_no_bpf_no_perf_no_uring(box, call):
    if os.uname().machine != "x86_64":
        pytest.skip("call numbers of x86_64")
    assert python(box, f"import ctypes; c = ctypes.CDLL(None); print({call})").text == "-1\n"


@pytest.mark.parametrize("path", ["/", "/usr/bin", "/etc", "/opt/env", "/dev", "/.sandbox", "/lib", "/proc/sys/kernel"])
def test_the_system_is_read_only(box, path):
    assert box.run(f"touch {path}/x").exit_code != 0


def test_devices_cannot_be_made(box):
    assert box.run("mknod disk b 8 0 || mknod mem c 1 1").exit_code != 0


SETTINGS = ["core_pattern", "modprobe", "panic", "hostname", "shmmax", "sched_rt_runtime_us"]


@pytest.mark.parametrize(
    "path", [*(f"sys/kernel/{name}" for name in SETTINGS), "sysrq-trigger", "mtrr", "sys/vm/swappiness"]
)
def test_kernel_settings_cannot_be_changed(box, path):
    # Opened only, never written: were the sandbox broken, this would be the host's.
    code = f"import os; os.close(os.open('/proc/{path}', os.O_WRONLY)); print('opened')"
    assert b"opened" not in python(box, code).output or box.run(f"test -c /proc/{path}").exit_code == 0


@pytest.mark.parametrize("name", ["kcore", "keys", "kmsg", "slabinfo", "timer_list", "vmallocinfo"])
def test_the_machines_secrets_are_not_told(box, name):
    assert python(box, f"print(open('/proc/{name}', 'rb').read(1))").output.strip() in (b"b''",) or (
        b"Error" in python(box, f"open('/proc/{name}', 'rb').read(1)").output
    )


def test_only_own_processes_show(box):
    assert len(box.run("ls -d /proc/[0-9]*").output.split()) <= 3


def test_sandboxes_do_not_see_each_other(acquire):
    one, other = acquire(), acquire()
    one.run("echo mine > /tmp/mine; echo mine > mine; echo mine > /dev/shm/mine")
    assert other.run("ls /tmp/mine mine /dev/shm/mine").exit_code != 0
    assert other.changes() == []


def test_binds_are_read_only_unless_said_otherwise(acquire, spec, tmp_path):
    from dataclasses import replace

    from scienceide.envs.sandbox.protocol import Bind

    data, drop = tmp_path / "data", tmp_path / "drop"
    data.mkdir()
    drop.mkdir(mode=0o777)
    drop.chmod(0o777)
    (data / "f").write_text("shown")
    sandbox = acquire(replace(spec, binds=(Bind(data, "/data"), Bind(drop, "/drop", writable=True))))
    assert sandbox.run("cat /data/f; touch /data/g").output.startswith(b"shown")
    assert not (data / "g").exists()
    assert sandbox.run("echo out > /drop/f").exit_code == 0
    assert (drop / "f").read_text() == "out\n"
