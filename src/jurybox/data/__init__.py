"""Items in: JSONL, CSV, Parquet, standard input or Python records become `Item`s, streamed, checked, located.

`Dataset` is the only thing the rest of jurybox needs. It can be walked any number of times and never
holds more than one line; it refuses what it cannot read with a `DataError` that names file, line and field.
"""

from __future__ import annotations

from jurybox.data.dataset import Census, Dataset
from jurybox.data.fileset import FileSet, is_several
from jurybox.data.pairs import PairedDataset
from jurybox.data.ratings import Ratings, read_ratings

__all__ = [
    "Census",
    "Dataset",
    "FileSet",
    "PairedDataset",
    "Ratings",
    "is_several",
    "read_ratings",
]
