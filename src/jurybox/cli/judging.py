"""`run`, `plan` and `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.looking import (
    COMBINE,
    FAIL_UNDER,
    GATE_FAILED,
    JURY,
    Gates,
    exit_status,
    plain,
    print_json,
    print_summary,
    refuse_unknown_gates,
)
from jurybox.cli.options import JSON, engine_options, job_arguments, job_options

if TYPE_CHECKING:
    from jurybox.report.jury import JuryCombine
    from jurybox.stats import Combine

WRONG_USE = 2
INTERRUPTED = 130


@click.command()
@job_options
@engine_options
@COMBINE
@JURY
@FAIL_UNDER
@click.option("--strict", is_flag=True, help="Exit with status 3 when any judgment ends unscored.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    as_json: bool,
    combine: Combine,
    jury: JuryCombine,
    fail_under: Gates,
    strict: bool,
    **options: Any,
) -> None:
    """Judge every item of DATA on every rubric, into one run file.

    DATA is a JSONL, CSV or Parquet file, or - for JSONL on standard input. Stopped or killed, the same command goes on
    where it was; what was answered once is never paid again.
    """
    ctx.exit(_judge(as_json, fail_under, strict, combine, jury, **job_arguments(options)))


def _judge(
    as_json: bool,
    fail_under: Gates,
    strict: bool,
    combine: Combine = "mean",
    jury: JuryCombine = "mean",
    **arguments: Any,
) -> int:
    from jurybox.api import jobs
    from jurybox.cli.session import run_until_stopped
    from jurybox.errors import JudgeRejection

    refuse_unknown_gates(fail_under, (rubric.name for rubric in jobs.find_rubrics(arguments["rubrics"])))
    out = arguments["out"] or _default_out(arguments)
    try:
        finished = run_until_stopped({**arguments, "out": out})
    except JudgeRejection as exc:
        click.echo(
            plain(f"jurybox: {exc}") + f"\nStopped. What was judged is kept in {out}; the same command goes on.",
            err=True,
        )
        return WRONG_USE
    if finished is not None and finished.tally is not None and finished.tally.stopped:
        click.echo(
            f"Stopped by {finished.tally.stopped}. What was judged is kept in {out}; a higher --max-cost goes on.",
            err=True,
        )
        return GATE_FAILED
    if finished is None or not finished.complete:
        click.echo(f"Interrupted. What was judged is kept in {out}. Go on with the same command.", err=True)
        return INTERRUPTED
    summary = finished.show(combine=combine, jury=jury)
    following = "".join(
        f"\n  jurybox {word}" for word in (f"show {out}", f"report {out}", f"export {out} --to FILE.csv")
    )
    print_summary(summary, as_json, hint=f"Kept in {out}. Next:{following}")
    return exit_status(summary, fail_under, strict)


def _default_out(arguments: dict[str, Any]) -> Path:
    from jurybox.api import judging

    if arguments.get("engine") == "ray":
        from jurybox.api.scaling import results_of

        return results_of(arguments["data"])
    return judging.default_out(arguments["data"])


@click.command()
@job_options
@engine_options
def plan(as_json: bool, **options: Any) -> None:
    """Say what `run` with the same arguments would ask, cost and take. Sends nothing."""
    from jurybox.api import judging
    from jurybox.report.plans import plan_text

    planned = judging.plan(**job_arguments(options))
    if as_json:
        print_json(planned.as_dict())
    else:
        click.echo(plan_text(planned))


DEMO_DATA = {"product-opinion": "products.jsonl", "health-perspective": "health.jsonl"}
DEMO_JUDGE = "embedded"
DEMO_SYSTEMS = (
    "The four systems are classes of quality: a careful summary, the lead of the description, one with invented or\n"
    "flipped statements (altered), one of another product or perspective (misplaced). Your own data:"
)
DEMO_WITHOUT_MODELS = (
    "The embedded judge cannot run here: {why}\n"
    "In its place stands baseline/length. It only counts words and is no judgment of quality: see that it cannot\n"
    "tell a careful summary from an altered one.\n"
)


@click.command()
@click.option("--pack", type=click.Choice(list(DEMO_DATA)), default="product-opinion", show_default=True)
@click.option("--judge", metavar="SPEC", default=DEMO_JUDGE, show_default=True, help="Any judge that `run` takes.")
@click.option("--out", metavar="RUN.db", default="demo.run.db", show_default=True, help="The run file.")
@JSON
@click.pass_context
def demo(ctx: click.Context, /, pack: str, judge: str, out: str, as_json: bool) -> None:
    """Judge the bundled examples at once: no key, no network, no GPU.

    Prints the table and writes a report for a browser beside the run. The embedded judge fetches its weights once (190
    MB). Where it cannot run, a trivial baseline takes its place and says so.
    """
    from importlib.resources import as_file, files

    from jurybox.api import reporting
    from jurybox.errors import JudgeSpecError, WeightsError

    with as_file(files("jurybox.examples").joinpath(DEMO_DATA[pack])) as data:
        arguments: dict[str, Any] = {"data": str(data), "rubrics": pack, "judge": [judge], "out": Path(out)}
        try:
            status = _judge(as_json, (), False, **arguments)
        except (JudgeSpecError, WeightsError) as exc:
            if judge != DEMO_JUDGE:
                raise
            click.echo(DEMO_WITHOUT_MODELS.format(why=exc), err=True)
            status = _judge(as_json, (), False, **{**arguments, "judge": ["baseline/length"]})
        page = reporting.report(out) if status == 0 else None
        if not as_json:
            click.echo(f"\n{DEMO_SYSTEMS}\n  jurybox run DATA --rubrics {pack}\nThe examples: {data}")
            if page is not None:
                click.echo(f"The report, for a browser: {page}")
    ctx.exit(status)
