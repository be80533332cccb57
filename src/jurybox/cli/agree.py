"""`agree`."""

from __future__ import annotations

import shutil

import click

from jurybox.cli.looking import plain, print_json
from jurybox.cli.options import JSON


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option(
    "--human", metavar="FILE", help="Ratings: id, system, rubric, rater, score. Otherwise those that the run holds."
)
@click.option("--judge", metavar="SPEC", help="The judge to look at; otherwise the jury, or the run's one real judge.")
@click.option("--resamples", type=click.IntRange(1), default=2000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap and the tests.")
@JSON
def agree(run: str, human: str | None, judge: str | None, resamples: int, seed: int, as_json: bool) -> None:
    """Compare a judge with people, beside people's own ceiling and beside trivial judges.

    Says in words whether the judge follows people better than word count, system identity and ROUGE do.
    """
    from jurybox.api import agreeing
    from jurybox.report.agree_text import agreement_text

    found = agreeing.agree(run, human=human, judge=judge, resamples=resamples, seed=seed)
    if as_json:
        print_json(found.as_dict())
    else:
        click.echo(plain(agreement_text(found, min(shutil.get_terminal_size((80, 24)).columns, 100))))
