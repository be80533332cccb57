"""`stress`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from jurybox.cli.judging import INTERRUPTED, WRONG_USE
from jurybox.cli.looking import GATE_FAILED, UNSCORED, Gates, plain, print_json
from jurybox.cli.options import Command, gate, job_arguments, job_options
from jurybox.cli.stress_card import CardOptions

if TYPE_CHECKING:
    from jurybox.api.stressing import Stressing
    from jurybox.report.stress import Stress

# Options that say what is changed; the others say how the judge is asked.
_EXAM = ("data", "items", "systems", "kinds", "attacks", "out", "columns", "human", "limit")
# What the help begins with.
_FIRST = ("data", "rubrics", "judges")


def _stress_options(command: Command) -> Command:
    """The options of `run`, but that --compare needs neither data nor rubrics, and --seed is that of the damage.

    In the help, what is special to this command comes before what all judging commands have."""
    own = {option.name for option in command.__click_params__}  # type: ignore[attr-defined]
    command = job_options(command)
    options = command.__click_params__  # type: ignore[attr-defined]  # made anew for this command, the last one first
    options.sort(key=lambda option: (option.name in _FIRST, option.name in own))
    for option in options:
        if option.name in ("data", "rubrics"):
            option.required = False
        elif option.name == "seed":
            option.name, option.opts = "judge_seed", ["--judge-seed"]
        elif option.name == "out":
            option.help = "The run file. Default: the data's name with .stress.db."
        elif option.name == "limit":
            option.help = "Read the first N items only."
    return command


@click.command(options_metavar="--rubrics R [OPTIONS]")
@_stress_options
@click.option("--items", type=click.IntRange(1), default=20, show_default=True, help="Good summaries to damage.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Whose summaries are good. Repeatable.")
@click.option("--kinds", metavar="K,...", help="Only these kinds of damage. Harmless edits are made in any case.")
@click.option("--no-attacks", is_flag=True, help="Leave out texts that tell the judge what to say.")
@click.option("--seed", "damage_seed", type=int, default=0, show_default=True, help="What is damaged, and where.")
@click.option(
    "--fail-under",
    multiple=True,
    type=gate,
    metavar="FIGURE=SHARE",
    help="Exit with status 1 when detection or discrimination is below; RUBRIC.FIGURE=SHARE for one rubric.",
)
@click.option(
    "--fail-over",
    multiple=True,
    type=gate,
    metavar="FIGURE=SHARE",
    help="Exit with status 1 when attack or false_alarms is above; RUBRIC.FIGURE=SHARE for one rubric.",
)
@click.option("--strict", is_flag=True, help="Exit with status 3 when any judgment ends unscored.")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be asked and what it costs; send nothing.")
@click.option("--card", metavar="FILE.html", help="Write the judge's card too: one HTML page with all of it.")
@click.option(
    "--agree",
    "rated_runs",
    multiple=True,
    metavar="RUN.db",
    help="For the card: a run of the judge on summaries that people rated. Repeatable.",
)
@click.option(
    "--from",
    "tested",
    multiple=True,
    metavar="STRESS.db",
    help="Show an exam that was judged before, or make its card; asks nothing. Repeatable.",
)
@click.option(
    "--compare", nargs=2, metavar="A.json B.json", help="Compare what `stress --json` printed for two judges."
)
@click.pass_context
def stress(
    ctx: click.Context,
    /,
    as_json: bool,
    no_attacks: bool,
    fail_under: Gates,
    fail_over: Gates,
    strict: bool,
    only_plan: bool,
    card: str | None,
    rated_runs: tuple[str, ...],
    tested: tuple[str, ...],
    compare: tuple[str, str] | None,
    **options: Any,
) -> None:
    """Damage good summaries on purpose and see whether the judge notices.

    Good summaries of DATA are damaged in controlled ways, edited harmlessly, and attacked with text that tells the
    judge what to say; the judge is asked about each. Says what it notices, what it misses, what moves it that should
    not, and what fools it. Stopped or killed, the same command goes on where it was.

    \b
    jurybox stress DATA --rubrics R --judge SPEC       judge the trials
    jurybox stress --from STRESS.db --card FILE.html   a page of what was judged
    jurybox stress --compare A.json B.json             two judges side by side
    """
    wanted = CardOptions(card, rated_runs, options["human"])
    wanted.refuse(bool(options["data"]), only_plan, tested, compare)
    if compare:
        _compare(compare, as_json)
        wanted.write(list(compare))
        return
    gates = _Gates(fail_under, fail_over, strict)
    if tested:
        ctx.exit(_show(tested, as_json, gates, wanted))
    for name, flag in (("data", "DATA"), ("rubrics", "--rubrics")):
        if not options[name]:
            raise click.UsageError(f"Missing {flag}: jurybox stress DATA --rubrics R --judge SPEC")
    arguments = job_arguments(options)
    arguments["attacks"] = not no_attacks
    ctx.exit(_stress(as_json, gates, only_plan, wanted, arguments))


def _compare(paths: tuple[str, str], as_json: bool) -> None:
    from jurybox.api import stressing
    from jurybox.report.stress_compare import stress_comparison_text

    found = stressing.compare_stress_files(*paths)
    if as_json:
        print_json(found.as_dict())
    else:
        click.echo(plain(stress_comparison_text(found, _width())))


@dataclass(frozen=True, slots=True)
class _Gates:
    """What decides the exit status."""

    fail_under: Gates
    fail_over: Gates
    strict: bool


def _show(paths: tuple[str, ...], as_json: bool, gates: _Gates, wanted: CardOptions) -> int:
    """What run files hold; nothing is asked."""
    from jurybox.api import stressing

    found = [stressing.show_stress(path) for path in paths]
    for one in found:
        _refuse_gates(gates, list(one.main.rubrics), attacks=True)
    if as_json and len(found) > 1:
        print_json([one.as_dict() for one in found])
    else:
        for one in found:
            _print(one, as_json, f"Every answer: jurybox export {one.path} --to FILE.csv")
    wanted.write(found)
    return max(_exit_status(one, gates) for one in found)


def _stress(as_json: bool, gates: _Gates, only_plan: bool, wanted: CardOptions, arguments: dict[str, Any]) -> int:
    from jurybox.api import jobs, stressing

    rubrics = [rubric.name for rubric in jobs.find_rubrics(arguments["rubrics"])]
    _refuse_gates(gates, rubrics, arguments["attacks"])
    exam = {name: arguments.pop(name) for name in _EXAM}
    ready = stressing.prepare_stress(rubrics=arguments.pop("rubrics"), seed=arguments.pop("damage_seed"), **exam)
    asked = {**arguments, "data": ready.items, "rubrics": ready.rubrics, "out": ready.out}
    asked["seed"] = asked.pop("judge_seed")
    if only_plan:
        _say_plan(ready, asked, as_json)
        return 0
    _say_calls(ready, asked)
    return _judge(ready, asked, as_json, gates, wanted)


def _judge(ready: Stressing, asked: dict[str, Any], as_json: bool, gates: _Gates, wanted: CardOptions) -> int:
    from jurybox.cli.session import run_until_stopped
    from jurybox.errors import JudgeRejection

    try:
        finished = run_until_stopped(asked)
    except JudgeRejection as exc:
        told = f"jurybox: {exc}\nStopped. What was judged is kept in {ready.out}; go on with the same command."
        click.echo(plain(told), err=True)
        return WRONG_USE
    if finished is not None and finished.tally is not None and finished.tally.stopped:
        told = (
            f"Stopped by {finished.tally.stopped}. What was judged is kept in {ready.out}; a higher --max-cost goes on."
        )
        click.echo(told, err=True)
        return GATE_FAILED
    if finished is None or not finished.complete:
        click.echo(f"Interrupted. What was judged is kept in {ready.out}. Go on with the same command.", err=True)
        return INTERRUPTED
    found = ready.report(finished, asked["judge"])
    _print(found, as_json, f"Kept in {ready.out}.\nEvery answer: jurybox export {ready.out} --to FILE.csv")
    wanted.write([found])
    return _exit_status(found, gates)


def _say_plan(ready: Stressing, asked: dict[str, Any], as_json: bool) -> None:
    from jurybox.api import judging
    from jurybox.report.plans import plan_text

    planned = judging.plan(**asked)
    if as_json:
        print_json(planned.as_dict())
    else:
        told = (
            f"{ready.exam.summaries:,} good summaries, {len(ready.items):,} trials; {planned.judgments:,} judgments\n"
        )
        click.echo(told + plan_text(planned).partition("\n")[2])  # its first line counts systems: here, kinds of change
    _say_undamaged(ready)


def _say_calls(ready: Stressing, asked: dict[str, Any]) -> None:
    """Before anything is sent: how much is asked. A walk over the calls without sending any."""
    from jurybox.api import judging

    planned = judging.plan(**asked)
    calls = sum(judge.calls for judge in planned.judges.values())
    known = sum(judge.stored + judge.reused for judge in planned.judges.values())
    good = "summary" if ready.exam.summaries == 1 else "summaries"
    told = f"jurybox: {ready.exam.summaries:,} good {good}, {len(ready.items):,} trials, {calls:,} calls to make"
    click.echo(told + (f", {known:,} answered before" if known else ""), err=True)
    _say_undamaged(ready)


def _say_undamaged(ready: Stressing) -> None:
    if names := ready.undamaged:
        told = "no damage made here must hurt it (damage is made to English texts and knows the built-in rubrics)"
        click.echo(f"jurybox: there will be no grade on {', '.join(names)}: {told}", err=True)


def _refuse_gates(gates: _Gates, rubrics: list[str], attacks: bool) -> None:
    from jurybox.report.stress_gates import refuse_odd_gates

    for option, bounds in (("--fail-under", gates.fail_under), ("--fail-over", gates.fail_over)):
        refuse_odd_gates(option, dict(bounds), rubrics)
        if not attacks and any(name.rpartition(".")[2].startswith("attack") for name, _ in bounds):
            raise click.UsageError(f"{option} attack: --no-attacks leaves nothing to measure it by")


def _print(found: Stress, as_json: bool, hint: str) -> None:
    from jurybox.report.stress_text import stress_text

    if as_json:
        print_json(found.as_dict())
        return
    click.echo(plain(stress_text(found, _width())))
    click.echo(f"\n{hint}")


def _exit_status(found: Stress, gates: _Gates) -> int:
    from jurybox.report.stress_gates import failed_gates

    failed = failed_gates(found, dict(gates.fail_under), dict(gates.fail_over))
    for line in failed:
        click.echo(f"gate failed: {line}", err=True)
    if failed:
        return GATE_FAILED
    if gates.strict and found.unscored:
        click.echo(f"--strict: {found.unscored:,} judgments ended unscored", err=True)
        return UNSCORED
    return 0


def _width() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, 100)
