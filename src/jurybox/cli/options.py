"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def pair(value: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, rest = value.partition("=")
    if not equals or not name.strip() or not rest.strip():
        raise click.BadParameter(f"'{value}' should be two words with = between them")
    return name.strip(), rest.strip()


def gate(value: str) -> tuple[str, float]:
    """RUBRIC=MEAN."""
    rubric, least = pair(value)
    try:
        return rubric, float(least)
    except ValueError:
        raise click.BadParameter(f"'{value}': '{least}' is not a number") from None


def prices(value: str) -> tuple[float, float]:
    """IN,OUT: USD for a million tokens."""
    try:
        tokens_in, tokens_out = (float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"'{value}' should be two numbers, as in 0.15,0.60") from None
    if min(tokens_in, tokens_out) < 0:
        raise click.BadParameter(f"'{value}': a price is not below zero")
    return tokens_in, tokens_out


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")

_JOB = (
    click.argument("data"),
    click.option(
        "--rubrics",
        required=True,
        help="Rubrics, packs or files, separated by commas. See `jurybox rubrics list`.",
    ),
    click.option(
        "--judge",
        "judges",
        multiple=True,
        default=["embedded"],
        show_default=True,
        metavar="SPEC",
        help="embedded, openai/MODEL, local/PATH.gguf, baseline/NAME, replay/RUN.db. Repeatable.",
    ),
    click.option(
        "--layout",
        type=click.Choice(["classic", "shared", "form"]),
        help="Order of the prompt. Default: each rubric's own.",
    ),
    click.option(
        "--answer",
        type=click.Choice(["tag", "form", "json", "digit"]),
        help="How the judge answers. Default: the layout's own.",
    ),
    click.option("--samples", type=int, default=1, show_default=True, help="Answers asked for each item and rubric."),
    click.option("--temperature", type=float, help="Default: 0 for one sample, 0.7 for several."),
    click.option("--max-tokens", type=int, help="Longest answer. Default: the server's own."),
    click.option("--seed", type=int, help="Seed sent to the judge; sample k gets seed + k - 1."),
    click.option("--base-url", help="Address of an OpenAI-compatible server. Default: $OPENAI_BASE_URL."),
    click.option("--price", type=prices, metavar="IN,OUT", help="USD for a million tokens in and out."),
    click.option("--threads", type=int, help="Threads of a local model. Default: physical cores less one."),
    click.option("--context", type=int, help="Tokens that a local model can hold. Default: 8192, or its own if fewer."),
    click.option("--concurrency", type=int, default=16, show_default=True, help="Calls in flight at once."),
    click.option("--retries", type=int, default=6, show_default=True, help="Tries after a call that failed."),
    click.option("--reasks", type=int, default=2, show_default=True, help="Times an unread answer is asked again."),
    click.option(
        "--deadline", type=float, default=300.0, show_default=True, help="Seconds for one call with all its tries."
    ),
    click.option("--limit", type=int, help="Judge the first N items only."),
    click.option(
        "--map",
        "columns",
        multiple=True,
        type=pair,
        metavar="FIELD=COLUMN",
        help="Read a field from a column of yours.",
    ),
    click.option("--human", metavar="FILE", help="Human ratings: id, system, rubric, rater, score."),
    click.option("--out", metavar="RUN.db", help="The run file. Default: the data's name with .run.db."),
    JSON,
)


def job_options(command: Command) -> Command:
    """The arguments that `run` and `plan` have in common."""
    for option in reversed(_JOB):
        command = option(command)
    return command


def job_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Those options as the arguments of `jurybox.api`."""
    arguments = dict(options)
    arguments["judge"] = list(arguments.pop("judges"))
    arguments["columns"] = dict(arguments["columns"])
    return arguments
