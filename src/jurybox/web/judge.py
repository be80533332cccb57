"""What the run knows of its judges: how they were asked, what they lost, how far they agree, err and repeat; cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.errors import JuryboxError
from jurybox.report.agree import Agreement, agreement
from jurybox.report.bias_text import conclusion as bias_conclusion
from jurybox.report.browsing import RunIndex
from jurybox.report.duels import holds_duels
from jurybox.report.html.figures import CORRELATIONS, SHARES
from jurybox.report.html.people import agreement_view
from jurybox.report.jury import BASELINE
from jurybox.report.summary import summarise
from jurybox.store.browsing import rated_state
from jurybox.web.site import Site, fragment, page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

NOBODY = "Nobody has rated a summary of this run, so nothing here says that people would agree with the judge."


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge in the table: what it was asked and how that ended."""

    judge: str
    rubrics: int
    judgments: int
    unscored: int


def show(request: Request) -> Response:
    values, coming = _values(site_of(request))
    return page(request, "judge.html.j2", "Judge", follow=coming, **values)


def live(request: Request) -> Response:
    values, coming = _values(site_of(request))
    return fragment(request, "judge_live.html.j2", coming, **values)


def _values(site: Site) -> tuple[dict[str, Any], bool]:
    index = site.watch.index()
    with site.reader() as reader:
        duels = bool(index.series) and holds_duels(reader)
        ratings = rated_state(reader)
        values: dict[str, Any] = {
            "judges": _rows(index),
            "signatures": {pair: str(one) for pair, one in reader.signatures().items()},
            "known": site.known(reader),
            "axis": CORRELATIONS,
            "baselines": [judge for judge in index.judges if judge.startswith(BASELINE)],
            "duels": duels,
            "agreed": None,
            "bias": None,
            "summary": None,
            "why": "",
            "stress": site.stress,
            "shares": SHARES,
            "file": site.path.name,
        }
    if duels or not index.judgments:
        return values, False
    summary, fresh = site.workshop.get("summary", index.newest, lambda other: summarise(other, known=index))
    values["summary"] = None if isinstance(summary, JuryboxError) else summary
    if not any(ratings):
        return {**values, "why": NOBODY}, not fresh
    found, told = site.workshop.get("people", (index.newest, ratings), agreement)
    if isinstance(found, Agreement):
        values |= {"agreed": agreement_view(found, values["known"]), "bias": found.bias}
        values["bias_words"] = "" if found.bias is None else bias_conclusion(found.bias)
    elif found is not None:
        values["why"] = f"Judge and people cannot be compared: {found}"
    return values, not (fresh and told)


def _rows(index: RunIndex) -> list[JudgeRow]:
    statuses = index.statuses()
    found = []
    for judge in index.judges:
        mine = [counts for (_, by), counts in statuses.items() if by == judge]
        made = sum(sum(counts.values()) for counts in mine)
        found.append(JudgeRow(judge, len(mine), made, made - sum(counts.get("scored", 0) for counts in mine)))
    return found
