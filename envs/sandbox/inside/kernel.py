"""The system calls that Python does not offer, through the C library."""

from __future__ import annotations

import ctypes
import os
import struct

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 0x40000, 0x100000
MNT_DETACH = 2
CLONE_NEWNS = 0x20000

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_SET_SECCOMP = 4, 24, 38, 47, 22
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 0x1, 0x2, 0x4, 0x100000

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    """Raise the OSError that a failed C call left behind."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2)."""
    checked(
        libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            os.fsencode(data) if data else None,
        ),
        f"mount {kind or 'bind'} at {target}",
    )


def detach(target: str) -> None:
    """umount2(2), at once even where it is in use."""
    checked(libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def unshare(flags: int) -> None:
    """unshare(2)."""
    checked(libc.unshare(flags), "unshare")


def bind_read_only(source: str, target: str, namespace: int | None) -> None:
    """Mount `source` at `target`, owners translated by a user namespace where one is given.

    Raises:
        OSError: the kernel or the file system of `source` cannot do that.
    """
    tree = _system_call(_OPEN_TREE, _AT_FDCWD, os.fsencode(source), _OPEN_TREE_CLONE | os.O_CLOEXEC)
    try:
        wanted = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV | (0 if namespace is None else _ATTR_IDMAP)
        attributes = struct.pack("QQQQ", wanted, 0, MS_PRIVATE, namespace or 0)
        _system_call(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, attributes, len(attributes))
        _system_call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def _system_call(number: int, *arguments: int | bytes) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), f"system call {number}")
    return result


def enter_mounts(namespace: int) -> None:
    """setns(2) with a mount namespace."""
    checked(libc.setns(namespace, CLONE_NEWNS), "setns")


def hide_process() -> None:
    """Make this process's memory, files and environment unreadable through /proc and ptrace."""
    checked(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")


def drop_privileges() -> None:
    """Give up every capability for good, and any way to regain one by executing a file."""
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    checked(libc.capset(header, bytes(24)), "capset")
    checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


# Calls that scientific code has no use for and that kernel exploits have often started from.
_REFUSED = {
    "x86_64": (
        # add_key request_key keyctl, userfaultfd, perf_event_open, bpf, io_uring_*, kexec_*, *_module,
        # open_by_handle_at, setns, unshare, mount family, pivot_root, swap, reboot, acct, quotactl
        *(248, 249, 250, 323, 298, 321, 425, 426, 427, 246, 320, 175, 313, 176, 304, 308, 272),
        *(165, 166, 428, 429, 430, 431, 432, 433, 442, 155, 167, 168, 169, 163, 179),
    ),
    "aarch64": (
        *(217, 218, 219, 282, 241, 280, 425, 426, 427, 104, 294, 105, 273, 106, 265, 268, 97),
        *(40, 39, 428, 429, 430, 431, 432, 433, 442, 41, 224, 225, 142, 89, 60),
    ),
}
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_KILL, _ALLOW, _EPERM = 0x80000000, 0x7FFF0000, 0x00050001


def _filter_program() -> bytes:
    """Classic BPF: kill foreign architectures, answer EPERM to refused calls, allow the rest."""
    machine = os.uname().machine
    if machine not in _REFUSED:
        return b""
    load, jump_equal, jump_at_least, answer = 0x20, 0x15, 0x35, 0x06
    refused = _REFUSED[machine]
    program = [
        (load, 0, 0, 4),
        (jump_equal, 1, 0, _ARCHITECTURE[machine]),
        (answer, 0, 0, _KILL),
        (load, 0, 0, 0),
        (jump_at_least, len(refused) + 1, 0, _X32_BIT),
    ]
    program += [(jump_equal, len(refused) - number, 0, call) for number, call in enumerate(refused)]
    program += [(answer, 0, 0, _ALLOW), (answer, 0, 0, _EPERM)]
    return b"".join(struct.pack("HBBI", *line) for line in program)


_PROGRAM = _filter_program()


def refuse_system_calls() -> None:
    """Put this process and its children behind the filter; needs `drop_privileges` first."""
    if not _PROGRAM:
        return
    memory = ctypes.create_string_buffer(_PROGRAM)
    argument = struct.pack("HxxxxxxP", len(_PROGRAM) // 8, ctypes.addressof(memory))
    checked(libc.prctl(_PR_SET_SECCOMP, 2, argument, 0, 0), "seccomp")
