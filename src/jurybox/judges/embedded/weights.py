"""The weights of a Llama-type model: read from GGUF, brought to bfloat16.

Owns reading (sizes, layers, tokenizer). bfloat16 takes half the memory of float32, and numpy widens it 25 times quicker
than float16; how a matrix rests and multiplies is `products`'. Computes nothing; refuses
architectures and tokenizers that it was not checked with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from jurybox.judges.embedded.gguf import GGUFError, GGUFFile
from jurybox.judges.embedded.products import Floats, Halves, Keeper, Product, narrow

_QKV = ("attn_q", "attn_k", "attn_v")
_GATE_UP = ("ffn_gate", "ffn_up")


@dataclass(frozen=True)
class Shape:
    """Sizes of the model, from the GGUF header."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    context: int
    epsilon: float
    rope_base: float

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def group(self) -> int:
        """Query heads that share one key head."""
        return self.heads // self.kv_heads


@dataclass(frozen=True)
class Layer:
    """One block's weights."""

    attention_norm: Floats
    feed_norm: Floats
    qkv: Product
    output: Product
    gate_up: Product
    down: Product


def read_embedding(file: GGUFFile, rows: int) -> Halves:
    """The token table, filled `rows` rows at a time: it is the one large matrix."""
    size = len(file.fields["tokenizer.ggml.tokens"])
    table = np.empty((size, file.fields["llama.embedding_length"]), np.uint16)
    at = 0
    for part in file.blocks("token_embd.weight", rows):
        table[at : at + len(part)] = narrow(part)
        at += len(part)
    return table


def read_layer(file: GGUFFile, index: int, keeper: Keeper) -> Layer:
    def matrices(*names: str) -> Product:
        return keeper.halves(np.concatenate([narrow(file.tensor(f"blk.{index}.{name}.weight")) for name in names]))

    return Layer(
        attention_norm=file.tensor(f"blk.{index}.attn_norm.weight"),
        feed_norm=file.tensor(f"blk.{index}.ffn_norm.weight"),
        qkv=matrices(*_QKV),
        output=matrices("attn_output"),
        gate_up=matrices(*_GATE_UP),
        down=matrices("ffn_down"),
    )


def read_shape(file: GGUFFile) -> Shape:
    fields = file.fields
    if fields.get("general.architecture") != "llama" or "output.weight" in file.names():
        raise GGUFError(f"{file.path}: only Llama models with tied embeddings are read here")
    return Shape(
        layers=fields["llama.block_count"],
        width=fields["llama.embedding_length"],
        heads=fields["llama.attention.head_count"],
        kv_heads=fields["llama.attention.head_count_kv"],
        context=fields["llama.context_length"],
        epsilon=fields["llama.attention.layer_norm_rms_epsilon"],
        rope_base=fields["llama.rope.freq_base"],
    )


def read_tokenizer(file: GGUFFile) -> Tokenizer:
    """Byte-level BPE with single digits, as SmolLM's tokenizer is defined."""
    fields = file.fields
    if fields.get("tokenizer.ggml.pre") != "smollm":
        raise GGUFError(f"{file.path}: tokenizer {fields.get('tokenizer.ggml.pre')!r} is not read here")
    vocabulary = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ", 1)) for pair in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
