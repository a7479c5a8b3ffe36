"""Files of OpenNMT-py: the same weights as a `torch.nn.Transformer`, and the converter of CTranslate2."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.analysis.attribution.contrast import contrast_at
from core.analysis.attribution.deletion_curves import probabilities_without
from core.cli import commands as cli
from core.formats.checkpoint import load_checkpoint
from core.formats.importing import import_checkpoint
from core.translator import Translator
from tests.core.formats.conftest import EXTRA_TOKENS
from tests.core.formats.opennmt_models import old_names, write_opennmt
from tests.core.formats.small_models import assert_converted, assert_refused, explained
from tests.core.formats.test_fairseq import fairseq_class
from tests.core.formats.test_weight_files import Command
from tests.core.formats.torch_models import Pairs

SHAPES: dict[str, dict[str, Any]] = {
    "interleaved": {},
    "concatenated": {"concatenated": True, "activation": "gelu", "layers": (2, 2)},
    "tied": {"tied": True},
}


write = write_opennmt  # of the fixture `original`


def change(folder: Path, **options: Any) -> dict[str, Any]:
    """Change options of model.pt, and return its contents."""
    content = torch.load(folder / "model.pt", weights_only=False)
    vars(content["opt"]).update(options)
    torch.save(content, folder / "model.pt")
    return content


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_numbers_as_pytorch_and_ctranslate2(shape: str, tmp_path: Path, parallel_text: Pairs) -> None:
    """CTranslate2 reads these files by itself. Its norms add 1e-5 instead of 1e-6."""
    reference = write_opennmt(tmp_path, parallel_text, **SHAPES[shape])
    found = import_checkpoint(tmp_path)
    assert found.config.tied == ("all" if shape == "tied" else "none")
    assert (found.config.bos_id, found.config.eos_id, found.config.pad_id) == (2, 3, 1)
    converter = pytest.importorskip("ctranslate2").converters.OpenNMTPyConverter
    folder = converter(str(tmp_path / "model.pt"), True).convert(str(tmp_path / "converted"))
    other = pytest.importorskip("ctranslate2").Translator(folder, compute_type="float32")
    translator, tokenizer = Translator(found.model, found.tokenizer), found.tokenizer
    for source, target in parallel_text[:4]:
        source_ids, fed, predicted = translator.token_ids(source, target)
        assert source_ids == tokenizer.encode(source), "no </s>"
        logits = reference(torch.tensor([source_ids]), torch.tensor([fed]))
        ours = found.model(torch.tensor([source_ids]), torch.tensor([fed]))
        torch.testing.assert_close(ours, logits, rtol=0, atol=1e-4)
        pieces = [tokenizer.piece(token_id) for token_id in source_ids]
        expected = other.score_batch([pieces], [[tokenizer.target.piece(token_id) for token_id in predicted[:-1]]])
        assert translator.score(source, predicted).token_log_probs == pytest.approx(expected[0].log_probs, abs=1e-3)
        limit, never = len(pieces) + EXTRA_TOKENS, [["<s>"], ["<blank>"]]
        options: dict[str, Any] = {"beam_size": 1, "min_decoding_length": 0, "suppress_sequences": never}
        (theirs,) = other.translate_batch([pieces], max_decoding_length=limit, **options)
        drawn = [tokenizer.target.token_id(piece) for piece in (*theirs.hypotheses[0], "</s>")][:limit]
        logits = found.model(torch.tensor([source_ids]), torch.tensor([[2, *drawn[:-1]]]))[0]
        logits[:, 1:3] = -torch.inf
        chosen = logits.gather(1, torch.tensor(drawn)[:, None])[:, 0]
        assert (chosen > logits.amax(1) - 2e-3).all(), "each is the most probable, or as good as"


def test_vocabularies_of_torchtext_and_names_of_old_versions(
    original: Path, tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until version 2, a field has the vocabulary; that of the source has neither <s> nor </s>."""
    field_class = fairseq_class(monkeypatch, "torchtext.data.field", "Field")
    vocabulary_class = fairseq_class(monkeypatch, "torchtext.vocab", "Vocab")
    multi_class = fairseq_class(monkeypatch, "onmt.inputters.text_dataset", "TextMultiField")

    def field(side: str, pieces: list[str]) -> Any:
        found, inner = multi_class(), field_class()
        found.fields, inner.vocab = [(side, inner)], vocabulary_class()
        # the same number of pieces, the source's without <s> and </s>
        inner.vocab.itos = ["<unk>", "<blank>", *pieces[4:], "unused 1", "unused 2"] if side == "src" else pieces
        inner.vocab.stoi = {piece: number for number, piece in enumerate(inner.vocab.itos)}
        return found

    reference = write_opennmt(tmp_path, parallel_text, vocabulary=field, rename=old_names, generator="0.", legacy=True)
    monkeypatch.undo()
    found = import_checkpoint(tmp_path)
    assert (found.config.eos_id, found.config.source_end) == (3, False)
    new = import_checkpoint(original).tokenizer
    translator = Translator(found.model, found.tokenizer)
    source_ids, fed, _ = translator.token_ids(*parallel_text[0])
    assert source_ids == [token_id - 2 for token_id in new.encode(parallel_text[0][0])]
    logits = reference(torch.tensor([source_ids]), torch.tensor([fed]))
    ours = found.model(torch.tensor([source_ids]), torch.tensor([fed]))
    torch.testing.assert_close(ours, logits, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match=r"^the text '\\u200b' has no tokens for this model: write words in it$"):
        translator.translate("\u200b")


def test_a_converted_file_is_the_same_model(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = assert_converted(copy, tmp_path / "out.safetensors")
    assert "format                OpenNMT-py" in capsys.readouterr().out
    translator = Translator(again.model, again.tokenizer)
    best, explanation = explained(translator, "The old house.")
    assert "".join(explanation.source_tokens) == "▁The▁old▁house."
    contrast = contrast_at(translator, "The old house.", best.token_ids, 0)
    everything = [index for index in contrast.ordinary if index < len(contrast.source_ids)]
    assert 0 <= probabilities_without(contrast, [everything])[0] <= 1, "one token is left"


def test_parameters_may_be_in_a_file_beside(copy: Path) -> None:
    expected = import_checkpoint(copy).model
    content = change(copy)
    generator = {f"generator.{name}": tensor for name, tensor in content.pop("generator").items()}
    tensors = {name: tensor.clone() for name, tensor in content.pop("model").items()}
    save_file(tensors | generator, copy / "model.safetensors")
    torch.save(content, copy / "model.pt")
    found = import_checkpoint(copy).model
    assert all(torch.equal(found.get_parameter(name), each) for name, each in expected.named_parameters())
    (copy / "model.safetensors").unlink()
    assert_refused(copy, r"^model.pt has no 'model': expected its parameters, or model.safetensor")


def test_merges_split_words_at_spaces(copy: Path) -> None:
    (copy / "codes").write_text("t h\nth e</w>\no l\n")
    content = change(copy, transforms=["bpe", "prefix"], src_subword_model="codes", tgt_subword_model=None)
    for side, pieces in content["vocab"].items():
        if side != "data_task":
            pieces[4:] = ["the", "ol@@", "d", ".", *(f"unused{number}" for number in range(len(pieces) - 8))]
    torch.save(content, copy / "model.pt")
    found = import_checkpoint(copy)
    assert found.training["imported"]["options not applied"] == ["prefix"]
    target = found.tokenizer.target
    assert found.tokenizer.encode("the old") == target.encode("the old") == [4, 5, 6]
    assert target.encode("the.") == [0, 0, 7], "words are not split at punctuation"
    assert target.decode([4, 5, 6, 3]) == "the old"


def test_without_a_tokenizer_texts_are_given_in_pieces(copy: Path, tmp_path: Path) -> None:
    change(copy, transforms=["onmt_tokenize"], src_subword_type="bpe", src_onmttok_kwargs={"mode": "aggressive"})
    message = (
        r"transforms has 'onmt_tokenize', with src_subword_type 'bpe' and mode 'aggressive', and Headlight knows o"
    )
    assert_refused(copy, message)
    assert cli.main(["convert", str(copy), str(tmp_path / "out.safetensors"), "--tokenized"]) == 0
    tokenizer = load_checkpoint(tmp_path / "out.safetensors").tokenizer
    pieces = [tokenizer.piece(token_id) for token_id in (7, 9, 8)]
    assert tokenizer.encode(" ".join(pieces)) == [7, 9, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_relative_positions": 20}, r"^model.pt: max_relative_positions is 20, and Headlight imports only models"),
        ({"position_encoding": False}, r"position_encoding is False, and Headlight imports only models with True$"),
        ({"self_attn_type": "average"}, r"self_attn_type is 'average', expected scaled-dot or scaled-dot-flash$"),
        ({"pos_ffn_activation_fn": "silu"}, r"pos_ffn_activation_fn is 'silu', expected relu or gelu$"),
        ({"layer_norm": "rms"}, r"layer_norm is 'rms', and Headlight imports only models with 'standard'$"),
        ({"copy_attn": True}, r"copy_attn is True, and Headlight imports only models with False$"),
        ({"decoder_type": "transformer_lm"}, r"decoder_type is 'transformer_lm', and Headlight imports only models wi"),
        ({"encoder_type": "brnn"}, r"encoder_type is 'brnn', and Headlight imports only models with 'transformer'$"),
        ({"src_vocab_threshold": 5}, r"src_vocab_threshold is 5, and Headlight imports only models with 0$"),
        ({"position_encoding_type": "SinusoidalConcat"}, r"pe.pe is not the table of sines and cosines of OpenNMT-py'"),
        ({"norm_eps": "x"}, r"norm_eps is 'x', expected a number$"),
        ({"heads": 5}, r"^model.pt: d_model \(32\) must be divisible by num_heads \(5\)"),
        ({"enc_layers": 2}, r"missing \(16\): encoder.transformer.1.feed_forward.layer_norm.bias; "),
        ({"transformer_ff": 32}, r"feed_forward.w_1.bias: \[64\], expected \[32\]"),
        ({"transforms": ["bpe"]}, r"has no files that split words into pieces: expected one source.model or target.mo"),
        ({"transforms": [], "src_subword_model": "x"}, None),
    ],
)
def test_what_cannot_be_imported_is_refused(options: dict[str, Any], message: str | None, copy: Path) -> None:
    change(copy, **options)
    if message is None:
        assert import_checkpoint(copy).config.num_heads == 4
        (copy / "source.model").unlink()
        (copy / "target.model").unlink()
        message = r"has no files that split words into pieces: .* If there is none, convert with --tokenized, and give"
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (5, r"^model.pt: opt and vocab are not as in files of OpenNMT-py"),
        ({"src": [], "tgt": []}, r"^model.pt: its vocab has no list of pieces for 'src'$"),
        ([5], r"^model.pt: its vocab is \[5\], expected vocabularies by name$"),
        ([("src", [("src", ["a"]), ("src_feat_0", ["b"])])], r"src has features beside its words, which Headlight doe"),
        ({"src": ["a"], "tgt": ["a"]}, r"^model.pt: the vocabulary has no '<blank>'$"),
        ({"src": ["<blank>", "<unk>"], "tgt": ["<blank>", "<unk>"]}, r"the decoder starts with '<s>', which its vocab"),
        (
            {"src": ["<blank>", "<unk>"], "tgt": ["<blank>", "<unk>", "<s>", "</s>"]},
            r"^model.pt: its vocabularies have 2 and 4 pieces, its embeddings \d+ and \d+ rows: they must be equal$",
        ),
        (
            {"src": ["<blank>", "<unk>"], "tgt": ["<blank>", "<unk>", "<s>"]},
            r"it has no </s>, which every model needs$",
        ),
    ],
)
def test_vocabularies_that_are_none(vocabulary: Any, message: str, copy: Path) -> None:
    content = change(copy)
    torch.save({**content, "vocab": vocabulary}, copy / "model.pt")
    assert_refused(copy, message)


def test_nothing_is_executed(copy: Path, tmp_path: Path) -> None:
    change(copy, hook=Command(tmp_path / "executed"))
    assert_refused(copy, r"^model.pt is not a file of tensors alone, or damaged")
    assert not (tmp_path / "executed").exists()


def test_two_models_are_refused(copy: Path) -> None:
    shutil.copy(copy / "model.pt", copy / "other.pt")
    assert_refused(copy, r"^model has 2 models: give one .pt with the files of its subwords$")


@pytest.mark.parametrize(
    "name", ["heads", "transformer_ff", "encoder_type", "pos_ffn_activation_fn", "position_encoding"]
)
def test_a_list_in_a_list_sixty_times_is_refused_at_once(copy: Path, name: str) -> None:
    """As Python writes it, it has 2^60 elements; the file has sixty lists."""
    bomb: list[Any] = []
    for _ in range(60):
        bomb = [bomb, bomb]
    change(copy, **{name: bomb})
    assert_refused(copy, rf"{name} is \[\[\[")
