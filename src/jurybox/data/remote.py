"""Files behind an address (`s3://…`, `gs://…`, `https://…`), through fsspec: as much of them as reading needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from jurybox.errors import DataError


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """As much of a `Path` as a reader of data needs."""

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.address).suffix

    @property
    def stem(self) -> str:
        return PurePosixPath(self.address).stem

    def absolute(self) -> RemoteFile:
        return self

    def exists(self) -> bool:
        return True  # opening it says what is wrong

    def is_file(self) -> bool:
        return True

    def is_dir(self) -> bool:
        return False

    def size(self) -> int:
        files, path = self._files()
        return int(files.size(path) or 0)

    def open(self, _: str = "rb") -> IO[bytes]:
        files, path = self._files()
        opened: IO[bytes] = files.open(path, "rb")
        return opened

    def _files(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs

            files, path = url_to_fs(self.address)
        except (ImportError, ValueError) as exc:
            raise DataError(
                self.address, None, f"cannot be opened: {exc}; addresses need fsspec and the driver it names"
            ) from exc
        return files, str(path)


def file_at(place: str | Path) -> Path | RemoteFile:
    return RemoteFile(str(place)) if "://" in str(place) else Path(place)
