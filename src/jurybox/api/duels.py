"""`duel`: which of two summaries is better."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jurybox.api.jobs import DEFAULT_JUDGE, Data
from jurybox.api.judging import aevaluate, default_out
from jurybox.api.looking import Run, path_of
from jurybox.data import Dataset, PairedDataset
from jurybox.errors import SetupError, StoreError
from jurybox.report.duels import Duels, holds_duels, summarise_duels
from jurybox.store import RunReader
from jurybox.types import Rubric


async def aduel(
    data: Data,
    systems: Sequence[str],
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    **options: Any,
) -> Duels:
    """Which of two systems' summaries is better, for every pair of `systems`, in both orders; `limit` is of sources."""
    refuse_beside_duels(options)
    pairs = PairedDataset(Dataset(data, columns=columns), systems, limit)
    path = default_out(data, "duel") if out is None else out
    run = await aevaluate(pairs, rubrics=rubrics, judge=judge, out=path, **options)
    return show_duels(run, pairs)


def duel(data: Data, systems: Sequence[str], *, rubrics: str | Sequence[str | Rubric], **options: Any) -> Duels:
    """`aduel` for code without an event loop."""
    return asyncio.run(aduel(data, systems, rubrics=rubrics, **options))


def refuse_beside_duels(options: Mapping[str, Any]) -> None:
    """What means something for one summary alone."""
    if options.get("human") is not None:
        raise SetupError("--human: ratings are of one summary, and a duel is between two; leave it out")
    if options.get("long") == "extract":
        raise SetupError("--long extract: picks passages for one summary, which would favour it; use --long sample")


def show_duels(run: str | Path | Run, pairs: PairedDataset | None = None) -> Duels:
    """Who beat whom in a file of duels; `pairs` knows the systems asked about and what their data lacks."""
    with RunReader(path_of(run)) as reader:
        if not holds_duels(reader):
            raise StoreError(f"{reader.path}: holds no duels; `jurybox show {reader.path}` shows its scores")
        return summarise_duels(reader) if pairs is None else summarise_duels(reader, pairs.systems, pairs.missing)
