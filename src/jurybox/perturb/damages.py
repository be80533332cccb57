"""The kinds of damage that a judge must notice, an entry each: how it is made, what it must hurt, what it must spare.

A rubric is hurt only where its own definition makes the score of a summary that was in order fall; it is spared only
where its definition says that such a thing must not matter. Whatever can be argued about stands in neither list.
"""

from __future__ import annotations

from collections.abc import Sequence

from jurybox.errors import SetupError, unknown_name
from jurybox.perturb.change import Change, Kind, apply
from jurybox.perturb.claims import contradict, invent, off_topic, over_generalise
from jurybox.perturb.content import drop_aspects, generic, other_summary, repeat, repeat_reworded
from jurybox.perturb.form import break_grammar, shuffle, truncate
from jurybox.perturb.health import omit_warning, shift_perspective
from jurybox.perturb.negation import negate
from jurybox.perturb.swaps import swap_dose, swap_entity, swap_number, swap_unit
from jurybox.perturb.tone import flip_all, flip_one
from jurybox.types import Item

_DOSES = (1, 2, 3)
# What an untrue word in place of a true one does: the source no longer backs the statement and says otherwise.
_UNTRUE = ("faithfulness", "contradiction", "extraneous_information")
# The rubrics whose definitions say that truth must not matter, and that read a sentence with an untrue word as before.
_TRUTH_ASIDE = ("aspect_coverage", "fluency", "relevance", "specificity", "redundancy")
_FEELING_ASIDE = ("aspect_coverage", "fluency", "relevance", "specificity")
# The health rubrics to which something left out must not matter.
_GAPS_ASIDE = ("extraneous_information", "contradiction", "perspective_misalignment", "redundancy", "fluency")
# The rubrics to which a point made twice must not matter.
_REPEATS_ASIDE = ("faithfulness", "extraneous_information", "contradiction", "perspective_misalignment", "omission")
# The rubrics whose definitions set style or grammar aside.
_STYLE_ASIDE = (
    "aspect_coverage", "faithfulness", "sentiment_consistency", "coherence", "relevance", "specificity",
    "extraneous_information", "contradiction", "perspective_misalignment", "omission",
)  # fmt: skip

DAMAGE: tuple[Kind, ...] = (
    Kind(
        "invent", invent, "adds a specific claim that the source never makes",
        hurts=("faithfulness", "extraneous_information"),
        spares=("aspect_coverage", "sentiment_consistency", "fluency", "contradiction", "redundancy", "omission"),
        doses=_DOSES,
    ),
    Kind(
        "swap_entity", swap_entity, "puts another brand, material, colour, person or thing of the same sort",
        hurts=("faithfulness", "extraneous_information"),
        spares=("sentiment_consistency", "fluency", "specificity", "redundancy"),
        doses=_DOSES,
    ),
    Kind(
        "swap_number", swap_number, "puts another number, one that stands nowhere in the source",
        hurts=_UNTRUE, spares=("sentiment_consistency", *_TRUTH_ASIDE), doses=_DOSES,
    ),
    Kind(
        "swap_unit", swap_unit, "puts another unit of the same measure: minutes become hours",
        hurts=_UNTRUE, spares=("sentiment_consistency", *_TRUTH_ASIDE), doses=_DOSES,
    ),
    Kind(
        "swap_dose", swap_dose, "changes how much or how often something is taken or done",
        hurts=_UNTRUE, spares=("sentiment_consistency", *_TRUTH_ASIDE), doses=_DOSES,
    ),
    Kind(
        "negate", negate, "makes a statement say the opposite: is becomes is not, do not take becomes take",
        hurts=_UNTRUE, spares=_TRUTH_ASIDE, doses=_DOSES,
    ),
    Kind(
        "over_generalise", over_generalise, "makes what some say or what is often so hold for all and always",
        hurts=("faithfulness", "extraneous_information"),
        spares=("aspect_coverage", "fluency", "relevance", "redundancy"),
        doses=_DOSES,
    ),
    Kind(
        "contradict", contradict, "adds the opposite of something that an answer says",
        hurts=("contradiction", "extraneous_information"), spares=("fluency", "omission"), doses=_DOSES,
    ),
    Kind(
        "flip_one", flip_one, "turns the sentiment about one thing round: comfortable becomes uncomfortable",
        hurts=("sentiment_consistency", "faithfulness"), spares=_FEELING_ASIDE, doses=_DOSES,
    ),
    Kind(
        "flip_all", flip_all, "turns every sentiment round that can be turned, which must be most of them",
        hurts=("sentiment_consistency", "faithfulness"), spares=_FEELING_ASIDE,
    ),
    Kind(
        "drop_aspects", drop_aspects, "leaves out every sentence about the most discussed things",
        hurts=("aspect_coverage", "omission"),
        spares=("faithfulness", "sentiment_consistency", "relevance", "specificity", *_GAPS_ASIDE),
        doses=_DOSES,
    ),
    Kind(
        "other_summary", other_summary, "puts the summary of another product or question in its place",
        hurts=("faithfulness", "aspect_coverage", "relevance", "extraneous_information", "omission"),
    ),
    Kind(
        "repeat", repeat, "says a sentence again at the end, word for word",
        hurts=("redundancy", "relevance", "coherence"),
        spares=("aspect_coverage", "sentiment_consistency", *_REPEATS_ASIDE),
        doses=_DOSES,
    ),
    Kind(
        "repeat_reworded", repeat_reworded, "says a sentence again at the end in other words, as if it were new",
        hurts=("redundancy", "relevance", "coherence"), spares=("aspect_coverage", *_REPEATS_ASIDE), doses=_DOSES,
    ),
    Kind(
        "off_topic", off_topic, "adds a sentence that is true and has nothing to do with the matter",
        hurts=("relevance", "coherence", "faithfulness", "extraneous_information"),
        spares=("aspect_coverage", "sentiment_consistency", "fluency", "contradiction", "redundancy", "omission"),
        doses=_DOSES,
    ),
    Kind(
        "generic", generic, "puts praise that would fit any product in the place of a telling sentence",
        hurts=("specificity",), spares=("fluency",), doses=_DOSES,
    ),
    Kind(
        "shift_perspective", shift_perspective,
        "tells experience as advice or fact, advice as experience, facts as a question",
        hurts=("perspective_misalignment",), spares=("fluency",), doses=_DOSES,
    ),
    Kind(
        "omit_warning", omit_warning, "leaves out a warning, a contraindication or the advice to see a doctor",
        hurts=("omission",), spares=_GAPS_ASIDE, doses=_DOSES,
    ),
    Kind(
        "shuffle", shuffle, "turns the order of the sentences round and starts with one that hangs on another",
        hurts=("coherence",), spares=("faithfulness", "fluency"),
    ),
    Kind(
        "break_grammar", break_grammar,
        "breaks agreement, drops articles, doubles and misspells words: three errors a dose",
        hurts=("fluency",), spares=_STYLE_ASIDE, doses=_DOSES,
    ),
    Kind(
        "truncate", truncate, "breaks off in the middle of the last sentence; a larger dose a sentence earlier",
        hurts=("fluency",), spares=("faithfulness", "extraneous_information", "contradiction", "redundancy"),
        doses=_DOSES,
    ),
)  # fmt: skip
_BY_NAME = {kind.name: kind for kind in DAMAGE}


def damage(item: Item, name: str, *, dose: int = 1, seed: int = 0, others: Sequence[Item] = ()) -> Change | None:
    """The item damaged in the named way, the same for the same seed; None where its text gives no honest place."""
    if name not in _BY_NAME:
        raise SetupError(unknown_name("kind of damage", name, _BY_NAME))
    return apply(_BY_NAME[name], item, dose=dose, seed=seed, others=others)
