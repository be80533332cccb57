"""`run`, `plan` and `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jurybox.cli.looking import FAIL_UNDER, Gates, exit_status, print_json, print_summary, refuse_unknown_gates
from jurybox.cli.options import JSON, job_arguments, job_options

WRONG_USE = 2
INTERRUPTED = 130


@click.command()
@job_options
@FAIL_UNDER
@click.option("--strict", is_flag=True, help="Exit with status 3 when any judgment ends unscored.")
@click.pass_context
def run(ctx: click.Context, /, as_json: bool, fail_under: Gates, strict: bool, **options: Any) -> None:
    """Judge every item of DATA on every rubric, into one run file.

    DATA is a JSONL, CSV or Parquet file, or - for JSONL on standard input. Stopped or killed, the same command goes on
    where it was; what was answered once is never paid again.
    """
    ctx.exit(_judge(as_json, fail_under, strict, **job_arguments(options)))


def _judge(as_json: bool, fail_under: Gates, strict: bool, **arguments: Any) -> int:
    from jurybox import api
    from jurybox.cli.session import run_until_stopped
    from jurybox.errors import JudgeRejection

    refuse_unknown_gates(fail_under, (rubric.name for rubric in api.find_rubrics(arguments["rubrics"])))
    out = arguments["out"] or api.default_out(arguments["data"])
    try:
        finished = run_until_stopped({**arguments, "out": out})
    except JudgeRejection as exc:
        click.echo(f"jurybox: {exc}\nStopped. What was judged is kept in {out}; the same command goes on.", err=True)
        return WRONG_USE
    if finished is None or not finished.complete:
        click.echo(f"Interrupted. What was judged is kept in {out}. Go on with the same command.", err=True)
        return INTERRUPTED
    summary = finished.show()
    print_summary(
        summary, as_json, hint=f"Kept in {out}. Next: jurybox show {out} | jurybox export {out} --to FILE.csv"
    )
    return exit_status(summary, fail_under, strict)


@click.command()
@job_options
def plan(as_json: bool, **options: Any) -> None:
    """Say what `run` with the same arguments would ask, cost and take. Sends nothing."""
    from jurybox import api
    from jurybox.report import plan_text

    planned = api.plan(**job_arguments(options))
    if as_json:
        print_json(planned.as_dict())
    else:
        click.echo(plan_text(planned))


DEMO_DATA = {"product-opinion": "products.jsonl", "health-perspective": "health.jsonl"}
DEMO_JUDGE = "baseline/length"
DEMO_NOTICE = (
    "This demo's judge is baseline/length: it only counts words, and is no judgment of quality. It is here because it\n"
    "needs no model, and because every real judge must beat it. See that it cannot tell a careful summary from an\n"
    "altered one. Put a real judge in its place: jurybox run {data} --rubrics {pack} --judge openai/MODEL"
)


@click.command()
@click.option("--pack", type=click.Choice(list(DEMO_DATA)), default="product-opinion", show_default=True)
@click.option("--out", metavar="RUN.db", default="demo.run.db", show_default=True, help="The run file.")
@JSON
@click.pass_context
def demo(ctx: click.Context, pack: str, out: str, as_json: bool) -> None:
    """Judge the bundled examples at once: no key, no network, no GPU."""
    from importlib.resources import as_file, files

    with as_file(files("jurybox.examples").joinpath(DEMO_DATA[pack])) as data:
        arguments = {"data": str(data), "rubrics": pack, "judge": [DEMO_JUDGE], "out": Path(out)}
        status = _judge(as_json, (), False, **arguments)
        if not as_json:
            click.echo("\n" + DEMO_NOTICE.format(data=data, pack=pack))
    ctx.exit(status)
