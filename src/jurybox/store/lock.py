"""One writer a run file: two runs into the same file would pay twice for the same judgments."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jurybox.errors import StoreError

# In a folder of results (`parts`) the driver holds the lock of this file.
MANIFEST = "manifest.json"

if sys.platform != "win32":  # there the lock is left out
    import fcntl


class WriterLock:
    """Held from construction to `release`; the kernel lets go of it when the process dies.

    A file of its own, because closing any descriptor of an SQLite file drops SQLite's own locks on it. `advice` is what
    whoever comes too late should do.
    """

    def __init__(self, path: Path, advice: str = "wait for it, or give another --out") -> None:
        self._advice = advice
        self._path = path.with_name(path.name + "-lock")
        while True:
            self._descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            self._acquire(path)
            if self._still_named():
                return
            os.close(self._descriptor)  # its last holder removed it while we took it

    def _acquire(self, path: Path) -> None:
        try:
            if sys.platform != "win32":
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(self._descriptor)
            raise StoreError(f"{path}: another jurybox is writing to it; {self._advice}") from exc

    def _still_named(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let go; a second time does nothing."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
