"""What a judge quotes in its reason, located in what it was shown.

`find_quotes` reads the quotations out of a reason, `locate` says where each one stands: field, entry, offsets. A quote
that stands nowhere is kept too, as such. Nothing here knows of scores: a false quote is counted, never punished.
"""

from __future__ import annotations

from jurybox.evidence.locating import locate, rubric_texts
from jurybox.evidence.quotes import find_quotes

__all__ = ["find_quotes", "locate", "rubric_texts"]
