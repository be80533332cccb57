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


def samples(value: str) -> int | str:
    """N or auto."""
    if value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"'{value}' should be a number or auto") from None


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
STRESS = click.option(
    "--stress",
    metavar="FILE",
    help="What `jurybox stress` found about the judge, to show too: what its --json wrote, or its run file.",
)

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
        help="embedded, openai/MODEL, anthropic/MODEL, ollama/MODEL, local/PATH.gguf, vllm/MODEL, baseline/NAME, "
        "replay/RUN.db. Repeatable: a jury.",
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
    click.option("--reasons", is_flag=True, help="With --answer digit: let the judge reason before it scores."),
    click.option(
        "--samples",
        type=samples,
        default="1",
        show_default=True,
        metavar="N|auto",
        help="Answers asked for each item and rubric. auto: until their mean is known well enough.",
    ),
    click.option(
        "--target-se",
        type=float,
        default=0.25,
        show_default=True,
        help="With --samples auto: standard error of an item's mean to reach.",
    ),
    click.option(
        "--max-samples", type=int, default=20, show_default=True, help="With --samples auto: the most an item gets."
    ),
    click.option("--temperature", type=float, help="Default: 0 for one sample, 0.7 for several."),
    click.option("--max-tokens", type=int, help="Longest answer. Default: the server's own."),
    click.option("--seed", type=int, help="Seed sent to the judge; sample k gets seed + k - 1."),
    click.option("--base-url", help="Address of the judge's server. Default: the provider's usual variable."),
    click.option("--price", type=prices, metavar="IN,OUT", help="USD for a million tokens in and out."),
    click.option("--threads", type=int, help="Threads of a local model. Default: physical cores less one."),
    click.option("--context", type=int, help="Tokens that the judge can hold. Default: what is known of it."),
    click.option(
        "--long",
        type=click.Choice(["refuse", "sample", "extract"]),
        default="refuse",
        show_default=True,
        help="Material that the judge cannot hold: refuse the item, show a random sample, or show what a rubric needs.",
    ),
    click.option("--concurrency", type=int, default=16, show_default=True, help="Calls in flight at once, at most."),
    click.option("--rpm", type=float, metavar="N", help="Requests a minute to each judge, at most."),
    click.option("--tpm", type=float, metavar="N", help="Tokens a minute to and from each judge, at most."),
    click.option("--max-cost", type=float, metavar="USD", help="Stop before the run file has cost more."),
    click.option("--batch", is_flag=True, help="Send through the provider's batch API: half the price, within a day."),
    click.option(
        "--cache", metavar="FILE", help="Where replies are kept across runs. Default: replies.db in the user's cache."
    ),
    click.option("--no-cache", is_flag=True, help="Neither look for replies of earlier runs nor keep them."),
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


_ENGINE = (
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="ray: workers on a cluster judge, into a folder of Parquet files.",
    ),
    click.option("--ray-address", metavar="ADDR", help="With --engine ray: a cluster. Default: a Ray on this machine."),
    click.option("--workers", type=int, metavar="N", help="With --engine ray: workers, 2 if not given."),
)


def job_options(command: Command) -> Command:
    """The arguments that commands which judge have in common."""
    for option in reversed(_JOB):
        command = option(command)
    return command


def engine_options(command: Command) -> Command:
    """Where `run` judges, and `plan` would; other commands judge on this machine."""
    for option in reversed(_ENGINE):
        command = option(command)
    return command


def job_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Those options as the arguments of `jurybox.api`."""
    arguments = dict(options)
    arguments["judge"] = list(arguments.pop("judges"))
    arguments["columns"] = dict(arguments["columns"])
    cache, no_cache = arguments.pop("cache"), arguments.pop("no_cache")
    if cache and no_cache:
        raise click.UsageError("--cache and --no-cache exclude each other")
    arguments["cache"] = False if no_cache else cache or True
    return arguments
