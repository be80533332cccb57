"""`agree`: a run's judge against people."""

from __future__ import annotations

from pathlib import Path

from jurybox.api.looking import Run, path_of
from jurybox.data import read_ratings
from jurybox.errors import StoreError
from jurybox.report.agree import Agreement, agreement
from jurybox.report.duels import holds_duels
from jurybox.stats.figures import RESAMPLES, SEED
from jurybox.store import RunReader


def agree(
    run: str | Path | Run,
    *,
    human: str | Path | None = None,
    judge: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Agreement:
    """A run's judge against people, rubric by rubric, beside people's own ceiling and trivial judges.

    `human` is a long file of ratings (id, system, rubric, rater, score) instead of those in the run; `judge` chooses
    another judge than the one the run is about (`jury` for its jury).
    """
    with RunReader(path_of(run)) as reader:
        if holds_duels(reader):
            raise StoreError(f"{reader.path}: holds duels, which are no scores; people's ratings are of one summary")
        ratings = None if human is None else read_ratings(Path(human))
        told = "the run" if human is None else str(human)
        return agreement(reader, human=ratings, human_from=told, judge=judge, resamples=resamples, seed=seed)
