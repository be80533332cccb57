"""`show` and `export`, and how results are printed and judged by an exit status."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.options import JSON, gate

if TYPE_CHECKING:
    from jurybox.report.jury import JuryCombine
    from jurybox.report.summary import Summary
    from jurybox.stats import Combine

Gates = tuple[tuple[str, float], ...]
GATE_FAILED = 1
UNSCORED = 3

FAIL_UNDER = click.option(
    "--fail-under",
    multiple=True,
    type=gate,
    metavar="RUBRIC=MEAN",
    help="Exit with status 1 when a system's mean on the rubric is below. Repeatable.",
)


COMBINE = click.option(
    "--combine",
    type=click.Choice(["mean", "median", "mode"]),
    default="mean",
    show_default=True,
    help="What makes one score of an item's samples.",
)
JURY = click.option(
    "--jury",
    type=click.Choice(["mean", "median", "learned"]),
    default="mean",
    show_default=True,
    help="What makes one score of several judges; learned: weights from human ratings.",
)


CALIBRATION = click.option(
    "--calibration",
    metavar="NAME",
    help="Calibrate by what `jurybox calibrate --name NAME` kept in the run. Default: raw scores.",
)


@click.command()
@click.argument("run", metavar="RUN.db")
@COMBINE
@JURY
@CALIBRATION
@FAIL_UNDER
@JSON
@click.pass_context
def show(
    ctx: click.Context,
    run: str,
    combine: Combine,
    jury: JuryCombine,
    calibration: str | None,
    fail_under: Gates,
    as_json: bool,
) -> None:
    """Show a run: systems x rubrics with mean, interval, n and what went unscored."""
    from jurybox.api import looking

    summary = looking.show(run, combine=combine, jury=jury, calibration=calibration)
    refuse_unknown_gates(fail_under, summary.main.signatures)
    print_summary(summary, as_json)
    ctx.exit(exit_status(summary, fail_under, strict=False))


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option("--to", required=True, metavar="FILE", help="A .parquet, .csv or .jsonl file.")
@CALIBRATION
@JSON
def export(run: str, to: str, calibration: str | None, as_json: bool) -> None:
    """Write every judgment of a run to a file, one row each."""
    from jurybox.api import calibrating, looking

    count = looking.export(run, to, calibration=calibration)
    raw = {} if calibration is None else calibrating.uncalibrated(run, calibration)
    if as_json:
        told = {"calibration": calibration, "uncalibrated": raw} if calibration else {}
        print_json({"run": run, "to": to, "judgments": count, **told})
        return
    click.echo(f"{count:,} judgments written to {to}")
    if calibration:
        click.echo(plain(_export_notes(calibration, raw)))


def _export_notes(calibration: str, raw: Mapping[str, Sequence[str]]) -> str:
    """What the columns of a calibration hold, and where they are empty."""
    told = [
        f"calibrated_score: each item's mean over its samples, calibrated by {calibration}; score is raw. On items "
        "that it was fitted on, calibrated scores look better than they are."
    ]
    told += [
        f"NOT calibrated, calibrated_score is empty: {judge}: {', '.join(rubrics)}" for judge, rubrics in raw.items()
    ]
    return "\n".join(textwrap.fill(line, 80, subsequent_indent="  ") for line in told)


def plain(text: str) -> str:
    """Text from outside (system names, a server's words) without characters that could steer a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def print_summary(summary: Summary, as_json: bool, hint: str = "") -> None:
    from jurybox.cli.painting import say
    from jurybox.report.table import summary_text

    if as_json:
        print_json(summary.as_dict())
        return
    say(plain(summary_text(summary, shutil.get_terminal_size((80, 24)).columns)))
    if hint:
        click.echo(f"\n{hint}")


def print_json(document: Any) -> None:
    import orjson

    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())


def exit_status(summary: Summary, fail_under: Gates, strict: bool) -> int:
    """0, or 1 when a gate failed, or 3 when strict and something is unscored; says why on standard error."""
    failed = [line for rubric, least in fail_under for line in _below(summary, rubric, least)]
    for line in failed:
        click.echo(f"gate failed: {line}", err=True)
    if failed:
        return GATE_FAILED
    if strict and summary.unscored:
        click.echo(f"--strict: {summary.unscored:,} judgments ended unscored", err=True)
        return UNSCORED
    return 0


def refuse_unknown_gates(gates: Gates, rubrics: Iterable[str]) -> None:
    from jurybox.errors import SetupError, unknown_name

    known = list(rubrics)
    for rubric, _ in gates:
        if rubric not in known:
            raise SetupError("--fail-under: " + unknown_name("rubric", rubric, known))


def _below(summary: Summary, rubric: str, least: float) -> list[str]:
    found = []
    for system, estimates in summary.main.systems.items():
        value = estimates[rubric].value if rubric in estimates else None
        if value is None:
            found.append(f"{rubric} of {system} has no score (at least {least:g} was asked for)")
        elif value < least:
            found.append(f"{rubric} of {system} is {value:.3f}, below {least:g}")
    return found
