"""Models written by hand after the paper, in the layouts of well-known tutorials, against modules of torch's layers."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core import Translator
from core.analysis.unseen_characters import Alphabet
from core.cli import commands as cli
from core.formats.checkpoint import save_checkpoint
from core.formats.importing import import_checkpoint
from tests.core.formats.hand_written_models import (
    ANNOTATED,
    HEADS,
    SIZES,
    SPECIAL,
    WIDTH,
    Annotated,
    sinusoidal,
    write_description,
)
from tests.core.formats.small_models import assert_refused
from tests.core.formats.torch_models import Seq2Seq


def assert_same_logits(folder: Path, reference: nn.Module) -> None:
    model = import_checkpoint(folder).model
    source, target = torch.tensor([[2, 9, 5, 17, 29, 3]]), torch.tensor([[2, 8, 25, 4]])
    torch.testing.assert_close(model(source, target), reference(source, target), rtol=0, atol=1e-5)


def test_the_annotated_transformer(tmp_path: Path) -> None:
    reference = Annotated()
    write_description(tmp_path / "model", reference.state_dict(), ANNOTATED)
    assert_same_logits(tmp_path / "model", reference)
    found = import_checkpoint(tmp_path / "model")
    assert (found.config.norm, found.config.final_norm, found.config.tied) == ("pre", True, "none")
    assert found.tokenizer.encode("7 9") == [7, 9]


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("model.pth", lambda state: state),
        ("model.pt", lambda state: {"model_state_dict": state, "epoch": 3, "loss": torch.tensor(0.5)}),
        (
            "epoch=3.ckpt",
            lambda state: {
                "state_dict": {f"model.{name}": each for name, each in state.items()},
                "hyper_parameters": {"nhead": 4},
            },
        ),
        ("best.pt", lambda state: {"model": {f"module._orig_mod.{name}": each for name, each in state.items()}}),
    ],
)
def test_the_tutorial_in_what_trainings_save(name: str, wrap: Any, tmp_path: Path) -> None:
    """The state dict of PyTorch's tutorial on translation, its table of positions included."""
    reference = Seq2Seq(*SIZES, layers=(2, 2))
    state = {**reference.state_dict(), "positional_encoding.pos_embedding": sinusoidal(500)[:, None]}
    state["mask"] = torch.ones(3, 3, dtype=torch.bool)
    write_description(tmp_path / "model", wrap(state), SPECIAL, name)
    assert_same_logits(tmp_path / "model", reference)


def test_no_final_norm_and_a_learned_table_on_each_side(tmp_path: Path) -> None:
    reference = Seq2Seq(*SIZES, final_norm=False)
    tables = torch.randn(2, 20, WIDTH)

    def embed(embedding: Any, ids: Tensor) -> Tensor:
        table = tables[0] if embedding is reference.src_tok_emb else tables[1]
        return embedding.embedding(ids) * math.sqrt(WIDTH) + table[: ids.size(1)]

    reference.embed = embed  # pyright: ignore[reportAttributeAccessIssue]
    state = {**reference.state_dict(), "enc.pos.weight": tables[0], "dec.pos.weight": tables[1, :12]}
    options = {"positions": "learned", "position_table": "enc.pos.weight", "target_position_table": "dec.pos.weight"}
    write_description(tmp_path / "model", state, SPECIAL | options)
    assert_same_logits(tmp_path / "model", reference)
    config = import_checkpoint(tmp_path / "model").config
    assert (config.final_norm, config.max_positions) == (False, 12)


def test_padding_may_be_the_start_or_the_end(tmp_path: Path) -> None:
    for options, ids in (({"pad": 2}, (2, 2, 3)), ({"pad": 3}, (2, 2, 3)), ({"end": 1}, (2, 2, 1))):
        write_description(tmp_path / "model", Annotated().state_dict(), ANNOTATED | options)
        config = import_checkpoint(tmp_path / "model").config
        assert (config.bos_id, config.pad_id, config.eos_id) == ids


def test_targets_without_an_end_have_one_length(tmp_path: Path) -> None:
    without = {"end": None, "unknown": None, "target_tokens": 4, "source_end": False, "source_start": False}
    reference = Annotated()
    write_description(tmp_path / "model", reference.state_dict(), ANNOTATED | without)
    checkpoint = import_checkpoint(tmp_path / "model")
    save_checkpoint(tmp_path / "a.safetensors", checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    found = Translator.from_checkpoint(tmp_path / "a.safetensors")
    scored = found.score("9 5 17", "8 25 4 7")
    log_probs = reference(torch.tensor([[9, 5, 17]]), torch.tensor([[2, 8, 25, 4]])).log_softmax(-1)[0]
    expected = log_probs[range(4), [8, 25, 4, 7]].tolist()
    assert scored.token_log_probs == pytest.approx(expected, abs=1e-4)
    assert {len(each.token_ids) for each in (*found.translate("9 5").hypotheses, *found.sample("9"), scored)} == {4}
    with pytest.raises(ValueError, match=r"^this model has no token for 'x', 'y': leave that out$"):
        found.translate("9 x y")
    with pytest.raises(ValueError, match=r"^the target is empty, and this model's targets have no end"):
        found.token_ids("9", [])
    assert Alphabet(found.tokenizer).unseen("9 x") == ("x",)


@pytest.mark.parametrize("as_lists", [False, True])
def test_vocabularies_inside_the_file(as_lists: bool, tmp_path: Path) -> None:
    """Pieces are characters, one of which is the space; what they lack is said."""
    pieces = ["<unk>", "<pad>", "<s>", "</s>", " ", *"abcdefghijklmnopqrstuvwxy"]
    stoi = {piece: number for number, piece in enumerate(pieces)}
    inside = (pieces, pieces[:26]) if as_lists else ({"stoi": stoi}, {"itos": dict(enumerate(pieces[:26]))})
    names = {"pad": "<pad>", "start": "<s>", "end": "</s>", "unknown": "<unk>", "split": "characters"}
    described = {name: value for name, value in ANNOTATED.items() if name != "vocabulary"} | names
    content = {"model": Annotated().state_dict(), "src_vocab": inside[0], "tgt_vocab": inside[1]}
    write_description(tmp_path / "model", content, described)
    tokenizer = import_checkpoint(tmp_path / "model").tokenizer
    assert (tokenizer.encode("ab c?"), tokenizer.target.vocab_size) == ([5, 6, 4, 7, 0], 26)
    assert tokenizer.target.decode([5, 4, 6]) == "a b"
    assert Alphabet(tokenizer).unseen("a z ?") == ("z", "?")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"end": None}, r"^config.json: the vocabulary has no '</s>': name the end, or give null and the number of to"),
        ({"end": None, "target_tokens": 0}, r"target_tokens"),
        ({"names": {}}, r"^model.pt has no encoder.layers.0.self_attn.in_proj_weight: .* --draft config.json` writes"),
        ({"names": {"a": "encoder.layers.*.query"}}, r"names has 'encoder.layers.\*.query' for 'a', expected a part o"),
        ({"names": {"a": "encoder.layers.*.norm1"}}, r"for 'a', expected one '\*', the number of the layer, in both"),
        ({"layer_norm": "rms"}, r"^config.json: layer_norm is 'rms', expected 'standard', or 'sample_std' as in"),
        ({"vocabulary": "x"}, r"^config.json: vocabulary is 'x', expected 'numbers', or none$"),
        ({"pad": 99}, r"^config.json: pad is 99, expected a piece, or its number from 0 to 29$"),
        ({"nhead": "?"}, r"^config.json: nhead is '\?', expected an integer$"),
    ],
)
def test_what_does_not_describe_the_model_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_description(tmp_path / "model", Annotated().state_dict(), ANNOTATED | options)
    assert_refused(tmp_path / "model", message)


@pytest.mark.parametrize("layout", ["annotated", "tutorial"])
def test_a_draft_needs_only_what_the_parameters_do_not_show(layout: str, tmp_path: Path) -> None:
    """From a checkpoint of Lightning, on the command line: what is "?" is refused, and filled in it is the model."""
    reference = Annotated() if layout == "annotated" else Seq2Seq(*SIZES, layers=(2, 2))
    state = {f"net.{name}": each for name, each in reference.state_dict().items()}
    folder = tmp_path / "model"
    folder.mkdir()
    torch.save({"state_dict": state, "epoch": 3, "hyper_parameters": {"n_heads": HEADS}}, folder / "epoch=3.ckpt")
    assert_refused(folder, r"inspect FILE --draft config.json` writes a description to fill in")
    path = folder / "config.json"
    assert cli.main(["inspect", str(folder / "epoch=3.ckpt"), "--draft", str(path)]) == 0
    assert cli.main(["inspect", str(folder / "epoch=3.ckpt"), "--draft", str(path)]) != 0, "nothing is overwritten"
    drafted = json.loads(path.read_text())
    assert drafted["nhead"] == HEADS
    assert_refused(folder, r"is '\?', expected")
    filled: dict[str, Any] = {
        "norm_first": layout == "annotated",
        "activation": "relu",
        "scale_embedding": True,
        "source_end": True,
    }
    if layout == "tutorial":
        filled["layer_norm_eps"] = 1e-5
    del drafted["split"]
    path.write_text(json.dumps(drafted | filled | SPECIAL))
    assert "?" not in json.loads(path.read_text()).values()
    assert_same_logits(folder, reference)


def test_a_draft_whose_names_collide_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"encoder.layers.0.attention.{name}.weight" for name in ("q", "query", "key", "value")]
    torch.save(dict.fromkeys([*names, "embed.weight"], torch.eye(8)), tmp_path / "model.pt")
    assert cli.main(["inspect", str(tmp_path / "model.pt"), "--draft", str(tmp_path / "config.json")]) == 1
    message = capsys.readouterr().err
    assert "its names are not recognised" in message
    assert "would both be 'encoder.layers.0.self_attn.q_proj.weight': name each module once" in message
