"""Result folder to run file: readers see `run.db`, made of the parts and brought up to date at every look.

Deduplicates by key: of a call that was answered twice the first answer counts. The parts are the truth; the run file
may be deleted, and only ratings that people gave in it would go with it.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from jurybox.addresses import is_address
from jurybox.errors import StoreError
from jurybox.places import cache_folder
from jurybox.store.connection import PATIENCE
from jurybox.store.lock import MANIFEST
from jurybox.store.parts.folder import Folder, LocalFolder, open_folder
from jurybox.store.parts.manifest import Manifest
from jurybox.store.parts.rows import LACKS, from_part
from jurybox.store.parts.store import JUDGMENTS
from jurybox.store.parts.taking import put_series, take_part, taken_parts
from jurybox.store.reader import RunReader
from jurybox.store.runfile import RunFile

RUN_FILE = "run.db"


def is_result_folder(path: str | Path) -> bool:
    return is_address(path) or (Path(path) / MANIFEST).is_file()


def run_file_of(path: str | Path) -> Path:
    """A run file that holds everything the folder holds now."""
    folder = open_folder(path)
    target = _target(folder)
    new = _new_parts(folder, target)
    if new or not target.exists():
        _import(folder, target)
    return target


def _target(folder: Folder) -> Path:
    if isinstance(folder, LocalFolder) and os.access(folder.path, os.W_OK):
        return folder.path / RUN_FILE
    name = hashlib.sha256(folder.address.encode()).hexdigest()[:24]
    return cache_folder() / "runs" / f"{name}.run.db"


def _new_parts(folder: Folder, target: Path) -> bool:
    if not target.exists():
        return True
    with RunReader(target) as reader:
        known = taken_parts(reader)
        rows = [(row["rubric"], row["judge"], row["expected"]) for row in Manifest(folder).series]
        same = rows == [(rubric, judge, count) for (rubric, judge), count in reader.expected().items()]
    return not same or any(name not in known for name in folder.names(JUDGMENTS))


def _import(folder: Folder, target: Path) -> None:
    store = _opened(target)
    try:
        manifest = Manifest(folder)
        numbers = {number: put_series(store, row) for number, row in enumerate(manifest.series, 1)}
        with RunReader(target) as reader:
            known = taken_parts(reader)
        left = [name for name in folder.names(JUDGMENTS) if name not in known]
        for _ in range(2):  # a judgment may stand in a part before that of the call which it shares with another
            left = [name for name in left if not _take(store, folder, name, manifest, numbers)]
    finally:
        store.close()


def _take(store: RunFile, folder: Folder, name: str, manifest: Manifest, numbers: Mapping[int, int]) -> bool:
    """Whether all of a part is in the run file now."""
    try:
        body = folder.read(name)
    except FileNotFoundError:  # packed while we looked; the next look finds the pack
        return True
    _take_lacks(store, body, manifest, numbers)
    return take_part(store, name, from_part(body), numbers)


def _take_lacks(store: RunFile, body: bytes, manifest: Manifest, numbers: Mapping[int, int]) -> None:
    import pyarrow.parquet as pq

    metadata: Mapping[bytes, bytes] = pq.read_schema(io.BytesIO(body)).metadata or {}
    lacks: dict[str, Any] = orjson.loads(metadata[LACKS]) if LACKS in metadata else {}
    for judge, said in lacks.items():
        of_judge = [number for number, (_, other) in manifest.names.items() if other == judge]
        store.note_lacks([numbers[number] for number in of_judge], said)


def _opened(target: Path) -> RunFile:
    """The run file to write; where another looks at the folder at the same moment, wait for it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return RunFile(target)
        except StoreError:
            if time.monotonic() > until or not target.with_name(target.name + "-lock").exists():
                raise
            time.sleep(0.1)
