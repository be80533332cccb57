"""`duel`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.judging import INTERRUPTED, WRONG_USE
from jurybox.cli.looking import UNSCORED, plain, print_json
from jurybox.cli.options import job_arguments, job_options

if TYPE_CHECKING:
    from jurybox.report.duels import Duels


@click.command(options_metavar="--rubrics R [OPTIONS]")
@job_options
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM SYSTEM...")
@click.option("--strict", is_flag=True, help="Exit with status 3 when any pair ends unscored.")
@click.pass_context
def duel(ctx: click.Context, /, systems: tuple[str, ...], as_json: bool, strict: bool, **options: Any) -> None:
    """Ask which of two systems' summaries is better, always in both orders.

    Every pair of the SYSTEMs is compared on every source of DATA that both have summarised. An answer that changes with
    the order is a tie, and counted as inconsistent. More than two systems are ranked. --limit counts sources; the file
    is the data's name with .duel.db unless --out says otherwise.
    """
    ctx.exit(_duel(systems, as_json, strict, job_arguments(options)))


def _duel(systems: tuple[str, ...], as_json: bool, strict: bool, arguments: dict[str, Any]) -> int:
    from jurybox.api import duels, judging
    from jurybox.cli.session import run_until_stopped
    from jurybox.data import Dataset, PairedDataset
    from jurybox.errors import JudgeRejection

    duels.refuse_beside_duels(arguments)
    data, columns, limit = (arguments.pop(name) for name in ("data", "columns", "limit"))
    out = arguments.pop("out") or judging.default_out(data, "duel")
    pairs = PairedDataset(Dataset(data, columns=columns), systems, limit)
    try:
        finished = run_until_stopped({**arguments, "data": pairs, "out": out})
    except JudgeRejection as exc:
        click.echo(
            plain(f"jurybox: {exc}\nStopped. What was judged is kept in {out}; go on with the same command."), err=True
        )
        return WRONG_USE
    if finished is None or not finished.complete:
        click.echo(f"Interrupted. What was judged is kept in {out}. Go on with the same command.", err=True)
        return INTERRUPTED
    found = duels.show_duels(finished, pairs)
    _print(found, as_json, f"Kept in {out}. Every answer: jurybox export {out} --to FILE.csv")
    return _exit_status(found, strict)


def _print(duels: Duels, as_json: bool, hint: str) -> None:
    from jurybox.report.duel_text import duels_text

    if as_json:
        print_json(duels.as_dict())
        return
    click.echo(plain(duels_text(duels, min(shutil.get_terminal_size((80, 24)).columns, 100))))
    click.echo(f"\n{hint}")


def _exit_status(duels: Duels, strict: bool) -> int:
    if strict and duels.unscored:
        click.echo(f"--strict: {duels.unscored:,} pairs ended unscored", err=True)
        return UNSCORED
    return 0
