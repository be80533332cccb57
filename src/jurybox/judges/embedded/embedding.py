"""Sentence embeddings by all-MiniLM-L6-v2 in numpy.

Owns reading the safetensors file and the BERT forward pass (mean pooling, unit length).
Refuses to fetch anything: it is given a folder with `model.safetensors` and `tokenizer.json`.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Floats = NDArray[np.float32]
_HEADS = 12
_MOST_TOKENS = 128
_BATCH_TOKENS = 512  # the widest table of a batch is 3 MB, and several of them live at once
_MASKED = np.float32(-1e9)
_WORDS = "embeddings.word_embeddings.weight"


@dataclass(frozen=True)
class WordVectors:
    """A text's unit vector, and one for each word piece that was wanted."""

    sentence: Floats
    pieces: Floats


class SentenceEncoder:
    """Turns sentences into unit vectors; remembers nothing between calls."""

    def __init__(self, folder: Path) -> None:
        self._weights, self._words = _read_safetensors(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._layers = 1 + max(int(name.split(".")[2]) for name in self._weights if name.startswith("encoder.layer."))
        self.width = self._words.width

    def encode(self, texts: Sequence[str]) -> Floats:
        """One unit vector a text, in the given order."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        out = np.zeros((len(ids), self.width), np.float32)
        for batch in _batches([len(i) for i in ids]):
            states, mask = self._states([ids[i] for i in batch])
            out[batch] = _unit((states * mask[..., None]).sum(axis=1))
        return out

    def encode_words(self, texts: Sequence[str], wanted: Callable[[str], bool]) -> list[WordVectors]:
        """The sentence vector and a unit vector for each wanted word piece, from one pass."""
        encodings = self._tokenizer.encode_batch(list(texts))
        out: list[WordVectors | None] = [None] * len(encodings)
        for batch in _batches([len(e.ids) for e in encodings]):
            states, mask = self._states([encodings[i].ids for i in batch])
            pooled = _unit((states * mask[..., None]).sum(axis=1))
            for row, index in enumerate(batch):
                offsets = encodings[index].offsets[1:-1]
                keep = [1 + i for i, (start, end) in enumerate(offsets) if wanted(texts[index][start:end])]
                out[index] = WordVectors(pooled[row], _unit(states[row, keep]))
        return [vectors for vectors in out if vectors is not None]

    def _states(self, ids: list[list[int]]) -> tuple[Floats, Floats]:
        """Last-layer states of a padded batch, and its mask."""
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), np.int64)
        mask = np.zeros((len(ids), longest), np.float32)
        for row, sequence in enumerate(ids):
            tokens[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        x = self._embed(tokens)
        bias = (1 - mask)[:, None, None, :] * _MASKED
        for index in range(self._layers):
            x = self._layer(x, bias, f"encoder.layer.{index}.")
        return x, mask

    def _embed(self, tokens: NDArray[np.int64]) -> Floats:
        w = self._weights
        x = self._words(tokens)
        x += w["embeddings.position_embeddings.weight"][: tokens.shape[1]]
        x += w["embeddings.token_type_embeddings.weight"][0]
        return self._norm(x, "embeddings.LayerNorm")

    def _layer(self, x: Floats, bias: Floats, name: str) -> Floats:
        mixed = self._attention(x, bias, name + "attention.")
        mixed += x
        x = self._norm(mixed, name + "attention.output.LayerNorm")
        inner = self._linear(_gelu(self._linear(x, name + "intermediate.dense")), name + "output.dense")
        inner += x
        return self._norm(inner, name + "output.LayerNorm")

    def _attention(self, x: Floats, bias: Floats, name: str) -> Floats:
        rows, length, width = x.shape

        def heads(part: str) -> Floats:
            y = self._linear(x, f"{name}self.{part}").reshape(rows, length, _HEADS, -1)
            return y.transpose(0, 2, 1, 3)

        q, k, v = heads("query"), heads("key"), heads("value")
        q *= np.float32((width // _HEADS) ** -0.5)
        scores = q @ k.transpose(0, 1, 3, 2)
        scores += bias
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(rows, length, width)
        return self._linear(np.asarray(mixed, np.float32), name + "output.dense")

    def _linear(self, x: Floats, name: str) -> Floats:
        flat = x.reshape(-1, x.shape[-1]) @ self._weights[name + ".weight"].T
        flat += self._weights[name + ".bias"]
        return np.asarray(flat.reshape(*x.shape[:-1], -1), np.float32)

    def _norm(self, x: Floats, name: str) -> Floats:
        """Layer norm, in place."""
        x -= x.mean(axis=-1, keepdims=True)
        square = np.einsum("...i,...i->...", x, x)[..., None] / np.float32(x.shape[-1])
        x /= np.sqrt(square + np.float32(1e-12))
        x *= self._weights[name + ".weight"]
        x += self._weights[name + ".bias"]
        return x


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _batches(lengths: list[int]) -> list[list[int]]:
    """Texts of similar length together, a bounded number of padded tokens a batch."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches: list[list[int]] = []
    for index in order:
        if batches and lengths[index] * (len(batches[-1]) + 1) <= _BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _gelu(x: Floats) -> Floats:
    """x times the normal distribution function, in place; erf by Abramowitz & Stegun 7.1.26."""
    z = np.abs(x)
    z *= np.float32(0.70710678)
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
    poly *= np.abs(x)
    np.maximum(x, 0, out=x)
    x -= poly  # both signs: max(x, 0) - |x|·(1 - erf)/2
    return x


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
    """Float32 tensors, mapped from the file, and the word table."""
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
