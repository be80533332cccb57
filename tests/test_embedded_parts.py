"""The parts of the embedded judge that need no weights: splitting, reading, flags, scale, number formats."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jurybox.errors import JudgeRejection
from jurybox.judges.embedded import recipes
from jurybox.judges.embedded.attention import attend, rotate, rotation
from jurybox.judges.embedded.calibration import Calibration, load_calibration
from jurybox.judges.embedded.contrast import RIVALS
from jurybox.judges.embedded.embedding import _read_safetensors
from jurybox.judges.embedded.gguf import GGUFError, GGUFFile
from jurybox.judges.embedded.language import _batches, _glue
from jurybox.judges.embedded.products import Keeper, Plain, Tiles, Widener, keeper, narrow, widen
from jurybox.judges.embedded.reasons import reason
from jurybox.judges.embedded.recipes import RECIPES, Recipe
from jurybox.judges.embedded.sentences import sentences, words
from jurybox.judges.embedded.sentiment import polarity
from jurybox.judges.embedded.source import MOST_PASSAGES, prompt, read_source
from jurybox.judges.embedded.statements import absent, vocabulary
from jurybox.rubrics import builtin


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Nice boots. They run small!", 2),
        ("bought it for Dr. Smith, e.g. for walks. fine", 2),
        ("great!!!! love it...  ", 2),
        ("one line\n- a bullet\n* another", 3),
        ("", 0),
        ("!!! ...", 0),
    ],
)
def test_sentences_are_found_with_true_offsets(text: str, count: int) -> None:
    spans = sentences(text)
    assert len(spans) == count
    assert all(text[span.start : span.end] == span.text for span in spans)


def test_a_run_on_is_cut_and_loses_no_word() -> None:
    text = "so " * 100_000 + "long"
    assert words(" ".join(span.text for span in sentences(text))) == words(text)
    assert max(len(words(span.text)) for span in sentences(text)) <= 60


def test_negation_turns_polarity() -> None:
    assert polarity("It is comfortable.") > 0 > polarity("It is not comfortable.")
    assert polarity("The box is blue.") == 0


def test_every_source_shape_is_read() -> None:
    source = read_source(
        {
            "product_title": "Kettle",
            "key_features": ["Fast"],
            "specifications": [{"key": "General", "values": [{"key": "Weight", "value": "1 kg"}]}],
            "reviews": ["Too loud.", {"text": "Boils fast. I like it.", "rating": 5}],
            "average_rating": 4.1,
        }
    )
    assert source.voice_field == "reviews"
    assert "Weight: 1 kg" in source.text
    assert "- Boils fast. I like it." in prompt(source, source.passages)
    assert [p.field for p in read_source({"specifications": {"Colour": "red"}}).passages] == ["specifications"]
    assert read_source({}).passages == ()


def test_a_long_source_is_read_evenly_and_says_so() -> None:
    source = read_source({"reviews": ["One thing. Another thing. A third one. A last word."] * 400})
    assert source.reading.passages == 1600
    assert source.reading.passages_read == len(source.passages) == MOST_PASSAGES
    assert {p.index for p in source.passages} == set(range(400))


def test_numbers_and_names_absent_from_the_source_are_flagged() -> None:
    source = vocabulary("halvern: lasts 9 hours; 2000; five")
    flags = absent("It lasts 12 hours, says Halvern, and costs 2,000 or 5.", source)
    assert [(flag.kind, flag.text) for flag in flags] == [("number absent", "12")]


def test_rivals_are_mutual() -> None:
    assert all(word in RIVALS[rival] for word, rivals in RIVALS.items() for rival in rivals)


def test_the_map_is_monotone_bounded_and_none_without_evidence() -> None:
    calibration = Calibration({"a": (0.0, 1.0)}, {"r": (0.5, 1.0)}, {})
    recipe = Recipe({"a": 1.0}, "r")
    scores = [calibration.score("r", recipe, {"a": x}) for x in (-9.0, -1.0, 0.0, 1.0, 9.0)]
    assert all(score is not None and 1 <= score <= 5 for score in scores)
    assert scores == sorted(scores, key=lambda s: s or 0)
    assert calibration.score("r", recipe, {"a": None}) is None


def test_likelihood_beyond_the_usual_counts_less_but_keeps_its_order() -> None:
    """A copy is no better written than good prose, and dense prose is not as bad as a small model finds it."""
    calibration = Calibration({"glue": (0.0, 1.0), "coverage": (0.0, 1.0)}, {}, {})
    marks = [calibration.standardised({"glue": x})["glue"] for x in (-9.0, -4.0, -2.0, -1.0, 0.5, 1.0, 2.0, 3.0, 9.0)]
    assert marks == [-3.0, -2.5, -1.5, -1.0, 0.5, 1.0, 1.25, 1.5, 1.5]
    assert calibration.standardised({"coverage": 2.0}) == {"coverage": 2.0}


def test_the_words_between_are_told_from_the_words_about() -> None:
    text = " The kettle whistles."
    offsets = [(0, 4), (4, 8), (8, 11), (11, 20), (20, 21)]
    frequency = np.asarray([-3.0, -9.0, -9.0, -11.0, -3.0], np.float32)
    assert _glue(text, offsets, frequency).tolist() == [True, False, True, False, True]


def test_every_feature_of_a_recipe_is_calibrated_and_every_rubric_has_a_map() -> None:
    found = load_calibration(Path(recipes.__file__).with_name("calibration.json"))
    assert set(found.maps) == set(RECIPES)
    assert {name for recipe in RECIPES.values() for name in recipe.features} <= set(found.moments)
    assert all(spread > 0 for _, spread in found.moments.values())
    assert all(slope > 0 for _, slope in found.maps.values()), "better evidence never lowers a score"


def test_every_built_in_rubric_has_a_recipe() -> None:
    assert set(builtin()) == set(RECIPES)


def test_bfloat16_keeps_three_digits() -> None:
    values = np.random.default_rng(0).normal(size=(7, 64)).astype(np.float32)
    assert np.allclose(widen(narrow(values)), values, rtol=2**-8)
    assert np.array_equal(Widener(1000)(narrow(values)), widen(narrow(values)))


def _ways() -> list[Keeper]:
    """Every way to multiply that this machine has; tiles only where NumKong and the processor have them."""
    here = keeper(10**6)
    return [Plain(10**6)] if isinstance(here, Plain) else [Plain(10**6), here]


@pytest.mark.parametrize("way", _ways(), ids=lambda way: type(way).__name__)
@pytest.mark.parametrize("count", [1, 47, 81, 170])
def test_every_way_to_multiply_is_as_exact_as_float32(way: Keeper, count: int) -> None:
    rng = np.random.default_rng(count)
    matrix = rng.normal(size=(96, 576)).astype(np.float32)
    states = rng.normal(size=(count, 2 * 576)).astype(np.float32)[:, :576]  # rows that do not touch, as gates are
    for product, exact in (
        (way.halves(narrow(matrix)), widen(narrow(matrix))),
        (way.floats(matrix), matrix),
    ):
        truth = states.astype(np.float64) @ exact.T.astype(np.float64)
        assert np.abs(product(states) - truth).max() < 2**-16 * 576**0.5 * 10


def test_a_state_rounded_to_one_bfloat16_would_not_be_exact_enough() -> None:
    """The bound of the test above is sharp enough to notice a lost half."""
    rng = np.random.default_rng(0)
    matrix, states = (rng.normal(size=(96, 576)).astype(np.float32) for _ in range(2))
    truth = states @ widen(narrow(matrix)).T
    assert np.abs(widen(narrow(states)) @ widen(narrow(matrix)).T - truth).max() > 10 * 2**-16 * 576**0.5 * 10


def test_tiles_are_taken_where_the_library_names_them() -> None:
    numkong = pytest.importorskip("numkong")
    tiles = any(numkong.get_capabilities().get(name) for name in ("sapphireamx", "graniteamx", "diamond"))
    assert isinstance(keeper(), Tiles if tiles else Plain)


class _Losing:
    """NumKong on a machine that loses a tile in the first `times` products."""

    def __init__(self, numkong: Any, times: int) -> None:
        self._numkong, self._times = numkong, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numkong, name)

    def dots_packed(self, states: Any, packed: Any) -> Any:
        found = np.array(self._numkong.dots_packed(states, packed))
        self._times -= 1
        if self._times >= 0:
            found[:16, 32:48] = 0
        return found


def test_a_product_that_lost_a_tile_is_made_again_and_never_believed() -> None:
    numkong = pytest.importorskip("numkong")
    rng = np.random.default_rng(0)
    matrix, states = rng.normal(size=(960, 576)).astype(np.float32), rng.normal(size=(70, 576)).astype(np.float32)
    truth = states @ widen(narrow(matrix)).T
    assert np.allclose(Tiles(_Losing(numkong, 2), matrix.size).halves(narrow(matrix))(states), truth, atol=1e-3)
    with pytest.raises(JudgeRejection, match="pip uninstall numkong"):
        Tiles(_Losing(numkong, 99), matrix.size).halves(narrow(matrix))(states)


def test_attention_equals_its_definition() -> None:
    """Against a softmax written out, with keys so large that a sum without care would overflow or vanish."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(6, 5, 8)).astype(np.float32)
    keys, values = (rng.normal(size=(2, 12, 8)).astype(np.float32) for _ in range(2))
    keys += 40 * rng.normal(size=(2, 1, 8)).astype(np.float32)
    shifted = keys - keys[:, :1]
    past, k, v = (shifted[:, :7], values[:, :7]), shifted[:, 7:], values[:, 7:]
    found = attend(q, k, v, np.asarray([0, 3, 5]), past).reshape(5, 6, 8)
    for token, start in ((0, 0), (2, 0), (3, 3), (4, 3)):
        seen = [*range(7), *range(7 + start, 8 + token)]
        for head in range(6):
            logits = keys[head // 3, seen].astype(np.float64) @ q[head, token] / 8**0.5
            share = np.exp(logits - logits.max())
            truth = share @ values[head // 3, seen] / share.sum()
            assert found[token, head] == pytest.approx(truth, abs=2e-4)


def test_rotation_turns_pairs_side_by_side() -> None:
    """Su et al. 2021, equation 34: each pair is turned by position times base to the power -i / half."""
    heads = np.arange(16, dtype=np.float32).reshape(1, 2, 8)
    turned = heads.copy()
    rotate(turned, rotation(np.asarray([0, 3]), 8, 100.0))
    assert np.array_equal(turned[0, 0], heads[0, 0])
    for i in range(4):
        angle = 3 * 100.0 ** (-i / 4)
        first, second = heads[0, 1, 2 * i], heads[0, 1, 2 * i + 1]
        assert turned[0, 1, 2 * i] == pytest.approx(first * np.cos(angle) - second * np.sin(angle), abs=1e-5)
        assert turned[0, 1, 2 * i + 1] == pytest.approx(first * np.sin(angle) + second * np.cos(angle), abs=1e-5)


def test_q8_0_is_unpacked_and_other_types_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    block = struct.pack("<e", 0.5) + bytes(range(32))
    path.write_bytes(_gguf(8, block))
    assert np.array_equal(GGUFFile(path).tensor("t"), np.arange(32, dtype=np.float32)[None] * 0.5)
    path.write_bytes(_gguf(14, block))
    with pytest.raises(GGUFError, match="type 14"):
        GGUFFile(path)
    path.write_bytes(b"nope" * 10)
    with pytest.raises(GGUFError, match="not a GGUF"):
        GGUFFile(path)


def test_the_encoders_word_table_stays_in_its_file_and_gives_the_same_rows(tmp_path: Path) -> None:
    table, bias = np.arange(12, dtype="<f4").reshape(4, 3), np.full(2, 0.5, "<f4")
    header = {
        "__metadata__": {"format": "pt"},
        "embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]},
        "bert.pooler.dense.bias": {"dtype": "F32", "shape": [2], "data_offsets": [48, 56]},
    }
    head = json.dumps(header).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + table.tobytes() + bias.tobytes())
    tensors, rows = _read_safetensors(path)
    assert list(tensors) == ["pooler.dense.bias"]
    assert tensors["pooler.dense.bias"].tolist() == [0.5, 0.5]
    tokens = np.asarray([[3, 0], [3, 2]], np.int64)
    assert np.array_equal(rows(tokens), table[tokens])


def test_summaries_go_together_up_to_a_number_of_tokens() -> None:
    assert list(_batches([])) == []
    assert list(_batches([400, 300, 100, 1200, 10])) == [[0, 1], [2], [3], [4]]


def test_a_reason_needs_no_evidence() -> None:
    assert all(isinstance(reason({}, rubric), str) for rubric in RECIPES)


def _gguf(kind: int, data: bytes) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
    entry = struct.pack("<Q", 1) + b"t" + struct.pack("<IQQIQ", 2, 32, 1, kind, 0)
    body = head + entry
    return body + b"\0" * (-len(body) % 32) + data
