"""`report`."""

from __future__ import annotations

import click

from jurybox.cli.looking import print_json
from jurybox.cli.options import JSON, STRESS


@click.command()
@click.argument("run", metavar="RUN.db")
@click.option("--out", metavar="FILE.html", help="The page. Default: beside the run, named after it.")
@click.option(
    "--items",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many items to show of each kind: best, worst, most disputed.",
)
@STRESS
@JSON
def report(run: str, out: str | None, items: int, stress: str | None, as_json: bool) -> None:
    """Write a run as one HTML page: scores, ranking, agreement, items to read, failures.

    The page is one file. It needs no network and no script, prints, and is light or dark as the reader's machine is.
    """
    from jurybox.api import reporting

    page = reporting.report(run, out, items=items, stress=stress)
    size = page.stat().st_size
    if as_json:
        print_json({"run": run, "out": str(page), "bytes": size})
    else:
        told = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
        click.echo(f"Report written to {page} ({told})")
