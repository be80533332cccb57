"""The head of a GGUF file: whether it is one, and what the local judge must know before it is loaded.

Reads the metadata alone (ggml's docs/gguf.md, versions 2 and 3, little-endian). Tensors are llama.cpp's, or the
embedded judge's (`embedded/gguf.py`), which walks on from here.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
# Types of tokens that text can only mean by accident or on purpose: unknown and control.
_SPECIAL = (2, 3)
_TOKENS, _TYPES, _TEMPLATE = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.chat_template"


class NotGGUF(Exception):
    """The file is not GGUF, or breaks off within its head."""


@dataclass(frozen=True, slots=True)
class Head:
    """`context` is the number of tokens the model was trained with; `special` are the texts of its control tokens."""

    architecture: str
    context: int | None
    chat_template: str
    special: tuple[str, ...]


def read_head(path: Path) -> Head:
    if path.stat().st_size == 0:
        raise NotGGUF("it is empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        values = Walk(data).metadata()
    architecture = str(values.get("general.architecture", ""))
    context = values.get(f"{architecture}.context_length")
    return Head(
        architecture=architecture,
        context=context if isinstance(context, int) and context > 0 else None,
        chat_template=str(values.get(_TEMPLATE, "")),
        special=_special(values.get(_TOKENS, ()), values.get(_TYPES, ())),
    )


def _special(tokens: Sequence[bytes], types: Sequence[int]) -> tuple[str, ...]:
    texts = (token.decode("utf-8", "replace") for token, kind in zip(tokens, types, strict=False) if kind in _SPECIAL)
    return tuple(text for text in texts if len(text) > 1)


class Walk:
    """A walk through a file's head, value by value; strings inside arrays stay bytes, for most are never looked at."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.at = 0
        self.tensors = 0

    def metadata(self) -> dict[str, Any]:
        """All keys with their values; after it the walk stands at the first of `tensors` descriptions."""
        if self._data[: len(MAGIC)] != MAGIC:
            raise NotGGUF("it does not begin as one does")
        self.at = len(MAGIC)
        try:
            return self._metadata()
        except (struct.error, IndexError, UnicodeDecodeError, OverflowError) as exc:
            raise NotGGUF("it breaks off within its head") from exc

    def _metadata(self) -> dict[str, Any]:
        version = self.scalar("<I")
        if version not in VERSIONS:
            raise NotGGUF(f"its version is {version}, not 2 or 3")
        self.tensors, count = self.scalar("<Q"), self.scalar("<Q")
        values: dict[str, Any] = {}
        for _ in range(count):
            key = self.bytes().decode()
            values[key] = self._value(self.scalar("<I"))
        return values

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.bytes().decode("utf-8", "replace")
        return self._array() if kind == _ARRAY else self.scalar(_format(kind))

    def _array(self) -> Any:
        kind, length = self.scalar("<I"), self.scalar("<Q")
        if kind == _STRING:
            return [self.bytes() for _ in range(length)]
        if kind == _ARRAY:
            return [self._array() for _ in range(length)]
        layout = f"<{length}{_format(kind)[1]}"
        start, self.at = self.at, self.at + struct.calcsize(layout)
        return struct.unpack_from(layout, self._data, start)

    def bytes(self) -> bytes:
        length = self.scalar("<Q")
        start, self.at = self.at, self.at + length
        if self.at > len(self._data):
            raise IndexError
        return self._data[start : self.at]

    def scalar(self, layout: str) -> Any:
        (value,) = struct.unpack_from(layout, self._data, self.at)
        self.at += struct.calcsize(layout)
        return value


def _format(kind: int) -> str:
    if kind not in _SCALARS:
        raise NotGGUF(f"its head has a value of the unknown type {kind}")
    return _SCALARS[kind]
