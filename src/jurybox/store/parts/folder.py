"""A folder of immutable files, on a disk or behind an fsspec address: a file is there whole or not at all.

On a disk that is a temporary name, fsync and a rename; object stores show an object when all of it has arrived.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from jurybox.addresses import filesystem, is_address, reaching
from jurybox.errors import StoreError
from jurybox.store.lock import MANIFEST, WriterLock


class Folder(Protocol):
    """Names are relative, with slashes."""

    @property
    def address(self) -> str: ...

    def names(self, below: str) -> list[str]:
        """Every file in one subfolder and its subfolders, sorted."""

    def read(self, name: str) -> bytes:
        """Raises `FileNotFoundError` where there is none."""

    def write(self, name: str, body: bytes) -> None:
        """When this returns the file is durable and whole."""

    def remove(self, name: str) -> None: ...


def open_folder(address: str | Path) -> Folder:
    return RemoteFolder(str(address)) if is_address(address) else LocalFolder(Path(address))


@contextmanager
def written_by_us(folder: Folder) -> Iterator[None]:
    """One driver a folder, as one writer a run file. Behind an address there is no lock to take."""
    if not isinstance(folder, LocalFolder):
        yield
        return
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(folder.path / MANIFEST)
    except OSError as exc:
        raise StoreError(f"--out {folder.path}: cannot be made: {exc.strerror}") from exc
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):  # wrong input leaves nothing behind
            folder.path.rmdir()


class LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    @property
    def address(self) -> str:
        return str(self.path)

    def names(self, below: str) -> list[str]:
        found = (self.path / below).rglob("*.parquet")
        return sorted(str(path.relative_to(self.path)) for path in found)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, body: bytes) -> None:
        target = self.path / name
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            _sync_directory(target.parent)
        except OSError as exc:
            with suppress(OSError):
                temporary.unlink()
            raise StoreError(f"{target}: cannot be written: {exc.strerror}") from exc

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


class RemoteFolder:
    """Behind fsspec: `s3://bucket/run`, `gs://…`, `file:///…`."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        with self._translated("opened"):
            self._files, root = filesystem(self._address)
        self._root = root.rstrip("/")

    @property
    def address(self) -> str:
        return self._address

    def names(self, below: str) -> list[str]:
        with self._translated("read"):
            try:
                self._files.invalidate_cache()
                found = self._files.find(f"{self._root}/{below}")
            except FileNotFoundError:
                return []
        return sorted(path[len(self._root) + 1 :] for path in map(str, found) if path.endswith(".parquet"))

    def read(self, name: str) -> bytes:
        with self._translated("read"):
            return bytes(self._files.cat_file(f"{self._root}/{name}"))

    def write(self, name: str, body: bytes) -> None:
        with self._translated("written"):
            self._files.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(f"{self._root}/{name}", body)

    def remove(self, name: str) -> None:
        with self._translated("written"):
            self._files.rm_file(f"{self._root}/{name}")

    @contextmanager
    def _translated(self, done: str) -> Iterator[None]:
        try:
            with reaching():
                yield
        except FileNotFoundError:
            raise
        except OSError as exc:
            raise StoreError(f"{self._address}: cannot be {done}: {exc}") from exc


def _sync_directory(path: Path) -> None:
    """A rename is durable when its directory is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
