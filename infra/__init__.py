"""Where and when things run: today the machine at hand; cluster models and schedulers build on it."""

from scienceide.infra.machine import Machine, disk_free, this_machine, usable_cores

__all__ = ["Machine", "disk_free", "this_machine", "usable_cores"]
