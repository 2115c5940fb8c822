"""A small process that outlives its owner by a moment, to remove what a killed owner left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from scienceide.envs.sandbox.sweep import sweep

_PROGRAM = Path(__file__).with_name("waiting.py")


class Watchdog:
    """Keeps one watchdog process for this process, from `watch` to `close`."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._watched = 0
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Sweep what others left and have this process watched; again after a fork."""
        with self._lock:
            if self._watched == os.getpid():
                return
            sweep()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid()), "scienceide.envs.sandbox.sweep"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            self._watched = os.getpid()

    def close(self) -> None:
        """Let the watchdog go and wait for its end."""
        with self._lock:
            process, self._process = self._process, None
            owned, self._watched = self._watched == os.getpid(), 0
        if process is not None and owned:
            process.communicate(b".")
