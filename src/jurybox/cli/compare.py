"""`compare`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from jurybox.cli.looking import COMBINE, JURY, plain, print_json
from jurybox.cli.options import JSON

if TYPE_CHECKING:
    from jurybox.report.jury import JuryCombine
    from jurybox.stats import Combine


@click.command()
@click.argument("run", metavar="RUN.db")
@click.argument("systems", nargs=-1, metavar="[A B ...]")
@click.option("--all", "everyone", is_flag=True, help="Compare every pair of systems in the run.")
@click.option("--judge", metavar="SPEC", help="Whose scores. Default: the jury, or the run's only real judge.")
@click.option("--rubrics", metavar="R,...", help="Only these rubrics; the correction is then over these alone.")
@click.option("--difference", type=float, metavar="D", help="How many sources would show D. Default: the one seen.")
@COMBINE
@JURY
@JSON
def compare(
    run: str,
    systems: tuple[str, ...],
    everyone: bool,
    judge: str | None,
    rubrics: str | None,
    difference: float | None,
    combine: Combine,
    jury: JuryCombine,
    as_json: bool,
) -> None:
    """Compare systems in pairs on the same sources: difference, test, effect, and what so many sources can show.

    p-values are corrected by Holm over everything that is shown. Unscored summaries are bounded, not dropped.
    """
    from jurybox.api import comparing
    from jurybox.cli.painting import say
    from jurybox.report.compare_text import comparison_text

    if everyone == bool(systems):
        raise click.UsageError("name two systems or more, or say --all for every pair")
    found = comparing.compare(
        run, *systems, judge=judge, rubrics=rubrics or (), combine=combine, jury=jury, difference=difference
    )
    if as_json:
        print_json(found.as_dict())
    else:
        say(plain(comparison_text(found, min(shutil.get_terminal_size((80, 24)).columns, 100))))
