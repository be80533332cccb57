"""Sentence embeddings by all-MiniLM-L6-v2 in numpy.

Owns reading the safetensors file and the BERT forward pass (mean pooling, unit length).
Refuses to fetch anything: it is given a folder with `model.safetensors` and `tokenizer.json`.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from jurybox.judges.embedded.products import Floats, Keeper, keeper

_HEADS = 12
_MOST_TOKENS = 128
_BATCH_TOKENS = 512  # the widest table of a batch is 3 MB
_GELU_PIECE = 16384
_WORDS = "embeddings.word_embeddings.weight"


@dataclass(frozen=True)
class WordVectors:
    """A text's unit vector, and one for each word piece that was wanted."""

    sentence: Floats
    pieces: Floats


class SentenceEncoder:
    """Turns sentences into unit vectors; remembers nothing between calls."""

    def __init__(self, folder: Path) -> None:
        weights, self._words = _read_safetensors(folder / "model.safetensors")
        first_type = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions = weights["embeddings.position_embeddings.weight"] + first_type
        self._norm = _Norm(weights, "embeddings.LayerNorm")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        count = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
        kept = keeper()
        self._layers = [_Layer(weights, f"encoder.layer.{index}.", kept) for index in range(count)]
        self.width = self._words.width

    def encode(self, texts: Sequence[str]) -> Floats:
        """One unit vector a text, in the given order."""
        return np.stack([entry.sentence for entry in self.encode_words(texts, lambda piece: False)])

    def encode_words(self, texts: Sequence[str], wanted: Callable[[str], bool]) -> list[WordVectors]:
        """The sentence vector and a unit vector for each wanted word piece, from one pass."""
        encodings = self._tokenizer.encode_batch(list(texts))
        out: dict[int, WordVectors] = {}
        for batch in _batches([len(e.ids) for e in encodings]):
            states = self._states([encodings[i].ids for i in batch])
            for index, mine in zip(batch, states, strict=True):
                offsets = encodings[index].offsets[1:-1]
                keep = [1 + i for i, (start, end) in enumerate(offsets) if wanted(texts[index][start:end])]
                out[index] = WordVectors(_unit(mine.sum(axis=0, keepdims=True))[0], _unit(mine[keep]))
        return [out[index] for index in range(len(encodings))]

    def _states(self, ids: list[list[int]]) -> list[Floats]:
        """Last-layer states of each text; shorter texts come first, those of one length stand together."""
        lengths = [len(sequence) for sequence in ids]
        runs = [(length, len(list(group))) for length, group in groupby(lengths)]
        x = self._embed(np.concatenate(ids), np.concatenate([np.arange(length) for length in lengths]))
        for layer in self._layers:
            x = layer(x, runs)
        return np.split(x, np.cumsum(lengths)[:-1])

    def _embed(self, tokens: NDArray[np.int64], positions: NDArray[np.int64]) -> Floats:
        x = self._words(tokens)
        x += self._positions[positions]
        return self._norm(x)


class _Layer:
    """One block of the encoder."""

    def __init__(self, weights: Mapping[str, Floats], name: str, keeper: Keeper) -> None:
        parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        self._qkv = _Linear(weights, parts, keeper)
        self._output = _Linear(weights, [name + "attention.output.dense"], keeper)
        self._wide = _Linear(weights, [name + "intermediate.dense"], keeper)
        self._narrow = _Linear(weights, [name + "output.dense"], keeper)
        self._first_norm = _Norm(weights, name + "attention.output.LayerNorm")
        self._last_norm = _Norm(weights, name + "output.LayerNorm")

    def __call__(self, x: Floats, runs: Sequence[tuple[int, int]]) -> Floats:
        mixed = self._output(_attend(self._qkv(x), runs))
        mixed += x
        x = self._first_norm(mixed)
        inner = self._narrow(_gelu(self._wide(x)))
        inner += x
        return self._last_norm(inner)


class _Linear:
    """Matrices of one input put together, with their biases."""

    def __init__(self, weights: Mapping[str, Floats], names: Sequence[str], keeper: Keeper) -> None:
        self._product = keeper.floats(np.concatenate([weights[name + ".weight"] for name in names]))
        self._bias = np.concatenate([weights[name + ".bias"] for name in names])

    def __call__(self, x: Floats) -> Floats:
        out = self._product(x)
        out += self._bias
        return out


class _Norm:
    """Layer norm, in place."""

    def __init__(self, weights: Mapping[str, Floats], name: str) -> None:
        self._weight, self._bias = (weights[f"{name}.{part}"].copy() for part in ("weight", "bias"))

    def __call__(self, x: Floats) -> Floats:
        x -= x.mean(axis=-1, keepdims=True)
        square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
        x /= np.sqrt(square + np.float32(1e-12))
        x *= self._weight
        x += self._bias
        return x


def _attend(qkv: Floats, runs: Sequence[tuple[int, int]]) -> Floats:
    """Attention inside each text; texts of one length go together, so nothing is padded."""
    width = qkv.shape[1] // 3
    out = np.empty((len(qkv), width), np.float32)
    start = 0
    for length, count in runs:
        part = slice(start, start + length * count)
        start = part.stop
        q, k, v = qkv[part].reshape(count, length, 3, _HEADS, -1).transpose(2, 0, 3, 1, 4)
        scores = (q * np.float32((width // _HEADS) ** -0.5)) @ k.swapaxes(-1, -2)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        out[part] = (scores @ v).swapaxes(1, 2).reshape(-1, width)
    return out


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _batches(lengths: list[int]) -> list[list[int]]:
    """Texts by length, a bounded number of tokens a batch."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches: list[list[int]] = []
    room = 0
    for index in order:
        room -= lengths[index]
        if not batches or room < 0:
            batches.append([])
            room = _BATCH_TOKENS - lengths[index]
        batches[-1].append(index)
    return batches


def _gelu(x: Floats) -> Floats:
    """x times the normal distribution function, in place, a piece that stays in the cache at a time."""
    flat = x.reshape(-1)
    for start in range(0, len(flat), _GELU_PIECE):
        _gelu_piece(flat[start : start + _GELU_PIECE])
    return x


def _gelu_piece(x: Floats) -> None:
    """erf by Abramowitz & Stegun 7.1.26."""
    size = np.abs(x)
    z = size * np.float32(0.70710678)
    t = z * np.float32(0.3275911)
    t += np.float32(1.0)
    np.reciprocal(t, out=t)
    poly = t * np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly += np.float32(term)
        poly *= t
    z *= z
    np.negative(z, out=z)
    np.exp(z, out=z)
    poly *= z  # 1 - erf(|x| / √2)
    poly *= np.float32(0.5)
    poly *= size
    np.maximum(x, 0, out=x)
    x -= poly  # both signs: max(x, 0) - |x|·(1 - erf)/2


class _Rows:
    """The word table, left in its file: half the encoder's weights, of which a source needs one row in fifty."""

    def __init__(self, path: Path, start: int, width: int) -> None:
        self._path = path
        self._start = start
        self.width = width

    def __call__(self, tokens: NDArray[np.int64]) -> Floats:
        """A fresh array of the tokens' rows."""
        different, places = np.unique(tokens, return_inverse=True)
        size = 4 * self.width
        rows: list[bytes] = []
        with self._path.open("rb", buffering=0) as file:
            for token in different:
                file.seek(self._start + int(token) * size)
                rows.append(file.read(size))
        table = np.frombuffer(b"".join(rows), "<f4").reshape(-1, self.width)
        return np.asarray(table[places.reshape(tokens.shape)], np.float32)


def _read_safetensors(path: Path) -> tuple[dict[str, Floats], _Rows]:
    """Float32 tensors, mapped from the file until the last is let go, and the word table."""
    with path.open("rb") as handle:
        whole = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    entries = {name.removeprefix("bert."): entry for name, entry in header.items() if entry.get("dtype") == "F32"}
    table = entries.pop(_WORDS)
    tensors: dict[str, Floats] = {}
    for name, entry in entries.items():
        start, end = entry["data_offsets"]
        flat = np.frombuffer(whole, "<f4", (end - start) // 4, 8 + size + start)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, _Rows(path, 8 + size + table["data_offsets"][0], table["shape"][1])
