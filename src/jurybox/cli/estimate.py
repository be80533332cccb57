"""`estimate`."""

from __future__ import annotations

import shutil

import click

from jurybox.cli.looking import plain, print_json
from jurybox.cli.options import JSON


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option(
    "--human",
    metavar="FILE",
    help="Human ratings: id, system, rubric, rater, score. Default: those in the run. A file takes their place.",
)
@click.option("--judge", metavar="SPEC", help="Whose scores help. Default: the jury, or the only judge.")
@click.option("--rubrics", default="", help="Rubrics, separated by commas. Default: all that people rated.")
@click.option(
    "--next",
    "next_labels",
    type=int,
    metavar="K",
    help="Name K items to label next. Default: what halves the intervals.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random order of items to label next.")
@JSON
def estimate(
    run: str,
    human: str | None,
    judge: str | None,
    rubrics: str,
    next_labels: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Estimate what people would say of each system, from few human and many judge scores (PPI++).

    The rated items must be a random sample. Beside each mean: people alone, the judge alone, how many labels the
    estimate is worth, and which items to label next.
    """
    from jurybox.api import estimating

    found = estimating.estimate(run, human=human, judge=judge, rubrics=rubrics, next_labels=next_labels, seed=seed)
    if as_json:
        print_json(found.as_dict())
        return
    from jurybox.report.estimate_text import estimates_text

    click.echo(plain(estimates_text(found, min(shutil.get_terminal_size((80, 24)).columns, 100))))
