"""Argilla 2: a dataset to label out, its records with people's responses in.

Out goes the folder that `rg.Dataset.from_disk` reads: settings (a rating question and an optional comment for each
rubric), the dataset's name, and records. In come records as its SDK writes them (`to_json`, `to_list(flatten=True)`) or
as its server's API gives them. A record's id is the item's blind key. Written against argilla 2.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from jurybox.data.blind import BlindItem
from jurybox.data.rating import Intake, Key, Rating
from jurybox.errors import SetupError
from jurybox.types import SCALE, Rubric

SUMMARY, MATERIAL = "the_summary", "the_material"
COMMENT = "_comment"
SUBMITTED, DISCARDED, DRAFT = "submitted", "discarded", "draft"
_UNFIT = re.compile(r"[^a-z0-9_-]")

Json = Mapping[str, Any]


def question_name(rubric: str) -> str:
    """Names of questions are small letters, digits, `_` and `-`."""
    return _UNFIT.sub("-", rubric.lower())


def settings(rubrics: Sequence[Rubric]) -> Json:
    """What `rg.Settings.from_json` reads."""
    questions: list[Json] = []
    for rubric in rubrics:
        name, options = question_name(rubric.name), [{"value": step} for step in SCALE]
        rating = {"type": "rating", "options": options}
        questions.append(_named(name, rubric.title, rating, required=True, description=_described(rubric)))
        comment = {"type": "text", "use_markdown": False}
        questions.append(_named(name + COMMENT, f"Comment: {rubric.title}", comment, required=False))
    plain = {"type": "text", "use_markdown": False}
    return {
        "guidelines": "Read the material, then rate the summary on each question by its scale.",
        "fields": [_named(SUMMARY, "Summary", plain), _named(MATERIAL, "Material", plain, required=False)],
        "questions": questions,
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
    }


def _named(name: str, title: str, kind: Json, *, required: bool = True, description: str | None = None) -> Json:
    # The type stands beside the settings too: the SDK asks for it there.
    shared = {"name": name, "title": title, "required": required, "description": description}
    return {**shared, "type": kind["type"], "settings": kind}


def _described(rubric: Rubric) -> str:
    steps = [f"{step} - {label}" for step, label in zip(SCALE, rubric.scale, strict=False)]
    return "\n".join([line for line in (rubric.question,) if line] + steps) or rubric.title


def dataset(name: str) -> Json:
    return {"name": name, "status": "draft", "allow_extra_metadata": False}


def records(items: Iterable[BlindItem]) -> Iterator[dict[str, Any]]:
    for item in items:
        yield {
            "id": item.key,
            "fields": {SUMMARY: item.summary, MATERIAL: item.material_text},
            "metadata": {},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }


def user_id(rater: str) -> str:
    """Argilla knows people by UUID: the rater's name, where it is one, or one made of it."""
    try:
        return str(UUID(rater))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"jurybox:rater:{rater}"))


def with_responses(record: Json, ratings: Iterable[Rating]) -> Json:
    """A record with what people said of it."""
    responses: dict[str, list[Json]] = {}
    for rating in ratings:
        name, by = question_name(rating.rubric), {"user_id": user_id(rating.rater), "status": SUBMITTED}
        if rating.score is None or not rating.score.is_integer():
            raise SetupError(
                f"Argilla's ratings are whole numbers, and rater '{rating.rater}' gave id '{rating.id}', system "
                f"'{rating.system}' {rating.score} on '{rating.rubric}'; export to csv or label-studio"
            )
        responses.setdefault(name, []).append({"value": int(rating.score), **by})
        if rating.comment:
            responses.setdefault(name + COMMENT, []).append({"value": rating.comment, **by})
    return {**record, "responses": responses}


def looks_like(record: Json) -> bool:
    return "responses" in record or any(name.endswith(".responses") for name in record)


def read(found: Iterable[Any], intake: Intake) -> None:
    """Every submitted response; a discarded one is a skip, a draft is counted and left out."""
    rubrics = {question_name(rubric): rubric for rubric in intake.catalogue.rubrics}
    for number, record in enumerate(found, 1):
        where = f"record {number}"
        if not isinstance(record, Mapping) or not looks_like(record):
            intake.problem(where, "is no record with responses")
            continue
        item = _item(record)
        if item is None:
            intake.problem(where, "has no id, and no metadata 'id' and 'system' either")
            continue
        for question, by_rater in _by_rubric(_responses(where, record, intake), intake).items():
            for rater, (value, status, comment) in by_rater.items():
                _take(
                    f"{where}, '{question}'",
                    item,
                    rubrics.get(question, question),
                    rater,
                    value,
                    status,
                    comment,
                    intake,
                )


def _item(record: Json) -> str | Key | None:
    metadata = record.get("metadata")
    told = metadata if isinstance(metadata, Mapping) else record
    if "system" in told and told.get("id") is not None:
        return (str(told["id"]), str(told["system"]))
    found = record.get("external_id") or record.get("id")
    return None if found is None else str(found)


def _take(
    where: str, item: str | Key, rubric: str, rater: str, value: Any, status: Any, comment: Any, intake: Intake
) -> None:
    if status == DRAFT:
        intake.drafts += 1
    elif status == DISCARDED:
        intake.take(where, item, rubric, rater, None, comment)
    elif status in (SUBMITTED, None):  # `to_json` does not write the status
        intake.take(where, item, rubric, rater, "nothing" if value is None else value, comment)
    else:
        intake.problem(where, f"its status should be submitted, discarded or draft, but is {status!r:.40}")


Response = tuple[str, str, Any, Any]  # question, user, value, status


def _responses(where: str, record: Json, intake: Intake) -> Iterator[Response]:
    """The responses of a record in any of its three shapes."""
    given = record.get("responses")
    if isinstance(given, list):
        yield from _of_the_api(given)
    elif isinstance(given, Mapping):
        yield from _nested(given)
    elif given is None:
        yield from _flat(where, record, intake)
    else:
        intake.problem(where, "its 'responses' are neither a list nor a mapping")


def _of_the_api(given: Sequence[Any]) -> Iterator[Response]:
    for response in given:
        for question, answer in (response.get("values") or {}).items():
            yield question, str(response.get("user_id") or ""), answer.get("value"), response.get("status")


def _nested(given: Mapping[str, Any]) -> Iterator[Response]:
    for question, answers in given.items():
        for answer in answers or ():
            yield question, str(answer.get("user_id") or ""), answer.get("value"), answer.get("status")


def _flat(where: str, record: Json, intake: Intake) -> Iterator[Response]:
    ending = ".responses"
    for name, values in record.items():
        if name.endswith(ending) and values:
            users, statuses = record.get(f"{name}.users") or [], record.get(f"{name}.status") or [None] * len(values)
            if not len(values) == len(users) == len(statuses):
                intake.problem(where, f"'{name}' and its users and statuses are not equally many")
                continue
            for value, user, status in zip(values, users, statuses, strict=True):
                yield name.removesuffix(ending), str(user), value, status


def _by_rubric(responses: Iterable[Response], intake: Intake) -> dict[str, dict[str, tuple[Any, Any, Any]]]:
    """Question -> rater -> value, status, comment; answers to questions about something else are counted and left."""
    found, comments = dict[str, dict[str, tuple[Any, Any]]](), dict[tuple[str, str], Any]()
    rubrics = {question_name(rubric) for rubric in intake.catalogue.rubrics}
    for question, rater, value, status in responses:
        rubric = question.removesuffix(COMMENT)
        if question not in rubrics and rubric in rubrics and question.endswith(COMMENT):
            comments[rubric, rater] = value
        elif question in rubrics or (isinstance(value, int | float) and intake.wants(question)):
            found.setdefault(question, {})[rater] = (value, status)
        else:
            intake.others += 1
    return {
        question: {rater: (*given, comments.get((question, rater), "")) for rater, given in by_rater.items()}
        for question, by_rater in found.items()
    }
