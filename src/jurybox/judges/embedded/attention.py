"""Causal attention of many continuations over one evaluated prefix, in numpy.

Owns the rotary positions and the softmax. Keys are given less the first key of the text: the softmax is the same, and
its first weight is always 1, so no row needs its maximum sought and no sum can vanish.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_ROWS = 256  # queries at a time: their table over a prefix stays in the second-level cache
_MOST = np.float32(80.0)  # e^80 times any number of tokens is still a float32


def rotation(positions: NDArray[np.int64], head_width: int, base: float) -> NDArray[np.complex64]:
    """Rotary positions as complex numbers; GGUF stores Llama heads with the pairs side by side."""
    half = head_width // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    return (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)


def rotate(heads: Floats, turn: NDArray[np.complex64]) -> None:
    """In place: heads × tokens × head_width, contiguous."""
    pairs = heads.view(np.complex64)
    pairs *= turn


def attend(q: Floats, k: Floats, v: Floats, spans: NDArray[np.int64], past: tuple[Floats, Floats] | None) -> Floats:
    """Each span's tokens over the common past and over their own span: tokens × (heads · width)."""
    heads, count, width = q.shape
    queries = (q * np.float32(width**-0.5)).reshape(len(k), -1, count, width)
    mixed = np.zeros(queries.shape, np.float32)
    total = np.zeros(queries.shape[:3], np.float32)
    if past is not None:
        for parts in zip(queries, *past, mixed, total, strict=True):
            _over_past(*parts)
    for low, high in pairwise(spans):
        part, seen = slice(low, high), np.tri(high - low, dtype=np.float32)
        for index in range(len(k)):
            shares = _weights(queries[index][:, part], k[index, part])
            shares *= seen
            mixed[index][:, part] += shares @ v[index, part]
            total[index][:, part] += shares.sum(axis=-1)
    mixed /= total[..., None]  # after the products: far fewer numbers to divide
    return np.asarray(mixed.reshape(heads, count, width).transpose(1, 0, 2).reshape(count, heads * width), np.float32)


def _over_past(q: Floats, k: Floats, v: Floats, mixed: Floats, total: Floats) -> None:
    """The query heads that share one key head, over the prefix."""
    rows, into, sums = q.reshape(-1, q.shape[-1]), mixed.reshape(-1, q.shape[-1]), total.reshape(-1)
    ones = np.ones(len(k), np.float32)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        shares = _weights(rows[part], k)
        np.matmul(shares, v, out=into[part])
        np.matmul(shares, ones, out=sums[part])  # three times as quick as a sum along the axis


def _weights(q: Floats, k: Floats) -> Floats:
    shares = np.asarray(q @ k.T, np.float32)
    np.minimum(shares, _MOST, out=shares)
    return np.exp(shares, out=shares)
