"""Arguments of wrong types and ranges get an error that names them and what fits; results are short when printed."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from core import Translator, load_checkpoint
from core.analysis.corpus.index_file import load_index
from core.analysis.heads.row_entropy import row_entropy
from core.analysis.over_training.history import open_history
from core.capture import KindMaps
from core.decoding import Constraints, Sampling
from core.export import load_explanation
from core.export.attention_arrays import load_arrays
from core.files.runlog import read_log
from core.files.shipped_files import shipped_checkpoint
from core.formats.importing import import_checkpoint

SENTENCE, TARGET = "A dog runs.", "Ein Hund."


@pytest.fixture(scope="module")
def maps(translator: Translator) -> KindMaps:
    return KindMaps(translator.explain(SENTENCE, TARGET).maps)


TEXT, IDS = "give one text, such as", "give a text, token ids, or a Translation"
PREFIX, PAIRS = "give a text or token ids", "give a list of pairs of a source and its target"
RANGE, MANY = "must be an integer from", "give a list of texts; translate takes one"
CALLS: list[tuple[Callable[[Any, Any], object], list[Any], str]] = [
    (lambda of, given: of.translate(given), [None, 3, b"A", [SENTENCE]], TEXT),
    (lambda of, given: of.search(given), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.sample(given), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.translate_text(given), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.show(given), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.translate_batch([SENTENCE, given]), [None, [SENTENCE]], rf"^sentence 2: .*{TEXT}"),
    (lambda of, given: of.translate_batch(given), [None, 3, SENTENCE], MANY),
    (lambda of, given: of.translate_batch([SENTENCE], prefixes=given), [3, "Ein"], "give a list with a beginning for"),
    (lambda of, given: of.explain(given, TARGET), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.explain(SENTENCE, given), [None, 3, ["Ein"], [1.5], b"Ein"], IDS),
    (lambda of, given: of.explain(SENTENCE, TARGET, given), ["5", -1, None], f"num_alternatives .* {RANGE} 0"),
    (lambda of, given: of.token_ids(SENTENCE, given), [None, ["Ein"]], IDS),
    (lambda of, given: of.score(given, TARGET), [None, [SENTENCE]], TEXT),
    (lambda of, given: of.score(SENTENCE, given), [None, ["Ein"]], IDS),
    (lambda of, given: of.score_batch(given), [None, 3, SENTENCE], PAIRS),
    (lambda of, given: of.score_batch([given]), [None, "ab", [SENTENCE]], "^sentence 1: .*give a source and its targ"),
    (lambda of, given: of.batch(given), [None, SENTENCE], "give the token ids of each sentence"),
    (lambda of, given: of.translate(SENTENCE, prefix=given), [3, ["Ein"]], PREFIX),
    (lambda of, given: of.sample(SENTENCE, prefix=given), [3, ["Ein"]], PREFIX),
    (lambda of, given: of.sample(SENTENCE, given), [None, 3], r"give core\.decoding\.Sampling"),
    (lambda of, given: of.translate(SENTENCE, constraints=given), [None, 3], r"give core\.decoding\.Constraints"),
    (lambda of, given: of.translate(SENTENCE, beam_size=given), ["4", None, 0, 4.0], f"beam_size .* {RANGE} 1 to 64"),
    (lambda _, given: Constraints(min_length=given), [None, "3", -1], f"min_length .* {RANGE} 0"),
    (lambda _, given: Sampling(num_samples=given), [None, "3", 0], f"num_samples .* {RANGE} 1 to 64"),
    *(
        (lambda _, given, load=load: load(given), [None, 3], "^the path .* give the path of")
        for load in (Translator.from_checkpoint, load_checkpoint, load_index, open_history, load_explanation)
    ),
    (lambda _, given: load_arrays(given), [None, 3], "^the path .* give the path of"),
    (lambda _, given: read_log(given), [None, 3], "^the path .* give the path of"),
    (lambda _, given: import_checkpoint(given), [None, 3], "^the paths .* give the path of a folder"),
]


@pytest.mark.parametrize(("call", "wrong", "message"), CALLS)
def test_an_argument_of_a_wrong_type_or_range_is_named_with_what_fits(
    translator: Translator, call: Callable[[Any, Any], object], wrong: list[Any], message: str
) -> None:
    for given in wrong:
        with pytest.raises((TypeError, ValueError), match=message) as found:
            call(translator, given)
        assert re.escape(repr(given)) in re.escape(str(found.value)), "what was given"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (("encoder", 0), KeyError, "no kind of attention 'encoder': the kinds here are encoder_self, decoder_self, c"),
        (("cross", 2), IndexError, "no layer 2: the layers here are 0 to 1, counted from 0"),
        (("cross", "L1"), IndexError, "no layer 'L1': the layers here are 0 to 1, counted from 0"),
    ],
)
def test_maps_name_their_kinds_and_layers(maps: Any, given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        maps[given[0]][given[1]]


def test_a_shipped_checkpoint_has_a_name_in_every_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reverse-r4").mkdir()
    assert load_checkpoint("reverse-r4").config == load_checkpoint(shipped_checkpoint("reverse-r4")).config
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at en-xx: .* shipped one: en-de, en-de-draft, .*lines"):
        load_checkpoint("en-xx")


def test_results_are_short_when_printed_and_whole_as_frames(translator: Translator) -> None:
    translation = translator.translate(SENTENCE * 9, beam_size=2)
    explanation = translator.explain(SENTENCE * 9, translation)
    assert explanation.log_probs == translator.explain(SENTENCE * 9, translation.hypotheses[0].token_ids).log_probs
    entropies = row_entropy(explanation)
    results = [translator, translation, translation.hypotheses[0], explanation, explanation.maps["cross"][0], entropies]
    for each in [*results, translator.translate_text(SENTENCE, beam_size=1)]:
        assert len(repr(each)) < 300
        assert type(each).__name__ in repr(each)
        assert "\n" not in repr(each)
    assert all("<" in each._repr_html_() for each in (translation, explanation, entropies))
    frame = explanation.to_frame()
    for _, row in frame.sample(9, random_state=1).iterrows():
        weights = explanation.maps[row["kind"]][row["layer"]].weights
        assert row["weight"] == weights[row["head"], row["query_position"], row["key_position"]]
    assert len(frame) == sum(layer.weights.numel() for layers in explanation.maps.values() for layer in layers)
    tokens = translation.to_frame().groupby("hypothesis")
    assert tokens["log_prob"].sum().tolist() == pytest.approx([each.log_prob for each in translation.hypotheses])
    assert entropies.to_frame().to_dict("list") == dict(entropies.table())
    assert torch.is_tensor(explanation.maps["cross"][-1].weights)
