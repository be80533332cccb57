"""Looking for a text in a run, part of words and punctuation included: in ids, summaries, sources and judges' reasons.

Small and capital letters of English are alike. Run files get no index for it: `LIKE` walks over what it is given, a
source once however many systems wrote about it, reasons some items at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from jurybox.store.reader import RunReader


def find_text(reader: RunReader, text: str) -> Iterator[int]:
    """The items whose id, summary or source has this text, small and capital letters of English alike."""
    # A source is looked through once, however many systems wrote about it.
    query = r"""
        SELECT item FROM items WHERE summary LIKE ?1 ESCAPE '\' OR id LIKE ?1 ESCAPE '\'
        OR source IN (SELECT source FROM sources WHERE body LIKE ?2 ESCAPE '\')
    """
    return (item for (item,) in reader._rows(query, _patterns(text)))


# The reasons of a call are one JSON text by rubric; which rubric's has it is looked at only where the whole has it.
_REASON_HAS = r"""reasons LIKE ?2 ESCAPE '\' AND EXISTS
    (SELECT 1 FROM json_each(reasons) WHERE key = rubric AND value LIKE ?1 ESCAPE '\')"""


def find_reasons(reader: RunReader, text: str, items: Sequence[int]) -> list[tuple[int, int]]:
    """Where among these items a judge's reason has this text: item and series, once for each sample."""
    # One row for all: a thread that fetches row by row queues for the interpreter's lock each time.
    query = f"""
        SELECT json_group_array(item), json_group_array(series)
        FROM judgments CROSS JOIN calls USING (call) JOIN series USING (series)
        WHERE item IN (SELECT value FROM json_each(?3)) AND {_REASON_HAS}
    """
    found, series = reader._one(query, (*_patterns(text), json.dumps(list(items))))
    return list(zip(json.loads(found), json.loads(series), strict=True))


def reasons_with(reader: RunReader, text: str, items: Sequence[int]) -> Iterator[tuple[int, str, str, str]]:
    """The reasons of these items that have this text: item, rubric, judge, reason."""
    query = f"""
        SELECT item, rubric, judge, reasons FROM judgments CROSS JOIN calls USING (call) JOIN series USING (series)
        WHERE item IN (SELECT value FROM json_each(?3)) AND {_REASON_HAS} ORDER BY item, series, judgments.sample
    """
    for item, rubric, judge, reasons in reader._rows(query, (*_patterns(text), json.dumps(list(items)))):
        yield item, rubric, judge, json.loads(reasons)[rubric]


def _patterns(text: str) -> tuple[str, str]:
    """For LIKE: the text as it is, and as it stands in JSON, where quotes and line breaks are escaped."""
    return f"%{_literally(text)}%", f"%{_literally(json.dumps(text, ensure_ascii=False)[1:-1])}%"


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
