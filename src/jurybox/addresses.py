"""Files behind an address (`s3://…`, `gs://…`, `file://…`) through fsspec; what its drivers raise is an `OSError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def is_address(place: object) -> bool:
    return "://" in str(place)


def filesystem(address: str) -> tuple[Any, str]:
    """The file system that an address is in, and the path in it."""
    with reaching():
        from fsspec.core import url_to_fs

        files, path = url_to_fs(address)
        return files, str(path)


@contextmanager
def reaching() -> Iterator[None]:
    """Drivers have errors of their own (no credentials, no such bucket); here they are what a disk would raise."""
    try:
        yield
    except OSError:
        raise
    except ImportError as exc:
        raise OSError(f"{exc} (an address needs fsspec and the driver for its kind)") from exc
    except Exception as exc:
        raise OSError(f"{type(exc).__name__}: {exc}") from exc
