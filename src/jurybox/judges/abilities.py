"""What a server turned out to lack, read out of its refusals.

Servers that speak chat completions differ in what they take. It is found out by trying: a refused parameter is left out
(or renamed, or lowered) and the call is asked again. Reading a refusal is careful: one that is about anything else
(the model, the key, the length of the prompt) must not cost a parameter that would have been honoured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jurybox.judges.http import ServerError

# A feature, and the parameters of a request that ask for it.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "seed": ("seed",),
    "json_schema": ("response_format",),
    "logprobs": ("logprobs", "top_logprobs"),
    "n": ("n",),
}
FEATURE_OF = {parameter: feature for feature, parameters in PARAMETERS.items() for parameter in parameters}
# How refusals name a feature where they have no field for it.
_NAMES = {
    "temperature": re.compile(r"\btemperature\b"),
    "seed": re.compile(r"\bseed\b"),
    "json_schema": re.compile(r"\bresponse_format\b|\bjson_schema\b|\bjson schema\b|\bstructured outputs?\b"),
    "logprobs": re.compile(r"\b(?:top_)?log_?probs?\b|\blog.probabilities\b"),
    "n": re.compile(
        r"['\"`]n['\"`]|\bparameter n\b|\bn (?:must|should|is|>|=|!=)|\bmultiple (?:completions|choices)\b"
    ),
}
_REFUSING = re.compile(
    r"unsupported|not (?:be )?(?:support|permit|allow|implement|available|recogni|compatible)|n't support|only support"
    r"|unrecogni|unknown|unexpected|extra (?:inputs|fields)|invalid|only the default|deprecated|cannot|can't|must be"
    r"|should be|greater than|above|exceed"
)
_OUT_OF_RANGE = re.compile(
    r"above|below|greater|less than|between|at most|at least|maximum|minimum|range|[<>]=|must be"
)
_PLAINLY_LACKING = re.compile(r"support|only the default|unrecogni|unknown param|unexpected|extra (?:inputs|fields)")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s|\n")
# What some servers append: the whole request that they were sent.
_REPEATED_INPUT = re.compile(r"['\"]input['\"]\s*:")
_LOOKED_AT_CHARACTERS = 800

_MOST = re.compile(
    r"(?:<=|at most|less than or equal to|up to|between \d+ (?:and|<= value <=)|max(?:imum)?(?: allowed)?(?: value)?"
    r"(?: of| is)?:?|\[\d+, ?)\s*(\d{1,4})"
)

_TOO_LONG = re.compile(
    r"(?:maximum|available|model's|configured) context (?:length|size|window)|context (?:length|size|window) exceeded"
    r"|exceeds? [^.]{0,60}\bcontext|prompt is too long|input (?:is )?too long|input (?:length|tokens) exceeds?"
)
_LIMIT = re.compile(r"(?:context (?:length|size|window)|limit)\s*(?:of|is|:|\()*\s*(?:only )?(\d{3,8})")
CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})


@dataclass(frozen=True, slots=True)
class Abilities:
    """What is known of a server. `lacks` is what it refused, with its words; `limit_name` what it calls the bound on
    tokens, `looked_at` how many likeliest tokens it shows, `most_choices` how many answers one request may ask for."""

    lacks: Mapping[str, str] = field(default_factory=dict)
    limit_name: str = "max_tokens"
    looked_at: int = 20
    most_choices: int | None = None

    def without(self, feature: str, said: str) -> Abilities:
        return replace(self, lacks={**self.lacks, feature: said})

    def and_(self, other: Abilities) -> Abilities:
        """Both, for calls that learned at the same time."""
        most = [number for number in (self.most_choices, other.most_choices) if number is not None]
        return Abilities(
            {**self.lacks, **other.lacks},
            other.limit_name if self.limit_name == "max_tokens" else self.limit_name,
            min(self.looked_at, other.looked_at),
            min(most, default=None),
        )

    def after(self, error: ServerError, request: Mapping[str, Any], said: str) -> Abilities | None:
        """What is known once a server has refused a request; None if it refused something else than a feature.

        Each change takes a parameter out of the next request, renames it or lowers it, so asking again comes to an end.
        """
        if self.limit_name in request and self.limit_name == "max_tokens" and "max_completion_tokens" in error.message:
            return replace(self, limit_name="max_completion_tokens")
        feature = refused_feature(error, request)
        if feature is None:
            return None
        lower = _LOWERED.get(feature)
        return (lower and lower(self, error.message.lower(), said)) or self.without(feature, said)


def _fewer_tokens(known: Abilities, message: str, said: str) -> Abilities | None:
    most = _stated_most(message, known.looked_at)
    return None if most is None else replace(known.without("top_logprobs", said), looked_at=most)


def _fewer_choices(known: Abilities, message: str, said: str) -> Abilities | None:
    most = _stated_most(message, known.most_choices or 2**31)
    return None if most is None else replace(known, most_choices=most)


_LOWERED: Mapping[str, Callable[[Abilities, str, str], Abilities | None]] = {
    "logprobs": _fewer_tokens,
    "n": _fewer_choices,
}


def _stated_most(message: str, sent: int) -> int | None:
    """The bound that a refusal names, if it is of any use: one token has no rival, one answer needs no `n`."""
    named = [int(number) for number in _MOST.findall(message)]
    return next((number for number in named if 2 <= number < sent), None)


def refused_feature(error: ServerError, request: Mapping[str, Any]) -> str | None:
    """Which feature of a request a refusal is about; None if it is about none of them."""
    if is_too_long(error):
        return None
    message = _REPEATED_INPUT.split(error.message[:_LOOKED_AT_CHARACTERS])[0].lower()
    if model := str(request.get("model", "")).lower():  # one may be called seed-1
        message = re.sub(rf"(?<![\w.-]){re.escape(model)}(?![\w-])", "…", message)
    if error.param:
        place = [part for part in re.split(r"[.\[\]]", error.param) if part and part != "body"]
        named = FEATURE_OF.get(place[0]) if place else None
    else:
        named = _named_in(message, request)
    if named is None or not any(parameter in request for parameter in PARAMETERS[named]):
        return None
    if named in ("temperature", "seed") and _OUT_OF_RANGE.search(message) and not _PLAINLY_LACKING.search(message):
        return None  # it takes one, but not this one: that is for the person who chose it
    return named


def _named_in(message: str, request: Mapping[str, Any]) -> str | None:
    for sentence in _SENTENCE_END.split(message):
        if _REFUSING.search(sentence) is None:
            continue
        found = {
            name.start(): feature
            for feature, pattern in _NAMES.items()
            if any(parameter in request for parameter in PARAMETERS[feature]) and (name := pattern.search(sentence))
        }
        if found:
            return found[min(found)]
    return None


def is_too_long(error: ServerError) -> bool:
    """Whether the prompt does not fit into the model's context."""
    if error.code in CONTEXT_CODES or error.kind in CONTEXT_CODES:
        return True
    return _TOO_LONG.search(error.message[:_LOOKED_AT_CHARACTERS].lower()) is not None


def stated_context(error: ServerError) -> int | None:
    """How many tokens the model holds, where a refusal says so."""
    given = error.fields.get("n_ctx")
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    found = _LIMIT.search(error.message[:_LOOKED_AT_CHARACTERS].lower().replace(",", ""))
    return int(found[1]) if found else None
