"""What a run says: estimates per system and rubric, text tables, and exports. Reads the store, writes no SQL."""

from __future__ import annotations

from jurybox.report.agree import Agreement, RubricAgreement, agreement
from jurybox.report.agree_text import agreement_text
from jurybox.report.compare import Comparison, PairComparison, RubricComparison, compare_systems
from jurybox.report.compare_text import comparison_text
from jurybox.report.duel_text import duels_text
from jurybox.report.duels import Duels, PairResult, RubricDuels, holds_duels, summarise_duels
from jurybox.report.estimate import Estimates, RubricEstimates, SystemEstimate, estimate_run
from jurybox.report.estimate_text import estimates_text
from jurybox.report.export import FORMATS, export_rows, export_run
from jurybox.report.judge import JudgeSummary, SampleSummary
from jurybox.report.jury import JURY_COMBINES, JuryCombine, JurySummary
from jurybox.report.plans import plan_text
from jurybox.report.summary import Summary, summarise
from jurybox.report.table import summary_text

__all__ = [
    "FORMATS",
    "JURY_COMBINES",
    "Agreement",
    "Comparison",
    "Duels",
    "Estimates",
    "JudgeSummary",
    "JuryCombine",
    "JurySummary",
    "PairComparison",
    "PairResult",
    "RubricAgreement",
    "RubricComparison",
    "RubricDuels",
    "RubricEstimates",
    "SampleSummary",
    "Summary",
    "SystemEstimate",
    "agreement",
    "agreement_text",
    "compare_systems",
    "comparison_text",
    "duels_text",
    "estimate_run",
    "estimates_text",
    "export_rows",
    "export_run",
    "holds_duels",
    "plan_text",
    "summarise",
    "summarise_duels",
    "summary_text",
]
