"""A run file of any size, written with SQL: 14 systems, 7 rubrics, two judges, texts of ordinary length, failures.

`keep_writing` lets such a file grow as a run under way does, until it is told to stop.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

RUBRICS, JUDGES, SYSTEMS = "product-opinion", ("openai/one", "openai/two"), 14
REASONS = 997  # different ones; a prime, so that they go round over series and items
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


def _reasons() -> Iterator[str]:
    """Reasons of ordinary length, some 300 characters; one in a thousand speaks of porcelain."""
    rng, vocabulary = random.Random(11), _TEXT.split()
    for number in range(REASONS):
        named = " ".join(rng.choices(vocabulary, k=24))
        told = "porcelain" if number == 5 else "steel"
        yield f"The summary names the main points of the reviews: {named}. It forgets that the {told} body has a lid."


def _write_judgments(connection: sqlite3.Connection, judgments: int, series: int, samples: int) -> None:
    each = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {}) "
    connection.execute("CREATE TEMP TABLE said (number INTEGER PRIMARY KEY, reason TEXT)")
    connection.executemany("INSERT INTO said VALUES (?, ?)", enumerate(_reasons()))
    connection.execute(
        "INSERT INTO calls (call, key, prompt_digest, sample, attempts, text, model, tokens_in, tokens_out, seconds, "
        "cost, at, reasons, reused) "
        + each.format(judgments)
        + f"""
        SELECT k, randomblob(16), randomblob(16), 1, 1, reason || char(10) || 'Score- <score>4</score>', 'one', 900, 60,
               1.0, 0.001, 1.7e9 + k, json_object(rubric, reason), 0
        FROM n JOIN series ON series = (k - 1) / {samples} % {series} + 1 JOIN said ON number = k * 31 % {REASONS}
        """
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


def keep_writing(path: Path, pause: float = 0.02) -> None:
    """Adds one item with its judgments after another, each durable for readers at once; ends with its process."""
    path.with_name(path.name + "-lock").touch()  # as a run says that it is writing
    connection = sqlite3.connect(path, timeout=60)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("UPDATE series SET expected = expected + 1000000")
    connection.commit()
    series = [number for (number,) in connection.execute("SELECT series FROM series ORDER BY series")]
    (item,) = connection.execute("SELECT MAX(item) FROM items").fetchone()
    (call,) = connection.execute("SELECT MAX(call) FROM calls").fetchone()
    while True:
        item += 1
        connection.execute(
            "INSERT INTO items SELECT ?1, 'later-' || ?1, system, summary, source, metadata FROM items WHERE item = ?2",
            (item, item % 5000 + 1),
        )
        for number in series:
            call += 1
            connection.execute(
                "INSERT INTO calls (call, key, prompt_digest, sample, attempts, text, model, at, reasons, reused) "
                "SELECT ?1, randomblob(16), prompt_digest, 1, 1, text, model, at, reasons, 0 FROM calls "
                "WHERE call = ?2",
                (call, (item % 5000) * len(series) + number),
            )
            connection.execute("INSERT INTO judgments VALUES (?, ?, 1, ?, 4, 'scored')", (item, number, call))
        connection.commit()
        time.sleep(pause)
