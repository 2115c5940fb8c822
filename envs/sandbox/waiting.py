"""The watchdog's own program: `python -I -S waiting.py PID MODULE` with the owner's pipe as standard input.

It is run as a file and imports next to nothing, so that waiting costs nothing. When the owner dies it
becomes `python -m MODULE`; when the owner says a word through the pipe, it ends.
"""

from __future__ import annotations

import os
import select
import sys


def wait(pid: int) -> bool:
    """Whether the process `pid`, our parent, died; False if it said that it needs us no more."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    if os.getppid() != pid:
        return True
    waiting = [handle, sys.stdin.fileno()]
    while True:
        ready = select.select(waiting, [], [])[0]
        if handle in ready:
            return True
        if os.read(sys.stdin.fileno(), 1):
            return False
        # The end of the pipe without a word: the owner is dying.
        waiting = [handle]


if __name__ == "__main__" and wait(int(sys.argv[1])):
    os.execv(sys.executable, [sys.executable, "-m", sys.argv[2]])
