"""Matrices that multiply float32 states, the quickest way this processor has.

Owns how a matrix rests and the choice between two ways that agree to five digits. Everywhere: bfloat16 is widened into
one reused buffer, and BLAS multiplies. On processors with matrix tiles (Intel AMX) and NumKong installed: the matrix is
packed once, each number is split into two bfloat16 whose sum has 16 bits, and their products are added, which needs no
widening and is up to three times as quick. Refuses to round states to a single bfloat16: that would move scores.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jurybox.errors import JudgeRejection

Floats = NDArray[np.float32]
Halves = NDArray[np.uint16]
_TILES = ("sapphireamx", "graniteamx", "diamond")  # NumKong's names of processors with matrix tiles
_TILE = 32  # rows that its kernel takes at once; a part of them costs more than all
_BLOCK = 80  # states at a time: whatever becomes of them stays in the second-level cache
# How far a row's sum may be off, as a share of the sum of its numbers' usual sizes: rounding makes 2e-5 at most, a tile
# that was lost 1.5e-3 at least (three sources of the development data).
_SLACK = 1e-4
_TRIES = 5


class Product(Protocol):
    """A matrix (output × input): `product(states)` is `states @ matrix.T`."""

    def __call__(self, states: Floats) -> Floats: ...


class Keeper(Protocol):
    """Takes matrices and gives them back as products."""

    @property
    def block(self) -> int:
        """States to take through several products at a time."""

    def halves(self, matrix: Halves) -> Product: ...

    def floats(self, matrix: Floats) -> Product: ...


def widen(halves: Halves) -> Floats:
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow(values: Floats) -> Halves:
    """float32 to bfloat16, rounded to nearest."""
    bits = values.view(np.uint32) + np.uint32(0x8000)
    return np.ascontiguousarray(bits.view(np.uint16).reshape(*values.shape, 2)[..., 1])


class Widener:
    """bfloat16 to float32 in one reused buffer; a result lives until the next call."""

    def __init__(self, size: int) -> None:
        self._floats = np.zeros(size, np.float32)
        self._high = self._floats.view(np.uint16).reshape(-1, 2)[:, 1]

    def __call__(self, halves: Halves) -> Floats:
        self._high[: halves.size] = halves.reshape(-1)
        return self._floats[: halves.size].reshape(halves.shape)


class Plain:
    """The way for every machine: BLAS; matrices of at most `largest` bfloat16 numbers."""

    block = 1 << 20  # widening is paid once a call: all of them

    def __init__(self, largest: int = 0) -> None:
        self._widener = Widener(largest)

    def halves(self, matrix: Halves) -> Product:
        return lambda states: np.asarray(states @ self._widener(matrix).T, np.float32)

    def floats(self, matrix: Floats) -> Product:
        return lambda states: np.asarray(states @ matrix.T, np.float32)


class Tiles:
    """The way for matrix tiles."""

    block = _BLOCK

    def __init__(self, numkong: Any, largest: int = 0) -> None:
        self._numkong = numkong
        self._widener = Widener(largest)

    def halves(self, matrix: Halves) -> Product:
        return _Tiled(self._numkong, self._widener(matrix), matrix)

    def floats(self, matrix: Floats) -> Product:
        rounded = narrow(matrix)
        return _Tiled(self._numkong, matrix, rounded, narrow(matrix - widen(rounded)))


class _Tiled:
    """A packed matrix, and perhaps what its rounding took away.

    Some virtual machines are reported to lose what is in the tiles when a process is set aside. So each product is
    checked: its rows must add up to the states times the matrix's column sums, which costs a hundredth of the time.
    """

    def __init__(self, numkong: Any, matrix: Floats, rounded: Halves, rest: Halves | None = None) -> None:
        self._numkong = numkong
        self._packed = self._pack(rounded)
        self._rest = None if rest is None else self._pack(rest)
        outputs, inputs = matrix.shape
        self._ones = np.ones(outputs, np.float32)
        self._sums = self._ones @ matrix
        self._slack = _SLACK * float(np.vdot(matrix, matrix) * outputs / inputs) ** 0.5

    def _pack(self, matrix: Halves) -> Any:
        return self._numkong.dots_pack(self._numkong.Tensor(matrix, dtype="bfloat16"), dtype="bf16")

    def __call__(self, states: Floats) -> Floats:
        out = np.empty((len(states), len(self._ones)), np.float32)
        step = _step(len(states))
        for start in range(0, len(states), step):
            self._multiply_surely(states[start : start + step], out[start : start + step])
        return out

    def _multiply_surely(self, states: Floats, out: Floats) -> None:
        for _ in range(_TRIES):
            self._multiply(states, out)
            if self._adds_up(states, out):
                return
        raise JudgeRejection("matrix tiles of this processor give wrong products; `pip uninstall numkong` does without")

    def _adds_up(self, states: Floats, out: Floats) -> bool:
        gap = np.abs(out @ self._ones - states @ self._sums)
        return bool(np.all(gap <= self._slack * np.sqrt(np.einsum("ij,ij->i", states, states))))

    def _multiply(self, states: Floats, out: Floats) -> None:
        count = len(states)
        split = self._split(states)
        both = np.asarray(self._numkong.dots_packed(split, self._packed))
        np.add(both[:count], both[count : 2 * count], out=out)
        if self._rest is not None:
            out += np.asarray(self._numkong.dots_packed(split, self._rest, end_row=_whole(count)))[:count]

    def _split(self, states: Floats) -> Any:
        """The states rounded to bfloat16, what the rounding took away, and unread rows up to a whole tile."""
        count, width = states.shape
        both = self._numkong.empty((_whole(2 * count), width), dtype="bfloat16")
        rest = np.empty((count, width), np.float32)
        self._numkong.astype(states, "bfloat16", out=both[:count])
        self._numkong.astype(both[:count], "float32", out=rest)
        np.subtract(states, rest, out=rest)
        self._numkong.astype(rest, "bfloat16", out=both[count : 2 * count])
        return both


def _whole(rows: int) -> int:
    return -(-rows // _TILE) * _TILE


def _step(count: int) -> int:
    """States at a time: blocks alike, so that none is a costly remainder."""
    blocks = max(1, -(-count // _BLOCK))
    return max(1, _whole(2 * -(-count // blocks)) // 2)


def keeper(largest: int = 0) -> Keeper:
    """The way for this machine, for matrices of at most `largest` bfloat16 numbers."""
    numkong = _numkong_with_tiles()
    return Plain(largest) if numkong is None else Tiles(numkong, largest)


@cache
def _numkong_with_tiles() -> Any:
    """The library, or None where it is not installed or would bring nothing."""
    try:
        import numkong
    except ImportError:
        return None
    abilities = numkong.get_capabilities()
    return numkong if any(abilities.get(name) for name in _TILES) else None
