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
from dataclasses import dataclass
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
        done: Prefix | None = None
        for start in range(0, len(tokens), _PREFIX_PIECE):
            piece = tokens[start : start + _PREFIX_PIECE]
            states, keys, values = self._forward([(done, piece)], keep=True)
            if done:
                keys = [np.concatenate(pair, axis=1) for pair in zip(done.keys, keys, strict=True)]
                values = [np.concatenate(pair, axis=1) for pair in zip(done.values, values, strict=True)]
            before = done.tokens if done else ()
            done = Prefix((*before, *piece), tuple(keys), tuple(values), states[-1].copy())
        assert done is not None
        return done

    def score(
        self, jobs: Sequence[tuple[Prefix, Sequence[int]]], among: NDArray[np.int64] | None = None
    ) -> list[Scored]:
        """log P(token | prefix, tokens before it) for each token of each continuation.

        The softmax runs over the whole vocabulary, or over the tokens `among` (no two alike) and the scored one.
        """
        if any(not len(tokens) for _, tokens in jobs):
            raise ValueError("a continuation needs at least one token")
        states, _, _ = self._forward([(p, t[:-1]) for p, t in jobs], keep=False)
        cuts = np.cumsum([len(t) - 1 for _, t in jobs])[:-1]
        parts = np.split(states, cuts)
        rows = [np.concatenate([p.last[None], part]) for (p, _), part in zip(jobs, parts, strict=True)]
        targets = np.concatenate([np.asarray(t, np.int64) for _, t in jobs])
        hit, normaliser = self._target_scores(np.concatenate(rows), targets, among)
        ends = np.cumsum([len(t) for _, t in jobs])[:-1]
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
        states, _, _ = self._forward([(None, tokens)], keep=False)
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

    def _forward(
        self, jobs: Sequence[tuple[Prefix | None, Sequence[int]]], *, keep: bool
    ) -> tuple[Floats, list[Floats], list[Floats]]:
        """Final normed states of all jobs' tokens, packed; keys and values if kept."""
        tokens = np.concatenate([np.asarray(t, np.int64) for _, t in jobs])
        starts = [len(p) if p else 0 for p, _ in jobs]
        positions = np.concatenate([np.arange(s, s + len(t)) for s, (_, t) in zip(starts, jobs, strict=True)])
        spans = np.cumsum([0, *(len(t) for _, t in jobs)])
        self.evaluated_tokens += len(tokens)
        cosine, sine = _rope_table(positions, self.shape)
        x = widen(self._embedding[tokens])
        kept_keys: list[Floats] = []
        kept_values: list[Floats] = []
        if not len(tokens):
            return x, kept_keys, kept_values
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(_rms(x, layer.attention_norm, self.shape.epsilon), layer)
            q, k = _rotate(q, cosine, sine), _rotate(k, cosine, sine)
            if keep:
                kept_keys.append(k)
                kept_values.append(v.copy())  # a view would keep the queries alive too
            mixed = np.empty_like(x)
            for (prefix, _), low, high in zip(jobs, spans[:-1], spans[1:], strict=True):
                if low == high:  # a continuation of one token is scored by its prefix alone
                    continue
                past = (prefix.keys[index], prefix.values[index]) if prefix else None
                mixed[low:high] = _attend(q[:, low:high], k[:, low:high], v[:, low:high], past)
            x += mixed @ self._widener(layer.output).T
            x += self._feed(_rms(x, layer.feed_norm, self.shape.epsilon), layer)
        return _rms(x, self._final_norm, self.shape.epsilon), kept_keys, kept_values

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


def _attend(q: Floats, k: Floats, v: Floats, past: tuple[Floats, Floats] | None) -> Floats:
    """Causal attention of one job's tokens over its prefix and itself."""
    heads, n, width = q.shape
    kv_heads = len(k)
    grouped = (q * np.float32(width**-0.5)).reshape(kv_heads, -1, width)
    keys = np.concatenate([past[0], k], axis=1) if past else k
    values = np.concatenate([past[1], v], axis=1) if past else v
    scores = grouped @ keys.transpose(0, 2, 1)
    reach = keys.shape[1] - n
    later = np.triu(np.full((n, n), -np.inf, np.float32), 1)
    scores.reshape(kv_heads, -1, n, reach + n)[..., reach:] += later
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    out = scores @ values
    out /= scores.sum(axis=-1, keepdims=True)  # after the product: far fewer numbers to divide
    out = out.reshape(heads, n, width)
    return np.ascontiguousarray(out.transpose(1, 0, 2)).reshape(n, heads * width)
