"""What this machine has: processors, memory, disk, accelerators, compilers."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

COMPILERS = ("gcc", "g++", "gfortran", "cmake", "ninja", "make")


@dataclass(frozen=True)
class Machine:
    """Facts about the machine this runs on. Bytes."""

    system: str
    processor: str
    cores: int
    memory: int
    memory_free: int
    python: str
    gpus: tuple[str, ...]
    compilers: tuple[str, ...]
    """Those of `COMPILERS` that are on PATH."""

    def line(self) -> str:
        """One line to print above measurements."""
        gpus = ", ".join(self.gpus) or "no GPU"
        return (
            f"{self.system}, {self.processor}, {self.cores} cores, {self.memory / 2**30:.0f} GiB, {gpus}, "
            f"Python {self.python}"
        )


def this_machine() -> Machine:
    """Look; takes milliseconds, and up to a second where an NVIDIA driver has to be asked."""
    memory, free = _memory()
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cores=usable_cores(),
        memory=memory,
        memory_free=free,
        python=platform.python_version(),
        gpus=_gpus(),
        compilers=tuple(c for c in COMPILERS if shutil.which(c)),
    )


def usable_cores() -> int:
    """Processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def disk_free(folder: Path) -> int:
    """Free bytes on the file system of `folder`."""
    return shutil.disk_usage(folder).free


def _memory() -> tuple[int, int]:
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return (int(fields["MemTotal"].split()[0]) * 1024, int(fields["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return total, total


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _gpus() -> tuple[str, ...]:
    if shutil.which("nvidia-smi") is None:
        return ()
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (subprocess.SubprocessError, OSError):
        return ()
    return tuple(line.strip() for line in answer.stdout.splitlines() if line.strip())
