"""Special tokens are known by their place, whatever they are spelled."""

import json
from pathlib import Path

import pytest
import torch

from core.analysis.alignment.sentence_alignment import shown_words
from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorer import score_cards
from core.analysis.tokens.words import mean_over_words, merge_words, readable, without_special_tokens
from core.capture import AttentionMap
from core.export import ExplanationRecord, load_explanation, save_explanation
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.byte_pieces import token_role
from core.text.dictionary_tokenizer import SETTINGS, SOURCE_DICTIONARY, DictionaryTokenizer, dictionary_file
from core.text.piece_splitting import WORDS
from core.translator import Translator

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "__en__", "__de__", "Make", "German:", "a", "b", "."]


def translator(**settings: object) -> Translator:
    """A decoder that starts with `</s>`, as those of M2M100 and fairseq do, and words for tokens."""
    files = {SETTINGS: json.dumps({"split": WORDS, **settings}).encode(), SOURCE_DICTIONARY: dictionary_file(PIECES)}
    sizes = dict.fromkeys(("num_encoder_layers", "num_decoder_layers"), 1) | {"d_model": 8, "d_ff": 8, "num_heads": 2}
    config = TransformerConfig(vocab_size=len(PIECES), **sizes, pad_id=1, bos_id=2, eos_id=2)
    return Translator(Transformer(config).eval(), DictionaryTokenizer(files, config.bos_id))


LANGUAGES = {"languages": {"en": "__en__", "de": "__de__"}, "source_language": "en", "target_language": "de"}
PREFIX = {"prefixes": {"de": "Make German: "}, "target_language": "de"}


def roles(tokens: tuple[str, ...]) -> list[str]:
    return [token_role(token) for token in tokens]


def test_a_start_that_is_called_as_the_end():
    found = translator().explain("a b", "b a")
    assert found.fed_tokens[0] == found.source_tokens[-1] == "</s>"
    assert roles(found.source_tokens) == ["text", "text", "end"]
    assert roles(found.fed_tokens) == ["start", "text", "text"]
    assert roles(found.predicted_tokens) == ["text", "text", "end"]


def test_a_text_may_have_words_that_are_called_as_special_tokens():
    """They are fed, shown and merged as words; only the last token is the end."""
    found = translator().explain("a </s> __de__ b", "</s> b __en__ a")
    assert roles(found.source_tokens) == ["text"] * 4 + ["end"]
    assert roles(found.predicted_tokens) == ["text"] * 4 + ["end"]
    shown = without_special_tokens(mean_over_words(found.maps["cross"][0]))
    assert shown.key_tokens == ("a", "</s>", "__de__", "b")
    assert shown.predicted_tokens == ("</s>", "b", "__en__", "a")


def test_codes_of_languages_are_no_words():
    found = translator(**LANGUAGES).explain("a b", "b a")
    assert roles(found.source_tokens) == ["language", "text", "text", "end"]
    assert roles(found.fed_tokens) == ["start", "language", "text", "text"]
    assert roles(found.predicted_tokens) == ["language", "text", "text", "end"]
    assert shown_words(found.source_tokens) == ("a", "b")
    assert shown_words(found.predicted_tokens) == ("b", "a")


@pytest.mark.parametrize("text", ["a b", "Make German: a b", ">>de<< a b"])
def test_a_prefix_of_the_model_is_no_word_of_the_sentence(text: str):
    found = translator(**PREFIX).explain(text, "b a")
    assert roles(found.source_tokens) == ["prefix", "prefix", "text", "text", "end"]
    assert shown_words(found.source_tokens) == ("a", "b")
    assert [readable(token) for token in found.source_tokens[:2]] == ["Make", "German:"]
    merged = merge_words(found.maps["encoder_self"][0])
    assert without_special_tokens(merged).key_tokens == ("a", "b")


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_files_keep_the_roles(suffix: str, tmp_path: Path):
    found = translator(**LANGUAGES).explain("a </s> b", "b a")
    save_explanation(tmp_path / f"out{suffix}", ExplanationRecord(found))
    read = load_explanation(tmp_path / f"out{suffix}").explanation
    for name in ("source_tokens", "fed_tokens", "predicted_tokens"):
        assert roles(getattr(read, name)) == roles(getattr(found, name))
    for kind, layers in found.maps.items():
        assert roles(read.maps[kind][0].key_tokens) == roles(layers[0].key_tokens)
        assert roles(read.maps[kind][0].query_tokens) == roles(layers[0].query_tokens)


def test_a_file_with_other_roles_is_refused(tmp_path: Path):
    path = tmp_path / "out.json"
    save_explanation(path, ExplanationRecord(translator().explain("a", "b")))
    for role in ("</s>", ["end"]):
        changed = json.loads(path.read_text())
        changed["roles"]["source"][0] = role
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=r"source has 2 tokens and the roles .*, expected one for each token"):
            load_explanation(tmp_path / "changed.json")


@pytest.mark.parametrize("settings", [{}, LANGUAGES])
def test_a_head_that_rests_on_the_start_attends_to_the_first_word(settings: dict[str, object]):
    """Not to the end mark, as which the start is called; nor is it counted under both."""
    found = translator(**settings).explain("a b", "b a .").maps["decoder_self"][0]
    weights = torch.zeros_like(found.weights)
    weights[..., 0] = 1
    for tokens in (found.key_tokens, tuple(map(str, found.key_tokens))):  # also if they do not know their places
        resting = AttentionMap("decoder_self", 0, weights, tokens, tokens, found.predicted_tokens)
        card = score_cards([{"decoder_self": [resting]}])[0]
        assert (card.sink_start, card.sink_end) == (1, 0)
        assert "first token" in [label.name for label in head_labels(card)]
        assert card.confidence == 1, "no row is that of the end"


def test_a_head_that_rests_on_the_code_of_a_language_or_on_the_end():
    found = translator(**LANGUAGES).explain("a b", "b a .")
    for kind, key, name in (
        ("decoder_self", 1, "first token"),
        ("encoder_self", 0, "first token"),
        ("cross", 3, "end mark"),
    ):
        layer = found.maps[kind][0]
        weights = torch.zeros_like(layer.weights)
        weights[..., key] = 1
        tokens = layer.query_tokens, layer.key_tokens, layer.predicted_tokens
        card = score_cards([{kind: [AttentionMap(kind, 0, weights, *tokens)]}])[0]
        assert name in [label.name for label in head_labels(card)]
