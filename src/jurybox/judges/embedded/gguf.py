"""Tensors of a GGUF file as numpy arrays.

Owns the tensor types that small Llama models ship in: F32, F16, Q8_0, Q4_0, Q4_1. Refuses every other type by name
instead of guessing. Knows nothing of models; the file's head is read by `judges/gguf.py`.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.gguf import NotGGUF, Walk

Floats = NDArray[np.float32]

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
    """A GGUF file: its `fields` and, on demand, tensors as float32."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fields: dict[str, Any] = {}
        self._tensors: dict[str, TensorInfo] = {}
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            self._read_header(whole)

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
        with self.path.open("rb") as file:  # read, not mapped: the pages of a map would count as this process's memory
            file.seek(info.start)
            for first in range(0, info.shape[0], rows):
                count = min(rows, info.shape[0] - first)
                raw = np.fromfile(file, np.uint8, count * row_bytes)
                yield _unpack(kind, raw).reshape(count, *inner)

    def _read_header(self, whole: mmap.mmap) -> None:
        walk = Walk(whole)
        try:
            self.fields = {key: _decoded(value) for key, value in walk.metadata().items()}
        except NotGGUF as exc:
            raise GGUFError(f"{self.path}: not a GGUF file: {exc}") from exc
        entries = [self._tensor_entry(walk) for _ in range(walk.tensors)]
        align = int(self.fields.get("general.alignment", 32))
        base = -(-walk.at // align) * align
        for name, kind, shape, offset in entries:
            self._tensors[name] = TensorInfo(kind, shape, base + offset)

    def _tensor_entry(self, walk: Walk) -> tuple[str, int, tuple[int, ...], int]:
        name = walk.bytes().decode("utf-8", "replace")
        shape = tuple(walk.scalar("<Q") for _ in range(walk.scalar("<I")))[::-1]
        kind, offset = walk.scalar("<I"), walk.scalar("<Q")
        if kind not in _TYPES:
            read = ", ".join(entry[0] for entry in _TYPES.values())
            raise GGUFError(f"{self.path}: tensor {name!r} has ggml type {kind}; read here: {read}")
        return name, kind, shape, offset


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [part.decode("utf-8", "replace") if isinstance(part, bytes) else part for part in value]
    return value


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
