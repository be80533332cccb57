"""`calibrate`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from jurybox.cli.looking import plain, print_json
from jurybox.cli.options import JSON

if TYPE_CHECKING:
    from jurybox.stats import CalibrationChoice


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option("--name", metavar="NAME", help="What to keep it under; `show --calibration NAME` applies it.")
@click.option(
    "--kind",
    type=click.Choice(["linear", "isotonic", "ordinal", "best"]),
    default="best",
    show_default=True,
    help="A line, a map that never falls, thresholds, or what errs least on other sources.",
)
@click.option(
    "--human",
    metavar="FILE",
    help="Human ratings: id, system, rubric, rater, score. Default: those in the run. A file takes their place.",
)
@click.option("--judge", metavar="SPEC", help="Whose scores. Default: the jury, or the only judge.")
@click.option("--rubrics", default="", metavar="R,...", help="Only these rubrics. Default: all that people rated.")
@click.option("--replace", is_flag=True, help="Put it in the place of what the name holds.")
@click.option("--list", "listed", is_flag=True, help="Show what the run holds, and fit nothing.")
@JSON
def calibrate(
    run: str,
    name: str | None,
    kind: CalibrationChoice,
    human: str | None,
    judge: str | None,
    rubrics: str,
    replace: bool,
    listed: bool,
    as_json: bool,
) -> None:
    """Fit the judge's scores to people's, test it on other sources, and keep it in the run under a name.

    Shows the judge's error (RMSE) before and after for each rubric. Nothing is applied by itself: `show` and `export`
    take --calibration NAME.
    """
    from jurybox.api import calibrating
    from jurybox.report.calibrate_text import fit_text, kept_text

    if listed == (name is not None):
        raise click.UsageError("say --name NAME to fit one, or --list to see what the run holds")
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    if name is None:
        kept = calibrating.calibrations(run)
        document, text = kept.as_dict(), kept_text(kept, width)
    else:
        fit = calibrating.calibrate(
            run, name=name, kind=kind, human=human, judge=judge, rubrics=rubrics, replace=replace
        )
        document, text = fit.as_dict(), fit_text(fit, width)
    if as_json:
        print_json(document)
    else:
        click.echo(plain(text))
