"""The values that walk through jurybox, left to right: Item, Rubric, Prompt, Reply, Verdict, Judgment, Estimate.

Plain frozen data. Nothing here reads a file, asks a judge or knows the store; strictness about what
comes from outside lives at the borders (`data`, `rubrics`, `judges`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from jurybox.templates import Template

SCALE = (1, 2, 3, 4, 5)

Status = Literal["scored", "unparsed", "off_scale", "refused", "truncated", "failed", "unsupported"]
STATUSES: tuple[Status, ...] = get_args(Status)

Layout = Literal["classic", "shared", "form"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

# What signatures call the layout of a judge that is shown no prompt.
DIRECT = "direct"

Answer = Literal["tag", "form", "json", "digit", "choice"]
# The ways that a person may ask for; `choice` is a duel's own.
ANSWERS: tuple[Answer, ...] = tuple(answer for answer in get_args(Answer) if answer != "choice")

# How signatures mark figures that are preferences between two summaries and no scores of one.
DUEL = "duel"
# A duel's verdict says on the scale which summary is better: the first shown, neither, or the second.
FIRST, NEITHER, SECOND = 5.0, 3.0, 1.0
# The field of a paired item's source that holds both summaries by system.
RIVALS = "summaries"


@dataclass(frozen=True, slots=True)
class Review:
    """One customer's text, with the stars given beside it if there are any."""

    text: str
    rating: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One summary by one system, with the source material it was written from.

    `source` holds the material by canonical field name (`jurybox.data.FIELDS`); a field that the data
    file lacks is simply not there. `human` is rubric -> rater -> score. `metadata` keeps every
    column that jurybox does not know.
    """

    id: str
    system: str
    summary: str
    source: Mapping[str, Any]
    human: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return (self.id, self.system)


def rivals(pair: Item) -> tuple[Item, Item]:
    """The two items behind an item that pairs them (`jurybox.data.PairedDataset`), in the order of showing."""
    source = {name: value for name, value in pair.source.items() if name != RIVALS}
    first, second = (
        Item(pair.id, system, pair.source[RIVALS][system], source)
        for system in (pair.metadata["first"], pair.metadata["second"])
    )
    return first, second


@dataclass(frozen=True, slots=True)
class Rubric:
    """One dimension to judge on the scale 1-5, or one score that a prompt file asks for.

    `title` is the dimension's name as people write it ("Aspect Coverage"). `layout` is the rubric's
    own preference; None leaves it to the run. Rubrics that share a `template` are asked in one call.
    """

    name: str
    title: str
    version: int = 1
    packs: tuple[str, ...] = ()
    question: str = ""
    definition: str = ""
    scale: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    required: tuple[str, ...] = ("summary",)
    any_of: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    target: int = 5
    citation: str = ""
    layout: Layout | None = None
    template: Template | None = None
    answer: Answer | None = None
    digest: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every field the rubric reads, each once, in reading order."""
        return tuple(dict.fromkeys((*self.required, *self.any_of, *self.optional)))

    @property
    def label(self) -> str:
        """Name, version and content digest, as signatures show it: `faithfulness@1:3f2a9c`."""
        return f"{self.name}@{self.version}:{self.digest[:6]}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent: a system and a user message.

    The first `shared` characters of `user` are the same for every call about this item, so a
    prefix cache need read them only once. `schema` asks for JSON of that shape. `alone` says that nothing but the score
    is asked for, one digit without reasoning.
    """

    user: str
    system: str = ""
    shared: int = 0
    schema: Mapping[str, Any] | None = None
    alone: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of everything the model is shown."""
        hashed = hashlib.sha256(self.system.encode("utf-8", "surrogatepass"))
        hashed.update(b"\0")
        hashed.update(self.user.encode("utf-8", "surrogatepass"))
        if self.schema is not None:
            hashed.update(b"\0" + json.dumps(self.schema, sort_keys=True).encode())
        return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class Sampling:
    """The parameters of a call that can change the answer."""

    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One call: what a judge is asked about one item, for one or several rubrics at once.

    A prompted judge reads `prompt` and `sampling`; a judge that computes (a baseline) reads `item`.
    """

    item: Item
    rubrics: tuple[Rubric, ...]
    prompt: Prompt
    answer: Answer
    sampling: Sampling = field(default_factory=Sampling)
    sample: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """A score on the scale, or a status that says why there is none. Never both, never neither."""

    status: Status
    score: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.status == "scored") != (self.score is not None):
            raise ValueError(f"a verdict has a score exactly when it is scored: {self!r}")
        if self.score is not None and not SCALE[0] <= self.score <= SCALE[-1]:
            raise ValueError(f"score {self.score} is off the scale {SCALE[0]}-{SCALE[-1]}")


@dataclass(frozen=True, slots=True)
class Reply:
    """Exactly what a judge answered, with tokens and time.

    `text` is the completion alone. `reasoning` is thinking that the server keeps in a field of its own.
    `finish` is the server's word for why it stopped. A judge that computes its verdicts instead of
    writing them hands them over in `verdicts`, by rubric name. `scale` is the probability of each step of the scale as
    the next token, as found: what is missing to 1 went to other tokens.
    """

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish: str = "stop"
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    seconds: float = 0.0
    scale: Mapping[int, float] | None = None
    verdicts: Mapping[str, Verdict] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a call: the reply that came, or the error that came instead; `too_long` is the one error that is the
    item's own."""

    reply: Reply | None
    error: str = ""
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """One passage that a judge quotes in its reason, and where it stands.

    `field` is None if it stands nowhere. `index` counts a list field's entries from 0 and is None for a field that is
    one text. `start` and `end` are offsets into that text as the item holds it: a review's own text, a specification
    as "key: value". `similarity` is 100 for an exact quotation.
    """

    text: str
    field: str | None
    index: int | None
    start: int | None
    end: int | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Judgment:
    """Item x rubric x judge x sample, with prompt digest, reply and verdict. `shown` is what the judge saw of material
    that was too long for it, `quotes` what it quotes."""

    id: str
    system: str
    rubric: str
    judge: str
    sample: int
    verdict: Verdict
    prompt_digest: str
    reply: Reply | None
    cost: float | None
    signature: str
    shown: Mapping[str, Any] | None = None
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """Where a figure comes from. A mapping inside; text only when it is shown.

    `samples` is a number or how it was found (`auto`); `temperature` is None where the model takes none.
    """

    rubric: str
    layout: str
    judge: str
    samples: int | str
    temperature: float | None
    combine: str
    version: str

    @property
    def is_duel(self) -> bool:
        return DUEL in (self.layout.partition("/")[0], self.judge.partition("/")[0])

    def __str__(self) -> str:
        return "|".join(
            (
                "jurybox",
                self.rubric,
                self.layout,
                self.judge,
                f"n:{self.samples}",
                "t:default" if self.temperature is None else f"t:{self.temperature:g}",
                self.combine,
                self.version,
            )
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its interval, its n and its losses."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_unscored: int
    method: str
    seed: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
