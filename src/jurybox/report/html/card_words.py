"""What a judge card says in words: what sort of judge it is, what it took, and what the card cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jurybox.report.html.figures import number_text

Document = Mapping[str, Any]
# By the first part of a judge's name.
KINDS = {
    "embedded": "jurybox's own: two small models in this process, no network",
    "local": "a language model in this process (llama.cpp)",
    "openai": "a language model behind an OpenAI-compatible server",
    "ollama": "a language model behind Ollama",
    "anthropic": "a language model behind Anthropic's API",
    "baseline": "a baseline: it counts and does not read",
    "replay": "the replies of an earlier run, read again",
}
FEW_SOURCES = 10
# Grades from the best to the worst, and how many rubrics are named before they are only counted.
ORDER = ("good", "fair", "weak", "not shown to notice")
MOST_NAMES = 2


@dataclass(frozen=True, slots=True)
class Fact:
    """A label and what is to be said; `lost` marks what is to be worried about."""

    label: str
    text: str
    lost: bool = False


def headline(found: Document) -> str:
    """The grades of all rubrics in one sentence, the remarks beside them in another: fair on specificity; weak on 4 of
    7 rubrics. Unsteady on 5 of 7 rubrics."""
    by_word: dict[str, list[str]] = {}
    by_remark: dict[str, list[str]] = {}
    for rubric, one in found["rubrics"].items():
        word, *remarks = one["grade"]["word"].split(", ")
        by_word.setdefault(word, []).append(rubric)
        for remark in remarks:
            by_remark.setdefault(remark, []).append(rubric)
    order = sorted(by_word, key=lambda word: (*ORDER, word).index(word))
    of = len(found["rubrics"])
    sentences = (_told({word: by_word[word] for word in order}, of), _told(by_remark, of))
    return " ".join(f"{told[:1].upper()}{told[1:]}." for told in sentences if told)


def _told(groups: Mapping[str, list[str]], of: int) -> str:
    return "; ".join(
        f"{word} on {' and '.join(names) if len(names) <= MOST_NAMES else f'{len(names)} of {of} rubrics'}".replace(
            "_", " "
        )
        for word, names in groups.items()
    )


def judge_facts(judge: str, found: Document, document: Document) -> tuple[Fact, ...]:
    """What the judge is, and what it was asked."""
    exam, unscored = document["exam"], found.get("unscored")
    # A judge's name may hold any character, so a signature is read from both ends.
    parts = [one["signature"].split("|") for one in found["rubrics"].values()]
    layouts = ", ".join(dict.fromkeys(part[2] for part in parts))
    return (
        Fact("What it is", KINDS.get(judge.partition("/")[0], "a judge that is not jurybox's own")),
        Fact("Prompt", "none: it computes its scores" if layouts == "direct" else f"layout {layouts}"),
        Fact("Samples an item", ", ".join(dict.fromkeys(part[-4].removeprefix("n:") for part in parts))),
        Fact("Temperature", ", ".join(dict.fromkeys(part[-3].removeprefix("t:") for part in parts))),
        Fact("Good summaries", f"{exam['summaries']:,} of {exam['sources']:,} sources"),
        Fact("Trials", f"{sum(exam['trials'].values()):,} (exam {exam['digest']}, seed {exam['seed']})"),
        Fact("Judgments", f"{found['judged']:,}" if "judged" in found else "not told"),
        Fact("Unscored", "not told" if unscored is None else f"{unscored:,}", bool(unscored)),
    )


def cost_facts(found: Document, document: Document) -> tuple[Fact, ...]:
    """Calls, tokens, time, money; what was not measured says so."""
    spent = found.get("spent")
    if spent is None:
        return (Fact("Cost and speed", "unknown: the document tells only what all its judges took together"),)
    calls, reused = spent["calls"], spent["reused"]
    facts = [Fact("Calls", f"{calls:,}" + (f", and {reused:,} answers from earlier runs" if reused else ""))]
    if not calls:
        return (*facts, Fact("Cost and speed", "unknown: nothing was asked anew"))
    seconds = spent["seconds_a_call"]
    facts.append(Fact("Seconds to answer", _seconds(seconds)))
    if spent["tokens_in"]:
        each = f"{spent['tokens_in'] / calls:,.0f} in, {spent['tokens_out'] / calls:,.0f} out"
        facts.append(Fact("Tokens a call", each))
    else:
        facts.append(Fact("Tokens", "none"))
    cost = spent["cost"]
    if cost is None:
        return (*facts, Fact("Cost", "unknown: no price is known for this model (--price IN,OUT)"))
    told = "nothing" if not cost else f"${cost:,.2f}, ${1000 * cost / calls:,.3f} for 1,000 calls"
    return (*facts, Fact("Cost", told))


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    return f"{number_text(seconds, 2 if seconds >= 0.1 else 4)} on average, among the other calls in flight"


def limits(judge: str, found: Document, document: Document, known_to_people: bool) -> tuple[str, ...]:
    """What this card does not tell, what is special first."""
    exam = document["exam"]
    told = [_tested_on(exam)]
    if exam["sources"] < FEW_SOURCES:
        told.append(f"Few sources ({exam['sources']}): look at the intervals before the values.")
    if document["missing"]:
        told.append(f"Unfinished: {document['missing']:,} judgments are still to be made.")
    if found.get("unscored"):
        told.append(
            f"{found['unscored']:,} judgments have no score. They are left out of every share and counted beside it, "
            "never as noticed."
        )
    told.append(_no_place(exam))
    if not known_to_people:
        told.append("Nothing here says that people would agree with the judge.")
    if judge.startswith("baseline/"):
        told.append("A baseline reads nothing: what it seems to notice is length or shared words.")
    return (
        *told,
        "Damage and harmless edits are made by rules on English text. That a judge notices these kinds does not show "
        "that it notices others.",
        "The attacks are known tricks in plain wording; a judge that withstands them may fall to the next.",
        "Cost and speed are those of this test. Speed depends on the machine and on what was asked at once.",
        "A grade is a rule with stated bounds. It never says valid: that word is for agreement with people.",
    )


def _tested_on(exam: Document) -> str:
    chosen = f" ({exam['chosen']})" if exam.get("chosen") else ""
    return f"Tested on {exam['summaries']:,} summaries taken to be good{chosen}. Other texts may give other figures."


def _no_place(exam: Document) -> str:
    refused = exam.get("refused")
    if refused is None:
        return "How often a text gave no honest place to a change is not kept in the run file."
    if not refused:
        return "Every kind of change found an honest place in every summary."
    names = ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in refused.items())
    return f"Changes left out because the text gave no honest place: {names}."
