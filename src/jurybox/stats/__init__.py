"""Statistics: pure functions on numbers that return an `Estimate`. Every formula names its source."""

from __future__ import annotations

from jurybox.stats.agreement import krippendorff_alpha, krippendorff_alphas
from jurybox.stats.alternative import AlternativeAnnotator, alternative_annotator
from jurybox.stats.bias import Sides, leniency, score_entropy, self_preference, top_share
from jurybox.stats.bradley_terry import log_strengths, ranking
from jurybox.stats.calibrate import (
    CALIBRATION_CHOICES,
    CALIBRATION_KINDS,
    Calibration,
    CalibrationCheck,
    CalibrationChoice,
    CalibrationKind,
    calibrate,
    check_calibration,
    choose_calibration,
)
from jurybox.stats.correlation import COEFFICIENTS, Coefficient, correlate_rows
from jurybox.stats.figures import Draws, Figure
from jurybox.stats.given_human import self_preference_given_human, verbosity, verbosity_without_noise
from jurybox.stats.halo import halo
from jurybox.stats.labelling import Needed, Shift, labelled_shift, labels_needed, random_order
from jurybox.stats.levels import pooled, summary_level, system_level
from jurybox.stats.means import bounded_mean, mean_of_scores, t_quantile
from jurybox.stats.multiplicity import holm
from jurybox.stats.paired import detectable_difference, paired_difference, sign_flip_test, sources_needed
from jurybox.stats.pairwise import PairwiseAccuracy, pairwise_accuracy
from jurybox.stats.placing import ceiling, in_place_of_raters, mean_of_raters, partial_summary_level
from jurybox.stats.ppi import Powered, ppi_mean, ppi_means
from jurybox.stats.samples import COMBINES, COMBINING, Combine, mean_agreement, mean_spread
from jurybox.stats.shares import wilson
from jurybox.stats.significance import Lead, perm_both, perm_systems, williams
from jurybox.stats.stability import Stability, stability
from jurybox.stats.weights import LearnedWeights, learn_weights

__all__ = [
    "CALIBRATION_CHOICES",
    "CALIBRATION_KINDS",
    "COEFFICIENTS",
    "COMBINES",
    "COMBINING",
    "AlternativeAnnotator",
    "Calibration",
    "CalibrationCheck",
    "CalibrationChoice",
    "CalibrationKind",
    "Coefficient",
    "Combine",
    "Draws",
    "Figure",
    "Lead",
    "LearnedWeights",
    "Needed",
    "PairwiseAccuracy",
    "Powered",
    "Shift",
    "Sides",
    "Stability",
    "alternative_annotator",
    "bounded_mean",
    "calibrate",
    "ceiling",
    "check_calibration",
    "choose_calibration",
    "correlate_rows",
    "detectable_difference",
    "halo",
    "holm",
    "in_place_of_raters",
    "krippendorff_alpha",
    "krippendorff_alphas",
    "labelled_shift",
    "labels_needed",
    "learn_weights",
    "leniency",
    "log_strengths",
    "mean_agreement",
    "mean_of_raters",
    "mean_of_scores",
    "mean_spread",
    "paired_difference",
    "pairwise_accuracy",
    "partial_summary_level",
    "perm_both",
    "perm_systems",
    "pooled",
    "ppi_mean",
    "ppi_means",
    "random_order",
    "ranking",
    "score_entropy",
    "self_preference",
    "self_preference_given_human",
    "sign_flip_test",
    "sources_needed",
    "stability",
    "summary_level",
    "system_level",
    "t_quantile",
    "top_share",
    "verbosity",
    "verbosity_without_noise",
    "williams",
    "wilson",
]
