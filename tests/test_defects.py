"""`rubrics check` points out what a careful editor would, and changes nothing; a clean file is left in peace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jurybox.rubrics import builtin, load_file, packs, read_prompt_file, read_toml
from jurybox.rubrics.defects import Defect, find_defects
from jurybox.types import Item

SEEDS = Path(__file__).parents[2] / "shared" / "seeds"
BUILTIN = sorted((Path(__file__).parents[1] / "src" / "jurybox" / "rubrics" / "builtin").glob("*.toml"))
UNFENCED = "judged text is not fenced"
GIVEN_AWAY = "example gives the score away"

CLEAN = """Judge the tone of a summary of product reviews.

You get the product title, the reviews and the summary.

1 - Rude.
5 - Kind.

Title: {product_title}
Reviews: {reviews}
Summary: {summary}

1. Read the summary, e.g. aloud.
2. Compare it with the reviews...
3. Decide.

End with: Score- <score>N</score>
"""
TOML = """name = "tone"
version = 1
question = "Is the tone right?"
definition = "Measures tone."
steps = ["Read the summary.", "Decide."]
target = 5
[scale]
1 = "Awful."
2 = "Poor."
3 = "Fair."
4 = "Good."
5 = "Right."
[inputs]
required = ["summary"]
"""


def seed(number: str) -> Path:
    found = sorted(SEEDS.glob(f"{number}_*"))
    if not found:
        pytest.skip("the seeds are not on this machine")
    return found[0]


def defects_of(text: str, *items: Item) -> list[Defect]:
    return find_defects(text, read_prompt_file(text, "x.txt"), items)


def kinds(found: list[Defect]) -> Counter[str]:
    return Counter(defect.kind for defect in found if defect.kind != UNFENCED)


def jurybox(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "jurybox", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == status, done.stderr
    return done


def jurybox_json(*arguments: str) -> Any:
    done = jurybox(*arguments, "--json")
    assert done.stderr == ""
    return json.loads(done.stdout)


SEED_DEFECTS: dict[str, dict[str, list[int]]] = {
    "001": {
        GIVEN_AWAY: [1, 63, 65],
        "repeated phrase": [1],
        UNFENCED: [35],
        "duplicated step": [61],
        "typing error": [61, 63],
    },
    "002": {
        GIVEN_AWAY: [54, 56],
        "repeated phrase": [5],
        UNFENCED: [32],
        "typing error": [16, 28, 51, 54],
    },
    "003": {
        GIVEN_AWAY: [1, 62, 64],
        "repeated phrase": [1],
        UNFENCED: [36],
        "typing error": [19, 21, 23, 25, 27, 62],
    },
    "004": {
        GIVEN_AWAY: [112],
        "mojibake": [1],
        "named after a fault": [20, 30, 40, 50],
        "placeholder not introduced": [76],
        UNFENCED: [72],
    },
}


@pytest.mark.parametrize("number", SEED_DEFECTS)
def test_each_seed_has_exactly_these_defects_on_these_lines(number: str) -> None:
    file = seed(number)
    found: dict[str, list[int]] = {}
    for defect in find_defects(file.read_bytes().decode(), load_file(file)):
        found.setdefault(defect.kind, []).append(defect.line)
    assert found == SEED_DEFECTS[number]


def test_the_first_seed_says_rate_and_score_twice_with_two_full_stops() -> None:
    file = seed("001")
    found = find_defects(file.read_text("utf-8"), load_file(file))
    (step,) = (defect for defect in found if defect.kind == "duplicated step")
    assert step.excerpt.startswith("8. Rate and Score: Use the previous information")
    assert any("tags.." in defect.excerpt for defect in found if "mark is doubled" in defect.message)


def test_the_second_seed_lacks_a_space() -> None:
    file = seed("002")
    found = find_defects(file.read_text("utf-8"), load_file(file))
    assert [d.excerpt for d in found if d.message == "a space is missing"] == [
        "d product_ugc_summary)and contains a lot of"
    ]


def test_the_third_seed_lacks_five_spaces() -> None:
    file = seed("003")
    found = [d for d in find_defects(file.read_text("utf-8"), load_file(file)) if d.message == "a space is missing"]
    assert len(found) == 5
    assert all("input,includes" in defect.excerpt for defect in found)


def test_the_fourth_seed_is_decoded_wrongly_and_its_example_knows_only_fives() -> None:
    file = seed("004")
    found = {defect.kind: defect for defect in find_defects(file.read_text("utf-8"), load_file(file))}
    assert "33 places on 33 lines" in found["mojibake"].message
    assert "–" in found["mojibake"].message
    assert "📊" in found["mojibake"].message
    assert "gives 5 4 times and no other score" in found[GIVEN_AWAY].message
    assert found["placeholder not introduced"].excerpt == "{Question}"


def test_a_clean_prompt_file_is_told_only_that_it_has_no_fence() -> None:
    assert [defect.kind for defect in defects_of(CLEAN)] == [UNFENCED]


# What is put into the clean file, and the one kind of defect that must follow.
PUT_IN: dict[str, tuple[str, str, str]] = {
    "sentence said twice": (
        "3. Decide.",
        "3. Use all of it to rate the summary. Use all of it to rate the summary.",
        "duplicated step",
    ),
    "step said twice": (
        "3. Decide.",
        "3. Now weigh all that you have found in the reviews.\n4. Now weigh all that you have found in the reviews.",
        "duplicated step",
    ),
    "example with a score": ("<score>N</score>", "<score>4</score>", GIVEN_AWAY),
    "example in capitals": ("<score>N</score>", "<SCORE> 2 </SCORE>", GIVEN_AWAY),
    "worked example": ("End with:", "Score for Tone: 3\nEnd with:", GIVEN_AWAY),
    "mojibake": ("5 - Kind", "5 â€“ Kind", "mojibake"),
    "mojibake of a letter": ("Rude", "Rude, impoli, dÃ©plaisant", "mojibake"),
    "space missing": ("Read the summary,", "Read the summary,even twice,", "typing error"),
    "space doubled": ("Compare it with", "Compare it  with", "typing error"),
    "full stop doubled": ("Decide.", "Decide..", "typing error"),
    "abbreviation": ("e.g. aloud", "e.g aloud", "typing error"),
    "column": ("{summary}", "{summary} {brand}", "unknown placeholder"),
    "other braces": ("Reviews: {reviews}", "Reviews: {reviews} {{description}}", "placeholder that is never filled"),
    "promise": ("the reviews and", "the average rating, the reviews and", "field without a placeholder"),
    "promise with underscores": ("the reviews and", "key_features, the reviews and", "field without a placeholder"),
    "unannounced": ("Summary: {summary}", "{specifications}\nSummary: {summary}", "placeholder not introduced"),
    "step left out": ("3. Decide.", "4. Decide.", "numbering"),
    "step twice": ("3. Decide.", "2. Decide.", "numbering"),
    "restart": ("3. Decide.", "1. Decide.", "numbering"),
    "repeated phrase": (
        "5 - Kind.",
        "5 - Kind.\n" + "".join(f"Here are all the same eight words with {word}.\n" for word in "abcdef"),
        "repeated phrase",
    ),
    "byte order mark": ("Judge the tone", "\ufeffJudge the tone", "byte order mark"),
}


@pytest.mark.parametrize("case", PUT_IN)
def test_what_was_put_in_is_found_on_its_line(case: str) -> None:
    old, new, kind = PUT_IN[case]
    assert CLEAN.count(old) == 1
    text = CLEAN.replace(old, new)
    found = [defect for defect in defects_of(text) if defect.kind != UNFENCED]
    assert [defect.kind for defect in found] == [kind]
    changed = [n for n, line in enumerate(text.splitlines(), 1) if line not in CLEAN.splitlines()]
    assert found[0].line in changed


# Text that looks odd and is right.
IN_ORDER = {
    "German quotation": "Rate den „Spaß“ und die „Größe“.",
    "French capitals": "Dites «CAFÉ» ou «À côté», voilà… et “é”.",
    "Chinese": "评价摘要的语气。",
    "Emoji": "Judge 📝 – with care ⚠️.",
    "Turkish": "Özetin üslubunu değerlendirin: çok iyi, iyi, kötü.",
    "Greek": "Κρίνετε την περίληψη.",
    "three dots": "And so on... and on…",
    "number": "It costs 1,000.50 in v2.Beta; see 3.5 kg.",
    "list of steps after another": "1. One thing.\n2. Another.\n\nThen:\n\n1. A third.",
    "indented code": "    for review in reviews",
    "quoted material twice": '"a b c d e f g h i j"\n"a b c d e f g h i j"',
    "JSON": 'Answer {"score": N} or {}.',
    "abbreviations": "Use e.g. this, i.e. that.",
}


@pytest.mark.parametrize("case", IN_ORDER)
def test_what_is_in_order_is_left_in_peace(case: str) -> None:
    text = CLEAN.replace("1 - Rude.", IN_ORDER[case] + "\n\n1 - Rude.")
    assert kinds(defects_of(text)) == {}


@pytest.mark.parametrize("page", ["cp1252", "cp1254", "latin-1"])
@pytest.mark.parametrize("right", ["–", "é", "ü", "’", "…", "📊", "中文", "пр"])
def test_every_usual_wrong_decoding_is_found(page: str, right: str) -> None:
    try:
        wrong = right.encode().decode(page)
    except UnicodeDecodeError:
        wrong = right.encode().decode(page, "ignore")
    found = [defect for defect in defects_of(CLEAN.replace("Kind", f"Kind {wrong}")) if defect.kind == "mojibake"]
    assert len(found) == 1
    assert "1 places on 1 lines" in found[0].message


def test_a_scale_of_tags_gives_nothing_away() -> None:
    scale = "\n".join(f"<score>{step}</score> - Step." for step in range(1, 6))
    assert kinds(defects_of(CLEAN.replace("1 - Rude.", scale))) == {}


def test_a_worked_example_of_different_scores_gives_nothing_away() -> None:
    assert kinds(defects_of(CLEAN + "Score for A: 2\nScore for B: 4\n")) == {}


def test_each_given_score_is_counted() -> None:
    text = CLEAN + "Score- <score>5</score> or <score>5</score>\nScore- <score>3</score>\n"
    assert kinds(defects_of(text)) == {GIVEN_AWAY: 3}


def test_a_fault_as_name_matters_only_where_five_means_none_of_it() -> None:
    form = "\nScore for Redundancy: [N]\n"
    assert kinds(defects_of(CLEAN.replace("5 - Kind", "5 - No repetition") + form)) == {"named after a fault": 1}
    assert kinds(defects_of(CLEAN.replace("5 - Kind", "5 - Very redundant") + form)) == {}
    assert kinds(defects_of(CLEAN.replace("5 - Kind", "5 - No slips") + form.replace("Redundancy", "Tone"))) == {}


def test_fields_that_the_data_lacks_are_counted() -> None:
    text = CLEAN.replace("{product_title}", "{product_title} {brand}")
    full = {"product_title": "T", "reviews": ("R",)}
    items = (Item("1", "s", "S", full, metadata={"brand": "B"}), Item("2", "s", "S", {"reviews": ("R",)}))
    found = {d.excerpt: d.message for d in defects_of(text, *items) if d.kind == "field the data lacks"}
    assert set(found) == {"{product_title}", "{brand}"}
    assert "1 of 2 items have no 'product_title'" in found["{product_title}"]


def test_a_perspective_brings_its_definition() -> None:
    item = Item("1", "s", "S", {"perspective": "CAUSE"})
    assert kinds(defects_of("{summary} {Perspective_Def}", item)) == {}
    assert kinds(defects_of("{summary} {Perspective_Def}", Item("1", "s", "S", {}))) == {"field the data lacks": 1}


@pytest.mark.parametrize("file", BUILTIN, ids=lambda file: file.stem)
def test_a_builtin_rubric_has_no_defect(file: Path) -> None:
    assert find_defects(file.read_text("utf-8"), load_file(file)) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Read the summary.", "Read {summary}.", "placeholder that is never filled"),
        ("Measures tone.", "Measures tone in {Input spans}.", "placeholder that is never filled"),
        ("Decide.", "Decide, e.g. <score>4</score>.", GIVEN_AWAY),
        ("Measures tone.", "Measures tone..", "typing error"),
    ],
)
def test_a_users_toml_file_is_checked_too(old: str, new: str, kind: str) -> None:
    assert find_defects(TOML, (read_toml(TOML, "x"),)) == []
    text = TOML.replace(old, new)
    (defect,) = find_defects(text, (read_toml(text, "x"),))
    assert defect.kind == kind
    assert new in text.splitlines()[defect.line - 1]


def test_the_command_lists_both_packs() -> None:
    listed = jurybox_json("rubrics", "list")
    assert {pack: [rubric["name"] for rubric in listed[pack]] for pack in listed} == {
        pack: [rubric.name for rubric in members] for pack, members in packs().items()
    }
    assert listed["product-opinion"][1]["label"] == builtin()["faithfulness"].label
    plain = jurybox("rubrics", "list").stdout
    assert max(map(len, plain.splitlines())) <= 80
    unfolded = " ".join(plain.split())
    assert all(f"{name} {builtin()[name].question}" in unfolded for name in builtin())


def test_the_command_shows_a_rubric_whole() -> None:
    faithful = builtin()["faithfulness"]
    shown = jurybox_json("rubrics", "show", "faithfulness")
    assert (shown["scale"], shown["steps"]) == (list(faithful.scale), list(faithful.steps))
    plain = unspaced(jurybox("rubrics", "show", "faithfulness").stdout)
    for text in (faithful.label, faithful.question, *faithful.scale, *faithful.steps, faithful.citation, "5 is best"):
        assert unspaced(text) in plain


def unspaced(text: str) -> str:
    """Lines may be broken anywhere."""
    return "".join(text.split())


def test_the_command_shows_a_prompt_file_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "tone.md"
    file.write_text(CLEAN, encoding="utf-8")
    assert CLEAN in jurybox("rubrics", "show", str(file)).stdout
    assert jurybox_json("rubrics", "show", str(file))["template"]["text"] == CLEAN


def test_the_command_shows_every_rubric_of_a_form(tmp_path: Path) -> None:
    file = tmp_path / "form.md"
    file.write_text(CLEAN + "Score for A: N\nScore for B: N\n", encoding="utf-8")
    assert [rubric["name"] for rubric in jurybox_json("rubrics", "show", str(file))] == ["a", "b"]


def test_an_unknown_rubric_is_wrong_use_with_the_nearest_name() -> None:
    done = jurybox("rubrics", "show", "fluensy", status=2)
    assert done.stdout == ""
    assert "Did you mean 'fluency'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_checks_several_files_and_changes_none(tmp_path: Path) -> None:
    clean, bad, toml = tmp_path / "clean.md", tmp_path / "bad.md", tmp_path / "tone.toml"
    clean.write_bytes(CLEAN.encode())
    bad.write_bytes(CLEAN.replace("Decide.", "Decide..").replace("\n", "\r\n").encode())
    toml.write_text(TOML, encoding="utf-8")
    files = [clean, bad, toml]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    found = jurybox_json("rubrics", "check", *map(str, files))
    assert [[defect["kind"] for defect in found[str(file)]] for file in files] == [
        [UNFENCED],
        [UNFENCED, "typing error"],
        [],
    ]
    assert found[str(bad)][1]["line"] == 14
    plain = jurybox("rubrics", "check", *map(str, files)).stdout
    assert f"{toml}: no defects found" in plain
    assert f"{bad}: 2 defects" in plain
    assert "line 14: typing error: a punctuation mark is doubled" in plain
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_the_command_names_fields_that_the_data_lacks(tmp_path: Path) -> None:
    file, data = tmp_path / "tone.md", tmp_path / "data.jsonl"
    file.write_text(CLEAN, encoding="utf-8")
    data.write_text('{"id": "1", "summary": "S", "title": "T"}\n{"id": "2", "summary": "S"}\n', encoding="utf-8")
    found = jurybox_json("rubrics", "check", str(file), "--data", str(data))[str(file)]
    lacking = {d["excerpt"]: d["message"] for d in found if d["kind"] == "field the data lacks"}
    assert set(lacking) == {"{product_title}", "{reviews}"}
    assert "1 of 2 items" in lacking["{product_title}"]
    assert "2 of 2 items" in lacking["{reviews}"]


def test_a_file_that_cannot_be_used_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "tone.md"
    file.write_text("No placeholder here.", encoding="utf-8")
    done = jurybox("rubrics", "check", str(file), "--json", status=2)
    assert done.stdout == ""
    assert "has no placeholder for the summary" in done.stderr
