"""Result folders: the judgments of a cluster as small immutable Parquet files, and what readers make of them."""

from __future__ import annotations

from jurybox.store.parts.folder import Folder, open_folder, written_by_us
from jurybox.store.parts.importing import is_result_folder, run_file_of
from jurybox.store.parts.index import Stored, Table, complete_items, empty, index, read_columns
from jurybox.store.parts.manifest import Manifest
from jurybox.store.parts.rows import item_fingerprint
from jurybox.store.parts.store import JUDGMENTS, PartStore, pack, part_name

__all__ = [
    "JUDGMENTS",
    "Folder",
    "Manifest",
    "PartStore",
    "Stored",
    "Table",
    "complete_items",
    "empty",
    "index",
    "is_result_folder",
    "item_fingerprint",
    "open_folder",
    "pack",
    "part_name",
    "read_columns",
    "run_file_of",
    "written_by_us",
]
