"""`ratings import`, `ratings export`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from jurybox.cli.looking import plain, print_json
from jurybox.cli.options import JSON, pair

if TYPE_CHECKING:
    from jurybox.api.annotating import Imported
    from jurybox.data.rating_files import RatingFormat
    from jurybox.report.rating_files import Exported

FORMAT = click.Choice(["csv", "label-studio", "argilla"])
RUBRICS = click.option("--rubrics", default="", metavar="R,...", help="Only these rubrics. Default: all of the run.")


@click.group()
def ratings() -> None:
    """Bring people's ratings into a run, and take them out."""


@ratings.command("import")
@click.argument("run", metavar="RUN.db")
@click.argument("file")
@click.option("--format", "kind", type=FORMAT, help="What FILE is. Default: seen from what it holds.")
@RUBRICS
@click.option(
    "--rater", "raters", multiple=True, type=pair, metavar="OLD=NEW", help="Another name for a rater. Repeatable."
)
@JSON
def import_ratings(
    run: str,
    file: str,
    kind: RatingFormat | None,
    rubrics: str,
    raters: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Take ratings from FILE into the run, all of them or none.

    FILE is a long table (id, system, rubric, rater, score, and if you like comment and at), an export of Label Studio
    (JSON or JSON_MIN), or records of Argilla (its JSON, or the folder of `to_disk`).
    """
    from jurybox.api import annotating

    found = annotating.import_ratings(run, file, kind=kind, rubrics=rubrics, raters=dict(raters))
    if as_json:
        print_json(found.as_dict())
    else:
        click.echo(plain(_imported_text(found)))


@ratings.command("export")
@click.argument("run", metavar="RUN.db")
@click.option("--to", required=True, metavar="FILE", help="A .csv or .json file; for Argilla a folder.")
@click.option("--format", "kind", type=FORMAT, help="Default: .csv csv, .json label-studio, no ending argilla.")
@click.option("--tasks", is_flag=True, help="Items to rate, blind and shuffled, instead of ratings.")
@RUBRICS
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order of tasks.")
@JSON
def export_ratings(
    run: str, to: str, kind: RatingFormat | None, tasks: bool, rubrics: str, seed: int, as_json: bool
) -> None:
    """Write people's ratings, or with --tasks the items to rate, for other tools."""
    from jurybox.api import annotating

    found = annotating.export_ratings(run, to, kind=kind, tasks=tasks, rubrics=rubrics, seed=seed)
    if as_json:
        print_json(found.as_dict())
    else:
        click.echo(plain(_exported_text(found)))


def _imported_text(found: Imported) -> str:
    taken = found.taken
    parts = (
        (taken.new, "new"),
        (taken.replaced, "in the place of the same rater's earlier score"),
        (taken.skipped, "skipped by their rater"),
    )
    left = (
        (taken.there, "there already"),
        (taken.older, "older than what is there"),
        (found.drafts, "drafts"),
        (found.others, "answers about other things"),
    )
    lines = [f"{_counted(taken.taken, 'rating')} taken from {found.file} ({found.format}) into {found.run}."]
    lines += [f"Taken: {_listed(parts)}."] if taken.taken else []
    lines += [f"Left out: {_listed(left)}."] if any(count for count, _ in left) else []
    lines += [f"Raters: {', '.join(found.raters)}", f"Rubrics: {', '.join(found.rubrics)}"]
    return "\n".join(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def _listed(parts: tuple[tuple[int, str], ...]) -> str:
    return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def _exported_text(found: Exported) -> str:
    what = _counted(found.items, "item") + " to rate"
    if found.ratings:
        what = f"{_counted(found.ratings, 'rating')} of {_counted(found.items, 'item')}"
        what += f" by {_counted(found.raters, 'rater')}"
    return "\n".join([f"{what}, for {found.format}:", *(f"  {file}" for file in found.files)])


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
