"""An earlier run's replies, looked up by prompt: what `replay/RUN.db` answers with."""

from __future__ import annotations

from pathlib import Path

from jurybox.errors import StoreError, unknown_name
from jurybox.store.connection import open_to_read
from jurybox.store.reader import RunReader
from jurybox.store.replies import REPLY_COLUMNS, from_row
from jurybox.types import DIRECT, Reply


class EarlierReplies:
    """What one judge answered then: the only one that was sent prompts, unless it is named."""

    def __init__(self, path: str | Path, judge: str | None = None) -> None:
        chosen = _chosen(Path(path), judge)
        self._connection = open_to_read(Path(path))
        self._connection.execute("PRAGMA query_only = OFF")  # for the temporary table alone
        # The run file has no index for this rare question; a temporary table (not in the file) is one.
        self._connection.execute(
            "CREATE TEMP TABLE replayed "
            "(prompt_digest, sample, call, PRIMARY KEY (prompt_digest, sample)) WITHOUT ROWID"
        )
        self._connection.execute(
            "INSERT OR IGNORE INTO replayed SELECT prompt_digest, calls.sample, call FROM judgments "
            "JOIN series USING (series) JOIN calls USING (call) WHERE judge = ? AND error IS NULL",
            (chosen,),
        )
        self._connection.commit()
        self._connection.execute("PRAGMA query_only = ON")

    def __call__(self, prompt_digest: str, sample: int) -> Reply | None:
        row = self._connection.execute(
            f"SELECT {', '.join('calls.' + column for column in REPLY_COLUMNS)} FROM replayed JOIN calls USING (call) "
            "WHERE replayed.prompt_digest = ? AND replayed.sample = ?",
            (bytes.fromhex(prompt_digest), sample),
        ).fetchone()
        return None if row is None else from_row(row)

    def close(self) -> None:
        self._connection.close()


def _chosen(path: Path, judge: str | None) -> str:
    with RunReader(path) as reader:
        signatures = reader.signatures()
    judges = list(dict.fromkeys(name for _, name in signatures))
    prompted = list(dict.fromkeys(name for (_, name), signature in signatures.items() if signature.layout != DIRECT))
    if judge is None and len(prompted) != 1:
        raise StoreError(
            f"{path}: holds the replies of {len(prompted)} judges; name one with replay/{path}#JUDGE. "
            f"Available: {', '.join(judges)}"
        )
    chosen = judge or prompted[0]
    if chosen not in judges:
        raise StoreError(f"{path}: {unknown_name('judge', chosen, judges)}")
    return chosen
