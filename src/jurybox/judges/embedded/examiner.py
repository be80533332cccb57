"""The examiner: evidence, recipe, scale.

Owns loading and the two small caches (evaluated sources, judged summaries), so that all rubrics
and all summaries of one source cost one reading of it. Gives a score only where the recipe's
evidence could be measured; everything else is `unsupported`, with the cause in the evidence.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from jurybox.judges.cores import default_threads
from jurybox.judges.embedded.calibration import Calibration, load_calibration
from jurybox.judges.embedded.contrast import Contrasts
from jurybox.judges.embedded.embedding import SentenceEncoder
from jurybox.judges.embedded.evidence import Evidence, Models, SourceEvidence, gather, gather_source
from jurybox.judges.embedded.llama import LlamaScorer
from jurybox.judges.embedded.opinion import Axis
from jurybox.judges.embedded.perspective import EXAMPLES
from jurybox.judges.embedded.reasons import reason
from jurybox.judges.embedded.recipes import OPTIONAL, RECIPES, Recipe
from jurybox.judges.embedded.sentences import words
from jurybox.language import seems_english

HERE = Path(__file__).parent
SOURCE_FIELDS = (
    "product_title",
    "description",
    "key_features",
    "specifications",
    "reviews",
    "average_rating",
    "product_ugc_summary",
    "question",
    "answers",
    "perspective",
    "perspective_definition",
    "input_spans",
)
_HALF = 0.5  # of the letters Latin: a summary that quotes some other script is still read
_TOKENS_KEPT = 600  # of evaluated sources beside the one at hand; a token takes 46 kB
_SUMMARIES_KEPT = 512


def load_models(language: Path, encoder: Path) -> Models:
    """Loads the GGUF file and the encoder's folder, and the tables beside this module."""
    sentence_encoder = SentenceEncoder(encoder)
    tables = np.load(HERE / "tables.npz")
    model, log_unigram = LlamaScorer(language), tables["log_unigram"].astype(np.float32)
    return Models(
        model,
        Contrasts(model, log_unigram),
        sentence_encoder,
        log_unigram,
        Axis(tables["axis"].astype(np.float32), float(tables["axis_offset"])),
        {name: sentence_encoder.encode(texts) for name, texts in EXAMPLES.items()},
    )


class Examiner:
    """Judges summaries offline; not safe for use by several threads at once."""

    def __init__(self, models: Models, calibration: Calibration | None = None, threads: int | None = None) -> None:
        self.models = models
        self.calibration = calibration or load_calibration(HERE / "calibration.json")
        self.threads = threads or default_threads()
        self._sources: OrderedDict[str, SourceEvidence] = OrderedDict()
        self._judged: OrderedDict[tuple[str, str], Evidence] = OrderedDict()

    def judge(
        self, source: Mapping[str, Any], summary: str, rubric_name: str
    ) -> tuple[float | None, str, dict[str, Any]]:
        """Score, status (`scored` or `unsupported`) and JSON evidence with its `reason`."""
        recipe = RECIPES.get(rubric_name)
        if recipe is None:
            return None, "unsupported", _why(f"no evidence fits the rubric {rubric_name!r}", rubric_name)
        if cause := _unreadable(summary):
            return None, "unsupported", _why(cause, rubric_name)
        found = self.evidence(source, [summary])[0]
        score = self.calibration.score(rubric_name, recipe, found.features)
        if score is None:
            missing = [n for n in recipe.features if found.features.get(n) is None and n not in OPTIONAL]
            cause = f"the source gives nothing to measure: {', '.join(missing)}"
            return None, "unsupported", _why(cause, rubric_name)
        return score, "scored", self._report(found, recipe, rubric_name)

    def look_at(self, source: Mapping[str, Any], summaries: Sequence[str]) -> None:
        """Score several summaries of one source together, which is quicker than one by one, and remember them."""
        readable = [summary for summary in summaries if not _unreadable(summary)]
        if readable:
            self.evidence(source, readable)

    def evidence(self, source: Mapping[str, Any], summaries: Sequence[str]) -> list[Evidence]:
        """Evidence for several summaries of one source; those not yet known are scored together."""
        key = _key(source)
        fresh = [s for s in dict.fromkeys(summaries) if (key, s) not in self._judged]
        if fresh:
            with self._limits():
                gathered = gather(self.models, self._source(key, source), fresh)
            self._judged.update({(key, summary): found for summary, found in zip(fresh, gathered, strict=True)})
        result = [self._judged[(key, summary)] for summary in summaries]
        while len(self._judged) > max(_SUMMARIES_KEPT, len(summaries)):
            self._judged.popitem(last=False)
        return result

    def _source(self, key: str, source: Mapping[str, Any]) -> SourceEvidence:
        if key in self._sources:
            self._sources.move_to_end(key)
        else:
            while sum(len(known.prefix) for known in self._sources.values()) > _TOKENS_KEPT:
                self._sources.popitem(last=False)  # before the new one takes its own memory
            self._sources[key] = gather_source(self.models, source)
        return self._sources[key]

    def _report(self, found: Evidence, recipe: Recipe, rubric: str) -> dict[str, Any]:
        known = self.calibration.standardised(found.features)
        used = {
            name: round(known[name] if weight > 0 else -known[name], 3)
            for name, weight in recipe.features.items()
            if name in known
        }
        numbers = {name: round(value, 4) for name, value in found.features.items() if value is not None}
        report = {"features": numbers, "used": used, **found.details}
        return {"reason": reason(report, rubric), **report}

    def _limits(self) -> AbstractContextManager[Any]:
        limits: AbstractContextManager[Any] = threadpool_limits(limits=self.threads)
        return limits


def _unreadable(summary: str) -> str:
    """Why nothing can be said of a summary; empty where something can."""
    if not words(summary):
        return "the summary has no English words"
    if not seems_english(summary, latin=_HALF):
        return "the summary does not seem to be in English, the one language that this judge reads"
    return ""


def _why(cause: str, rubric: str) -> dict[str, Any]:
    return {"reason": f"Not judged on {rubric}: {cause}."}


def _key(source: Mapping[str, Any]) -> str:
    chosen = {field: source[field] for field in SOURCE_FIELDS if source.get(field)}
    return blake2b(json.dumps(chosen, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()
