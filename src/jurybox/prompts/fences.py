"""Fences around judged text that the text cannot forge.

Every fence carries a mark taken from the hash of the source. A mark that occurs anywhere in the judged text is
replaced by the next hash, so no text can contain the mark that fences it. Within a list, every line of an entry
after its first is indented, so no entry can pose as two. The mark depends on the source alone: all summaries of
one source, and all rubrics, share their prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jurybox.fields import entries

NOT_AVAILABLE = "not available"
_LINE_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def fenced(fields: Sequence[str], source: Mapping[str, Any], summary: str) -> tuple[str, str, str]:
    """The mark, the material inside its fences, and the summary inside its own."""
    shown = {field: _shown(source.get(field)) for field in fields}
    mark = _mark([text for text in shown.values() if text is not None], summary)
    material = "\n".join(
        f"{field}: {NOT_AVAILABLE}" if text is None else _fence(field, mark, text) for field, text in shown.items()
    )
    return mark, material, _fence("summary", mark, summary)


def _fence(field: str, mark: str, text: str) -> str:
    return f"<{field}-{mark}>\n{text}\n</{field}-{mark}>"


def _mark(material: Sequence[str], summary: str) -> str:
    text = "\n".join(material)
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4)
    while (mark := hashed.hexdigest()[:6]) in text or mark in summary:
        hashed.update(b"again")
    return mark


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    texts = entries(value)
    if isinstance(texts, str):
        return texts
    return "\n".join(f"{number}. {_one_entry(text)}" for number, text in enumerate(texts, 1))


def _one_entry(text: str) -> str:
    return _LINE_BREAK.sub("\n   ", text)
