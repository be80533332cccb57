"""May the judge stand in for people, and may something trivial do so too? The alternative-annotator test of both.

The test asks for scores on people's scale. So a trivial judge is given that scale from the other sources: word count by
a line on the logarithm of words, the constant as the mean rating, a system's identity as the mean rating of its other
summaries. None of them reads a word. Where one passes as well, passing says little about the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.report.agree_data import Rated, system_identity
from jurybox.stats.alternative import AlternativeAnnotator, alternative_annotator
from jurybox.types import SCALE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Standing:
    """The test of the judge, and of each trivial judge by name."""

    judge: AlternativeAnnotator
    baselines: Mapping[str, AlternativeAnnotator]

    @property
    def trivial_too(self) -> list[str]:
        """The trivial judges that pass."""
        return [name for name, found in self.baselines.items() if found.passes]

    @property
    def warning(self) -> str | None:
        if not (self.judge.passes and self.trivial_too):
            return None
        return f"trivial judges pass this test too: {', '.join(self.trivial_too)}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "judge": self.judge.as_dict(),
            "baselines": {name: found.as_dict() for name, found in self.baselines.items()},
            "warning": self.warning,
        }


def standing(judged: Floats, rated: Rated, people: Floats, words: Floats) -> Standing:
    """All on the items that both the judge and people have scored."""
    import numpy as np

    missing = np.isnan(judged) | np.isnan(people)
    known = np.where(missing, np.nan, people)
    trivial = {
        "length": _fitted(np.where(missing, np.nan, np.log1p(words)), known),
        "constant": _fitted(np.where(missing, np.nan, 0.0), known),
        "system": np.where(missing, np.nan, system_identity(known)),
    }
    ratings = rated.human.reshape(-1, len(rated.raters))
    return Standing(
        alternative_annotator(judged.reshape(-1), ratings),
        {name: alternative_annotator(table.reshape(-1), ratings) for name, table in trivial.items()},
    )


def _fitted(x: Floats, y: Floats) -> Floats:
    """Every source's y by a least-squares line of y on x through the other sources, kept on the scale."""
    import numpy as np

    there = ~np.isnan(x)
    sums = [np.nansum(part, axis=1) for part in (np.where(there, 1.0, 0.0), x, y, x * x, x * y)]
    n, sum_x, sum_y, xx, xy = (part.sum() - part for part in sums)
    n = np.where(n > 0, n, np.nan)
    spread = xx - sum_x**2 / n
    slope = np.divide(xy - sum_x * sum_y / n, spread, out=np.zeros_like(xx), where=spread > 1e-9)
    line = (sum_y - slope * sum_x)[:, None] / n[:, None] + slope[:, None] * x
    return np.asarray(np.clip(line, SCALE[0], SCALE[-1]))
