"""Reads GGUF files: the key-value header, and tensors as numpy arrays.

Owns the container format (version 2 and 3, little endian) and the tensor
types that small Llama models ship in: F32, F16, Q8_0, Q4_0, Q4_1.
Refuses every other type by name instead of guessing. Knows nothing of models.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
# ggml type -> (name, elements a block, bytes a block)
_TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 8: ("Q8_0", 32, 34)}


class GGUFError(ValueError):
    """The file is not a GGUF file that this module reads."""


@dataclass(frozen=True)
class TensorInfo:
    """Where one tensor lies; `shape` is in numpy order (rows first)."""

    kind: int
    shape: tuple[int, ...]
    start: int


class GGUFFile:
    """An open GGUF file: `fields` and, on demand, tensors as float32."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as handle:
            self._map = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        self.fields: dict[str, Any] = {}
        self._tensors: dict[str, TensorInfo] = {}
        self._read_header()

    def names(self) -> list[str]:
        """All tensor names, in file order."""
        return list(self._tensors)

    def tensor(self, name: str) -> Floats:
        """The tensor as float32, unpacked from whatever type it is stored in."""
        return np.concatenate(list(self.blocks(name, self._tensors[name].shape[0])))

    def blocks(self, name: str, rows: int) -> Iterator[Floats]:
        """The tensor `rows` rows at a time, so that a large one is never held whole as float32."""
        info = self._tensors[name]
        kind, per_block, block_bytes = _TYPES[info.kind]
        inner = info.shape[1:]
        row_bytes = int(np.prod(inner, dtype=np.int64)) * block_bytes // per_block
        for first in range(0, info.shape[0], rows):
            count = min(rows, info.shape[0] - first)
            start = info.start + first * row_bytes
            raw = np.frombuffer(self._map[start : start + count * row_bytes], np.uint8)
            yield _unpack(kind, raw).reshape(count, *inner)

    def close(self) -> None:
        """Gives the mapped file back; tensors already read stay valid."""
        self._map.close()

    def _read_header(self) -> None:
        magic, version = self._map[:4], struct.unpack_from("<I", self._map, 4)[0]
        if magic != b"GGUF" or version not in (2, 3):
            raise GGUFError(f"{self.path}: not a GGUF file of version 2 or 3")
        self._at = 8
        n_tensors, n_fields = self._scalar("<Q"), self._scalar("<Q")
        for _ in range(n_fields):
            key = self._string()
            self.fields[key] = self._value(self._scalar("<I"))
        entries = [self._tensor_entry() for _ in range(n_tensors)]
        align = int(self.fields.get("general.alignment", 32))
        base = -(-self._at // align) * align
        for name, kind, shape, offset in entries:
            self._tensors[name] = TensorInfo(kind, shape, base + offset)

    def _tensor_entry(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self._string()
        shape = tuple(self._scalar("<Q") for _ in range(self._scalar("<I")))[::-1]
        kind, offset = self._scalar("<I"), self._scalar("<Q")
        if kind not in _TYPES:
            read = ", ".join(entry[0] for entry in _TYPES.values())
            raise GGUFError(f"{self.path}: tensor {name!r} has ggml type {kind}; read here: {read}")
        return name, kind, shape, offset

    def _scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._map, self._at)
        self._at += struct.calcsize(form)
        return value

    def _string(self) -> str:
        size = self._scalar("<Q")
        text = self._map[self._at : self._at + size].decode("utf-8", "replace")
        self._at += size
        return text

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, size = self._scalar("<I"), self._scalar("<Q")
            return [self._value(inner) for _ in range(size)]
        return self._scalar(_SCALARS[kind])


def _unpack(kind: str, raw: NDArray[np.uint8]) -> Floats:
    if kind == "F32":
        return raw.view("<f4").astype(np.float32)
    if kind == "F16":
        return raw.view("<f2").astype(np.float32)
    return _UNPACK[kind](raw)


def _unpack_q8_0(raw: NDArray[np.uint8]) -> Floats:
    blocks = raw.reshape(-1, 34)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return (blocks[:, 2:].view(np.int8).astype(np.float32) * scale).reshape(-1)


def _nibbles(packed: NDArray[np.uint8]) -> Floats:
    """Low nibbles are elements 0–15 of a block, high nibbles 16–31."""
    out = np.empty((len(packed), 32), np.float32)
    out[:, :16] = packed & 15
    out[:, 16:] = packed >> 4
    return out


def _unpack_q4_0(raw: NDArray[np.uint8]) -> Floats:
    blocks = raw.reshape(-1, 18)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return ((_nibbles(blocks[:, 2:]) - 8.0) * scale).reshape(-1)


def _unpack_q4_1(raw: NDArray[np.uint8]) -> Floats:
    blocks = raw.reshape(-1, 20)
    head = blocks[:, :4].copy().view("<f2").astype(np.float32)
    out = _nibbles(blocks[:, 4:])
    out *= head[:, :1]
    out += head[:, 1:]
    return out.reshape(-1)


_UNPACK = {"Q8_0": _unpack_q8_0, "Q4_0": _unpack_q4_0, "Q4_1": _unpack_q4_1}
