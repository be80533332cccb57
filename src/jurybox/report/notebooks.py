"""Results that show themselves in a notebook: what has this base answers `_repr_html_` with a table.

The page itself is made in `html.notebook`, which is loaded when a notebook asks. `Estimate` stands far to the left and
knows nothing of pages, so the method is given to it here.
"""

from __future__ import annotations

from jurybox.types import Estimate


class InNotebooks:
    """A result that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from jurybox.report.html.notebook import to_html  # pages are heavy, and notebooks few

        return to_html(self)


setattr(Estimate, "_repr_html_", InNotebooks._repr_html_)  # noqa: B010  a type checker sees a class of its own
