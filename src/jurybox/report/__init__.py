"""What a run says: estimates per system and rubric, text tables, and exports. Reads the store, writes no SQL."""

from __future__ import annotations

from jurybox.report.agree import Agreement, RubricAgreement, agreement
from jurybox.report.agree_text import agreement_text
from jurybox.report.bias import Bias, RubricBias, SelfPreference
from jurybox.report.bias_text import bias_text
from jurybox.report.calibrate import Fit, KeptCalibrations
from jurybox.report.calibrate_text import fit_text, kept_text
from jurybox.report.calibrated import apply_calibration
from jurybox.report.compare import Comparison, PairComparison, RubricComparison, compare_systems
from jurybox.report.compare_text import comparison_text
from jurybox.report.duel_text import duels_text
from jurybox.report.duels import Duels, PairResult, RubricDuels, holds_duels, summarise_duels
from jurybox.report.estimate import Estimates, RubricEstimates, SystemEstimate, estimate_run
from jurybox.report.estimate_text import estimates_text
from jurybox.report.export import FORMATS, export_rows, export_run
from jurybox.report.html import notebook
from jurybox.report.judge import JudgeSummary, SampleSummary
from jurybox.report.jury import JURY_COMBINES, JuryCombine, JurySummary
from jurybox.report.plans import plan_text
from jurybox.report.stress import Claims, JudgeStress, RubricStress, Stress, stress_report
from jurybox.report.stress_compare import StressComparison, compare_stress, stress_comparison_text
from jurybox.report.stress_gates import failed_gates, refuse_odd_gates
from jurybox.report.stress_text import stress_text
from jurybox.report.summary import Summary, summarise
from jurybox.report.table import summary_text

__all__ = [
    "FORMATS",
    "JURY_COMBINES",
    "Agreement",
    "Bias",
    "Claims",
    "Comparison",
    "Duels",
    "Estimates",
    "Fit",
    "JudgeStress",
    "JudgeSummary",
    "JuryCombine",
    "JurySummary",
    "KeptCalibrations",
    "PairComparison",
    "PairResult",
    "RubricAgreement",
    "RubricBias",
    "RubricComparison",
    "RubricDuels",
    "RubricEstimates",
    "RubricStress",
    "SampleSummary",
    "SelfPreference",
    "Stress",
    "StressComparison",
    "Summary",
    "SystemEstimate",
    "agreement",
    "agreement_text",
    "apply_calibration",
    "bias_text",
    "compare_stress",
    "compare_systems",
    "comparison_text",
    "duels_text",
    "estimate_run",
    "estimates_text",
    "export_rows",
    "export_run",
    "failed_gates",
    "fit_text",
    "holds_duels",
    "kept_text",
    "plan_text",
    "refuse_odd_gates",
    "stress_comparison_text",
    "stress_report",
    "stress_text",
    "summarise",
    "summarise_duels",
    "summary_text",
]

notebook.equip()
