"""Models written for transformers and CTranslate2, which open them and are the oracles."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.cli import commands as cli
from core.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from core.formats.ctranslate2_folder import write_ctranslate2
from core.formats.importing import import_checkpoint
from core.formats.marian_folder import marian_archive, marian_files, write_marian
from core.formats.output_folder import new_folder, storage_type
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.dictionary_tokenizer import DictionaryTokenizer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.formats.ctranslate2_models import random_checkpoint
from tests.core.formats.marian_models import Pairs, short_pairs, without_padding, write_model
from tests.core.formats.small_models import LEARNED
from tests.lazy_imports import transformers

QUOTED = "“Where,” she said, ‘is the nearest station…’"
HALVES = {"position_order": "halves", "num_encoder_layers": 3, "num_decoder_layers": 1, "num_decoder_heads": 2}
NO_BIASES = {"attention_bias": False, "feed_forward_bias": False, "output_bias": True}
SHAPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "halves, other shapes": {**HALVES, "decoder_d_ff": 40, "activation": "swish", "scale_embedding": False},
    "two matrices, no biases": {**NO_BIASES, "tied": "inputs", "activation": "gelu"},
    "target's matrix": {"tied": "target"},
    "untied": {"tied": "none"},
}


def batches(
    tokenizer: SentencePieceTokenizer, pairs: Pairs, config: TransformerConfig
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Sources and targets as ids, each a batch of one."""
    for source, target in pairs:
        yield (
            torch.tensor([[*tokenizer.encode(source), config.eos_id]]),
            torch.tensor([[config.bos_id, *tokenizer.encode(target)]]),
        )


@pytest.fixture(autouse=True)
def _few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers computes the table of a Marian model number by number in Python."""
    monkeypatch.setattr("core.formats.output_folder.MAX_POSITIONS", 128)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs, tokenizer: SentencePieceTokenizer) -> Path:
    """A checkpoint of Headlight that has learned short sentences by heart: neither ties nor stopping rules decide."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, dropout=0.0, num_encoder_layers=1)
        model = Transformer(config)
        pairs = short_pairs(parallel_text)[:LEARNED]
        translator = Translator(model, tokenizer)
        source = translator.batch([[*tokenizer.encode(text), config.eos_id] for text, _ in pairs])
        target = translator.batch([[config.bos_id, *tokenizer.encode(text), config.eos_id] for _, text in pairs])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, fused=True)
        for _ in range(40):
            logits = model(source, target[:, :-1]).flatten(0, 1)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=config.pad_id).backward()
            optimizer.step()
    path = tmp_path_factory.mktemp("outward") / "trained.safetensors"
    save_checkpoint(path, model, tokenizer)
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_transformers_and_our_import_compute_the_same_logits(
    shape: str, tokenizer: SentencePieceTokenizer, parallel_text: Pairs, tmp_path: Path
) -> None:
    checkpoint = random_checkpoint(tokenizer, **SHAPES[shape])
    write_marian(checkpoint, tmp_path / "out")
    theirs: Any = transformers.MarianMTModel.from_pretrained(tmp_path / "out").eval()
    again = import_checkpoint(tmp_path / "out").model
    for source, target in batches(tokenizer, parallel_text[:4], checkpoint.config):
        with torch.inference_mode():
            expected = checkpoint.model(source, target)
            found = theirs(input_ids=source, decoder_input_ids=target).logits
        assert expected.std() > 0.5, "the logits differ from each other"
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
        torch.testing.assert_close(again(source, target), expected, rtol=0, atol=1e-4)


def test_transformers_and_our_import_give_the_same_translations(trained: Path, tmp_path: Path, parallel_text: Pairs):
    """Beam 4, without a length penalty, whose formulas differ."""
    cli.main(["convert", str(trained), str(tmp_path / "out"), "--to", "marian"])
    model: Any = transformers.MarianMTModel.from_pretrained(tmp_path / "out")
    reference, ours = (
        transformers.MarianTokenizer.from_pretrained(tmp_path / "out"),
        Translator.from_checkpoint(trained),
    )
    imported = import_checkpoint(tmp_path / "out")
    again = Translator(imported.model, imported.tokenizer)
    texts = [*(text for text, _ in short_pairs(parallel_text)[:LEARNED]), QUOTED]
    with torch.inference_mode():
        generated = model.generate(**reference(texts, return_tensors="pt", padding=True), length_penalty=0.0).tolist()
    translations, same = (each.translate_batch(texts, length_penalty=0.0) for each in (ours, again))
    for row, expected, found in zip(generated, translations, same, strict=True):
        ids = without_padding(row, imported.config.eos_id)
        assert [imported.config.bos_id, *expected.hypotheses[0].token_ids] == ids
        assert reference.decode(ids, skip_special_tokens=True) == expected.text
        assert found.text == expected.text


def test_ctranslate2_gives_the_same_translations(trained: Path, tmp_path: Path, parallel_text: Pairs) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    cli.main(["convert", str(trained), str(tmp_path / "out"), "--to", "ctranslate2"])
    peer = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    ours = Translator.from_checkpoint(trained)
    texts = [text for text, _ in short_pairs(parallel_text)[:LEARNED]]
    tokens = [[*ours.codec.source_pieces(ours.tokenizer.encode(text)), "</s>"] for text in texts]
    options: dict[str, Any] = {"beam_size": 4, "length_penalty": 0, "suppress_sequences": [["<pad>"], ["<s>"]]}
    options["return_scores"] = True
    others = 0
    translations = ours.translate_batch(texts, length_penalty=0.0)
    for translation, found in zip(translations, peer.translate_batch(tokens, **options), strict=True):
        best = translation.hypotheses[0]
        if found.hypotheses[0] != list(best.tokens[:-1]):  # a search of ours ends with the fourth hypothesis
            assert found.scores[0] > best.score
            others += 1
    assert others <= len(texts) // 5


@pytest.mark.parametrize(
    "changes",
    [
        SHAPES["halves, other shapes"],
        SHAPES["untied"] | {"output_bias": True, "activation": "gelu"},
        {"norm": "pre", "final_norm": True, "embedding_norm": True, "norm_eps": 1e-3},
        {"position_order": "halves", "position_exponent": "i/(n-1)", "position_offset": 2, "attention_bias": False},
        {"positions": "learned"},
    ],
    ids=lambda changes: "-".join(changes)[:40],
)
def test_ctranslate2_gives_the_same_log_probabilities(
    changes: dict[str, Any], tokenizer: SentencePieceTokenizer, tmp_path: Path, parallel_text: Pairs
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    checkpoint = random_checkpoint(tokenizer, **changes)
    write_ctranslate2(checkpoint, tmp_path / "out")
    peer = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    expected = Translator(checkpoint.model, tokenizer).score(*parallel_text[1]).token_log_probs
    pieces = [tokenizer.pieces(tokenizer.encode(text)) for text in parallel_text[1]]
    (found,) = peer.score_batch([[*pieces[0], "</s>"]], [pieces[1]])
    assert found.log_probs == pytest.approx(expected, abs=1e-3)


def test_an_imported_model_goes_out_as_it_came_in(tmp_path: Path, parallel_text: Pairs) -> None:
    options = {"num_beams": 6, "length_penalty": 0.8}
    write_model(tmp_path / "in", parallel_text, codes=[">>deu<<"], two=True, dtype=torch.float16, generation=options)
    write_marian(import_checkpoint(tmp_path / "in"), tmp_path / "out")
    first, second = (
        transformers.MarianMTModel.from_pretrained(tmp_path / name, dtype=torch.float32) for name in ("in", "out")
    )
    tokenizers = [transformers.MarianTokenizer.from_pretrained(tmp_path / name) for name in ("in", "out")]
    assert (tmp_path / "out/model.safetensors").stat().st_size < 1.1 * (
        tmp_path / "in/model.safetensors"
    ).stat().st_size
    for source, target in parallel_text[:3]:
        ids = [tokenizer(f">>deu<< {source}").input_ids for tokenizer in tokenizers]
        assert ids[0] == ids[1]
        labels = tokenizers[0](text_target=target).input_ids
        batch = {"input_ids": torch.tensor([ids[0]]), "decoder_input_ids": torch.tensor([labels])}
        with torch.inference_mode():
            torch.testing.assert_close(second(**batch).logits, first(**batch).logits, rtol=0, atol=1e-4)
    settings = [json.loads((tmp_path / name / "generation_config.json").read_text()) for name in ("in", "out")]
    for name in ("num_beams", "length_penalty", "max_length", "bad_words_ids", "decoder_start_token_id"):
        assert settings[1][name] == settings[0][name]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"neighbourhood": 3}, "attention: 3 nearest positions, expected all positions"),
        ({"positions": "learned"}, "positions: learned, expected sinusoidal"),
        ({"position_exponent": "i/(n-1)"}, r"exponent of the positions: i/\(n-1\), expected i/n"),
        ({"position_offset": 2}, "first position: 2, expected 0"),
        ({"norm": "pre", "final_norm": True}, "expected after each residual connection; norm after the last layer: ye"),
        ({"norm_eps": 1e-9}, "epsilon of the norms: 1e-09, expected 1e-05"),
        ({"embedding_norm": True}, "norm on the embeddings: yes, expected no"),
        ({"d_k": 12}, "the encoder's 4 heads have d_k 12 and d_v 8, expected d_model / heads = 8"),
        ({"source_prefix": (5,)}, "tokens before every source: 5, expected none"),
        ({"source_end": False}, "</s> after a source: no, expected yes"),
        ({"patch_size": 8}, "source: patches of an image, expected tokens"),
    ],
)
def test_what_marians_layout_does_not_support_is_refused(
    changes: dict[str, Any], reason: str, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"Hugging Face's layout of Marian does not support this model: .*{reason}"):
        write_marian(random_checkpoint(tokenizer, **changes), tmp_path / "out")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"norm": "pre"}, "norm after the last layer: no, expected yes"),
        ({"forced_first_id": 7}, "first token: always 7, expected free"),
        ({"d_v": 12}, "d_v 12"),
    ],
)
def test_what_ctranslate2_does_not_support_is_refused(
    changes: dict[str, Any], reason: str, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"CTranslate2's format does not support this model: .*{reason}"):
        write_ctranslate2(random_checkpoint(tokenizer, **changes), tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_a_missing_ctranslate2_is_named(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2.converters.converter", None)
    assert cli.main(["convert", str(tiny_checkpoint), str(tmp_path / "out"), "--to", "ctranslate2"]) == 1
    assert "needs ctranslate2, which is not installed" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def dictionary_tokenizer(tokenizer: SentencePieceTokenizer, **settings: Any) -> DictionaryTokenizer:
    """The same pieces, numbered by two dictionaries."""
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    files = {
        "settings.json": {"source_language": "en", "target_language": "de", **settings},
        "source.json": {"pieces": pieces},
        "target.json": {"pieces": [*pieces[:4], *reversed(pieces[4:])]},
    }
    texts = {name: json.dumps(values).encode() for name, values in files.items()}
    return DictionaryTokenizer({**texts, "sentencepiece.model": tokenizer.to_bytes()}, bos_id=1)


def test_a_dictionary_of_pieces_becomes_a_vocabulary(
    tokenizer: SentencePieceTokenizer, parallel_text: Pairs, tmp_path: Path
) -> None:
    model = random_checkpoint(tokenizer, tied="target", target_vocab_size=tokenizer.vocab_size).model
    write_marian(Checkpoint(model, ours := dictionary_tokenizer(tokenizer)), tmp_path / "out")
    found, reference = (
        import_checkpoint(tmp_path / "out").tokenizer,
        transformers.MarianTokenizer.from_pretrained(tmp_path / "out"),
    )
    for source, target in [*parallel_text, (QUOTED, "☃")]:
        assert [*found.encode(source), 2] == [*ours.encode(source), 2] == reference(source).input_ids
        ids = ours.target.encode(target)
        assert found.target.encode(target) == ids == reference(text_target=target).input_ids[:-1]
        assert found.target.decode(ids) == reference.decode(ids) == target


@pytest.mark.parametrize("write", [write_marian, write_ctranslate2])
def test_other_tokenizers_are_refused(
    write: Callable[[Checkpoint, Path], None],
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    tmp_path: Path,
) -> None:
    for setting in ("lower_case", "unicode_normalise"):
        prepared = dictionary_tokenizer(tokenizer, **{setting: True})
        with pytest.raises(ValueError, match="does not support this model's tokenizer: expected SentencePiece models"):
            write(Checkpoint(tiny_model, prepared), tmp_path / "out")
    swapped = SentencePieceTokenizer.of_characters("ab ")
    swapped.pad_id = 4
    with pytest.raises(ValueError, match="calls the token 4 <pad>, this tokenizer"):
        write(Checkpoint(tiny_model, swapped), tmp_path / "out")


def test_a_folder_with_files_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="out exists and is not an empty folder: give a new one, or remove it first"):
        write_marian(load_checkpoint(tiny_checkpoint), tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "notes.txt"]


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("of it")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not any(tmp_path.iterdir())
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as folder:
        (folder / "all").write_text("of it")
        assert not any((tmp_path / "empty").iterdir())
    assert [path.name for path in (tmp_path / "empty").iterdir()] == ["all"]


def test_parameters_are_stored_without_loss(tiny_model: Transformer) -> None:
    model = copy.deepcopy(tiny_model)
    assert storage_type(model) == torch.float32
    assert storage_type(model.bfloat16().float()) in (torch.float16, torch.bfloat16)
    assert storage_type(model.half().float()) == torch.float16


def test_the_archive_of_a_model_is_opened_again(tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = load_checkpoint(tiny_checkpoint)
    (tmp_path / "tiny.zip").write_bytes(marian_archive(checkpoint, "tiny"))
    found = import_checkpoint(tmp_path / "tiny.zip")
    assert found.tokenizer.encode(QUOTED) == checkpoint.tokenizer.encode(QUOTED)


def test_the_readme_says_what_differs(tiny_checkpoint: Path) -> None:
    text = marian_files(load_checkpoint(tiny_checkpoint))["README.md"].decode()
    assert "divided by length^alpha here, and by the paper's ((5 + length) / 6)^alpha in Headlight" in text
    assert "MarianMTModel.from_pretrained(folder)" in text
    assert "- parameters: " in text
