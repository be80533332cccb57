"""A prompt file is sent as it is: its own text byte for byte, its placeholders filled once, nothing executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurybox.data import Dataset
from jurybox.errors import DataError, RubricError
from jurybox.parsing import read
from jurybox.prompts import render, sheets
from jurybox.prompts.layouts import perspectives
from jurybox.rubrics import load, load_file, read_prompt_file
from jurybox.types import Item, Prompt, Reply, Review

SEEDS = Path(__file__).parents[2] / "shared" / "seeds"
NASTY = (
    "{product_title}",
    "{{x}}",
    "{0} {} {summary!r} {Product_Opinion_Summary}",
    "100 %s %(a)d",
    r"\1 \g<0> \n C:\temp",
    "<score>5</score>\n\nResponse:\nScore- <score>5</score>",
    "'''; import os; os.abort(); '''",
    "line one\r\nline two\u2028three",
)
ANY_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z_ ]*)\}")

PYTHON_FILE = """# a comment
system_msg = "You are an expert.\\n\\tBe \\"fair\\".\\n\\n"

tone_prompt_template = \'\'\'
Task:

{system_message}

Title: {product_title}
Reviews: {reviews}
 \\
Rating: {average_rating}
Summary: {Product_Opinion_Summary}

Note: e.g Score- <score>5</score>
\'\'\'
"""
MARKDOWN_FILE = """# Judge \u2013 form\x20\x20

- **Perspective:** {Perspective}
- **Definition:** {Perspective_Def}
- **Spans:** {Input spans}
- **Summary:** {Given Summary}
- **Question:** {Question}
- **Answers:** {Answers}

- **Reasoning for Extraneous Information:** [Your reasoning here]
- **Score for Extraneous Information:** [Your score here]
- **Reasoning for Contradiction:** [Your reasoning here]
- **Score for Contradiction:** [Your score here]
- **Score for Perspective Misalignment:** [Your score here]
- **Score for Redundancy:** [Your score here]

`{"not": "a placeholder"}` and {}"""


@pytest.fixture(params=["own", "001", "002", "003"])
def python_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return located(request.param, tmp_path, PYTHON_FILE)


@pytest.fixture(params=["own", "own with CRLF", "004"])
def markdown_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    text = MARKDOWN_FILE.replace("\n", "\r\n") if "CRLF" in request.param else MARKDOWN_FILE
    return located(request.param.split()[0], tmp_path, text, "form.md")


def located(which: str, folder: Path, text: str, name: str = "tone.txt") -> Path:
    if which == "own":
        file = folder / name
        file.write_bytes(text.encode())
        return file
    found = sorted(SEEDS.glob(f"{which}_*"))
    if not found:
        pytest.skip("the seeds are not on this machine")
    return found[0]


def source_of(perspective: str = "EXPERIENCE") -> dict[str, Any]:
    return {
        "product_title": "Kettle {reviews}",
        "description": NASTY[4],
        "key_features": NASTY[:2],
        "specifications": (("Weight", NASTY[2]),),
        "reviews": tuple(Review(text, 4.0) for text in NASTY),
        "average_rating": 3.8,
        "product_ugc_summary": NASTY[3],
        "question": "Why {Answers}?",
        "perspective": perspective,
        "input_spans": NASTY,
        "answers": NASTY,
    }


ITEM = Item("p1", "sys", "A summary with {reviews} and <score>1</score> and \\1.", source_of())


def rendered(file: Path, item: Item = ITEM) -> Prompt:
    (sheet,) = sheets(load_file(file))
    assert sheet.layout == "verbatim"
    return render(sheet, item)


def literals_of(file: Path) -> dict[str, str]:
    """Independent reading: what Python itself makes of the file's literals."""
    tree = ast.parse(file.read_text("utf-8"))
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def assert_only_filled(template: str, sent: str, values: Mapping[str, str]) -> None:
    """Walk through both: the literal text between placeholders, then the value, until nothing is left."""
    pieces = ANY_PLACEHOLDER.split(template)
    at = 0
    for literal, name in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        assert sent[at : at + len(literal)] == literal
        at += len(literal)
        if name is not None:
            assert sent.startswith(values[name], at), name
            at += len(values[name])
    assert at == len(sent)
    assert len(pieces) > 1


def numbered(*texts: str) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


VALUES = {
    "product_title": "Kettle {reviews}",
    "description": NASTY[4],
    "key_features": numbered(*NASTY[:2]),
    "specifications": numbered(f"Weight: {NASTY[2]}"),
    "reviews": numbered(*(f"(rating 4) {text}" for text in NASTY)),
    "average_rating": "3.8",
    "product_ugc_summary": NASTY[3],
    "Product_Opinion_Summary": ITEM.summary,
    "Perspective": "EXPERIENCE",
    "Input spans": numbered(*NASTY),
    "Given Summary": ITEM.summary,
    "Question": "Why {Answers}?",
    "Answers": numbered(*NASTY),
}


def test_a_python_style_file_is_sent_byte_for_byte(python_file: Path) -> None:
    """The literal as Python reads it, the system message where it asks for it, every nasty value unchanged."""
    literals = literals_of(python_file)
    (template,) = (text for name, text in literals.items() if name.endswith("_prompt_template"))
    values = VALUES | {"system_message": literals.get("system_msg", "")}
    prompt = rendered(python_file)
    assert prompt.system == ""
    assert prompt.schema is None
    assert_only_filled(template, prompt.user, values)


def test_a_markdown_file_is_sent_byte_for_byte(markdown_file: Path) -> None:
    """Raw bytes, CRLF and trailing blanks included."""
    values = VALUES | {"Perspective_Def": perspectives()["EXPERIENCE"]}
    prompt = rendered(markdown_file)
    assert_only_filled(markdown_file.read_bytes().decode(), prompt.user, values)
    assert prompt.system == ""


def test_the_name_comes_from_the_template(python_file: Path) -> None:
    (name,) = (name for name in literals_of(python_file) if name.endswith("_prompt_template"))
    (rubric,) = load([str(python_file)])
    assert rubric.name == name.removesuffix("_prompt_template")
    assert rubric.answer == "tag"


def test_a_form_is_four_rubrics_on_one_sheet(markdown_file: Path) -> None:
    rubrics = load([str(markdown_file)])
    (sheet,) = sheets(rubrics)
    assert [rubric.name for rubric in sheet.rubrics] == [
        "extraneous_information",
        "contradiction",
        "perspective_misalignment",
        "redundancy",
    ]
    assert sheet.answer == "form"
    assert sheet.label == "verbatim"


def test_a_filled_in_form_is_read_as_four_verdicts(markdown_file: Path) -> None:
    (sheet,) = sheets(load([str(markdown_file)]))
    lines = [
        f"- **Reasoning for {rubric.title}:** because.\n- **Score for {rubric.title}:** {score}"
        for rubric, score in zip(sheet.rubrics, (2, 3, 4, 5), strict=True)
    ]
    verdicts = read(Reply("\n".join(lines)), sheet.rubrics, sheet.answer)
    assert [verdict.score for verdict in verdicts.values()] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "line",
    [
        "Score for Tone: _",
        "- **Score for Tone:** [x]",
        "- **Score for Tone**: [x]",
        "  * Score for Tone : N",
        "2. score for Tone:",
        "**Score for Tone :** N",
    ],
)
def test_a_line_of_a_form_is_known_however_it_is_set(line: str) -> None:
    (rubric,) = read_prompt_file(f"{{summary}}\n{line}\n", "x.md")
    assert (rubric.name, rubric.title, rubric.answer) == ("tone", "Tone", "form")


def test_a_score_for_in_the_middle_of_prose_is_no_form() -> None:
    (rubric,) = read_prompt_file("{summary}\nGive the Score for Tone: one number.", "x.md")
    assert (rubric.name, rubric.answer) == ("x", "tag")


@pytest.mark.parametrize("perspective", list(perspectives()))
def test_the_five_perspectives_have_a_definition(perspective: str) -> None:
    (sheet,) = sheets(read_prompt_file("{Perspective_Def}|{summary}", "x.md"))
    shown = render(sheet, Item("1", "s", "S", {"perspective": f" {perspective.lower()} "})).user
    assert shown == f"{perspectives()[perspective]}|S"
    assert len(perspectives()) == 5


def test_an_items_own_definition_comes_first() -> None:
    (sheet,) = sheets(read_prompt_file("{Perspective_Def}|{summary}", "x.md"))
    item = Item("1", "s", "S", {"perspective": "CAUSE", "perspective_definition": "Mine {summary}."})
    assert render(sheet, item).user == "Mine {summary}.|S"


def test_an_unknown_perspective_has_no_definition() -> None:
    (sheet,) = sheets(read_prompt_file("{Perspective_Def}|{summary}", "x.md"))
    assert render(sheet, Item("1", "s", "S", {"perspective": "GOSSIP"})).user == "not available|S"


def test_an_absent_optional_field_is_not_available() -> None:
    (sheet,) = sheets(read_prompt_file("{product_title}/{reviews}/{summary}/{system}/{id}", "x.md"))
    assert render(sheet, Item("7", "sys", "S", {})).user == "not available/not available/S/sys/7"


def test_an_unknown_placeholder_needs_a_column() -> None:
    rubrics = read_prompt_file("{brand voice}: {summary} {price}", "x.md")
    record = {"id": "1", "summary": "S", "brand voice": "{summary}", "price": 1234567}
    with pytest.raises(DataError, match="'price'"):
        Dataset([{key: value for key, value in record.items() if key != "price"}]).check(rubrics)
    data = Dataset([record])
    assert data.check(rubrics).items == 1
    (sheet,) = sheets(rubrics)
    assert render(sheet, next(iter(data))).user == "{summary}: S 1234567"


@pytest.mark.parametrize(
    "text", ["Rate this: {reviews}", "x_prompt_template = 'Rate {reviews}'", "", "{ summary }", "summary"]
)
def test_no_placeholder_for_the_summary_is_an_error(text: str) -> None:
    with pytest.raises(RubricError, match=r"^x\.txt: has no placeholder for the summary"):
        read_prompt_file(text, "x.txt")


CODE = {
    "a call": "open({path!r}, 'w').close()\nx_prompt_template = '{{summary}}'\n",
    "a call as value": "x_prompt_template = open({path!r}, 'w').name + '{{summary}}'\n",
    "an import": "import os\nos.mkdir({path!r})\nx_prompt_template = '{{summary}}'\n",
    "an f-string": 'x_prompt_template = f"""{{open({path!r}, chr(119))}} {{summary}}"""\n',
    "a call in a default": "def f(a=open({path!r}, 'w')): pass\nx_prompt_template = '{{summary}}'\n",
    "a decorated class": "@open({path!r}, 'w').write\nclass A:\n    x_prompt_template = '{{summary}}'\n",
    "a list": "x_prompt_template = ['{{summary}}', {path!r}]\n",
    "a sum": "x_prompt_template = '{{summary}}' + {path!r}\n",
}


@pytest.mark.parametrize("kind", CODE)
def test_code_is_refused_and_never_executed(kind: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with pytest.raises(RubricError, match=r"x\.txt, line [12]: is code, and a prompt file is never executed"):
        read_prompt_file(CODE[kind].format(path=str(trace)), "x.txt")
    assert not trace.exists()


@pytest.mark.parametrize("text", ["x_prompt_template = '''{summary}\n", "note\nx_prompt_template = '{summary}'\n )"])
def test_a_broken_literal_is_an_error_and_not_a_prompt(text: str) -> None:
    """Somebody's Python source must not reach the judge because a quotation mark is missing."""
    with pytest.raises(RubricError, match=r"x\.txt, line \d+: assigns a template that Python cannot read: "):
        read_prompt_file(text, "x.txt")


def test_text_that_happens_to_be_python_is_text(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    text = f"open({str(trace)!r}, 'w')\nsummary = {{summary}}\n"
    (sheet,) = sheets(read_prompt_file(text, "x.txt"))
    assert render(sheet, ITEM).user == text.replace("{summary}", ITEM.summary)
    assert not trace.exists()


def test_docstring_comments_and_numbers_do_not_make_it_code() -> None:
    text = '"""About."""\nTEMPERATURE = 0.2\nx_prompt_template = "{summary}" " and"  # note\n'
    (rubric,) = read_prompt_file(text, "x.py")
    assert rubric.template is not None
    assert rubric.template.text == "{summary} and"


def test_a_byte_order_mark_does_not_turn_python_into_text(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(b"\xef\xbb\xbf" + PYTHON_FILE.encode())
    assert rendered(file).user.startswith("\nTask:\n\nYou are an expert.\n\tBe")


def test_line_ends_in_a_literal_are_as_python_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(b"x_prompt_template = '''a\r\n{summary}\\r\n'''\r\n")
    assert rendered(file, Item("1", "s", "S\r\n", {})).user == "a\nS\r\n\r\n"


def test_odd_escapes_and_raw_strings_are_as_python_reads_them() -> None:
    """`\\d` warns when Python compiles it; that is no news for somebody who runs a prompt."""
    (odd,) = read_prompt_file("x_prompt_template = 'a\\d {summary}'", "x.txt")
    (raw,) = read_prompt_file("x_prompt_template = r'a\\n {summary}'", "x.txt")
    assert odd.template is not None
    assert raw.template is not None
    assert odd.template.text == "a\\d {summary}"
    assert raw.template.text == "a\\n {summary}"


@pytest.mark.parametrize("name", ["x_prompt_template", "system_msg"])
def test_half_a_character_is_refused(name: str) -> None:
    text = f"{name} = '\\ud83d {{summary}}'\ny_prompt_template = '{{summary}}'\n"
    with pytest.raises(RubricError, match="half a character"):
        read_prompt_file(text, "x.txt")


def test_literals_without_a_template_are_an_error() -> None:
    with pytest.raises(RubricError, match=r"x\.txt: assigns no template; .*'_prompt_template'"):
        read_prompt_file("prompt = 'Rate {summary}'", "x.txt")


def test_several_templates_in_one_file_are_several_calls() -> None:
    text = (
        "system_msg = 'Be fair.'\na_prompt_template = 'A {summary}'\nb_prompt_template = '{system_msg} B {summary}'\n"
    )
    rubrics = read_prompt_file(text, "x.txt")
    prompts = [render(sheet, Item("1", "s", "S", {})) for sheet in sheets(rubrics)]
    assert [rubric.name for rubric in rubrics] == ["a", "b"]
    assert [(prompt.system, prompt.user) for prompt in prompts] == [("Be fair.", "A S"), ("", "Be fair. B S")]


def test_a_system_message_without_placeholder_is_sent_as_system_message() -> None:
    for name in ("system_msg", "system_message", "system_prompt"):
        (sheet,) = sheets(read_prompt_file(f"{name} = 'Be {{fair}}.'\nx_prompt_template = '{{summary}}'", "x.txt"))
        assert render(sheet, Item("1", "s", "S", {})) == Prompt("S", "Be {fair}.")


def test_double_braces_are_filled_where_they_are_the_files_way() -> None:
    (sheet,) = sheets(read_prompt_file('Title {{Product Title}}, {{summary}}: {"a": 1} {}', "x.md"))
    item = Item("1", "s", "{{Product Title}}", {"product_title": "{{summary}}"})
    assert render(sheet, item).user == 'Title {{summary}}, {{Product Title}}: {"a": 1} {}'


def test_one_file_under_two_names_is_two_calls(tmp_path: Path) -> None:
    file = tmp_path / "tone.txt"
    file.write_text(PYTHON_FILE, encoding="utf-8")
    made = sheets(load([f"first={file}", f"second={file}"]))
    assert [[rubric.name for rubric in sheet.rubrics] for sheet in made] == [["first"], ["second"]]


def test_a_form_cannot_take_one_name(tmp_path: Path) -> None:
    file = tmp_path / "form.md"
    file.write_text(MARKDOWN_FILE, encoding="utf-8")
    with pytest.raises(RubricError, match=r"form\.md asks for 4 scores, so it cannot take the one name 'mine'"):
        load([f"mine={file}"])


def test_layout_and_answer_of_the_run_leave_a_prompt_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "tone.txt"
    file.write_text(PYTHON_FILE, encoding="utf-8")
    for layout in ("classic", "shared", "form"):
        (sheet,) = sheets(load([str(file)]), layout, "json")
        assert render(sheet, ITEM) == rendered(file)


@given(summary=st.text(min_size=1), review=st.text(min_size=1), title=st.text(min_size=1))
def test_whatever_is_judged_arrives_unchanged(summary: str, review: str, title: str) -> None:
    (sheet,) = sheets(read_prompt_file("<{product_title}|{reviews}|{summary}>", "x.md"))
    item = Item("1", "s", summary, {"product_title": title, "reviews": (Review(review),)})
    assert render(sheet, item).user == f"<{title}|1. {review}|{summary}>"


@given(st.text())
def test_no_text_makes_the_reader_fail_otherwise_than_with_its_own_error(text: str) -> None:
    try:
        rubrics = read_prompt_file(text + "{summary}", "x.txt")
    except RubricError:
        return
    assert rubrics
