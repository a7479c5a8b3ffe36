"""Modules against their descriptions: what differs is named, and shown as the module computes it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core import CheckpointError, Translator
from core.cli import commands as cli
from core.export import load_explanation, record_of, save_explanation
from core.formats.checkpoint import save_checkpoint
from tests.core.formats.hand_written_models import ANNOTATED, HEADS, SIZES, SPECIAL, Annotated, write_description
from tests.core.formats.torch_models import Seq2Seq

DESCRIBED: dict[str, Any] = {"model_type": "torch.nn.Transformer", "nhead": HEADS, **SPECIAL}
PIECES = ["<unk>", "<pad>", "<s>", "</s>", " ", *"abcdefghijklmnopqrstuvwxy"]


class Unmasked(Seq2Seq):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        embedded = self.embed(self.src_tok_emb, source), self.embed(self.tgt_tok_emb, target)
        return self.generator(self.transformer(*embedded))


class Masked(Seq2Seq):
    """Called as PyTorch's tutorial on translation calls its model: sequence first, with all masks."""

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, src: Tensor, trg: Tensor, src_mask: Tensor, tgt_mask: Tensor, src_padding_mask: Tensor,
        tgt_padding_mask: Tensor, memory_key_padding_mask: Tensor,
    ) -> Tensor:  # fmt: skip
        embedded = self.embed(self.src_tok_emb, src.T), self.embed(self.tgt_tok_emb, trg.T)
        masks = src_mask, tgt_mask, None, src_padding_mask, tgt_padding_mask, memory_key_padding_mask
        return self.generator(self.transformer(*embedded, *masks)).transpose(0, 1)


@pytest.mark.parametrize(
    ("shape", "wrong", "mended"),
    [
        ({}, {"scale_embedding": False}, '"scale_embedding": true'),
        ({"concatenated": True}, {"positions": "interleaved"}, '"positions": "halves"'),
        ({"norm_first": True}, {"norm_first": False}, '"norm_first": true'),
        ({}, {"nhead": 8}, '"nhead": 4'),
        ({"activation": "gelu"}, {"activation": "relu"}, '"activation": "gelu"'),
    ],
)
@pytest.mark.parametrize("kind", [Seq2Seq, Masked])
def test_a_wrong_description(kind: type[Seq2Seq], shape: dict[str, Any], wrong: dict[str, Any], mended: str) -> None:
    model = kind(*SIZES, **shape)
    with pytest.raises(CheckpointError, match=f"does not compute what its description says: with {mended} it does$"):
        Translator.from_model(model, None, DESCRIBED | wrong)
    Translator.from_model(model, None, SPECIAL)


FORWARDS: dict[str, Any] = {
    "as torch": Seq2Seq.forward,
    "targets first": lambda self, tgt, src: Seq2Seq.forward(self, src, tgt),
    "puts the start before": lambda self, src, tgt: Seq2Seq.forward(self, src, F.pad(tgt[:, :-1], (1, 0), value=2)),
    "leaves out the last": lambda self, src, tgt: (Seq2Seq.forward(self, src, tgt[:, :-1]), tgt[:, 1:]),
}


@pytest.mark.parametrize("way", FORWARDS)
def test_ways_to_call_a_module_are_found_and_padding_is_said(way: str) -> None:
    model = Seq2Seq(*SIZES)
    model.forward = FORWARDS[way].__get__(model)
    with pytest.warns(UserWarning, match=r"^Seq2Seq attends to padding: in a batch with longer sentences"):
        imported = Translator.from_model(model, None, DESCRIBED).training["imported"]
    assert (imported["padding"], imported["causal mask"]) == (False, True)
    assert float(imported["compared"]) < 1e-4


def test_padding_that_a_module_hides_is_compared() -> None:
    assert Translator.from_model(Masked(*SIZES), None, DESCRIBED).training["imported"]["padding"]


def test_what_differs_in_longer_sentences_is_refused() -> None:
    class Window(Seq2Seq):
        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            return super().forward(source[:, -20:], target)

    with pytest.raises(
        CheckpointError, match=r"^Window computes something else than what was read: .* in sentences of 48 tokens$"
    ):
        Translator.from_model(Window(*SIZES), None, DESCRIBED)


def test_a_missing_mask_is_named_and_drawn(tmp_path: Path) -> None:
    model = Unmasked(*SIZES, layers=(1, 2))
    with pytest.warns(UserWarning, match=r"^Unmasked has no causal mask: its decoder's self-attention attends to lat"):
        found = Translator.from_model(model, None, DESCRIBED)
    save_checkpoint(tmp_path / "a.safetensors", found.model, found.tokenizer, found.training)
    again = Translator.from_checkpoint(tmp_path / "a.safetensors")  # as in the app
    source, fed, _ = found.token_ids("7 9 8", "5 6 9")
    for translator in (found, again):
        expected = model(translator.batch([source]), translator.batch([fed]))
        torch.testing.assert_close(
            translator.model(*map(translator.batch, ([source], [fed]))), expected, atol=1e-5, rtol=0
        )
        explanation = translator.explain("7 9 8", "5 6 9")
        (drawn, *_) = explanation.maps["decoder_self"]
        assert drawn.visible.all()
        assert float(drawn.weights.triu(1).sum()) > 0.1
        save_explanation(tmp_path / "a.npz", record_of(explanation, translator, {}))
        assert load_explanation(tmp_path / "a.npz").explanation.maps["decoder_self"][0].visible.all()
        assert translator.translate("7 9 8").hypotheses


def test_pieces_are_enough() -> None:
    found = Translator.from_model(Annotated(), (PIECES, PIECES[: SIZES[1]]))
    assert (found.config.norm, found.config.final_norm, found.tokenizer.encode("ab c")) == ("pre", True, [5, 6, 4, 7])
    assert found.explain("ab c", "b").maps["cross"][0].weights.shape == (HEADS, 2, 5)


def test_a_file_is_compared_with_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    write_description(tmp_path / "model", {"model_state_dict": Annotated().state_dict()}, ANNOTATED)
    lines = ["from tests.core.formats.hand_written_models import Annotated", "make = Annotated"]
    (tmp_path / "my_model.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["inspect", "model", "--check", "my_model:make"]) == 0
    assert "compared" in capsys.readouterr().out
    write_description(tmp_path / "model", Annotated().state_dict(), ANNOTATED | {"norm_first": False})
    assert cli.main(["convert", "model", "a.safetensors", "--check", "my_model:make"]) == 1
    assert 'with "norm_first": true it does' in capsys.readouterr().err
    content = {"model": Annotated().state_dict(), "src_vocab": PIECES, "tgt_vocab": PIECES[: SIZES[1]]}
    torch.save(content, tmp_path / "alone.pt")  # without a description
    assert cli.main(["inspect", "alone.pt", "--check", "my_model:make"]) == 0
    assert "compared" in capsys.readouterr().out
    assert cli.main(["inspect", "model", "--check", "my_model:none"]) == 1
    assert "expected MODULE:FUNCTION that makes a model" in capsys.readouterr().err


def test_a_module_that_cannot_be_called() -> None:
    class Silent(Seq2Seq):
        def forward(self, batch: dict[str, Tensor]) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().forward(batch["source"], batch["target"])

    class Mixing(Seq2Seq):
        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            return super().forward(source, target) + super().forward(source, target).mean(0, keepdim=True)

    with pytest.raises(CheckpointError, match=r"^Silent cannot be run on token ids .* give forward=FUNCTION, which"):
        Translator.from_model(Silent(*SIZES), None, DESCRIBED)
    model = Silent(*SIZES)
    found = Translator.from_model(
        model, None, DESCRIBED, forward=lambda source, target: model({"source": source, "target": target})
    )
    assert found.model.config.num_heads == HEADS
    with pytest.raises(CheckpointError, match=r"^Mixing: the logits of a sentence depend on the others of its batch"):
        Translator.from_model(Mixing(*SIZES), None, DESCRIBED)
