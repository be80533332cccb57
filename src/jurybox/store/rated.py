"""SQL for what people say now: ratings that came with the data, under those given since in the log of annotations.

A log of annotations is only ever added to, so "now" is computed: what was taken back does not count, the latest action
of a rater on an item and rubric does, and a skip says nothing against a rating that came with the data.
"""

from __future__ import annotations

ANNOTATIONS = "annotations"

# Actions that stand: not an undo, and not taken back by one.
STANDING = """(SELECT number, item, rubric, rater, action, score, comment, at FROM annotations WHERE action != 'undo'
    AND number NOT IN (SELECT takes_back FROM annotations WHERE takes_back IS NOT NULL))"""

# A rater's latest standing action on an item and rubric. With MAX, SQLite takes the other columns from its row.
LATEST = f"""(SELECT item, rubric, rater, action, score, comment, at, MAX(number) AS number FROM {STANDING}
    GROUP BY item, rubric, rater)"""

_WITH_DATA = "SELECT item, rubric, rater, score, '' AS comment, '' AS at, 0 AS number FROM ratings"
_BOTH = f"""(SELECT item, rubric, rater, score, comment, at, MAX(number) AS number
    FROM ({_WITH_DATA} UNION ALL
          SELECT item, rubric, rater, score, comment, at, number FROM {LATEST} WHERE action = 'score')
    GROUP BY item, rubric, rater)"""


def rated(annotated: bool) -> str:
    """A table of item, rubric, rater, score, comment, at and number (0: came with the data), to select from."""
    return _BOTH if annotated else f"({_WITH_DATA})"
