"""Statistics: pure functions on numbers that return an `Estimate`. Every formula names its source."""

from __future__ import annotations

from jurybox.stats.agreement import krippendorff_alpha
from jurybox.stats.bradley_terry import log_strengths, ranking
from jurybox.stats.means import bounded_mean, mean_of_scores, t_quantile
from jurybox.stats.samples import COMBINES, COMBINING, Combine, mean_agreement, mean_spread
from jurybox.stats.shares import wilson
from jurybox.stats.weights import LearnedWeights, learn_weights

__all__ = [
    "COMBINES",
    "COMBINING",
    "Combine",
    "LearnedWeights",
    "bounded_mean",
    "krippendorff_alpha",
    "learn_weights",
    "log_strengths",
    "mean_agreement",
    "mean_of_scores",
    "mean_spread",
    "ranking",
    "t_quantile",
    "wilson",
]
