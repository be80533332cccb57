"""How many threads a model in this process gets when nobody says."""

from __future__ import annotations

import os
from pathlib import Path

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def default_threads() -> int:
    """Physical cores less one, at least one: a model on every core collapses as soon as anything else wants to run."""
    return max(physical_cores() - 1, 1)


def physical_cores() -> int:
    """Cores that this process may use, two threads of one core counted once where the system tells them apart."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    ours = os.sched_getaffinity(0)
    try:
        return len({Path(_SIBLINGS.format(number)).read_text("ascii") for number in ours})
    except OSError:
        return len(ours)
