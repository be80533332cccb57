"""Systems x rubrics, judge by judge and as a jury: every cell an `Estimate`, every table with its signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jurybox.report.browse_index import index_of, read_verdicts
from jurybox.report.browse_tables import judge_tables
from jurybox.report.browsing import RunIndex
from jurybox.report.judge import JudgeSummary, QuoteCount
from jurybox.report.jury import BASELINE, JuryCombine, JurySummary, convene
from jurybox.report.notebooks import InNotebooks
from jurybox.report.plain_table import plain_table
from jurybox.report.sample_spread import sample_summaries
from jurybox.stats import Combine
from jurybox.store import RunReader, spending
from jurybox.types import Signature


@dataclass(frozen=True, slots=True)
class Summary(InNotebooks):
    """A whole run. `missing` counts judgments that the run set out for and has not made yet."""

    path: str
    judges: tuple[JudgeSummary, ...]
    missing: int
    spent: Mapping[str, Any]
    jury: JurySummary | None = None

    @property
    def main(self) -> JudgeSummary:
        """Whom the run is about: the jury, or the only judge that is no baseline, or the first baseline."""
        real = [judge for judge in self.judges if not judge.judge.startswith(BASELINE)]
        return self.jury or (real or list(self.judges))[0]

    @property
    def unscored(self) -> int:
        return sum(
            count
            for judge in self.judges
            for counts in judge.statuses.values()
            for status, count in counts.items()
            if status != "scored"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.path,
            "judge": self.main.judge,
            **JudgeSummary.as_dict(self.main),
            **({} if self.jury is None else {"jury": self.jury.as_dict()}),
            "judges": {judge.judge: judge.as_dict() for judge in self.judges},
            "missing": self.missing,
            "spent": dict(self.spent),
        }


def summarise(
    reader: RunReader, combine: Combine = "mean", jury: JuryCombine = "mean", known: RunIndex | None = None
) -> Summary:
    """Read a run into estimates; `combine` makes one score of samples, `jury` one of judges. `known` is an index of the
    run's means over samples, for who has it already."""
    signatures = {of: replace(found, combine=combine) for of, found in reader.signatures().items()}
    judges: tuple[JudgeSummary, ...]
    if _is_plain(signatures) and jury == "mean":
        judges, panel = (plain_table(reader, signatures, combine),), None
    else:
        index = known if known is not None and combine == "mean" else None
        index = index or index_of(reader, read_verdicts(reader), combine=combine)
        samples = sample_summaries(index.verdicts, index.series)
        judges = tuple(replace(one, samples=samples.get(one.judge, {})) for one in judge_tables(index, signatures))
        panel = convene(reader, judges, index, jury)
    whole, each = spending(reader)
    spent = {**whole, "judges": each}
    return Summary(str(reader.path), _with_notes(reader, judges), _missing(reader, judges), spent, panel)


def _is_plain(signatures: Mapping[tuple[str, str], Signature]) -> bool:
    """One judge and one sample: nothing that needs numpy, whose import costs more CPU than hundreds of requests."""
    return len({judge for _, judge in signatures}) == 1 and all(one.samples == 1 for one in signatures.values())


def _missing(reader: RunReader, judges: Iterable[JudgeSummary]) -> int:
    made = {(rubric, one.judge): sum(counts.values()) for one in judges for rubric, counts in one.statuses.items()}
    return sum(max(expected - made.get(series, 0), 0) for series, expected in reader.expected().items())


def _has_losses(judge: JudgeSummary) -> bool:
    return any(set(counts) - {"scored"} for counts in judge.statuses.values())


def _with_notes(reader: RunReader, judges: Iterable[JudgeSummary]) -> tuple[JudgeSummary, ...]:
    lacks, quotes = reader.lacks(), reader.quote_counts()
    return tuple(
        replace(
            one,
            lacks=lacks.get(one.judge, {}),
            quotes=QuoteCount(*quotes[one.judge]) if one.judge in quotes else None,
            loss=reader.first_unscored(one.judge) if _has_losses(one) else None,
        )
        for one in judges
    )
