"""Means of scores with their intervals."""

from __future__ import annotations

import math
from statistics import NormalDist

from jurybox.types import SCALE, Estimate

CONFIDENCE = 0.95


def mean_of_scores(n: int, total: float, total_of_squares: float, n_unscored: int) -> Estimate:
    """The mean of n item scores on the scale; `total_of_squares` sums (score - 3)^2."""
    middle = (SCALE[0] + SCALE[-1]) / 2
    deviations = total_of_squares - n * (total / n - middle) ** 2 if n else 0.0
    return bounded_mean(n, total, deviations, n_unscored, (SCALE[0], SCALE[-1]))


def bounded_mean(
    n: int, total: float, deviations: float, n_unscored: int, ends: tuple[float, float], what: str = "mean"
) -> Estimate:
    """The mean of n values that lie between two ends, with a 95 % interval.

    `deviations` sums (value - mean)^2, `what` begins the method. Student's t over items; the interval is cut at the
    ends, which no mean can pass. Where all values are the same, t would claim certainty. There the interval is exact
    for the share of items that could still differ (Clopper-Pearson with no event in n), taken to either end.
    """
    if n == 0:
        return Estimate(None, None, None, 0, n_unscored, "undefined: nothing was scored")
    mean = total / n
    if n == 1:
        return Estimate(mean, None, None, 1, n_unscored, f"{what}; no interval from one item")
    least, most = ends
    variance = max(deviations, 0.0) / (n - 1)
    if variance < 1e-12:
        share = 1 - ((1 - CONFIDENCE) / 2) ** (1 / n)
        low, high = mean - share * (mean - least), mean + share * (most - mean)
        return Estimate(mean, low, high, n, n_unscored, f"{what}; no spread, exact 95 % interval")
    half_width = t_quantile(n - 1, (1 + CONFIDENCE) / 2) * math.sqrt(variance / n)
    low, high = max(mean - half_width, least), min(mean + half_width, most)
    return Estimate(mean, low, high, n, n_unscored, f"{what}; 95 % t interval over items")


def t_quantile(degrees: int, probability: float) -> float:
    """Student's t quantile for whole degrees of freedom and probability > 0.5.

    Written out because importing scipy for one number costs more CPU than two thousand requests; checked against scipy.
    Small degrees: Newton on the closed form of the distribution (Abramowitz & Stegun 26.7.3 and 26.7.4). Large ones:
    the expansion around the normal quantile (26.7.5), whose error falls with the fifth power of the degrees.
    """
    z = NormalDist().inv_cdf(probability)
    expansion = _expansion(z, degrees)
    if degrees > 200:
        return expansion
    quantile = expansion
    for _ in range(100):
        step = (t_cdf(quantile, degrees) - probability) / _t_density(quantile, degrees)
        # The density falls fast with few degrees: no step may more than halve or double the quantile.
        quantile = min(max(quantile - step, quantile / 2), quantile * 2)
        if abs(step) < 1e-12 * quantile:
            break
    return quantile


def _expansion(z: float, v: int) -> float:
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


def t_cdf(t: float, v: int) -> float:
    theta = math.atan2(t, math.sqrt(v))
    sine, cosine = math.sin(theta), math.cos(theta)
    even = v % 2 == 0
    term = sum_of_terms = 0.0
    if even:
        term = sum_of_terms = 1.0
        for k in range(2, v, 2):
            term *= cosine**2 * (k - 1) / k
            sum_of_terms += term
        both_tails = sine * sum_of_terms
    else:
        if v > 1:
            term = sum_of_terms = cosine
            for k in range(3, v, 2):
                term *= cosine**2 * (k - 1) / k
                sum_of_terms += term
        both_tails = 2 / math.pi * (theta + sine * sum_of_terms)
    return (1 + both_tails) / 2


def _t_density(t: float, v: int) -> float:
    log_scale = math.lgamma((v + 1) / 2) - math.lgamma(v / 2) - math.log(v * math.pi) / 2
    return math.exp(log_scale - (v + 1) / 2 * math.log1p(t * t / v))
