"""What a run says: estimates per system and rubric, text tables, and exports. Reads the store, writes no SQL."""

from __future__ import annotations

from jurybox.report.export import FORMATS, export_rows, export_run
from jurybox.report.summary import JudgeSummary, Summary, summarise
from jurybox.report.table import plan_text, summary_text

__all__ = [
    "FORMATS",
    "JudgeSummary",
    "Summary",
    "export_rows",
    "export_run",
    "plan_text",
    "summarise",
    "summary_text",
]
