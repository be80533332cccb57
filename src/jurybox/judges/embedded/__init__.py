"""`embedded`: small models that score given text token by token and show their evidence. No key, no network, no GPU.

`judge` is the judge that the runner asks; `examiner` puts evidence, recipe and scale together; the other modules each
own one kind of evidence. docs/design/embedded.md says what was tried, what was kept and why.
"""

from __future__ import annotations

from jurybox.judges.embedded.judge import make

__all__ = ["make"]
