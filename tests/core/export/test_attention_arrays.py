"""Other programs' attention as explanations: valid arrays are kept to the bit, all else is refused with the reason."""

import random
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from core.cli import commands as cli
from core.export import ExplanationRecord, as_bytes, load_explanation, save_explanation
from core.export.attention_arrays import (
    ArrayError,
    arrays_of_outputs,
    explanation_of_arrays,
    holds_arrays,
    load_arrays,
    save_arrays,
)
from tests.damage import damaged

SOURCE, TARGET = ["\u2581A", "\u2581dog", "</s>"], ["<pad>", "\u0120Ein", "\u0120Hund", "</s>"]


def softmax(*shape: int, causal: bool = False) -> NDArray[np.float32]:
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    if causal:
        scores = scores.masked_fill(torch.ones(shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1).numpy()


@pytest.fixture
def arrays() -> dict[str, NDArray[Any]]:
    return {
        "source_tokens": np.array(SOURCE),
        "target_tokens": np.array(TARGET),
        "encoder_attentions": softmax(2, 4, 3, 3),
        "decoder_attentions": softmax(1, 4, 3, 3, causal=True),
        "cross_attentions": softmax(1, 4, 3, 3),
        "log_probs": np.array([-0.5, -1.0, -0.1], dtype=np.float32),
    }


def test_arrays_become_maps_with_their_tokens(arrays: dict[str, NDArray[Any]], tmp_path: Path) -> None:
    save_arrays(tmp_path / "attention.npz", arrays)
    found = explanation_of_arrays(load_arrays(tmp_path / "attention.npz"))
    assert (found.source, found.target) == ("A dog", "Ein Hund")
    assert found.fed_tokens == ("<pad>", "\u2581Ein", "\u2581Hund")
    assert found.predicted_tokens == ("\u2581Ein", "\u2581Hund", "</s>")
    assert found.log_probs == pytest.approx((-0.5, -1.0, -0.1))
    names = {"encoder_self": "encoder_attentions", "decoder_self": "decoder_attentions", "cross": "cross_attentions"}
    for kind, name in names.items():
        layers = found.maps[kind]
        assert np.array_equal(np.stack([layer.weights.numpy() for layer in layers]), arrays[name])
    assert found.maps["cross"][0].key_tokens == tuple(SOURCE)
    assert found.maps["encoder_self"][1].predicted_tokens is None


@pytest.mark.parametrize("kept", ["encoder_attentions", "decoder_attentions", "cross_attentions"])
def test_one_kind_of_attention_without_probabilities_is_enough_for_every_export(
    arrays: dict[str, NDArray[Any]], kept: str, tmp_path: Path
) -> None:
    some = {name: array for name, array in arrays.items() if name.endswith("_tokens") or name == kept}
    explanation = explanation_of_arrays(some)
    assert explanation.log_probs == ()
    record = ExplanationRecord(explanation)
    assert b"Ein" in as_bytes(record, ".html")
    for suffix in (".npz", ".json"):
        save_explanation(tmp_path / f"out{suffix}", record)
        found = load_explanation(tmp_path / f"out{suffix}").explanation
        assert found.predicted_tokens == explanation.predicted_tokens
        assert found.maps.keys() == explanation.maps.keys()


def test_outputs_of_a_model_are_one_row_of_a_batch_without_its_padding(arrays: dict[str, NDArray[Any]]) -> None:
    def padded(name: str) -> tuple[torch.Tensor, ...]:
        layers = torch.from_numpy(arrays[name])
        batch = torch.zeros(2, *layers.shape[:2], 5, 5)
        batch[1, :, :, :3, :3] = layers
        return tuple(batch.unbind(1))

    names = [name for name in arrays if name.endswith("attentions")]
    outputs = SimpleNamespace(**{name: padded(name) for name in names})
    found = arrays_of_outputs(outputs, SOURCE, TARGET, row=1)
    for name in names:
        assert np.array_equal(found[name], arrays[name])
    assert explanation_of_arrays(found).target == "Ein Hund"


def test_outputs_without_attention_and_those_of_generate_are_refused() -> None:
    with pytest.raises(ArrayError, match=r"have no attention: call the model with output_attentions=True"):
        arrays_of_outputs(SimpleNamespace(cross_attentions=None), SOURCE, TARGET)
    steps = ((torch.ones(1, 4, 1, 3),), (torch.ones(1, 4, 1, 3),))
    with pytest.raises(ArrayError, match=r"^cross_attentions has several tensors for a layer, as the outputs of gen"):
        arrays_of_outputs(SimpleNamespace(cross_attentions=steps), SOURCE, TARGET)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"source_tokens": None}, r"^source_tokens is missing, expected a row of texts$"),
        ({"source_tokens": np.array([1, 2, 3])}, r"^source_tokens is int64 \[3\], expected a row of texts$"),
        ({"source_tokens": np.array([["a"]])}, r"^source_tokens is <U1 \[1, 1\], expected a row of texts$"),
        ({"source_tokens": np.array(["a"] * 1025)}, r"^source_tokens has 1025 tokens, expected 1 to 1024$"),
        ({"source_tokens": np.array(["a" * 513, "b", "c"])}, r"^source_tokens has a token of more than 512 char"),
        (
            {"source_tokens": np.full((3, 1), 0x110000, np.uint32).view("U1").ravel()},
            r"^the array 'source_tokens' has the character 0x110000, the largest one is U\+10FFFF$",
        ),
        ({"target_tokens": np.array(["<s>"])}, r"^target_tokens has 1 tokens, expected the start and at least on"),
        ({"target_tokens": np.array(TARGET[:3])}, r"^decoder_attentions is float32 \[1, 4, 3, 3\], expected floats \["),
        ({"cross_attentions": np.ones((1, 4, 3))}, r"^cross_attentions is float64 \[1, 4, 3\], expected floats \["),
        ({"cross_attentions": np.ones((0, 4, 3, 3))}, r"^cross_attentions is float64 \[0, 4, 3, 3\], expected floats"),
        ({"cross_attentions": np.ones((1, 1, 3, 3), dtype=int)}, r"^cross_attentions is int64 .*, expected floats \["),
        ({"cross_attentions": np.full((1, 1, 3, 3), np.nan)}, r"^cross_attentions has weights that are negative or"),
        ({"cross_attentions": np.full((1, 1, 3, 3), -1.0)}, r"^cross_attentions has weights that are negative or"),
        ({"cross_attentions": np.ones((1, 1, 3, 3))}, r"^cross_attentions has a row whose weights sum to 1 only with"),
        ({"decoder_attentions": softmax(1, 1, 3, 3)}, r"^decoder_attentions has weights on later tokens"),
        ({"log_probs": np.array([0.5, -1.0, -1.0])}, r"^log_probs has values that are positive or not finite"),
        ({"log_probs": np.array([-1.0])}, r"^log_probs is float64 \[1\], expected 3 floats$"),
        ({"hidden_states": np.ones(3)}, r"^the array 'hidden_states' is unknown: expected source_tokens, target_token"),
        (
            {"encoder_attentions": None, "decoder_attentions": None, "cross_attentions": None},
            r"^there is no attention: expected at least one of encoder_attentions, decoder_attentions, cross_attention",
        ),
    ],
)
def test_what_is_no_attention_is_refused(
    arrays: dict[str, NDArray[Any]], changes: dict[str, NDArray[Any] | None], reason: str
) -> None:
    changed = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
    with pytest.raises(ArrayError, match=reason):
        explanation_of_arrays(changed)


def test_hostile_files_are_refused(arrays: dict[str, NDArray[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "attention.npz"
    np.savez(path, source_tokens=np.array(["a", {}], dtype=object))
    with pytest.raises(ArrayError, match=r"^attention\.npz: it is not an NPZ file of arrays, .*damaged: .* type objec"):
        load_arrays(path)
    with monkeypatch.context() as patch, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(2**20))
        archive.close()
        patch.setattr("core.files.npz_arrays.MAX_UNPACKED", 2**19)
        with pytest.raises(
            ArrayError, match=r"^attention\.npz: it has \d+ bytes and would unpack to 1048576, at most 524288 a"
        ):
            load_arrays(path)
    save_arrays(path, arrays)
    data = path.read_bytes()
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        with pytest.raises(ArrayError, match=r"^attention\.npz: it is not an NPZ file of arrays, or is damaged"):
            load_arrays(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_is_refused_with_the_name_of_the_file(arrays: dict[str, NDArray[Any]], compression: int, tmp_path: Path):
    path, refused = tmp_path / "attention.npz", 0
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, array)
    data = path.read_bytes()
    for seed in range(100):
        path.write_bytes(damaged(data, random.Random(seed)))
        holds_arrays(path)
        try:
            explanation_of_arrays(load_arrays(path))
        except ArrayError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("header", [b"{'shape': (3,", b"{" * 500, b"-" * 3000 + b"1", b"{'shape': (10**99,)}"])
def test_a_header_that_is_no_python_is_refused(header: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "attention.npz", "w") as archive:  # the checksums are right
        archive.writestr("source_tokens.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ArrayError, match=r"^attention\.npz: it is not an NPZ file of arrays, or is damaged"):
        load_arrays(tmp_path / "attention.npz")


def test_the_command_writes_an_explanation_and_names_what_is_wrong(
    arrays: dict[str, NDArray[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "attention.npz", tmp_path / "out.json"
    save_arrays(source, arrays)
    assert cli.main(["explain-arrays", str(source), "-o", str(output)]) == 0
    assert "Ein Hund" in capsys.readouterr().out
    found = load_explanation(output)
    assert found.settings == {"arrays": "attention.npz"}
    assert torch.equal(found.explanation.maps["cross"][0].weights, torch.from_numpy(arrays["cross_attentions"][0]))
    source.write_bytes(b"hello")
    assert cli.main(["explain-arrays", str(source), "-o", str(output)]) != 0
    assert "attention.npz: it is not an NPZ file of arrays" in capsys.readouterr().err


def test_the_documented_lines_make_the_arrays_of_any_model_of_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny BART, with learned positions and GELU, which no importer reads."""
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast  # takes seconds

    words = ["<s>", "<pad>", "</s>", "<unk>", "A", "dog", "runs", "."]
    split = Tokenizer(models.WordLevel({word: token_id for token_id, word in enumerate(words)}, unk_token="<unk>"))
    split.pre_tokenizer = pre_tokenizers.Whitespace()
    split.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    PreTrainedTokenizerFast(tokenizer_object=split, pad_token="<pad>", eos_token="</s>").save_pretrained(tmp_path)
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2)
    widths = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 32}
    torch.manual_seed(0)
    BartForConditionalGeneration(BartConfig(vocab_size=len(words), **sizes, **widths)).save_pretrained(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    code = next(block.split("```")[0] for block in text.split("```python")[1:] if "AutoTokenizer" in block)
    names: dict[str, Any] = {"name": str(tmp_path)}
    exec(code, names)
    found = explanation_of_arrays(load_arrays(tmp_path / "attention.npz"))
    assert found.source_tokens == ("<s>", *(f"\u2581{word}" for word in ("A", "dog", "runs", ".")), "</s>")
    assert found.source == "A dog runs ."
    assert found.fed_tokens[0] == "</s>", "BART's start"
    for kind, outputs in (("encoder_self", "encoder_attentions"), ("cross", "cross_attentions")):
        expected = [layer[0] for layer in names["outputs"][outputs]]
        assert [torch.equal(own.weights, layer) for own, layer in zip(found.maps[kind], expected, strict=True)] == [
            True
        ] * 2


def test_the_number_of_weights_has_a_bound(arrays: dict[str, NDArray[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.export.attention_arrays.MAX_UNPACKED", 4 * 100)
    with pytest.raises(ArrayError, match=r"^there are 144 attention weights, at most 100 are read: give fewer layers"):
        explanation_of_arrays(arrays)
