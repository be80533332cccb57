"""How expected the words of a summary are, to a language model that has read the source.

Owns the likelihood evidence. Raw likelihood rewards bland text, so each token's
log-probability is set against its frequency (SLOR: Pauls & Klein 2012; Lau, Clark &
Lappin 2017), and tokens inside a repeated trigram are left out, since a repetition is
always likely. Its mean says how well the text follows from the source, its lowest fifth
where it breaks. How well it is formed says how much the words that hold sentences together
are needed in their places. Refuses to judge a text by raw likelihood, entropy or rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.contrast import Contrast, Contrasts, mean_lead
from jurybox.judges.embedded.framing import plain
from jurybox.judges.embedded.llama import LlamaScorer, Prefix
from jurybox.judges.embedded.source import Passage, Source, prompt, take_evenly

Floats = NDArray[np.float32]
MOST_PROMPT_TOKENS = 1200
MOST_SUMMARY_TOKENS = 1200
_OPENING = "\n\nSummary:"
_LOW_SHARE = 5  # the lowest fifth
_GLUE = -6.0  # log frequency: every 400th token or commoner is a function word or a mark
_CLIP = 12.0
_COMMON = 16384
_TOGETHER = 768  # tokens in one pass: enough for the matrix products, bounded in memory


@dataclass(frozen=True)
class Wording:
    """Likelihood evidence of one summary.

    `odd` are its least expected words, worst first; `outdone` the words that a rival outdoes.
    """

    tokens: int
    slor: float
    slor_low: float
    glue: float
    unrepeated: float
    rarity: float
    lead: float | None
    odd: tuple[tuple[str, float], ...]
    outdone: tuple[Contrast, ...]


def evaluate_source(model: LlamaScorer, source: Source) -> tuple[Source, Prefix]:
    """Reads the source once; says in `reading` how many passages fitted."""
    chosen = _fitting(model, source)
    text = prompt(source, chosen)
    prefix = model.prefix(model.tokenize(text + _OPENING))
    return replace(source, reading=replace(source.reading, prompt_passages_read=len(chosen))), prefix


def wordings(
    model: LlamaScorer,
    contrasts: Contrasts,
    prefix: Prefix,
    among: NDArray[np.int64],
    log_unigram: Floats,
    summaries: Sequence[str],
) -> list[Wording]:
    """Evidence for several summaries of one source, in few passes over the model."""
    out: list[Wording] = []
    # the model's tokens carry the space before a word, so the text gets one too
    texts = [f" {plain(summary)}" for summary in summaries]
    encoded = [model.encode(text) for text in texts]
    for batch in _batches([min(len(ids), MOST_SUMMARY_TOKENS) for ids, _ in encoded]):
        scored = model.score(prefix, [encoded[i][0][:MOST_SUMMARY_TOKENS] for i in batch], among)
        for i, entry in zip(batch, scored, strict=True):
            places = contrasts.find(texts[i], *encoded[i], entry)
            needed = contrasts.needed(encoded[i][0][:MOST_SUMMARY_TOKENS], entry)
            out.append(_wording(texts[i], *encoded[i], entry.log_probabilities, log_unigram, places, needed))
    return out


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Neighbours together, up to a number of tokens."""
    batch: list[int] = []
    for index, size in enumerate(sizes):
        if batch and sum(sizes[i] for i in batch) + size > _TOGETHER:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def candidates(prefix: Prefix, log_unigram: Floats) -> NDArray[np.int64]:
    """The tokens that share out the probability: the common ones and the source's own.

    The other two thirds of the vocabulary move a log-probability by 0.015 on average and cost a seventh of the time.
    """
    common = np.argpartition(log_unigram, -_COMMON)[-_COMMON:]
    return np.union1d(common, np.asarray(prefix.tokens, np.int64))


def _fitting(model: LlamaScorer, source: Source) -> list[Passage]:
    sizes = {passage: len(model.tokenize(passage.text)) + 2 for passage in source.passages}
    if sum(sizes.values()) <= MOST_PROMPT_TOKENS:
        return list(source.passages)
    groups: dict[int, list[Passage]] = {}
    for passage in source.passages:
        groups.setdefault(passage.document, []).append(passage)
    low, high = 0, len(source.passages)
    while low < high:  # the largest even selection within the bound
        middle = (low + high + 1) // 2
        taken = take_evenly(list(groups.values()), middle)
        if sum(sizes[passage] for passage in taken) <= MOST_PROMPT_TOKENS:
            low = middle
        else:
            high = middle - 1
    return take_evenly(list(groups.values()), low)


def _wording(
    text: str,
    ids: list[int],
    offsets: list[tuple[int, int]],
    scores: Floats,
    log_unigram: Floats,
    places: list[Contrast],
    needed: Floats,
) -> Wording:
    ids = ids[: len(scores)]
    frequency = log_unigram[np.asarray(ids)]
    fresh = _fresh(ids)
    slor = np.clip(scores - frequency, -_CLIP, _CLIP)
    kept = np.sort(slor[fresh])
    lowest = kept[: max(1, len(kept) // _LOW_SHARE)]
    holding = fresh & _glue(text, offsets[: len(ids)], frequency)
    glue = np.clip(needed[holding & ~np.isnan(needed)], -_CLIP, _CLIP)
    order = np.argsort(np.where(fresh, slor, np.inf))[:3]
    return Wording(
        tokens=len(ids),
        slor=float(kept.mean()),
        slor_low=float(lowest.mean()),
        # A word, or the mark at the end alone, holds nothing together.
        glue=float(glue.mean()) if len(glue) > 1 and " " in text.strip() else 0.0,
        unrepeated=float(fresh.mean()),
        rarity=float(-frequency.mean()),
        lead=mean_lead(places),
        odd=tuple((text[offsets[i][0] : offsets[i][1]].strip(), float(slor[i])) for i in order if fresh[i]),
        outdone=tuple(sorted((p for p in places if p.lead < 0), key=lambda p: p.lead)[:3]),
    )


def _glue(text: str, offsets: Sequence[tuple[int, int]], frequency: Floats) -> NDArray[np.bool_]:
    """True for function words, marks and the rest of a word once begun: what is left when the topic is taken away."""
    inside = np.asarray([not text[start : start + 1].isspace() for start, _ in offsets], bool)
    return inside | (frequency > _GLUE)


def _fresh(ids: Sequence[int]) -> NDArray[np.bool_]:
    """False where a token ends a trigram that the text already had."""
    seen: set[tuple[int, ...]] = set()
    fresh = np.ones(len(ids), bool)
    for end in range(2, len(ids)):
        gram = tuple(ids[end - 2 : end + 1])
        fresh[end] = gram not in seen
        seen.add(gram)
    return fresh
