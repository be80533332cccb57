"""A run in the browser: read it, follow it while it grows, annotate it. `jurybox serve`.

Pages are made here on the server, from the views and macros of `report/html`; scripts add comfort and nothing that can
only be read with them. Starlette and uvicorn are known in this room alone, and come with the extra `web`.
"""

from __future__ import annotations

from jurybox.web.serving import Serving, serve

__all__ = ["Serving", "serve"]
