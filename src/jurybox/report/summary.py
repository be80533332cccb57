"""Systems x rubrics, judge by judge and as a jury: every cell an `Estimate`, every table with its signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jurybox.report.judge import JudgeSummary, QuoteCount, SampleSummary
from jurybox.report.jury import BASELINE, JuryCombine, JurySummary, convene
from jurybox.stats import Combine, mean_agreement, mean_of_scores, mean_spread
from jurybox.store import RunReader
from jurybox.types import SCALE, Estimate


@dataclass(frozen=True, slots=True)
class Summary:
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


def summarise(reader: RunReader, combine: Combine = "mean", jury: JuryCombine = "mean") -> Summary:
    """Read a run's tallies into estimates; `combine` makes one score of samples, `jury` one of judges."""
    judges, statuses = _judges(reader, combine), reader.statuses()
    missing = sum(
        max(expected - sum(statuses.get(series, {}).values()), 0) for series, expected in reader.expected().items()
    )
    spent = {**reader.spent(), "judges": {judge.judge: reader.spent(judge.judge) for judge in judges}}
    return Summary(str(reader.path), judges, missing, spent, convene(reader, judges, combine, jury))


def _judges(reader: RunReader, combine: Combine) -> tuple[JudgeSummary, ...]:
    signatures, statuses = reader.signatures(), reader.statuses()
    systems: dict[str, dict[str, dict[str, Estimate]]] = {}
    for tally in reader.tallies(combine):
        estimate = mean_of_scores(tally.scored, tally.total, tally.total_of_squares, tally.items - tally.scored)
        systems.setdefault(tally.judge, {}).setdefault(tally.system, {})[tally.rubric] = estimate
    samples, lacks, distributions = _samples(reader), reader.lacks(), _distributions(reader, combine)
    quotes = {judge: QuoteCount(*counts) for judge, counts in reader.quote_counts().items()}
    return tuple(
        JudgeSummary(
            judge,
            {rubric: replace(found, combine=combine) for (rubric, by), found in signatures.items() if by == judge},
            systems.get(judge, {}),
            {rubric: counts for (rubric, by), counts in statuses.items() if by == judge},
            samples.get(judge, {}),
            lacks.get(judge, {}),
            quotes.get(judge),
            distributions.get(judge, {}),
        )
        for judge in dict.fromkeys(judge for _, judge in signatures)
    )


def _distributions(reader: RunReader, combine: Combine) -> dict[str, dict[str, dict[str, tuple[int, ...]]]]:
    """Judge -> system -> rubric -> how many items have a score nearest to each step of the scale."""
    found: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {}
    for rubric, judge, system, nearest, count in reader.distributions(combine):
        counts = found.setdefault(judge, {}).setdefault(system, {})
        before = counts.get(rubric, (0,) * len(SCALE))
        counts[rubric] = tuple(count if step == nearest else other for step, other in zip(SCALE, before, strict=True))
    return found


def _samples(reader: RunReader) -> dict[str, dict[str, SampleSummary]]:
    """Judge -> rubric -> how far its samples differ."""
    found: dict[str, dict[str, SampleSummary]] = {}
    for tally in reader.sample_tallies():
        n, short = tally.paired, tally.items - tally.paired
        found.setdefault(tally.judge, {})[tally.rubric] = SampleSummary(
            mean_spread(n, tally.spread, tally.spread_of_squares, short),
            mean_agreement(n, tally.agreement, tally.agreement_of_squares, short),
            tally.least,
            tally.mean,
            tally.most,
        )
    return found
