"""How a forked child of the server becomes a confined process: it sees and may do what commands may."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable

from . import kernel

PRIVATE = "/.sandbox"
"""Where a server that mounts keeps what commands may not see."""

_FILES = 4096
_SPARE_TASKS = 16
"""So that the server's watch can see the limit on processes passed."""
_MACHINE_WIDE = (
    *("kcore", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "pagetypeinfo", "sched_debug"),
    *("slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo"),
)
_STACK = 8 * 2**20


class View:
    """The mounts as commands see them: like the server's, with the private folder covered.

    It is made once for each tree, as making and ending a namespace costs more than entering one.
    """

    def __init__(self) -> None:
        """Make it from the mounts as they are now; a later change of them does not show in it.

        Raises:
            OSError: the kernel refused.
        """
        own = _open_mounts()
        try:
            kernel.unshare(kernel.CLONE_NEWNS)
            # Covered, not unmounted: mounts that came from another user namespace are locked in place.
            kernel.mount("tmpfs", PRIVATE, "tmpfs", kernel.MS_RDONLY, "size=4k,mode=000")
            _guard_proc()
            self._namespace = _open_mounts()
        finally:
            kernel.enter_mounts(own)
            os.close(own)

    def enter(self) -> None:
        """Change this process over to it."""
        kernel.enter_mounts(self._namespace)

    def close(self) -> None:
        """Let it go."""
        os.close(self._namespace)


def _guard_proc() -> None:
    """Make /proc unchangeable, and what it tells of the machine as a whole unreadable.

    Where the host's root runs the sandbox, the kernel takes the user inside for the owner of all these
    files, capabilities or not: without this, a command could set the host's core_pattern.
    """
    flags = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("none", "/proc", None, kernel.MS_REMOUNT | kernel.MS_BIND | flags)
    for name in _MACHINE_WIDE:
        if os.path.exists(f"/proc/{name}"):
            kernel.mount("/dev/null", f"/proc/{name}", None, kernel.MS_BIND)


def _open_mounts() -> int:
    return os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def confine(view: View | None) -> None:
    """Leave the server's powers behind, and see only `view` where the server has a private folder.

    Raises:
        OSError: the kernel refused; the caller must not go on.
    """
    if view is not None:
        view.enter()
    kernel.drop_privileges()
    kernel.refuse_system_calls()


def limit(memory: int, processes: int, disk: int) -> None:
    """Set the limits that the kernel keeps for each process by itself. Bytes.

    Data may exceed the memory limit twice over, as reserved is not used.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_FSIZE, disk)
    _set(resource.RLIMIT_NOFILE, _FILES)
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, hard))
    _set(resource.RLIMIT_NPROC, processes + _SPARE_TASKS)
    _set(resource.RLIMIT_DATA, 2 * memory)
    _set(resource.RLIMIT_MEMLOCK, 2**20)
    _set(resource.RLIMIT_MSGQUEUE, 2**16)


def _set(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(what, (value, value))


def in_child(view: View, work: Callable[[], None]) -> None:
    """Do `work` in a confined child process, so that it can reach what a command can reach and no more.

    Raises:
        OSError: the child could not be confined, or did not finish.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            confine(view)
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise OSError(f"a helper process ended with {os.waitstatus_to_exitcode(status)}")


def plain_signals() -> None:
    """Undo what Python set up, so that programs start with the usual dispositions."""
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)
