"""Prompt files as they are: a published judge prompt becomes rubrics with a `Template`, byte for byte.

Two kinds are understood. A Python-style file assigns string literals (`system_msg`, `…_prompt_template`); they are
read with `ast.literal_eval`, never executed. Any other text is itself the template (Markdown with a form).
Nothing is repaired here: `jurybox.rubrics.defects` points out, and this module keeps.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from pathlib import PurePath

from jurybox.errors import RubricError
from jurybox.fields import canonical_name
from jurybox.templates import Template, style_of
from jurybox.types import Answer, Rubric

TEMPLATE_SUFFIX = "_prompt_template"
SYSTEM_LITERALS = ("system_msg", "system_message", "system_prompt")
TEMPLATE_LINE = re.compile(rf"^\w+{TEMPLATE_SUFFIX}\s*=", re.MULTILINE)
FORM_LINE = re.compile(r"^[^\S\n]*[-*\d.]*[^\S\n]*\**Score for ([^:*\n]+?)\s*\**\s*:", re.MULTILINE | re.IGNORECASE)


def read_prompt_file(text: str, name: str) -> tuple[Rubric, ...]:
    """The rubrics that a prompt file asks for: one a template, or one a `Score for X:` line of its form."""
    literals = _string_literals(text, name)
    if literals is None:
        return _rubrics(PurePath(name).stem, Template(text, style=style_of(text)), name)
    system = next((literals[key] for key in SYSTEM_LITERALS if key in literals), "")
    templates = {key: value for key, value in literals.items() if key.endswith(TEMPLATE_SUFFIX)}
    if not templates:
        raise RubricError(f"{name}: assigns no template; expected a name ending in '{TEMPLATE_SUFFIX}'")
    return tuple(
        rubric
        for key, value in templates.items()
        for rubric in _rubrics(key.removesuffix(TEMPLATE_SUFFIX), _template(value, system), name)
    )


def _string_literals(text: str, name: str) -> dict[str, str] | None:
    """The file's assignments of string literals, or None when it is not a Python-style file."""
    body = _statements(text.removeprefix("\ufeff"), name)
    literals: dict[str, str] = {}
    code: list[int] = []
    for statement in body:
        target, value = _assigned(statement)
        if target and isinstance(value, str):
            literals[target] = value
        elif value is None or target.endswith(TEMPLATE_SUFFIX):
            code.append(statement.lineno)
    if code and any(_assigns_template(statement) for statement in body):
        raise RubricError(
            f"{name}, line {code[0]}: is code, and a prompt file is never executed; expected nothing but "
            f"string literals: NAME{TEMPLATE_SUFFIX} = '''…'''"
        )
    return literals if literals and not code else None


def _statements(text: str, name: str) -> list[ast.stmt]:
    """The file as Python's grammar sees it; nothing when it is plain text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's prompt is not our news
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        if TEMPLATE_LINE.search(text):
            where = f", line {exc.lineno}" if isinstance(exc, SyntaxError) else ""
            raise RubricError(f"{name}{where}: assigns a template that Python cannot read: {exc.args[0]}") from exc
        return []


def _assigned(statement: ast.stmt) -> tuple[str, object]:
    """The name and the literal that a statement assigns; no name for a docstring, no value for code."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=expression):
            pass
        case ast.Expr(value=expression):
            name = ""
        case _:
            return "", None
    try:
        return name, ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return "", None


def _assigns_template(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.endswith(TEMPLATE_SUFFIX)
        for node in ast.walk(statement)
    )


def _template(text: str, system: str) -> Template:
    bare = Template(text, style=style_of(text))
    includes = {name: system for name in SYSTEM_LITERALS if system and name in bare.placeholders}
    return Template(text, system="" if includes else system, style=bare.style, includes=includes)


def _rubrics(own_name: str, template: Template, file: str) -> tuple[Rubric, ...]:
    fields = tuple(canonical_name(name) or name for name in template.placeholders)
    if "summary" not in fields:
        raise RubricError(
            f"{file}: has no placeholder for the summary; expected {{summary}} or another spelling of it in braces"
        )
    if any("\ud800" <= character <= "\udfff" for part in _parts(template) for character in part):
        raise RubricError(
            f"{file}: holds half a character (an escape from \\ud800 to \\udfff); write the character itself"
        )
    titles = tuple(dict.fromkeys(match.strip() for match in FORM_LINE.findall(template.text)))
    answer: Answer = "form" if titles else "tag"
    # A name that is no field of ours can only be a column of the data, and must then be there.
    own_columns = tuple(name for name in template.placeholders if canonical_name(name) is None)
    return tuple(
        Rubric(
            name=slug(title),
            title=title,
            required=("summary", *own_columns),
            optional=tuple(field for field in fields if field != "summary" and field not in own_columns),
            template=template,
            answer=answer,
            digest=_digest(template),
        )
        for title in titles or (own_name.replace("_", " ").title(),)
    )


def _digest(template: Template) -> str:
    return hashlib.sha256("\0".join(_parts(template)).encode()).hexdigest()


def _parts(template: Template) -> tuple[str, ...]:
    return (template.system, *template.includes.values(), template.text)


def slug(title: str) -> str:
    """A title as a rubric's name: `Perspective Misalignment` -> `perspective_misalignment`."""
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    return name if name and not name[0].isdigit() else f"rubric_{name}"
