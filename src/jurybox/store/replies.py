"""A Reply as a row and back: the one list of its columns, and how the one that is no plain value is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from jurybox.types import Reply

# The fields of a Reply as calls and attempts keep them, in the order of Reply's own.
REPLY_COLUMNS = (
    "text",
    "reasoning",
    "refusal",
    "finish",
    "model",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "seconds",
    "scale",
)
_NO_REPLY = (None,) * len(REPLY_COLUMNS)


def to_row(reply: Reply | None) -> tuple[Any, ...]:
    if reply is None:
        return _NO_REPLY
    scale = None if reply.scale is None else orjson.dumps(dict(reply.scale), option=orjson.OPT_NON_STR_KEYS).decode()
    return (*(getattr(reply, column) for column in REPLY_COLUMNS[:-1]), scale)


def from_row(row: Sequence[Any]) -> Reply:
    *plain, scale = row
    steps = None if scale is None else {int(step): float(share) for step, share in orjson.loads(scale).items()}
    return Reply(**dict(zip(REPLY_COLUMNS, plain, strict=False)), scale=steps)
