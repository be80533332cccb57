"""`estimate`: system means from few human and many judge scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jurybox.api.looking import Run, path_of
from jurybox.data import read_ratings
from jurybox.errors import SetupError, StoreError
from jurybox.report.duels import holds_duels
from jurybox.report.estimate import Estimates, estimate_run
from jurybox.stats.bootstrap import SEED
from jurybox.store import RunReader


def estimate(
    run: str | Path | Run,
    *,
    human: str | Path | None = None,
    judge: str | None = None,
    rubrics: str | Sequence[str] = (),
    next_labels: int | None = None,
    seed: int = SEED,
) -> Estimates:
    """What people would give each system on average, by PPI++ from few ratings and the judge's scores of all items.

    `human` is a long file of ratings (id, system, rubric, rater, score) in the place of those in the run. `judge` is
    the jury or the only judge unless named. `next_labels` is how many items to label next; by default as many as halve
    the intervals. They are drawn with `seed`.
    """
    for option, number in (("next", next_labels), ("seed", seed)):
        if number is not None and number < 0:
            raise SetupError(f"--{option}: {number} is below zero")
    names = [name.strip() for name in rubrics.split(",")] if isinstance(rubrics, str) else list(rubrics)
    with RunReader(path_of(run)) as reader:
        if holds_duels(reader):
            raise StoreError(
                f"{reader.path}: holds duels, which are no scores of a system; there is no mean to estimate"
            )
        return estimate_run(
            reader,
            None if human is None else read_ratings(Path(human)),
            source="" if human is None else str(human),
            judge=judge,
            rubrics=[name for name in names if name],
            next_labels=next_labels,
            seed=seed,
        )
