"""A Llama-type language model in numpy that scores given text, token by token.

Owns one thing: teacher-forced log-probabilities of several continuations over one
evaluated prefix. It never generates. Plain float32 matrix products through BLAS are
three to five times quicker here than llama.cpp on the same weights with one thread
(docs/design/embedded.md), because all continuations of a source go through each layer together.
Weights rest as bfloat16 (half the memory of float32, and numpy widens it 25 times
quicker than float16) and are widened into one reused buffer, a matrix at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.gguf import GGUFFile
from jurybox.judges.embedded.weights import (
    Layer,
    Shape,
    Widener,
    read_embedding,
    read_layer,
    read_shape,
    read_tokenizer,
    widen,
)

Floats = NDArray[np.float32]
_HEAD_ROWS = 6144  # vocabulary rows widened at a time: 14 MB instead of 113
_PREFIX_PIECE = 512  # tokens of a prefix in one pass: bounds the attention table


@dataclass(frozen=True)
class Prefix:
    """An evaluated text: its tokens, keys and values a layer, and its last state."""

    tokens: tuple[int, ...]
    keys: tuple[Floats, ...]  # a layer: kv_heads × tokens × head_width
    values: tuple[Floats, ...]
    last: Floats

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def empty(cls, tokens: Sequence[int], shape: Shape) -> Prefix:
        """Room for the whole text, to be filled piece by piece."""
        size = (shape.kv_heads, len(tokens), shape.head_width)
        keys, values = ([np.empty(size, np.float32) for _ in range(shape.layers)] for _ in range(2))
        return cls(tuple(tokens), tuple(keys), tuple(values), np.empty(0, np.float32))

    def first(self, count: int) -> Prefix:
        """Its first tokens, as views."""
        keys, values = (tuple(part[:, :count] for part in parts) for parts in (self.keys, self.values))
        return replace(self, tokens=self.tokens[:count], keys=keys, values=values)


@dataclass(frozen=True)
class Scored:
    """One continuation, scored; the states allow asking for alternatives in place."""

    log_probabilities: Floats
    states: Floats
    log_normaliser: Floats


class LlamaScorer:
    """Loads a GGUF file and scores continuations; counts the tokens it evaluated."""

    def __init__(self, path: Path) -> None:
        file = GGUFFile(path)
        self.shape = read_shape(file)
        self.tokenizer = read_tokenizer(file)
        self.evaluated_tokens = 0
        self._embedding = read_embedding(file, _HEAD_ROWS)
        self._final_norm = file.tensor("output_norm.weight")
        self._layers = [read_layer(file, index) for index in range(self.shape.layers)]
        self._widener = Widener(_HEAD_ROWS * self.shape.width)
        file.close()

    def tokenize(self, text: str) -> list[int]:
        """Token ids of the text, no special tokens added."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids and the character offsets of each."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return list(encoding.ids), [(int(a), int(b)) for a, b in encoding.offsets]

    def prefix(self, tokens: Sequence[int]) -> Prefix:
        """Evaluates a text once, for any number of continuations."""
        if not tokens or len(tokens) > self.shape.context:
            raise ValueError(f"a prefix needs 1 to {self.shape.context} tokens, not {len(tokens)}")
        whole = Prefix.empty(tokens, self.shape)
        for start in range(0, len(tokens), _PREFIX_PIECE):
            before = whole.first(start) if start else None
            states = self._forward(before, [tokens[start : start + _PREFIX_PIECE]], keep=whole)
        return replace(whole, last=states[-1].copy())

    def score(
        self, prefix: Prefix, continuations: Sequence[Sequence[int]], among: NDArray[np.int64] | None = None
    ) -> list[Scored]:
        """log P(token | prefix, tokens before it) for each token of each continuation.

        The softmax runs over the whole vocabulary, or over the tokens `among` (no two alike) and the scored one.
        """
        if any(not len(tokens) for tokens in continuations):
            raise ValueError("a continuation needs at least one token")
        states = self._forward(prefix, [tokens[:-1] for tokens in continuations])
        parts = np.split(states, np.cumsum([len(tokens) - 1 for tokens in continuations])[:-1])
        rows = [np.concatenate([prefix.last[None], part]) for part in parts]
        targets = np.concatenate([np.asarray(tokens, np.int64) for tokens in continuations])
        hit, normaliser = self._target_scores(np.concatenate(rows), targets, among)
        ends = np.cumsum([len(tokens) for tokens in continuations])[:-1]
        split = zip(np.split(hit - normaliser, ends), rows, np.split(normaliser, ends), strict=True)
        return [Scored(*entry) for entry in split]

    def alternatives(self, scored: Scored, position: int, tokens: Sequence[int]) -> Floats:
        """log P of other tokens in the place of the one at `position`; no new evaluation."""
        rows = widen(self._embedding[np.asarray(tokens, np.int64)])
        return np.asarray(rows @ scored.states[position] - scored.log_normaliser[position], np.float32)

    def distribution(self, prefix: Prefix) -> Floats:
        """log P of every token right after the prefix."""
        logits = np.concatenate([rows @ prefix.last for rows in self._slices()])
        peak = logits.max()
        return np.asarray(logits - peak - np.log(np.exp(logits - peak).sum()), np.float32)

    def mean_prediction(self, tokens: Sequence[int]) -> Floats:
        """The model's own next-token probabilities, averaged over a text's positions."""
        states = self._forward(None, [tokens])
        logits = np.concatenate([states @ rows.T for rows in self._slices()], axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return np.asarray(logits.mean(axis=0), np.float32)

    def _slices(self, among: NDArray[np.int64] | None = None) -> Iterator[Floats]:
        """The output matrix, or its rows `among`, a slice of the vocabulary at a time."""
        for start in range(0, len(self._embedding) if among is None else len(among), _HEAD_ROWS):
            part = slice(start, start + _HEAD_ROWS)
            yield self._widener(self._embedding[part if among is None else among[part]])

    def _target_scores(
        self, states: Floats, targets: NDArray[np.int64], among: NDArray[np.int64] | None
    ) -> tuple[Floats, Floats]:
        """Logit of each target and log of the softmax sum; the full table is never held."""
        hit = np.einsum("ij,ij->i", states, widen(self._embedding[targets]))
        total = np.zeros(len(states), np.float32)
        if among is not None:
            total += ~np.isin(targets, among)  # its own share, exp(0)
        for rows in self._slices(among):
            part = states @ rows.T
            part -= hit[:, None]  # the sum of exp(logit - target) is 1 / P(target)
            np.minimum(part, 80.0, out=part)
            np.exp(part, out=part)
            total += part.sum(axis=1)
        return hit, np.asarray(hit + np.log(total), np.float32)

    def _forward(self, prefix: Prefix | None, parts: Sequence[Sequence[int]], keep: Prefix | None = None) -> Floats:
        """Final normed states of all parts' tokens, packed; a single part's keys and values go into `keep`."""
        tokens = np.concatenate([np.asarray(part, np.int64) for part in parts])
        start = len(prefix) if prefix else 0
        positions = np.concatenate([np.arange(start, start + len(part)) for part in parts])
        spans = np.cumsum([0, *map(len, parts)])
        self.evaluated_tokens += len(tokens)
        cosine, sine = _rope_table(positions, self.shape)
        x = widen(self._embedding[tokens])
        if not len(tokens):
            return x
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(_rms(x, layer.attention_norm, self.shape.epsilon), layer)
            q, k = _rotate(q, cosine, sine), _rotate(k, cosine, sine)
            if keep is not None:
                keep.keys[index][:, positions], keep.values[index][:, positions] = k, v
            past = (prefix.keys[index], prefix.values[index]) if prefix else None
            x += _attend(q, k, v, spans, past) @ self._widener(layer.output).T
            x += self._feed(_rms(x, layer.feed_norm, self.shape.epsilon), layer)
        return _rms(x, self._final_norm, self.shape.epsilon)

    def _project(self, h: Floats, layer: Layer) -> tuple[Floats, Floats, Floats]:
        """Queries, keys, values, each heads × tokens × head_width."""
        shape = self.shape
        out = (h @ self._widener(layer.qkv).T).reshape(len(h), -1, shape.head_width)
        heads = np.ascontiguousarray(out.transpose(1, 0, 2))
        first, second = shape.heads, shape.heads + shape.kv_heads
        return heads[:first], heads[first:second], heads[second:]

    def _feed(self, h: Floats, layer: Layer) -> Floats:
        half = len(layer.gate_up) // 2
        gate = h @ self._widener(layer.gate_up[:half]).T
        gate /= 1.0 + np.exp(-gate)
        gate *= h @ self._widener(layer.gate_up[half:]).T
        return np.asarray(gate @ self._widener(layer.down).T, np.float32)


def _rms(x: Floats, weight: Floats, epsilon: float) -> Floats:
    scale = np.sqrt(np.einsum("ij,ij->i", x, x) / x.shape[1] + epsilon)
    return np.asarray(x / scale[:, None] * weight, np.float32)


def _rope_table(positions: NDArray[np.int64], shape: Shape) -> tuple[Floats, Floats]:
    half = shape.head_width // 2
    angles = positions[:, None] * shape.rope_base ** (-np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _rotate(x: Floats, cosine: Floats, sine: Floats) -> Floats:
    """Rotary positions; GGUF stores Llama heads with the pairs side by side."""
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * cosine - odd * sine
    out[..., 1::2] = even * sine + odd * cosine
    return out


def _attend(q: Floats, k: Floats, v: Floats, spans: NDArray[np.int64], past: tuple[Floats, Floats] | None) -> Floats:
    """Causal attention of each span's tokens over the common past and over their own span; a key head at a time."""
    heads, n, width = q.shape
    group = heads // len(k)
    out = np.empty((n, heads, width), np.float32)
    for low, high in pairwise(spans):
        for index in range(len(k)):
            part = slice(index * group, (index + 1) * group)
            before = (past[0][index], past[1][index]) if past else (k[index, :0], v[index, :0])
            mixed = _attend_head(q[part, low:high], k[index, low:high], v[index, low:high], before)
            out[low:high, part] = mixed.transpose(1, 0, 2)
    return out.reshape(n, heads * width)


def _attend_head(q: Floats, k: Floats, v: Floats, past: tuple[Floats, Floats]) -> Floats:
    """The query heads that share one key head: queries × tokens × width."""
    group, n, width = q.shape
    if not n:  # a continuation of one token is scored by its prefix alone
        return q
    rows = (q * np.float32(width**-0.5)).reshape(-1, width)
    reach = len(past[0])
    scores = np.empty((len(rows), reach + n), np.float32)
    np.matmul(rows, past[0].T, out=scores[:, :reach])
    np.matmul(rows, k.T, out=scores[:, reach:])
    scores.reshape(group, n, -1)[..., reach:] += np.triu(np.full((n, n), -np.inf, np.float32), 1)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    out = scores[:, :reach] @ past[1]
    out += scores[:, reach:] @ v
    out /= scores.sum(axis=-1, keepdims=True)  # after the product: far fewer numbers to divide
    return np.asarray(out.reshape(group, n, width), np.float32)
