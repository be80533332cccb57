"""Reading a verdict out of a judge's reply.

Owns the way from `Reply.text` to one `Verdict` a rubric, for the answers `tag`, `form`, `json` and `digit`, and a
duel's `choice`. Pure: it never sees the prompt, never guesses, never rounds, and gives a status instead of a
score whenever the reply does not plainly state one. Every rule is a row of `tests/parsing_phrasings.toml`.
"""

from jurybox.parsing.reading import read

__all__ = ["read"]
