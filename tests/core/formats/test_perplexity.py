"""The perplexity of `train evaluate` is that of the scores of one sentence at a time, for models of every format."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.formats.checkpoint import load_checkpoint
from core.formats.marian_folder import write_marian
from core.translator import Translator
from tests.core.formats import fsmt_models, m2m100_models, marian_models, t5_models
from tests.core.formats.fairseq_models import fairseq_state, write_fairseq
from tests.core.formats.joeynmt_models import write_joey
from tests.core.formats.marian_cpp_models import write_marian as write_marian_cpp
from tests.core.formats.marian_models import Pairs
from tests.core.formats.opennmt_models import write_opennmt
from tests.core.formats.small_models import imported
from tests.core.formats.torch_models import write_torch
from train.eval.translation_scores import perplexity

NLLB = {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}


def write_nllb(folder: Path, pairs: Pairs) -> None:
    m2m100_models.write_model(folder, pairs, nllb=True)
    (folder / "tokenizer_config.json").write_text(json.dumps(NLLB))


def write_from_fsmt(folder: Path, pairs: Pairs) -> None:
    model = fsmt_models.write_model(folder / "fsmt", pairs, two=True)
    write_fairseq(folder, folder / "fsmt", fairseq_state(model), encoder_layers=1, decoder_layers=1)
    shutil.rmtree(folder / "fsmt")


WRITERS: dict[str, Callable[[Path, Pairs], Any]] = {
    "fairseq": write_from_fsmt,
    "fsmt": fsmt_models.write_model,
    "fsmt, two vocabularies": lambda folder, pairs: fsmt_models.write_model(folder, pairs, two=True),
    "joeynmt": write_joey,
    "m2m100": m2m100_models.write_model,
    "marian": marian_models.write_model,
    "marian, two vocabularies": lambda folder, pairs: marian_models.write_model(folder, pairs, two=True),
    "marian, begun with a token": lambda folder, pairs: marian_models.write_model(
        folder, pairs, generation={"forced_bos_token_id": 7}
    ),
    "marian.npz": write_marian_cpp,
    "mt5": lambda folder, pairs: t5_models.write_model(folder, pairs, model_type="mt5"),
    "nllb": write_nllb,
    "opennmt": write_opennmt,
    "t5": lambda folder, pairs: t5_models.write_model(folder, pairs, tasks=t5_models.TASKS),
    "torch": write_torch,
}
FORCED = ("m2m100", "marian, begun with a token", "nllb")


@pytest.mark.parametrize("name", WRITERS)
def test_perplexity_is_that_of_one_sentence_at_a_time(name: str, tmp_path: Path, parallel_text: Pairs) -> None:
    """Each sentence in a plain pass of the model, without padding; a forced first token is no prediction."""
    (tmp_path / "model").mkdir()
    WRITERS[name](tmp_path / "model", parallel_text)
    translator = imported(tmp_path / "model")
    pairs = parallel_text[:6]
    expected: list[float] = []
    for source, target in pairs:
        source_ids, fed, predicted = translator.token_ids(source, target)
        with torch.inference_mode():
            logits = translator.model(torch.tensor([source_ids]), torch.tensor([fed]))[0].double()
        log_probs = logits.log_softmax(-1).gather(1, torch.tensor(predicted)[:, None])[:, 0].tolist()
        scored = translator.score(source, target)
        first = name in FORCED
        assert scored.token_log_probs[:first] == (0.0,) * first
        assert scored.token_log_probs[first:] == pytest.approx(log_probs[first:], abs=1e-4)
        expected += log_probs[first:]
    assert perplexity(translator, pairs) == pytest.approx(math.exp(-sum(expected) / len(expected)), rel=1e-4)


def renumbered(source: Path, target: Path) -> None:
    """Write a folder of Marian's layout with the ids of OPUS-MT: `</s>` 0, `<unk>` 1, `<pad>` last."""
    shutil.copytree(source, target)
    ids: dict[str, int] = json.loads((source / "vocab.json").read_text())
    first, last = [ids["</s>"], ids["<unk>"]], ids["<pad>"]
    order = [*first, *(each for each in range(len(ids)) if each not in (*first, last)), last]
    new = {old: number for number, old in enumerate(order)}
    (target / "vocab.json").write_text(json.dumps({piece: new[old] for piece, old in ids.items()}))
    tensors = load_file(source / "model.safetensors")
    for name, tensor in tensors.items():
        if tensor.shape[-1] == len(ids):  # the bias
            tensors[name] = tensor[:, order].contiguous()
        elif len(tensor) == len(ids):
            tensors[name] = tensor[order].contiguous()
    save_file(tensors, target / "model.safetensors", {"format": "pt"})
    for name in ("config.json", "generation_config.json"):
        fields = json.loads((source / name).read_text())
        fields |= {key: new[value] for key, value in fields.items() if key.endswith("token_id") and value is not None}
        fields |= {"bad_words_ids": [[new[each] for each in ids] for ids in fields.get("bad_words_ids") or []]}
        (target / name).write_text(json.dumps(fields))


def test_other_ids_of_the_same_pieces_leave_the_perplexity(tiny_checkpoint: Path, tmp_path: Path, parallel_text: Pairs):
    checkpoint = load_checkpoint(tiny_checkpoint)
    write_marian(checkpoint, tmp_path / "marian")
    renumbered(tmp_path / "marian", tmp_path / "opus")
    before, after = (imported(tmp_path / name) for name in ("marian", "opus"))
    assert (before.config.pad_id, before.config.eos_id) != (after.config.pad_id, after.config.eos_id)
    expected = perplexity(Translator(checkpoint.model, checkpoint.tokenizer), parallel_text)
    assert perplexity(before, parallel_text) == pytest.approx(expected, rel=1e-4)
    assert perplexity(after, parallel_text) == pytest.approx(expected, rel=1e-4)
