"""Which evidence speaks for which rubric, and why.

Owns the reasoning: each rubric is a mean of a few standardised features, each with the sign that its
meaning gives it and weight 1, or 2 where it is the heart of the rubric. Nothing here is fitted to
ratings (the scale alone is, in `calibration`). A rubric that is not listed has no honest evidence
and is `unsupported`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """Signed weights of features; `scale` names the rubric whose ratings set the scale."""

    features: Mapping[str, float]
    scale: str


LIKELIHOOD = frozenset({"slor", "slor_low", "glue"})
OPTIONAL = frozenset({"lead"})  # a text without any such word is neither better nor worse for it

RECIPES: Mapping[str, Recipe] = {
    # Grammar shows in the words that hold sentences together: each is needed where it stands, whatever the topic; a few
    # broken places spoil a text; a loop repeats trigrams.
    "fluency": Recipe({"glue": 2.0, "slor_low": 1.0, "unrepeated": 1.0}, "fluency"),
    # Each token is scored after all that stands before it, so a jump is unexpected too; a text that goes
    # round in circles or leaves the matter builds up no body of information.
    "coherence": Recipe({"glue": 1.0, "slor_low": 1.0, "unrepeated": 1.0, "piece_recall_low": 1.0}, "coherence"),
    # What the voices say must have a counterpart in the summary, the seldom said half included.
    "aspect_coverage": Recipe(
        {"piece_recall": 1.0, "piece_recall_low": 1.0, "coverage": 1.0, "slor_low": 1.0}, "aspect_coverage"
    ),
    # It is about what the source is about, every statement has a passage near it, no token surprises one who has read
    # the source, no number or name is new, no opposite or other number more expected, the words are the source's own.
    "faithfulness": Recipe(
        {
            "lead": 1.0,
            "founded": 1.0,
            "precision": 1.0,
            "least_support": 1.0,
            "slor": 1.0,
            "piece_recall": 1.0,
            "piece_recall_low": 1.0,
            "topic": 1.0,
        },
        "faithfulness",
    ),
    # Speaks of the same things, feels as the passages feel, and no opposite is more expected; says all that they say
    # (a sentiment left out is a shift too) and nothing that surprises one who has read them.
    "sentiment_consistency": Recipe(
        {
            "sentiment_agreement": 1.0,
            "lead": 1.0,
            "topic": 1.0,
            "piece_recall_low": 2.0,
            "slor": 1.0,
            "slor_low": 2.0,
        },
        "sentiment_consistency",
    ),
    # About what the voices are about, and about nothing else.
    "relevance": Recipe(
        {"piece_recall_low": 1.0, "coverage": 1.0, "precision": 1.0, "slor": 1.0, "slor_low": 1.0}, "relevance"
    ),
    # Rare words, words of the source, details of the seldom said half.
    "specificity": Recipe({"piece_recall_low": 1.0, "rarity": 1.0, "shared_words": 1.0}, "specificity"),
    # Health pack: the same evidence in the same roles.
    "omission": Recipe({"piece_recall": 1.0, "piece_recall_low": 1.0, "coverage": 1.0}, "aspect_coverage"),
    "extraneous_information": Recipe(
        {"precision": 1.0, "least_support": 1.0, "founded": 1.0, "slor_low": 1.0}, "faithfulness"
    ),
    "contradiction": Recipe(
        {"lead": 2.0, "founded": 1.0, "slor": 1.0, "slor_low": 1.0, "precision": 1.0}, "faithfulness"
    ),
    "perspective_misalignment": Recipe({"own_margin": 1.0, "own_manner": 1.0}, "faithfulness"),
    "redundancy": Recipe({"unrepeated": 1.0, "self_similarity": -1.0}, "coherence"),
}
