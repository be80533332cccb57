"""A run file of any size, written with SQL: 14 systems, 7 rubrics, two judges, texts of ordinary length, failures."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

RUBRICS, JUDGES, SYSTEMS = "product-opinion", ("openai/one", "openai/two"), 14
_TEXT = (
    "kettle boils quickly lid sticks handle stays cool buyers like price battery lasts screen bright sound thin "
    "camera sharp in daylight after two weeks it broke support answered politely delivery late box damaged works well"
)


def write_run(path: Path, judgments: int, samples: int = 1) -> int:
    """Make the file; returns how many judgments it holds, which is a whole number of items."""
    from jurybox.rubrics import load
    from jurybox.store import RunFile
    from jurybox.store.series import Series

    rubrics = load([RUBRICS])
    series = len(rubrics) * len(JUDGES)
    items = judgments // (series * samples)
    store = RunFile(path)
    for judge in JUDGES:
        for rubric in rubrics:
            store.open_series(Series(rubric, judge, "classic", samples, items * samples, "0.1.0"))
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    _write_items(connection, items)
    _write_judgments(connection, items * series * samples, series, samples)
    connection.commit()
    made = int(connection.execute("SELECT COUNT(*) FROM judgments").fetchone()[0])
    connection.close()
    return made


def _write_items(connection: sqlite3.Connection, items: int) -> None:
    rng, vocabulary = random.Random(7), _TEXT.split()

    def text(words: int) -> str:
        return " ".join(rng.choices(vocabulary, k=words))

    sources = -(-items // SYSTEMS)
    connection.executemany(
        "INSERT INTO sources VALUES (?, ?, ?)",
        (
            (
                number,
                number,
                json.dumps({"product_title": f"Kettle {number}", "reviews": [text(40) for _ in range(12)]}),
            )
            for number in range(1, sources + 1)
        ),
    )
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?, ?, '{}')",
        (
            (number + 1, f"product-{number // SYSTEMS}", f"model-{number % SYSTEMS}", text(60), number // SYSTEMS + 1)
            for number in range(items)
        ),
    )


def _write_judgments(connection: sqlite3.Connection, judgments: int, series: int, samples: int) -> None:
    each = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {}) "
    reason = "The summary names the main points of the reviews and leaves out that the lid sticks after two weeks. " * 3
    connection.execute(
        "INSERT INTO calls (call, key, prompt_digest, sample, attempts, text, model, tokens_in, tokens_out, seconds, "
        "cost, at, reasons, reused) "
        + each.format(judgments)
        + "SELECT k, randomblob(16), randomblob(16), 1, 1, ?, 'one', 900, 60, 1.0, 0.001, 1.7e9 + k, '{}', 0 FROM n",
        (f"{reason}\nScore- <score>4</score>",),
    )
    # One item in 97 has a reply that nobody could read, one judgment in 5,003 failed; the others spread over the scale.
    connection.execute(
        each.format(samples)
        + f"""
        INSERT INTO judgments
        SELECT item, series, k, call, CASE WHEN status = 'scored' THEN 1 + abs(random()) % 5 END, status
        FROM (SELECT item, series, k, ((item - 1) * {series} + series - 1) * {samples} + k AS call,
                     CASE WHEN item % 97 = 0 THEN 'unparsed' WHEN (item * 31 + series) % 5003 = 0 THEN 'failed'
                          ELSE 'scored' END AS status
              FROM items, series, n) ORDER BY item, series, k
        """
    )
