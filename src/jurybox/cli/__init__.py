"""The command line. The only room that prints: results to standard output, everything else to standard error.

Every command is a thin skin over the function of the same name in `jurybox.api`; heavy imports happen inside commands.
"""

from __future__ import annotations

import sys

import click

from jurybox import __version__
from jurybox.cli.agree import agree
from jurybox.cli.calibrate import calibrate
from jurybox.cli.compare import compare
from jurybox.cli.duel import duel
from jurybox.cli.estimate import estimate
from jurybox.cli.judging import INTERRUPTED, WRONG_USE, demo, plan, run
from jurybox.cli.looking import export, plain, show
from jurybox.cli.models import models
from jurybox.cli.ratings import ratings
from jurybox.cli.report import report
from jurybox.cli.rubrics import rubrics
from jurybox.cli.serve import serve
from jurybox.cli.stress import stress
from jurybox.errors import JuryboxError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="jurybox")
def cli() -> None:
    """Judges of summaries that you can trust.

    Start with `jurybox demo`; then `jurybox run DATA --rubrics product-opinion --judge SPEC`.
    """


for command in (
    demo,
    run,
    plan,
    show,
    agree,
    compare,
    estimate,
    calibrate,
    report,
    serve,
    export,
    duel,
    stress,
    ratings,
    rubrics,
    models,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line; every error of ours is one message and an exit status."""
    try:
        status = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        status = INTERRUPTED
    except click.ClickException as exc:
        exc.show()
        status = exc.exit_code
    except JuryboxError as exc:
        click.echo(plain(f"jurybox: {exc}"), err=True)
        status = WRONG_USE
    except BrokenPipeError:
        sys.stderr.close()
        status = 0
    sys.exit(status if isinstance(status, int) else 0)
