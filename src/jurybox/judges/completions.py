"""Chat completions as servers write them, read into replies: content in parts, thinking by its many names, usage.

Pure functions on a parsed body. What is no chat completion raises one of `UNREADABLE`, whatever is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from jurybox.judges.http import count
from jurybox.judges.tokens import score_distribution
from jurybox.types import Reply

UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError)


def read_completion(answer: Mapping[str, Any], model: str, seconds: float, *, alone: bool = False) -> list[Reply]:
    """The reply of each choice; `model` is what it is called if the server does not say, `alone` as in `Prompt`."""
    choices = answer["choices"]
    usage = answer.get("usage") or {}
    name = str(answer.get("model") or model)
    tokens = (count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")), _cached(usage, answer))
    first = _reply(choices[0], name, tokens, seconds, alone)
    if len(choices) == 1:
        return [first]
    return _with_shares([first, *(_reply(choice, name, (0, None, 0), 0.0, alone) for choice in choices[1:])])


def refuse_doubled(body: bytes, answer: Mapping[str, Any]) -> None:
    """Raise where an object has a name twice: what a reader then sees is chance (RFC 8259, 4), and so is the score.

    Inside a JSON text a quote is escaped, so such a name is always one; only a body with more of them than it
    needs is looked through.
    """
    if body.count(b'"choices"') > 1 or body.count(b'"content"') > len(answer["choices"]):
        json.loads(body, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def shows_probabilities(answer: Mapping[str, Any]) -> bool:
    """Whether the answer shows rivals of its tokens, or has none to show them for."""
    choice = answer["choices"][0]
    if not _content(choice["message"].get("content")).strip():
        return True
    return any(token.get("top_logprobs") for token in (choice.get("logprobs") or {}).get("content") or ())


def add_usage(wasted: Reply, reply: Reply) -> Reply:
    """A reply that also carries what a try before it cost."""

    def both(first: int | None, second: int | None) -> int | None:
        return None if first is None or second is None else first + second

    return replace(
        reply,
        tokens_in=both(wasted.tokens_in, reply.tokens_in),
        tokens_out=both(wasted.tokens_out, reply.tokens_out),
        tokens_cached=both(wasted.tokens_cached, reply.tokens_cached),
        seconds=wasted.seconds + reply.seconds,
    )


def _reply(
    choice: Mapping[str, Any],
    model: str,
    tokens: tuple[int | None, int | None, int | None],
    seconds: float,
    alone: bool,
) -> Reply:
    message = choice["message"]
    text = _content(message.get("content"))
    finish = str(choice.get("finish_reason") or "stop")
    if finish == "error":
        raise ValueError("a gateway's word for a choice that failed")
    shown = choice.get("logprobs")
    return Reply(
        text=text,
        reasoning=_reasoning(message),
        refusal=str(message.get("refusal") or ""),
        finish=finish,
        model=model,
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        tokens_cached=tokens[2],
        seconds=seconds,
        scale=score_distribution(shown.get("content") or (), text, alone=alone) if shown else None,
    )


def _content(content: Any) -> str:
    """A message's text; some servers send it in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content)


def _reasoning(message: Mapping[str, Any]) -> str:
    """Thinking in a field of its own, by any of its names."""
    found = message.get("reasoning_content") or message.get("reasoning")
    if found:
        return str(found)
    details = message.get("reasoning_details")
    return "\n".join(str(part.get("text") or part.get("summary") or "") for part in details) if details else ""


def _cached(usage: Mapping[str, Any], answer: Mapping[str, Any]) -> int | None:
    """Tokens that a prefix cache had: as OpenAI and vLLM, as DeepSeek, as llama.cpp tells it; None if nobody does."""
    details = usage.get("prompt_tokens_details")
    if details:
        return count(details.get("cached_tokens"))
    found = usage.get("prompt_cache_hit_tokens")
    if found is None and "timings" in answer:
        found = answer["timings"].get("cache_n")
    return count(found)


def _with_shares(replies: list[Reply]) -> list[Reply]:
    """The tokens that came out, split by the length of the texts so that the sum stays what it was."""
    total = replies[0].tokens_out
    if total is None:
        return replies
    lengths = [len(reply.text) + len(reply.reasoning) + 1 for reply in replies]
    ends = [total * length // sum(lengths) for length in accumulate(lengths, initial=0)]
    shares = [end - start for start, end in pairwise(ends)]
    return [replace(reply, tokens_out=share) for reply, share in zip(replies, shares, strict=True)]
