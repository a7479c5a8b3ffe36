"""NPZ and JSON files are read back unchanged; other files are refused with the reason."""

import io
import json
import random
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.export import ExplanationRecord, as_bytes, load_explanation, save_explanation
from core.export.record import AXES
from core.translator import Translator
from tests.damage import damaged


@pytest.mark.parametrize("suffix", [".npz", ".json", ".JSON"])
def test_a_round_trip_changes_nothing(record: ExplanationRecord, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    save_explanation(path, record)
    found = load_explanation(path)
    assert (found.model, found.settings, found.versions) == (record.model, record.settings, record.versions)
    assert replace(found.explanation, maps={}) == replace(record.explanation, maps={})
    assert found.explanation.maps.keys() == record.explanation.maps.keys()
    for kind, layers in record.explanation.maps.items():
        for mine, theirs in zip(layers, found.explanation.maps[kind], strict=True):
            assert torch.equal(mine.weights, theirs.weights)  # to the bit
            # the others one by one: to Python 3.13 no tensor is equal to itself
            for name in {field.name for field in fields(mine)} - {"weights"}:
                assert getattr(mine, name) == getattr(theirs, name)


def test_json_is_the_documented_description(record: ExplanationRecord) -> None:
    found = json.loads(as_bytes(record, ".json"))
    explanation = record.explanation
    assert found["format"] == "headlight-explanation"
    assert found["fed_tokens"][0] == "<s>"
    assert found["model"]["config"]["num_heads"] == 4
    assert found["model"]["training"]["loss"] is None  # NaN is no JSON
    assert found["settings"] == {"target": "given"}
    assert set(found["versions"]) == {"headlight", "torch", "python"}
    assert [len(found[name]) for name in ("log_probs", "alternatives", "predicted_tokens")] == [
        len(explanation.log_probs)
    ] * 3
    cross = found["attention"]["cross"]
    assert cross["axes"] == AXES
    assert cross["query_tokens"] == list(explanation.fed_tokens)
    assert cross["key_tokens"] == list(explanation.source_tokens)
    head = cross["weights"][1][3]  # the second layer's fourth head: counted from 0
    np.testing.assert_array_equal(np.array(head, dtype=np.float32), explanation.maps["cross"][1].weights[3].numpy())
    assert found["attention"]["encoder_self"]["predicted_tokens"] is None


def test_npz_is_read_by_numpy_alone(record: ExplanationRecord) -> None:
    with np.load(io.BytesIO(as_bytes(record, ".npz")), allow_pickle=False) as arrays:
        assert set(arrays) == {"description", "encoder_self", "decoder_self", "cross"}
        assert arrays["cross"].dtype == np.float32
        facts = json.loads(str(arrays["description"]))
        axes = facts["attention"]["cross"]
        assert arrays["cross"].shape == (2, 4, len(axes["query_tokens"]), len(axes["key_tokens"]))
        assert "weights" not in axes


def test_another_suffix_is_refused(record: ExplanationRecord) -> None:
    with pytest.raises(ValueError, match=r"unknown suffix '.pdf': the file name must end with one of .html, .npz, .js"):
        as_bytes(record, ".pdf")


def test_a_file_that_is_no_explanation_is_refused_with_its_name_and_the_reason(
    record: ExplanationRecord, tmp_path: Path
) -> None:
    npz = io.BytesIO()
    np.savez(npz, weights=np.zeros(3))
    whole = json.loads(as_bytes(record, ".json"))

    def changed(**changes: Any) -> bytes:
        return json.dumps(whole | changes).encode()

    without = {name: value for name, value in whole.items() if name != "target"}
    pickled = io.BytesIO()
    np.savez(pickled, description=np.array([{}], dtype=object))
    for content, said in (
        (b"", "neither NPZ nor JSON"),
        (b"[]", "not an exported explanation"),
        (b'{"format": "other"}', "not an exported explanation"),
        (npz.getvalue(), "not an exported explanation: it has no description"),
        (pickled.getvalue(), "damaged"),
        (as_bytes(record, ".npz")[:500], "damaged"),
        (changed(format_version=9), "format_version is 9, this Headlight reads 1"),
        (changed(log_probs=[0.0]), "expected equal numbers"),
        (changed(attention={"cross": {}}), "its weights cannot be read"),
        (changed(attention={"cross": {"weights": [[1.0]]}}), "cross has 2 axes, expected 4: layer, head, query, key"),
        (changed(attention=3), "its weights cannot be read"),
        (json.dumps(without).encode(), "lacks 'target'"),
    ):
        path = tmp_path / "given.json"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=said) as refusal:
            load_explanation(path)
        assert str(refusal.value).startswith("given.json: ")


def refusal(path: Path) -> str:
    """Message of the refusal of a file, "" if it is read."""
    try:
        load_explanation(path)
    except ValueError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def short_record(tiny_checkpoint: Path) -> ExplanationRecord:
    """Small files, which are read often."""
    return ExplanationRecord(Translator.from_checkpoint(tiny_checkpoint).explain("A dog.", "Ein Hund."))


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_damage_is_refused_with_the_name_of_the_file(short_record: ExplanationRecord, suffix: str, tmp_path: Path):
    path, data, refusals = tmp_path / f"given{suffix}", as_bytes(short_record, suffix), list[str]()
    for seed in range(100):
        path.write_bytes(damaged(data, random.Random(seed), stop=5000 if suffix == ".json" else None))
        refusals += filter(None, [refusal(path)])
    assert len(refusals) > 50
    assert all(each.startswith(f"given{suffix}: ") for each in refusals)


FIELDS = ("model", "source_tokens", "predicted_tokens", "log_probs", "alternatives", "attention")


@pytest.mark.parametrize("name", FIELDS)
def test_values_of_other_types_are_refused_or_read(short_record: ExplanationRecord, name: str, tmp_path: Path) -> None:
    whole = json.loads(as_bytes(short_record, ".json"))
    length = len(whole["predicted_tokens"])
    rest = json.dumps({key: value for key, value in whole.items() if key != name}).removesuffix("}")
    for value in (None, 1, "text", [], {}, [1] * length, [[1]] * length, [[["a", "b"]]] * length, [10**400] * length):
        (tmp_path / "given.json").write_text(f"{rest}, {json.dumps(name)}: {json.dumps(value)}}}")
        message = refusal(tmp_path / "given.json")
        assert not message or message.startswith("given.json: ")


@pytest.mark.parametrize("name", ["source_tokens", "fed_tokens", "predicted_tokens"])
def test_tokens_that_are_no_texts_are_refused(short_record: ExplanationRecord, name: str, tmp_path: Path) -> None:
    whole = json.loads(as_bytes(short_record, ".json"))
    (tmp_path / "given.json").write_text(json.dumps(whole | {name: [1] * len(whole[name])}))
    assert refusal(tmp_path / "given.json").endswith("is damaged: expected a token as a text, found 1")


def test_an_archive_that_would_fill_the_memory_is_refused(
    record: ExplanationRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.files.npz_arrays.MAX_UNPACKED", 1000)
    (tmp_path / "given.npz").write_bytes(as_bytes(record, ".npz"))
    with pytest.raises(ValueError, match=r"^given\.npz: it has \d+ bytes and would unpack to \d+, at most 1000 are"):
        load_explanation(tmp_path / "given.npz")


def test_facts_of_the_model_are_its_configuration(record: ExplanationRecord, tiny_model: torch.nn.Module) -> None:
    lists = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(tiny_model.config).items()
    }
    assert record.model["config"] == lists  # type: ignore[call-overload]
    assert record.model["parameters"] == sum(parameter.numel() for parameter in tiny_model.parameters())


def test_tokens_of_a_description_take_no_memory_beyond_its_weights(short_record: ExplanationRecord, tmp_path: Path):
    """A mask of so many tokens would have ten billion elements."""
    whole = json.loads(as_bytes(short_record, ".json"))
    whole["model"]["config"] = {"neighbourhood": 4}
    whole["attention"]["encoder_self"]["key_tokens"] = ["a"] * 10**5
    (tmp_path / "given.json").write_text(json.dumps(whole))
    assert "queries" in refusal(tmp_path / "given.json")
    assert refusal(tmp_path / "given.json").endswith("100000 tokens: expected as many")
