"""Which family a model belongs to, read from its name: what self-preference is about.

A family is a line of models that share weights or data, so a model tuned on another's weights belongs to those (Vicuna
to Llama, Zephyr to Mistral). A name that says nothing, or names two families, has none: nothing is guessed.
"""

from __future__ import annotations

import re

# How names of each family begin, and short ones that must stand alone.
_NAMES = {
    "gpt": r"chat-?gpt|gpt-?[345](?!all)|gpt-?oss|davinci|\bo[134]\b",
    "claude": r"claude",
    "gemini": r"gemini|palm-?2|bard\b",
    "gemma": r"gemma",
    "llama": r"(?:code|tiny)?llama|vicuna|alpaca\b",
    "mistral": r"mi[sx]tral|zephyr|ministral|codestral|magistral",
    "qwen": r"qwen|qwq",
    "deepseek": r"deepseek",
    "phi": r"phi-?[1-5]",
    "command": r"command-?[ar]\b|command-light|cohere|aya\b",
    "grok": r"grok",
    "glm": r"(?:chat)?glm",
    "yi": r"yi-?[0-9]",
    "olmo": r"olmo",
    "falcon": r"falcon",
    "solar": r"solar",
    "smollm": r"smollm",
    "granite": r"granite",
    "nova": r"nova-(?:micro|lite|pro|premier)",
    "bart": r"bart\b",
    "t5": r"(?:flan-?)?t5\b",
    "pegasus": r"pegasus",
    "human": r"humans?\b|reference\b",
}
_FAMILIES = {family: re.compile(rf"(?<![a-z])(?:{names})") for family, names in _NAMES.items()}
# Judges that compute instead of being a model with a name: what follows the slash is no model.
_NAMELESS = ("baseline/", "replay/")


def family(name: str) -> str | None:
    """The family that a model's or system's name tells, None where it tells none or several. Of a path the last part
    counts: a directory says nothing about the model in it."""
    if name.startswith(_NAMELESS):
        return None
    last = name.rstrip("/").rpartition("/")[2].lower().replace("_", "-")
    found = [kind for kind, pattern in _FAMILIES.items() if pattern.search(last)]
    return found[0] if len(found) == 1 else None
