"""A judge under stress, as a report: what it notices, what moves it that should not, what fools it, rubric by rubric.

Reads the scores of an exam's trials from a run file. The rules, the thresholds and why they are so:
docs/design/stress.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jurybox.perturb.change import Kind
from jurybox.perturb.exam import Exam, Trial
from jurybox.report.stress_figures import Effect, Sheet, attack_pairs, grouped
from jurybox.report.stress_grade import UNGRADED, Grade, graded
from jurybox.rubrics import builtin
from jurybox.stats import stress as figures
from jurybox.store import RunReader
from jurybox.types import Estimate, Signature

Claim = Literal["hurts", "spares", "open"]
FIRST, LAST = "first", "last"


@dataclass(frozen=True, slots=True)
class Claims:
    """What the kinds of change say of rubrics: which must fall, which must stay."""

    damage: Mapping[str, Kind]
    harmless: Mapping[str, Kind]

    def of(self, kind: str, rubric: str) -> Claim:
        """What a kind of damage does to a rubric."""
        known = self.damage.get(kind)
        if known is None:  # made by another version
            return "open"
        return "hurts" if rubric in known.hurts else "spares" if rubric in known.spares else "open"

    def harms_not(self, kind: str, rubric: str) -> bool:
        """Whether a harmless edit must leave a rubric alone. A rubric that no edit names is a person's own: edits that
        leave every named one alone are held to leave it alone too."""
        named = {name for known in self.harmless.values() for name in known.spares}
        spares = set(self.harmless[kind].spares) if kind in self.harmless else set()
        return rubric in spares if rubric in named else bool(named) and spares >= named


@dataclass(frozen=True, slots=True)
class RubricStress:
    """One rubric under one judge. `false_alarms` are harmless edits that move the score either way; `false_falls` those
    that make it fall, by the very rule of `detection`. `spilled` is damage that should leave it alone and makes
    it fall, `attacks_without_room` counts controls that already have the best score."""

    signature: Signature
    detection: Estimate
    false_alarms: Estimate
    false_falls: Estimate
    discrimination: Estimate
    spilled: Estimate
    attacks: Estimate
    attacks_without_room: int
    dose_response: Estimate
    damage: Mapping[str, Effect]
    matrix: Mapping[str, tuple[Claim, Effect]]
    doses: Mapping[str, Mapping[int, Effect]]
    harmless: Mapping[str, Effect]
    attack_families: Mapping[str, Estimate]
    attack_kinds: Mapping[str, Estimate]
    attack_places: Mapping[str, Estimate]
    position: Mapping[str, Estimate]
    grade: Grade

    def as_dict(self) -> dict[str, Any]:
        shares = ("detection", "false_alarms", "false_falls", "discrimination", "spilled", "attacks", "dose_response")
        return {
            "signature": str(self.signature),
            **{name: getattr(self, name).as_dict() for name in shares},
            "attacks_without_room": self.attacks_without_room,
            "damage": {kind: {**_effect(found), "doses": _doses(self, kind)} for kind, found in self.damage.items()},
            "harmless": {kind: _effect(found) for kind, found in self.harmless.items()},
            "attack_families": {name: found.as_dict() for name, found in self.attack_families.items()},
            "attack_kinds": {name: found.as_dict() for name, found in self.attack_kinds.items()},
            "attack_places": {name: found.as_dict() for name, found in self.attack_places.items()},
            "position": {name: found.as_dict() for name, found in self.position.items()},
            "grade": self.grade.as_dict(),
        }


def _effect(found: Effect) -> dict[str, Any]:
    return {"rate": found.rate.as_dict(), "moved": found.moved.as_dict(), "mean_drop": found.mean_drop.as_dict()}


def _doses(rubric: RubricStress, kind: str) -> dict[str, Any]:
    return {str(dose): _effect(found) for dose, found in rubric.doses.get(kind, {}).items()}


@dataclass(frozen=True, slots=True)
class JudgeStress:
    """One judge: its rubrics, and of every kind of damage what it did to every rubric. `judged` counts its judgments,
    `unscored` those without a score; `spent` is what its calls took."""

    judge: str
    rubrics: Mapping[str, RubricStress]
    judged: int
    unscored: int
    spent: Mapping[str, Any]

    @property
    def signature(self) -> str:
        parts = [found.signature for found in self.rubrics.values()]
        layouts = dict.fromkeys(part.layout for part in parts)
        return str(replace(parts[0], rubric=",".join(part.rubric for part in parts), layout=",".join(layouts)))

    def selectivity(self) -> dict[str, dict[str, Any]]:
        """Kind of damage -> rubric -> whether the score should fall, and how often it does."""
        matrix: dict[str, dict[str, Any]] = {}
        for rubric, found in self.rubrics.items():
            for kind, (claim, effect) in found.matrix.items():
                matrix.setdefault(kind, {})[rubric] = {"claim": claim, **_effect(effect)}
        return matrix

    def as_dict(self) -> dict[str, Any]:
        return {
            "signature": self.signature,
            "rubrics": {rubric: found.as_dict() for rubric, found in self.rubrics.items()},
            "selectivity": self.selectivity(),
            "judged": self.judged,
            "unscored": self.unscored,
            "spent": dict(self.spent),
        }


@dataclass(frozen=True, slots=True)
class Stress:
    """A whole exam. `missing` counts judgments that are still to be made, `unscored` those that brought no score."""

    path: str
    exam: Exam
    judges: Mapping[str, JudgeStress]
    missing: int
    unscored: int
    spent: Mapping[str, Any]

    @property
    def main(self) -> JudgeStress:
        """The judge that the exam is about: the first that is no baseline."""
        real = [judge for judge in self.judges if not judge.startswith("baseline/")]
        return self.judges[(real or list(self.judges))[0]]

    def as_dict(self) -> dict[str, Any]:
        exam = self.exam
        return {
            "run": self.path,
            "judge": self.main.judge,
            **self.main.as_dict(),
            "judges": {judge: found.as_dict() for judge, found in self.judges.items()},
            "exam": {
                "digest": exam.digest,
                "seed": exam.seed,
                "summaries": exam.summaries,
                "sources": exam.sources,
                "chosen": exam.chosen,
                "trials": {role: len(found) for role, found in grouped(exam.trials, lambda one: one.role).items()},
                "refused": None if exam.refused is None else dict(exam.refused),
            },
            "thresholds": {"moved": figures.MOVED, "fooled": figures.FOOLED},
            "missing": self.missing,
            "unscored": self.unscored,
            "spent": dict(self.spent),
        }


def stress_report(
    reader: RunReader, exam: Exam, claims: Claims, targets: Mapping[str, int], judges: Sequence[str]
) -> Stress:
    """What the judges said of an exam's trials on the rubrics of `targets` (each with its best score)."""
    signatures = reader.signatures()
    keys = {trial.item.key for trial in exam.trials}
    found: dict[str, dict[str, RubricStress]] = {judge: {} for judge in judges}
    judged, unscored = dict.fromkeys(judges, 0), dict.fromkeys(judges, 0)
    for rubric, target in targets.items():
        by_judge: dict[str, dict[tuple[str, str], float | None]] = {judge: {} for judge in judges}
        for judge, id_, system, score in reader.scores(rubric):
            if judge in by_judge and (id_, system) in keys:
                by_judge[judge][id_, system] = score
        for judge, scores in by_judge.items():
            judged[judge] += len(scores)
            unscored[judge] += sum(score is None for score in scores.values())
            sheet = Sheet(exam, scores, target)
            found[judge][rubric] = _on_rubric(rubric, sheet, claims, signatures[rubric, judge])
    results = {
        judge: JudgeStress(judge, rubrics, judged[judge], unscored[judge], reader.spent(judge))
        for judge, rubrics in found.items()
    }
    missing = len(keys) * len(targets) * len(results) - sum(judged.values())
    return Stress(str(reader.path), exam, results, missing, sum(unscored.values()), reader.spent())


def _on_rubric(rubric: str, sheet: Sheet, claims: Claims, signature: Signature) -> RubricStress:
    damage = [trial for trial in sheet.exam.trials if trial.role == "damage"]
    harmless = [
        trial for trial in sheet.exam.trials if trial.role == "harmless" and claims.harms_not(trial.kind, rubric)
    ]
    claimed = grouped(damage, lambda trial: claims.of(trial.kind, rubric))
    by_kind = _in_order(grouped(damage, _kind), claims.damage)
    matrix = {kind: (claims.of(kind, rubric), sheet.measured(trials).effect(kind)) for kind, trials in by_kind.items()}
    hurting = [kind for kind, (claim, _) in matrix.items() if claim == "hurts"]
    edits = sheet.measured(harmless).effect("harmless edits")
    detection = _detection(sheet, claimed.get("hurts", []))
    pairs = attack_pairs(sheet.exam, sheet.target)
    attacks, without_room = sheet.attacks(pairs)
    found = RubricStress(
        signature=signature,
        detection=detection,
        false_alarms=edits.moved,
        false_falls=edits.rate,
        discrimination=figures.difference(detection, edits.moved, "detection less false alarms"),
        spilled=sheet.measured(claimed.get("spares", [])).fallen("share of damage to other rubrics that falls here"),
        attacks=attacks,
        attacks_without_room=without_room,
        dose_response=sheet.ladders(hurting),
        damage={kind: matrix[kind][1] for kind in hurting},
        matrix=matrix,
        doses={kind: _by_dose(sheet, by_kind[kind]) for kind in hurting},
        harmless={
            kind: sheet.measured(trials).effect(kind)
            for kind, trials in _in_order(grouped(harmless, _kind), claims.harmless).items()
        },
        attack_families=_attacks_by(sheet, pairs, lambda trial: trial.family),
        attack_kinds=_attacks_by(sheet, pairs, _kind),
        attack_places=_attacks_by(sheet, pairs, lambda trial: trial.place),
        position=_position(sheet) if _reads_reviews(rubric) else {},
        grade=UNGRADED,
    )
    return replace(found, grade=graded(found))


def _kind(trial: Trial) -> str:
    return trial.kind


def _in_order(groups: Mapping[str, list[Trial]], known: Iterable[str]) -> dict[str, list[Trial]]:
    """Groups in the order of a table, not in that in which some summary first gave a place to a kind."""
    return {name: groups[name] for name in dict.fromkeys((*known, *groups)) if name in groups}


def _detection(sheet: Sheet, trials: Sequence[Trial]) -> Estimate:
    if not trials:
        return figures.nothing(0, "no kind of damage that was made claims to hurt this rubric")
    return sheet.measured(trials).fallen("share of damage to this rubric after which the score falls")


def _by_dose(sheet: Sheet, trials: Sequence[Trial]) -> dict[int, Effect]:
    doses = grouped(trials, lambda trial: str(trial.dose))
    return {int(dose): sheet.measured(found).effect(f"{found[0].kind}, dose {dose}") for dose, found in doses.items()}


def _attacks_by(sheet: Sheet, pairs: Sequence[tuple[Trial, Trial]], by: Any) -> dict[str, Estimate]:
    groups: dict[str, list[tuple[Trial, Trial]]] = {}
    for pair in pairs:
        groups.setdefault(by(pair[0]), []).append(pair)
    return {name: sheet.attacks(found)[0] for name, found in groups.items()}


def _reads_reviews(rubric: str) -> bool:
    """A rubric that shows no reviews cannot be moved by their order; nothing is known of a person's own."""
    known = builtin().get(rubric)
    return known is None or "reviews" in known.inputs


def _position(sheet: Sheet) -> dict[str, Estimate]:
    """By how much the score falls when a review is moved to a place, and from the first place to the last."""
    moves = grouped((trial for trial in sheet.exam.trials if trial.role == "position"), lambda trial: trial.place)
    found = {
        place: sheet.measured(trials).effect(f"moving a review to the {place} place").mean_drop
        for place, trials in moves.items()
    }
    first, last = ({trial.base: trial for trial in moves.get(place, ())} for place in (FIRST, LAST))
    if first and last:
        measured = sheet.pairs((first[base], last[base]) for base in first if base in last)
        what = "mean drop from the review first to the same review last"
        found["first_to_last"] = figures.mean_drop(measured.drops, measured.sources, measured.lost, what)
    return found
