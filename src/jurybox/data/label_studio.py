"""Label Studio: tasks and a labelling interface out, finished annotations in (its JSON and its JSON_MIN export).

Written against Label Studio 1.x and the converters of label-studio-sdk 2.1. A control named after a rubric holds its
score (Rating stars, or Choices that begin with the number); one named RUBRIC_comment is the comment to it. The task's
`item` is its blind key. Label Studio knows people by e-mail, so that is what a rater's name is written as.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from jurybox.data.blind import BlindItem
from jurybox.data.rating import Intake, Key, Rating
from jurybox.types import SCALE, Rubric

# Names of the controls' objects, which no rubric can have.
SUMMARY, MATERIAL = "the-summary", "the-material"
COMMENT = "_comment"
_LEADING_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\b")

Json = Mapping[str, Any]


def labelling_config(rubrics: Sequence[Rubric]) -> str:
    """The interface: summary and material, and below them a row of stars and a comment for each rubric."""
    lines = [
        "<View>",
        '  <Header value="Summary"/>',
        f'  <Text name="{SUMMARY}" value="$summary"/>',
        '  <Header value="Material"/>',
        f'  <Text name="{MATERIAL}" value="$material"/>',
    ]
    for rubric in rubrics:
        lines += [f"  <Header value={_attribute(rubric.title)}/>"]
        lines += [f'  <Header size="5" value={_attribute(told)}/>' for told in (rubric.question,) if told]
        steps = [f"{step} - {label}" for step, label in zip(SCALE, rubric.scale, strict=False)]
        lines += [f'  <Header size="6" value={_attribute(step)}/>' for step in steps]
        lines += [
            f'  <Rating name={_attribute(rubric.name)} toName="{SUMMARY}" maxRating="{SCALE[-1]}"/>',
            f'  <TextArea name={_attribute(rubric.name + COMMENT)} toName="{SUMMARY}" rows="1" maxSubmissions="1"'
            ' placeholder="Comment"/>',
        ]
    return "\n".join([*lines, "</View>", ""])


def _attribute(text: str) -> str:
    """Quoted for XML; a `$` would name a column of the task, and a line break would be lost."""
    return quoteattr(" ".join(text.replace("$", "\N{FULLWIDTH DOLLAR SIGN}").split()))


def tasks(items: Iterable[BlindItem], rubrics: Sequence[Rubric]) -> Iterator[Json]:
    names = [rubric.name for rubric in rubrics]
    for item in items:
        yield {
            "data": {"item": item.key, "rubrics": names, "summary": item.summary, "material": item.material_text},
        }


def with_annotations(task: Json, ratings: Iterable[Rating]) -> Json:
    """A task with what people said of it: one annotation a rater."""
    by_rater: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_rater.setdefault(rating.rater, []).append(rating)
    return {**task, "annotations": [_annotation(rater, given) for rater, given in by_rater.items()]}


def _annotation(rater: str, ratings: Sequence[Rating]) -> Json:
    last = max(rating.at for rating in ratings)
    result = []
    for rating in ratings:
        score = rating.score
        value = int(score) if score is not None and score.is_integer() else score
        result.append(_region(rating.rubric, "rating", {"rating": value}))
        if rating.comment:
            result.append(_region(rating.rubric + COMMENT, "textarea", {"text": [rating.comment]}))
    return {
        "completed_by": {"email": rater},
        "was_cancelled": False,
        "result": result,
        **({"created_at": last, "updated_at": last} if last else {}),
    }


def _region(name: str, kind: str, value: Json) -> Json:
    return {"from_name": name, "to_name": SUMMARY, "type": kind, "value": value}


def looks_like(record: Json) -> bool:
    return "annotations" in record or "annotator" in record or "annotation_id" in record or "completions" in record


def read(records: Iterable[Any], intake: Intake) -> None:
    """Every finished annotation of an export, JSON or JSON_MIN."""
    for number, task in enumerate(records, 1):
        where = f"task {number}"
        if not isinstance(task, Mapping):
            intake.problem(where, "is no JSON object")
        elif "annotations" in task:
            _read_task(f"task {task.get('id', number)}", task, intake)
        elif looks_like(task):
            _read_flat(f"task {task.get('id', number)}", task, intake)
        else:
            intake.problem(where, "has neither 'annotations' (JSON export) nor 'annotator' (JSON_MIN)")


def _read_task(where: str, task: Json, intake: Intake) -> None:
    data = task.get("data")
    item = _item(data if isinstance(data, Mapping) else {}, ("id", "system"))
    if item is None:
        intake.problem(where, "its data has no 'item', and no 'id' and 'system' either")
        return
    intake.drafts += len(task.get("drafts") or ())
    for number, annotation in enumerate(task["annotations"] or (), 1):
        place = f"{where}, annotation {annotation.get('id', number) if isinstance(annotation, Mapping) else number}"
        if not isinstance(annotation, Mapping) or not isinstance(annotation.get("result", []), list):
            intake.problem(place, "is no annotation with a list 'result'")
        elif annotation.get("was_cancelled"):
            _skip(place, item, data or {}, _rater(annotation.get("completed_by")), _time(annotation), intake)
        else:
            answers = _answers(place, annotation.get("result") or [], intake)
            _take(place, item, answers, _rater(annotation.get("completed_by")), _time(annotation), intake)


def _item(data: Json, names: tuple[str, str]) -> str | Key | None:
    if isinstance(data.get("item"), str):
        return str(data["item"])
    id_, system = (data.get(name) for name in names)
    return None if id_ is None or system is None else (str(id_), str(system))


def _rater(completed_by: Any) -> Any:
    if not isinstance(completed_by, Mapping):
        return completed_by
    names = ("email", "username", "id")
    return next((completed_by[name] for name in names if completed_by.get(name) not in (None, "")), None)


def _time(annotation: Json) -> Any:
    return annotation.get("updated_at") or annotation.get("created_at") or ""


def _answers(where: str, result: Sequence[Any], intake: Intake) -> dict[str, Any]:
    """Control -> its answer; what is no answer of a control (relations) is counted and left."""
    found: dict[str, Any] = {}
    for region in result:
        value = region.get("value") if isinstance(region, Mapping) else None
        if not isinstance(value, Mapping) or "from_name" not in region:
            intake.others += 1
        else:
            found[str(region["from_name"])] = value
    return found


def _take(where: str, item: str | Key, answers: Mapping[str, Any], rater: Any, at: Any, intake: Intake) -> None:
    for name, answer in answers.items():
        score = _score(answer)
        if name.removesuffix(COMMENT) in answers and name.endswith(COMMENT):
            continue  # goes with its score
        if intake.knows(name) or (_is_score(answer) and intake.wants(name)):
            comment = _text(answers.get(name + COMMENT))
            intake.take(f"{where}, '{name}'", item, name, rater, "nothing" if score is None else score, comment, at)
        else:
            intake.others += 1


def _skip(where: str, item: str | Key, data: Json, rater: Any, at: Any, intake: Intake) -> None:
    """A task that was cancelled: every rubric it asked for, or all of the run's, was skipped."""
    asked = data.get("rubrics")
    for rubric in asked if isinstance(asked, list) else intake.catalogue.rubrics:
        intake.take(f"{where}, cancelled", item, str(rubric), rater, None, "", at)


def _read_flat(where: str, task: Json, intake: Intake) -> None:
    """JSON_MIN: one object an annotation, the task's data and the answers side by side; it leaves out cancelled ones.

    `id` is the task's own there, so an item without a blind key is looked for by `source_id` and `system`.
    """
    item = _item(task, ("source_id", "system"))
    if item is None:
        intake.problem(where, "has no 'item', and no 'source_id' and 'system' either")
        return
    known = {
        name: task[name] for rubric in intake.catalogue.rubrics for name in (rubric, rubric + COMMENT) if name in task
    }
    stars = {name: value for name, value in task.items() if name not in known and _is_stars(value)}
    _take(where, item, known | stars, _rater(task.get("annotator")), _time(task), intake)


def _is_score(answer: Any) -> bool:
    return isinstance(answer, Mapping) and bool({"rating", "choices", "number"} & answer.keys())


def _is_stars(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping) and "rating" in value[0]


def _score(answer: Any) -> Any:
    """The number in an answer: stars, a number, or a choice that begins with one; None where there is none."""
    if isinstance(answer, list):
        return _score(answer[0]) if len(answer) == 1 else None
    if isinstance(answer, Mapping):
        return next((_score(answer[name]) for name in ("rating", "number", "choices") if name in answer), None)
    if isinstance(answer, str):
        found = _LEADING_NUMBER.match(answer)
        return found.group(1) if found else answer
    return answer


def _text(answer: Any) -> str:
    if isinstance(answer, Mapping):
        answer = answer.get("text", "")
    return "\n".join(map(str, answer)) if isinstance(answer, list) else str(answer or "")
