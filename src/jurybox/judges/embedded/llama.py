"""A Llama-type language model in numpy that scores given text, token by token.

Owns one thing: teacher-forced log-probabilities of several continuations over one
evaluated prefix. It never generates. All continuations of a source go through each layer together, which
makes it several times quicker than llama.cpp on the same weights with one thread
(docs/design/embedded.md). How matrices rest and multiply is `products`', attention `attention`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.attention import attend, rotate, rotation
from jurybox.judges.embedded.gguf import GGUFFile
from jurybox.judges.embedded.products import Floats, Product, keeper, widen
from jurybox.judges.embedded.weights import (
    Layer,
    Shape,
    read_embedding,
    read_layer,
    read_shape,
    read_tokenizer,
)

_HEAD_ROWS = 3072  # vocabulary rows multiplied at a time, as many as the widest layer has: 7 MB widened instead of 113
_GATED = 64  # tokens gated at a time, within the cache
_PREFIX_PIECE = 512  # tokens of a prefix in one pass: bounds the attention table


@dataclass(frozen=True)
class Prefix:
    """An evaluated text: its tokens, keys and values a layer, and its last state."""

    tokens: tuple[int, ...]
    keys: tuple[Floats, ...]  # a layer: kv_heads × tokens × head_width, less the first token's key
    values: tuple[Floats, ...]
    anchors: tuple[Floats, ...]  # a layer: the first token's key
    last: Floats

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def empty(cls, tokens: Sequence[int], shape: Shape) -> Prefix:
        """Room for the whole text, to be filled piece by piece."""
        size = (shape.kv_heads, len(tokens), shape.head_width)
        keys, values = ([np.empty(size, np.float32) for _ in range(shape.layers)] for _ in range(2))
        anchors = np.zeros((shape.layers, shape.kv_heads, 1, shape.head_width), np.float32)
        return cls(tuple(tokens), tuple(keys), tuple(values), tuple(anchors), np.empty(0, np.float32))

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
        self._keeper = keeper(_HEAD_ROWS * self.shape.width)
        self._layers = [read_layer(file, index, self._keeper) for index in range(self.shape.layers)]
        self._last_head: tuple[NDArray[np.int64] | None, list[Product]] = (None, [])

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

    def following(self, scored: Scored, tokens: Sequence[int]) -> Floats:
        """log P of each token's successor in the token's own place, one for all but the last; no new evaluation."""
        rows = widen(self._embedding[np.asarray(tokens[1:], np.int64)])
        return np.asarray(np.einsum("ij,ij->i", rows, scored.states[:-1]) - scored.log_normaliser[:-1], np.float32)

    def distribution(self, prefix: Prefix) -> Floats:
        """log P of every token right after the prefix."""
        logits = np.concatenate([rows(prefix.last[None])[0] for rows in self._slices()])
        peak = logits.max()
        return np.asarray(logits - peak - np.log(np.exp(logits - peak).sum()), np.float32)

    def mean_prediction(self, tokens: Sequence[int]) -> Floats:
        """The model's own next-token probabilities, averaged over a text's positions."""
        states = self._forward(None, [tokens])
        logits = np.concatenate([rows(states) for rows in self._slices()], axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return np.asarray(logits.mean(axis=0), np.float32)

    def _slices(self, among: NDArray[np.int64] | None = None) -> Iterator[Product]:
        """The output matrix, or its rows `among`, a slice of the vocabulary at a time."""
        for start in range(0, len(self._embedding) if among is None else len(among), _HEAD_ROWS):
            part = slice(start, start + _HEAD_ROWS)
            yield self._keeper.halves(self._embedding[part if among is None else among[part]])

    def _head(self, among: NDArray[np.int64] | None) -> Iterable[Product]:
        """The slices; those of the last choice of tokens are kept, since all summaries of a source have the same."""
        if among is None:
            return self._slices()
        if self._last_head[0] is not among:
            self._last_head = (None, [])  # first gives back the memory of the one before
            self._last_head = (among, list(self._slices(among)))
        return self._last_head[1]

    def _target_scores(
        self, states: Floats, targets: NDArray[np.int64], among: NDArray[np.int64] | None
    ) -> tuple[Floats, Floats]:
        """Logit of each target and log of the softmax sum; the full table is never held."""
        hit = np.einsum("ij,ij->i", states, widen(self._embedding[targets]))
        total = np.zeros(len(states), np.float32)
        if among is not None:
            total += ~np.isin(targets, among)  # its own share, exp(0)
        for rows in self._head(among):
            part = rows(states)
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
        turn = rotation(positions, self.shape.head_width, self.shape.rope_base)
        x = widen(self._embedding[tokens])
        if not len(tokens):
            return x
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(_rms(x, layer.attention_norm, self.shape.epsilon), layer, turn)
            anchor = prefix.anchors[index] if prefix else k[:, :1].copy()
            k -= anchor
            if keep is not None:
                keep.anchors[index][:] = anchor
                keep.keys[index][:, positions], keep.values[index][:, positions] = k, v
            past = (prefix.keys[index], prefix.values[index]) if prefix else None
            x += layer.output(attend(q, k, v, spans, past))
            self._feed(x, layer)
        return _rms(x, self._final_norm, self.shape.epsilon)

    def _project(self, h: Floats, layer: Layer, turn: NDArray[np.complex64]) -> tuple[Floats, Floats, Floats]:
        """Queries, keys, values, each heads × tokens × head_width, the first two turned to their positions."""
        shape = self.shape
        out = layer.qkv(h).reshape(len(h), -1, shape.head_width)
        heads = np.ascontiguousarray(out.transpose(1, 0, 2))
        first, second = shape.heads, shape.heads + shape.kv_heads
        rotate(heads[:second], turn)
        return heads[:first], heads[first:second], heads[second:]

    def _feed(self, x: Floats, layer: Layer) -> None:
        for start in range(0, len(x), self._keeper.block):
            part = x[start : start + self._keeper.block]
            part += layer.down(_gated(layer.gate_up(_rms(part, layer.feed_norm, self.shape.epsilon))))


def _gated(both: Floats) -> Floats:
    """SwiGLU of gates and values side by side, in place, a piece that stays in the cache at a time."""
    half = both.shape[1] // 2
    for start in range(0, len(both), _GATED):
        gate, value = both[start : start + _GATED, :half], both[start : start + _GATED, half:]
        gate /= 1.0 + np.exp(-gate)
        gate *= value
    return both[:, :half]


def _rms(x: Floats, weight: Floats, epsilon: float) -> Floats:
    scale = 1 / np.sqrt(np.einsum("ij,ij->i", x, x) / x.shape[1] + epsilon)
    out = x * scale[:, None]
    out *= weight
    return np.asarray(out, np.float32)
