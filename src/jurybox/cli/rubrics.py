"""`rubrics list`, `rubrics show`, `rubrics check`."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.looking import print_json
from jurybox.cli.options import JSON

if TYPE_CHECKING:
    from jurybox.rubrics.defects import Defect
    from jurybox.types import Rubric

ITEMS_LOOKED_AT = 1000


@click.group()
def rubrics() -> None:
    """List, show and check rubrics."""


@rubrics.command("list")
@JSON
def list_rubrics(as_json: bool) -> None:
    """The built-in rubrics, pack by pack."""
    from jurybox.rubrics import packs

    if as_json:
        print_json({pack: [_brief(rubric) for rubric in members] for pack, members in packs().items()})
        return
    for pack, members in packs().items():
        click.echo(pack)
        for rubric in members:
            named = f"  {rubric.name:<25} {rubric.question}"
            click.echo(textwrap.fill(named, 80, subsequent_indent=" " * 28, drop_whitespace=True))
        click.echo()


def _brief(rubric: Rubric) -> dict[str, Any]:
    return {"name": rubric.name, "version": rubric.version, "label": rubric.label, "question": rubric.question}


@rubrics.command("show")
@click.argument("name")
@JSON
def show_rubric(name: str, as_json: bool) -> None:
    """One rubric, by name or by the path of its file."""
    from jurybox.rubrics import load

    found = load([name])
    if as_json:
        documents = [asdict(rubric) for rubric in found]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    click.echo("\n\n".join(_rubric_text(rubric) for rubric in found))


def _rubric_text(rubric: Rubric) -> str:
    if rubric.template is not None:
        return f"{rubric.title} ({rubric.label}), from a prompt file, sent as it is:\n\n{rubric.template.text}"
    scale = "\n".join(_wrapped(f"{step} - {label}", 2) for step, label in enumerate(rubric.scale, 1))
    steps = "\n".join(_wrapped(f"{number}. {step}", 2) for number, step in enumerate(rubric.steps, 1))
    inputs = [f"  required  {', '.join(rubric.required)}"]
    inputs += [f"  any of    {', '.join(rubric.any_of)}"] if rubric.any_of else []
    inputs += [f"  optional  {', '.join(rubric.optional)}"] if rubric.optional else []
    definition = "\n".join(textwrap.fill(line, 80) for line in rubric.definition.splitlines())
    parts = (
        f"{rubric.title} ({rubric.label}; {', '.join(rubric.packs)}; {rubric.target} is best)",
        rubric.question,
        definition,
        f"Scale\n{scale}",
        f"Steps\n{steps}",
        "Inputs\n" + "\n".join(inputs),
        f"Source\n{_wrapped(rubric.citation, 2)}",
    )
    return "\n\n".join(parts)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, 80, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4))


@rubrics.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--data", metavar="DATA", help="Data the prompt is meant for: fields that it lacks are pointed out.")
@JSON
def check_rubrics(files: tuple[str, ...], data: str | None, as_json: bool) -> None:
    """Point out what is wrong in rubric or prompt files. Changes nothing."""
    found = {file: _defects(Path(file), data) for file in files}
    if as_json:
        print_json({file: [asdict(defect) for defect in defects] for file, defects in found.items()})
        return
    for file, defects in found.items():
        click.echo(f"{file}: {len(defects)} defects" if defects else f"{file}: no defects found")
        for defect in defects:
            click.echo(_wrapped(f"line {defect.line}: {defect.kind}: {defect.message}", 2))
            click.echo(f"      {defect.excerpt}")


def _defects(file: Path, data: str | None) -> list[Defect]:
    from jurybox.data import Dataset
    from jurybox.rubrics import load_file
    from jurybox.rubrics.defects import find_defects

    rubrics = load_file(file)
    items = () if data is None else tuple(Dataset(data, limit=ITEMS_LOOKED_AT))
    return find_defects(file.read_text("utf-8"), rubrics, items)
