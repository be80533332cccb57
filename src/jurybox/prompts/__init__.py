"""Rubrics and an item become a `Prompt`: layouts, ways to answer, fences around judged text, prompt files verbatim.

`sheets` decides once a run what is asked together; `render` is a pure function of sheet and item.
"""

from __future__ import annotations

from jurybox.prompts.duels import duel_sheets
from jurybox.prompts.layouts import render
from jurybox.prompts.sheets import Sheet, sheets

__all__ = ["Sheet", "duel_sheets", "render", "sheets"]
