"""HTML: one self-contained page about a run, tables for notebooks, and the parts that both share with `serve`.

Three steps, each usable alone. Views (`heat`, `ranking`, `people`, `items`, `picks`) read a run through the store and
the other report modules into plain frozen data; macros in `templates/` turn a view into HTML; `rendering` holds the one
Jinja environment, with escaping on. jinja2 is imported when something is rendered, not before.
"""

from __future__ import annotations

from jurybox.report.html.page import ITEMS, report_html

__all__ = ["ITEMS", "report_html"]
