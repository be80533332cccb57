"""`stress --card`: what is known of one judge or several, as one HTML page. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jurybox.api.agreeing import agree
from jurybox.api.looking import Run, path_of
from jurybox.api.stressing import show_stress, stress_document
from jurybox.errors import SetupError
from jurybox.report.agree import Agreement
from jurybox.report.html.card import NO_RATINGS, card_html
from jurybox.report.stress import Stress
from jurybox.store import RunReader

Tested = Stress | Run | str | Path


def judge_card(
    tested: Tested | Sequence[Tested],
    out: str | Path,
    *,
    runs: Sequence[str | Path | Run] = (),
    human: str | Path | None = None,
) -> Path:
    """Write the card of a judge as one HTML page that needs nothing else; returns where it is.

    `tested` is what `stress` found, its run file, or a .json file that `jurybox stress --json` wrote; several stand
    side by side. `runs` are ordinary runs of the same judges on summaries that people rated, `human` a file of ratings
    for them: agreement, ceiling, baselines, bias and stability come from there.
    """
    refuse_card(out, runs)
    many = [tested] if isinstance(tested, Stress | Run | str | Path) else list(tested)
    documents = [tested_document(one) for one in many]
    judges = dict.fromkeys(judge for _, document in documents for judge in _judges(document))
    page = card_html(documents, _agreements(judges, runs, human))
    target = Path(out)
    try:
        target.write_text(page, "utf-8", "xmlcharrefreplace")
    except OSError as exc:
        raise SetupError(f"--card {target}: cannot be written: {exc.strerror or exc}") from exc
    return target


def refuse_card(out: str | Path, runs: Sequence[str | Path | Run] = ()) -> None:
    """Whatever is wrong with the page's place or with the runs is said before anything is asked."""
    target = Path(out)
    if target.is_dir():
        raise SetupError(f"--card {target}: is a folder; give the page a name, as in {target / 'card.html'}")
    if not target.absolute().parent.is_dir():
        raise SetupError(f"--card {target}: there is no folder {target.parent}")
    if target.suffix.lower() in (".db", ".json", ".jsonl", ".csv", ".parquet"):
        raise SetupError(
            f"--card {target}: the card is an HTML page; a name like {target.with_suffix('.html')} says so"
        )
    for run in runs:
        with RunReader(path_of(run)) as reader:
            reader.signatures()


def tested_document(tested: Tested) -> tuple[str, Any]:
    """What messages call it, and what `stress --json` says of it: a result, a file with that, or a run of `stress`."""
    if isinstance(tested, Stress):
        return tested.path, tested.as_dict()
    path = path_of(tested)
    if path.suffix.lower() == ".json":
        return str(path), stress_document(path)
    return str(path), show_stress(path).as_dict()


def _judges(document: Any) -> list[str]:
    if not isinstance(document, Mapping):
        return []
    return list(document.get("judges") or {document.get("judge"): None})


def _agreements(
    judges: Iterable[str], runs: Sequence[str | Path | Run], human: str | Path | None
) -> dict[str, Agreement | str]:
    """Of each judge what the first run that has it says; where none does, why."""
    return {judge: _agreement(judge, runs, human) for judge in judges}


def _agreement(judge: str, runs: Sequence[str | Path | Run], human: str | Path | None) -> Agreement | str:
    holding = [run for run in runs if judge in _judges_of(run)]
    if not runs:
        return NO_RATINGS
    if not holding:
        names = ", ".join(str(path_of(run)) for run in runs)
        return f"Agreement with people is unknown: {names} holds no judgments by {judge}."
    try:
        return agree(holding[0], human=human, judge=judge)
    except SetupError as exc:
        return f"Agreement with people is unknown: {exc}."


def _judges_of(run: str | Path | Run) -> set[str]:
    with RunReader(path_of(run)) as reader:
        return {judge for _, judge in reader.signatures()}
