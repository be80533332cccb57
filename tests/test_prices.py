"""Prices: dated tables, a person's own over ours, errors that name the place, and nothing counted twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jurybox.errors import SetupError
from jurybox.judges import Settings, make_judge
from jurybox.judges.prices import Price, context_of, price_of
from jurybox.types import Reply

OPENAI, ANTHROPIC = "api.openai.com", "api.anthropic.com"
MILLION = Reply("", tokens_in=1_000_000, tokens_out=1_000_000, tokens_cached=500_000)


def own(text: str, tmp_path: Path) -> Path:
    path = tmp_path / "config" / "jurybox" / "prices.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_our_tables_are_dated_and_say_what_is_held() -> None:
    price = price_of("openai", OPENAI, "gpt-4o-mini")
    assert price == Price(0.15, 0.075, 0.60, None, price.origin if price else "")
    assert price is not None
    assert re.fullmatch(r"prices of 20\d\d-\d\d-\d\d", price.origin)
    assert context_of(OPENAI, "gpt-4o-mini-2024-07-18") == 128_000
    assert context_of("127.0.0.1", "gpt-4o-mini") is None


def test_writing_to_the_cache_costs_more_where_the_table_says_so() -> None:
    price = price_of("anthropic", ANTHROPIC, "claude-haiku-4-5-20251001")
    assert price is not None
    assert (price.tokens_in, price.tokens_cached, price.tokens_out, price.tokens_written) == (1.0, 0.1, 5.0, 1.25)
    assert price.of(MILLION) == pytest.approx(0.5 + 0.05 + 5.0)
    assert price.of(MILLION, written=200_000) == pytest.approx(0.3 + 0.05 + 0.25 + 5.0)
    assert Price(1.0, 0.1, 5.0).of(MILLION, written=200_000) == pytest.approx(0.5 + 0.05 + 5.0)


def test_a_persons_own_table_comes_first_for_any_host(tmp_path: Path) -> None:
    own(
        f"""[mine]
host = "my.server"
date = "2026-11-01"
[mine.models]
"judge-1" = [0.1, 0.05, 0.4]
"judge-2" = {{ price = [1, 1, 2, 3], context = 9000 }}
"judge-3" = {{ context = 7000 }}

[better]
host = "{OPENAI}"
[better.models]
"gpt-4o" = [1.0, 0.5, 2.0]
""",
        tmp_path,
    )
    assert price_of("openai", "my.server", "judge-1") == Price(0.1, 0.05, 0.4, None, "your prices of 2026-11-01")
    assert price_of("openai", "my.server", "judge-2") == Price(1, 1, 2, 3, "your prices of 2026-11-01")
    assert (price_of("openai", "my.server", "judge-3"), context_of("my.server", "judge-3")) == (None, 7000)
    assert context_of("my.server", "judge-2") == 9000
    assert price_of("openai", OPENAI, "gpt-4o-2024-08-06") == Price(1.0, 0.5, 2.0, None, "your prices")
    ours = price_of("openai", OPENAI, "gpt-4o-mini")
    assert ours is not None
    assert ours.tokens_in == 0.15, "what it does not name stays ours"


def test_a_judge_uses_it_and_says_where_its_price_is_from(tmp_path: Path) -> None:
    own('[mine]\nhost = "127.0.0.1"\ndate = "2026-11-01"\n[mine.models]\n"judge-1" = [2, 1, 4]\n', tmp_path)
    judge = make_judge("openai/judge-1", Settings(base_url="http://127.0.0.1:9/v1"))
    assert judge.cost(MILLION) == pytest.approx(1.0 + 0.5 + 4.0)
    assert judge.prices == "your prices of 2026-11-01"
    given = make_judge("openai/judge-1", Settings(base_url="http://127.0.0.1:9/v1", price=(1.0, 1.0)))
    assert given.cost(MILLION) == pytest.approx(2.0)
    assert given.prices == "--price"


def test_the_variable_names_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own('[mine]\nhost = "h"\n[mine.models]\n"m" = [1, 1, 1]\n', tmp_path)
    other = tmp_path / "other.toml"
    other.write_text('[mine]\nhost = "h"\n[mine.models]\n"m" = [2, 2, 2]\n')
    monkeypatch.setenv("JURYBOX_PRICES", str(other))
    assert price_of("openai", "h", "m") == Price(2, 2, 2, None, "your prices")
    other.unlink()
    with pytest.raises(SetupError, match=r"JURYBOX_PRICES: there is no file .*other\.toml"):
        price_of("openai", "h", "m")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mine]\nhost = h\n", r"prices\.toml: cannot be read as a table of prices: .*line 2"),
        ("mine = 3", r"prices\.toml, \[mine\]: should be a section that names its host"),
        ('[mine]\nhost = "h"\n', r"\[mine\]: has no \[….models\]"),
        ('[mine]\nhost = "h"\nprice = 1\n[mine.models]\n', r"\[mine\]: 'price' is not known here"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = [1, 2]\n', r"\[mine\], model 'm': should be \[in, cached, out\]"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = [1, 2, "3"]\n', r"model 'm': should be"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = [1, 2, -3]\n', r"model 'm': should be"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = 3\n', r"model 'm': should be"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = { price = [1, 2, 3], context = "8k" }\n', r"model 'm': should be"),
        ('[mine]\nhost = "h"\n[mine.models]\n"m" = { prices = [1, 2, 3] }\n', r"model 'm': should be"),
    ],
)
def test_a_wrong_table_is_named_with_its_entry(tmp_path: Path, text: str, said: str) -> None:
    own(text, tmp_path)
    with pytest.raises(SetupError, match=said):
        price_of("openai", "h", "m")
