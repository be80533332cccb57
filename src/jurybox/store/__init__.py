"""One SQLite file a run: every item, call, attempt, verdict and rating. The only room that speaks SQL.

`RunFile` is for writing a run, `RunReader` for everything that looks at one.
"""

from __future__ import annotations

from jurybox.store.cache import ReplyCache, default_path
from jurybox.store.reader import RunReader, Tally
from jurybox.store.replayed import EarlierReplies
from jurybox.store.runfile import Entry, RunFile, source_json
from jurybox.store.series import Series

__all__ = [
    "EarlierReplies",
    "Entry",
    "ReplyCache",
    "RunFile",
    "RunReader",
    "Series",
    "Tally",
    "default_path",
    "source_json",
]
