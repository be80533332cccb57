"""What `agree`, `compare` and `estimate` do with poor input, through the real command line.

Wrong input is one clear message and exit status 2. Input that is right and too thin has figures that say `undefined: …`
and exit status 0. Neither ever shows a traceback, a warning of numpy's, or a number that is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from jurybox.api import judging

Rate = Callable[[int, int], Any]
HEAD = "id,system,rubric,rater,score\n"
# Run -> sources, systems, judge, ratings by source and system, items that are missing.
RUNS: dict[str, tuple[int, int, str, Rate | None, set[tuple[int, int]]]] = {
    "plain": (6, 4, "length", None, set()),
    "one_system": (6, 1, "length", lambda s, m: [1 + s % 5, 2, 3], set()),
    "one_source": (1, 6, "length", lambda s, m: [1 + m % 5, 2, 3], set()),
    "one_item": (1, 1, "length", lambda s, m: [3], set()),
    "one_rater": (6, 4, "length", lambda s, m: [1 + (s * m) % 5], set()),
    "all_ties": (6, 4, "length", lambda s, m: [4, 4, 4], set()),
    "constant": (6, 4, "constant", lambda s, m: [1 + (s * m) % 5, 2, 3], set()),
    "holes": (8, 4, "length", lambda s, m: {"a": 1 + (s + m) % 5} if (s * m) % 3 else {}, {(0, 1), (3, 3), (4, 0)}),
    # Without ratings in the data this baseline has nothing to say of anything.
    "unscored": (6, 4, "system", None, set()),
}
FILES = {
    "good": "".join(
        f"s{s},m{m},fluency,{r},{1 + (s * m + r) % 5}\n" for s in range(6) for m in range(4) for r in range(3)
    ),
    "one": "s0,m0,fluency,a,3\n",
    "foreign": "zz,m0,fluency,a,3\n",
    "off_scale": "s0,m0,fluency,a,3\ns1,m0,fluency,a,7\n",
    "off_scale_within_a_mean": "s0,m0,fluency,a,0\ns0,m0,fluency,b,4\n",
    "twice": "s0,m0,fluency,a,3\ns0,m0,fluency,a,4\n",
    "words": "s0,m0,fluency,a,good\n",
    "nan": "s0,m0,fluency,a,nan\n",
    "blank": "s0,m0,fluency,a,\n",
    "other_rubric": "s0,m0,fluensy,a,3\n",
    "head_only": "",
}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every run and every file of ratings."""
    folder = tmp_path_factory.mktemp("trial")
    for name, text in FILES.items():
        (folder / f"{name}.csv").write_text(HEAD + text, "utf-8")
    (folder / "empty.csv").write_text("", "utf-8")
    (folder / "no_rubric.csv").write_text("id,system,rater,score\ns0,m0,a,3\n", "utf-8")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    with chdir(folder):
        for name, (sources, systems, judge, rate, missing) in RUNS.items():
            data = folder / f"{name}.jsonl"
            data.write_text("".join(records(sources, systems, rate, missing)), "utf-8")
            judging.evaluate(data, rubrics="fluency", judge=f"baseline/{judge}", out=folder / f"{name}.db", cache=False)
    return folder


def records(sources: int, systems: int, rate: Rate | None, missing: set[tuple[int, int]]) -> Iterator[str]:
    for source in range(sources):
        for system in range(systems):
            if (source, system) in missing:
                continue
            words = "word " * (2 + (source * 7 + system * 5) % 11)
            record = {"id": f"s{source}", "system": f"m{system}", "summary": words, "reviews": ["Boils a word."]}
            human = {} if rate is None else {"human": {"fluency": rate(source, system)}}
            yield json.dumps({**record, **human}) + "\n"


NO_ITEM = "have no item in common; items are joined by id and system"
MISSING = "field 'rubric': is missing; a ratings file has the columns id, system, rubric, rater, score"
# Command line -> what the message says. RUN.db and FILE.csv lie in the folder of the trial.
REFUSED = {
    "agree plain.db": "holds no human ratings. Give them with the data",
    "agree plain.db --human foreign.csv": NO_ITEM,
    "agree plain.db --human other_rubric.csv": "are of other rubrics (fluensy) than",
    "agree plain.db --human good.csv --judge baseline/lenght": "unknown judge 'baseline/lenght'. Did you mean",
    "estimate plain.db": "has no human ratings of fluency; rate some items",
    "estimate plain.db --human foreign.csv": "no rated item of 'fluency' is in the run; rated is id 'zz'",
    "estimate plain.db --human other_rubric.csv": "has no human ratings of fluency",
    "estimate plain.db --human good.csv --judge nobody": "--judge: unknown judge 'nobody'. Available: baseline/length",
    "estimate plain.db --human good.csv --rubrics fluensy": "unknown rubric 'fluensy'. Did you mean 'fluency'",
    "estimate plain.db --human good.csv --next -1": "--next: -1 is below zero",
    "compare plain.db": "name two systems or more, or say --all",
    "compare plain.db m0": "a comparison takes two systems; only m0 is named",
    "compare plain.db m0 m0": "a system is named twice",
    "compare plain.db m0 m9": "unknown system 'm9'",
    "compare plain.db m0 m1 --judge nobody": "unknown judge 'nobody'",
    "compare plain.db m0 m1 --rubrics fluensy": "unknown rubric 'fluensy'. Did you mean 'fluency'",
    "compare plain.db m0 m1 --difference nan": "--difference nan: should be above 0 and at most 4",
    "compare one_system.db --all": "a comparison takes two systems; one_system.db: it has m0 alone",
    "compare one_item.db --all": "it has m0 alone",
    "compare not_there.db --all": "there is no such run file",
}
for _command in ("agree", "estimate"):
    REFUSED |= {
        f"{_command} plain.db --human off_scale.csv": "1 of 2 are off the scale 1-5; the first is 7 for id 's1'",
        f"{_command} plain.db --human off_scale_within_a_mean.csv": "1 of 2 are off the scale 1-5; the first is 0 for",
        f"{_command} plain.db --human twice.csv": "line 3, field 'rater': rater 'a' has rated this item on",
        f"{_command} plain.db --human words.csv": "line 2, field 'score': ratings of 'fluency' should be numbers, not",
        f"{_command} plain.db --human nan.csv": "should be numbers, not 'nan'",
        f"{_command} plain.db --human blank.csv": "line 2, field 'score': is missing",
        f"{_command} plain.db --human no_rubric.csv": MISSING,
        f"{_command} plain.db --human head_only.csv": "is empty; a ratings file has at least one rating",
        f"{_command} plain.db --human empty.csv": "is empty; a ratings file has at least one rating",
        f"{_command} plain.db --human binary.csv": "is not UTF-8",
        f"{_command} plain.db --human not_there.csv": "cannot be read: No such file",
        f"{_command} not_there.db": "there is no such run file",
        f"{_command} plain.jsonl": "is not a run file",
    }
# Command line -> what the method of an undefined figure, or the page, says. Empty where nothing must be undefined.
THIN = {
    "agree one_system.db": "undefined: no source has two summaries to compare",
    "agree one_source.db": "no interval: nothing to draw from (1 source)",
    "agree one_item.db": "undefined: no source has two summaries to compare",
    "agree one_rater.db": "undefined: one rater alone: there are no others to compare with",
    "agree all_ties.db": "undefined: people gave all summaries of a source the same",
    "agree constant.db": "undefined: the judge gave all summaries of a source the same",
    "agree holes.db": "",
    "agree plain.db --human one.csv": "undefined: no source has two summaries to compare",
    "agree unscored.db --human good.csv": "undefined: no source has two summaries to compare",
    "agree plain.db --human good.csv --resamples 1": "",
    "estimate one_system.db": "",
    "estimate one_source.db": "undefined: fewer than 2 labelled sources",
    "estimate one_item.db": "undefined: fewer than 2 labelled sources",
    "estimate one_rater.db": "",
    "estimate all_ties.db": "",
    "estimate constant.db": "",
    "estimate holes.db": "",
    "estimate plain.db --human one.csv": "undefined: fewer than 2 labelled sources",
    "estimate unscored.db --human good.csv": "",
    "compare one_source.db --all": "undefined: only one source has a score of both",
    "compare all_ties.db m0 m1": "",
    "compare constant.db --all": "",
    "compare holes.db --all": "",
    "compare unscored.db --all": "undefined: no source has a score of both",
    "compare unscored.db m0 m1": "undefined: no source has a score of both",
    "compare plain.db m0 m1 --rubrics ,": "",
}


def in_folder(trial: Path, line: str) -> list[str]:
    """The words of a command line, files found in the folder of the trial."""
    return [str(trial / word) if re.search(r"\.(db|csv|jsonl)$", word) else word for word in line.split()]


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_input_is_one_clear_message(trial: Path, jurybox: Command, line: str) -> None:
    """With --json, because then standard output is another program's: nothing may go there."""
    done = jurybox(*in_folder(trial, line), "--json")
    assert done.returncode == 2, done.stderr
    assert REFUSED[line] in done.stderr.replace(f"{trial}/", "")
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 4, "one message, with click's usage before it at most"


@pytest.mark.parametrize("line", THIN)
def test_thin_input_is_undefined_and_never_nan(trial: Path, jurybox: Command, line: str) -> None:
    page, found = (jurybox(*in_folder(trial, line), *more) for more in ((), ("--json",)))
    for done in (page, found):
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "Warning" not in done.stderr
        assert not re.search(r"\b(nan|inf|infinity)\b", done.stdout, re.IGNORECASE)
        assert "valid" not in re.sub(r"[{}\w/.-]+\.(db|csv)", "", done.stdout)
    json.loads(found.stdout)
    assert THIN[line] in found.stdout
    assert "better than ." not in page.stdout.replace("\n", " ")
