"""State dicts of `torch.nn.Transformer`, against the module itself."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.analysis.attribution.logit_attribution import attribute_logit
from core.analysis.attribution.logit_trace import trace_logits
from core.analysis.token_path.token_walk import follow_token
from core.formats.importing import import_checkpoint
from core.translator import Translator
from tests.core.formats.small_models import assert_converted, assert_refused, change_json, explained, imported
from tests.core.formats.torch_models import Pairs, write_torch
from tests.margins import assert_equal_to_rounding

SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "post-norm": ({"layers": (2, 2)}, {}),
    "pre-norm": ({"norm_first": True, "activation": "gelu", "eps": 1e-6}, {}),
    "tied": ({"tied": True, "layers": (1, 3)}, {"source_start": True}),
    "concatenated": ({"concatenated": True}, {"positions": "halves", "position_exponent": "i/(n-1)"}),
}


write = write_torch  # of the fixture `original`


def change(folder: Path, **options: Any) -> None:
    change_json(folder / "config.json", options)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_logits_as_pytorch(shape: str, tmp_path: Path, parallel_text: Pairs) -> None:
    model, options = SHAPES[shape]
    reference = write_torch(tmp_path, parallel_text, options, **model)
    translator = imported(tmp_path)
    assert translator.config.tied == ("all" if shape == "tied" else "none")
    assert (translator.config.pad_id, translator.config.bos_id, translator.config.eos_id) == (1, 2, 3)
    for source, target in parallel_text[:4]:
        source_ids, fed, _ = translator.token_ids(source, target)
        assert (source_ids[0] == 2) == (shape == "tied")
        assert source_ids[-1] == 3
        ids = torch.tensor([source_ids]), torch.tensor([fed])
        assert_equal_to_rounding(translator.model(*ids), reference(*ids), translator.model)


def test_learned_positions(copy: Path) -> None:
    """A table of positions that are all the sinusoidal ones gives the same logits as these."""
    expected = import_checkpoint(copy)
    state = torch.load(copy / "model.pt")
    table = expected.model.embedding.positions(0, 40)
    torch.save(state | {"other.weight": table}, copy / "model.pt")
    assert_refused(copy, r"unexpected \(1\): other.weight$")
    torch.save(state | {"pos.weight": table}, copy / "model.pt")
    assert import_checkpoint(copy).config == expected.config, "compared with the formula without being named"
    change(copy, position_table="pos.weight")
    assert import_checkpoint(copy).config == expected.config, "the table is the formula's"
    change(copy, positions="learned")
    found = import_checkpoint(copy)
    assert (found.config.positions, found.config.max_positions) == ("learned", 40)
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])
    torch.testing.assert_close(found.model(source, target), expected.model(source, target), rtol=0, atol=1e-5)
    torch.save(state | {"pos.weight": table + 0.1}, copy / "model.pt")
    change(copy, positions="interleaved")
    assert_refused(copy, r"pos.weight is not the table of sines and cosines of this config.json's")


def test_a_converted_file_is_the_same_model_and_explains_itself(copy: Path, tmp_path: Path) -> None:
    """From safetensors, under another name of the module, in words."""
    state = {f"net.{name}": tensor.clone() for name, tensor in torch.load(copy / "model.pt").items()}
    save_file(state, copy / "weights.safetensors")
    (copy / "model.pt").unlink()
    names = {"source": "src_tok_emb.embedding.weight", "target": "tgt_tok_emb.embedding.weight"}
    change(copy, **{f"{side}_embedding": f"net.{name}" for side, name in names.items()}, output="net.generator")
    change(copy, split="words", lower_case=True, ignored=["other"])
    again = assert_converted(copy, tmp_path / "out.safetensors")
    piece = next(piece for piece in map(again.tokenizer.piece, range(4, 40)) if piece.isalpha() and piece.islower())
    assert again.tokenizer.encode(f"{piece.upper()} {piece}") == [again.tokenizer.token_id(piece)] * 2
    explained(Translator(again.model, again.tokenizer), piece)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_characters_are_pieces(copy: Path, end: str) -> None:
    sizes = [len((copy / f"{side}_vocab.txt").read_text().splitlines()) for side in ("source", "target")]
    for side, size in zip(("source", "target"), sizes, strict=True):
        pieces = ["<unk>", "<pad>", "<s>", "</s>", "▁", "a", "b", "\u2028", "c"]
        pieces += [f"unused {number}" for number in range(size - len(pieces))]
        (copy / f"{side}_vocab.txt").write_text(end.join(pieces), encoding="utf-8", newline="")
    change(copy, split="characters")
    tokenizer = import_checkpoint(copy).tokenizer
    assert tokenizer.encode("a bcd") == [5, 4, 6, 8, 0]
    assert tokenizer.pieces([5, 4, 6]) == ["a", "▁", "b"]
    assert tokenizer.target.decode([5, 4, 6, 3]) == "a b"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nhead": None}, r"^config.json has no nhead: expected an integer$"),
        ({"nhead": 5}, r"^config.json: d_model \(32\) must be divisible by num_heads \(5\)"),
        ({"norm_place": 1}, r"^config.json: there is no option 'norm_place', expected some of activation, end, ignore"),
        ({"activation": "tanh"}, r"^config.json: activation \('tanh'\) must be 'relu', 'gelu', 'gelu_tanh' or 'sw"),
        (
            {"positions": "rotary"},
            r"^config.json: positions is 'rotary', expected one of interleaved, halves, learned$",
        ),
        ({"positions": "learned"}, r"position_table '' is not a matrix of model.pt: "),
        ({"source_embedding": "x"}, r"^model.pt has no matrix 'x': name the embeddings in config.json, as source_embe"),
        ({"split": "syllables"}, r"^config.json: split is 'syllables', expected 'words' or 'characters', or none$"),
        ({"pad": "[PAD]"}, r"^model: the vocabulary has no '\[PAD\]'$"),
        ({"ignored": 5}, r"^config.json: ignored is 5, expected a list of names$"),
        ({"norm_first": "yes"}, r"^config.json: norm_first is 'yes', expected true or false$"),
        ({"target_language": "../x"}, r"target_language is '../x', expected the code of a language such as 'en'$"),
    ],
)
def test_what_cannot_be_imported_is_refused(options: dict[str, Any], message: str, copy: Path) -> None:
    change(copy, **options)
    assert_refused(copy, message)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: {}, r"^model.pt has no encoder.layers.0.self_attn.in_proj_weight: expected the state dict of a"),
        (
            lambda state: {**state, "transformer.encoder.layers.0.self_attn.in_proj_weight": torch.zeros(95, 32)},
            r"in_proj_weight' has shape \[95, 32\], expected queries, keys and values, one after the other$",
        ),
        (
            lambda state: {name: each for name, each in state.items() if not name.endswith("norm1.bias")},
            r"missing \(2\): transformer.decoder.layers.0.norm1.bias; transformer.encoder.layers.0.norm1.bias$",
        ),
    ],
)
def test_other_state_dicts_are_refused(damage: Callable[[Any], Any], message: str, copy: Path) -> None:
    torch.save(damage(torch.load(copy / "model.pt")), copy / "model.pt")
    assert_refused(copy, message)


def test_missing_and_surplus_files_are_named(copy: Path) -> None:
    shutil.copy(copy / "model.pt", copy / "again.pt")
    assert_refused(copy, r"^model has 2 files of parameters \(.*\): expected one state dict$")
    (copy / "again.pt").unlink()
    (copy / "source_vocab.txt").unlink()
    change(copy, split="words")
    assert_refused(copy, r"^model has no source_vocab.txt or vocab.txt: expected the pieces, one")


def test_norms_after_the_sub_layers_and_after_the_last_layer_can_be_analysed(original: Path) -> None:
    """The paper's layers with final norms, which no other format has: sums and replays agree with the model."""
    translator = imported(original)
    assert (translator.config.norm, translator.config.final_norm) == ("post", True)
    trace = trace_logits(translator, "The old house.", "Das alte Haus.")
    assert attribute_logit(trace, 1).gap < 1e-3
    for stack in ("encoder", "decoder"):
        assert follow_token(translator, "The old house.", "Das alte Haus.", stack, 1, 0, 0).gap < 1e-4
