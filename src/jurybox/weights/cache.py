"""Where weights lie on this machine: models/NAME in the user's cache.

Looks, and makes nothing. A model is here when all its files are, at their full size; a file only ever gets its name
there after its checksum was right, so a look need not read the bytes again.
"""

from __future__ import annotations

from pathlib import Path

from jurybox.errors import WeightsError
from jurybox.places import cache_folder
from jurybox.weights.registry import Model, find


def folder_of(name: str) -> Path:
    """The folder of a model's files, whether it is there or not."""
    return models_folder() / name


def models_folder() -> Path:
    return cache_folder() / "models"


def is_here(model: Model) -> bool:
    return all(_size(folder_of(model.name) / file.name) == file.size for file in model.files)


def local_path(name: str) -> Path | None:
    """A model's file, or its folder where it has several; None when it is not on this machine."""
    model = find(name)
    if not is_here(model):
        return None
    folder = folder_of(name)
    return folder / model.files[0].name if len(model.files) == 1 else folder


def where(name: str) -> Path:
    """A model's file or folder; an error that says how to get it when it is not here."""
    path = local_path(name)
    if path is None:
        raise WeightsError(
            f"the weights '{name}' are not on this machine ({folder_of(name)}); get them: jurybox models get {name}"
        )
    return path


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
