"""Fences around judged text that the text cannot forge.

Every fence carries a mark taken from a checksum of the source. A mark that occurs anywhere in the judged text is
replaced by the next one, so no text can contain the mark that fences it. Within a list, every line of an entry
after its first is indented, so no entry can pose as two. The mark depends on the source alone: all summaries of
one source, and all rubrics, share their prefix.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from jurybox.fields import entries

NOT_AVAILABLE = "not available"


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
    # Nothing rests on the mark being hard to guess, only on the test that it is not there; so the head is enough.
    checksum = zlib.crc32(text[:1000].encode("utf-8", "surrogatepass"))
    # Digits alone: a mark with letters could be forged in capitals. Counting on reaches every mark there is; hashing on
    # could go round in a circle that somebody chose.
    while (mark := f"{checksum % 10**8:08}") in text or mark in summary:
        checksum += 1
    return mark


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    texts = entries(value)
    if isinstance(texts, str):
        return texts
    return "\n".join(f"{number}. {_one_entry(text)}" for number, text in enumerate(texts, 1))


def _one_entry(text: str) -> str:
    """`splitlines` knows every character that a model might take for a line break."""
    return "\n   ".join(text.splitlines())
