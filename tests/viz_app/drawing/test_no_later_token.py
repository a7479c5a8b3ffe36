"""In no drawing does a row of the decoder have weight on a token that comes after it, whatever is merged or hidden."""

import base64
import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from core import Explanation, Translator
from core.analysis.joint_map import joint_map
from core.analysis.tokens.words import shown_tokens
from core.drawing.drawing_data import MAX_CELL, NO_WEIGHT, label_spans
from core.drawing.figure1 import figure1_data
from core.drawing.head_explorer import kinds_data
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.byte_pieces import is_special
from core.text.tokenizer import SentencePieceTokenizer
from tests.strange_sentences import strange_sentence
from viz_app.components.attention_lines import lines_payload
from viz_app.components.attention_map import map_payload
from viz_app.drawing.theme import LIGHT
from viz_app.views.heads.grid.head_detail import shown_table


@pytest.fixture(scope="module", params=range(2))
def explanations(request: pytest.FixtureRequest, tokenizer: SentencePieceTokenizer) -> list[Explanation]:
    """A random model's explanations of strange texts with strange translations, most of whose words have pieces."""
    shape = [{}, {"num_heads": 2, "norm": "pre"}][request.param]
    with torch.random.fork_rng():
        torch.manual_seed(request.param)
        config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **shape)
        translator = Translator(Transformer(config).eval(), tokenizer)
    texts = [[strange_sentence(name, number)[:40] for name in ("mask", "later")] for number in range(4)]
    return [translator.explain(*each) for each in (*texts, ("A pink dress.", "Ein rosafarbenes Kleid."))]


def decoded(weights: str, rows: int) -> np.ndarray:
    steps = np.frombuffer(base64.b64decode(weights), "<i2").reshape(rows, -1)
    return np.where(steps == NO_WEIGHT, np.nan, steps)


def shown(tokens: tuple[str, ...], hide_special: bool) -> list[int]:
    """Positions of the tokens that are shown, one by one."""
    return [at for at, token in enumerate(tokens) if not (hide_special and is_special(token))] or [*range(len(tokens))]


def drawn(
    of: Explanation, words: bool, hide_special: bool
) -> Iterator[tuple[str, list[list[tuple[str, str]]], list[list[tuple[str, str]]], np.ndarray]]:
    """Name, rows, keys and weights of all drawings of the decoder's own attention; NaN where a cell is empty."""
    of_kinds = {kind: shown_tokens(layers, words, hide_special) for kind, layers in of.maps.items()}
    attention, count = of_kinds["decoder_self"][0], len(of_kinds["decoder_self"][0].row_tokens)
    for name, data in (
        ("map", map_payload(attention, 1, LIGHT)),
        ("lines", lines_payload(attention, [1], LIGHT)),
        ("widget and page", kinds_data(replace(of, maps=of_kinds))[1]),
    ):
        heads = [data["weights"][0][1]] if "widget" in name else [head["weights"] for head in data["heads"]]
        yield name, data["predicted"], data["key"], decoded(heads[0], count)
    table = shown_table(attention, [1], "hidden")
    table = table[table["key"] != "hidden"].pivot_table(index="query_position", columns="key_position", values="weight")
    columns = range(len(attention.key_tokens))
    names = [label_spans(token) for token in attention.key_tokens]
    yield (
        "table",
        map_payload(attention, 1, LIGHT)["predicted"],
        names,
        table.reindex(range(count), columns=columns).to_numpy(),
    )
    joint = joint_map(of_kinds, 0, 1)
    source = joint.source_rows, joint.source_columns
    block = joint.weights[source[0] :, source[1] :].numpy()
    yield "joint", [label_spans(each) for each in joint.predicted], names, block


def test_no_row_has_weight_on_what_comes_after_it(explanations: list[Explanation]) -> None:
    for of, (words, hide_special) in itertools.product(explanations, itertools.product((False, True), repeat=2)):
        rows, keys = shown(of.predicted_tokens, hide_special), shown(of.fed_tokens, hide_special)
        later = np.array([[key > row for key in keys] for row in rows])
        for name, row_names, key_names, weights in drawn(of, words, hide_special):
            assert row_names == [label_spans(of.predicted_tokens[row]) for row in rows], name
            assert key_names == [label_spans(of.fed_tokens[key]) for key in keys], name
            assert np.isnan(weights[later]).all(), name
            assert not np.isnan(weights[~later]).any(), name


def test_figure_1_has_a_row_for_each_step(explanations: list[Explanation]) -> None:
    for of in explanations:
        layers, fed = of.maps["decoder_self"], min(len(of.fed_tokens), MAX_CELL)
        later = np.triu(np.ones((fed, fed), dtype=bool), 1)
        config = replace(PRESETS["tiny"], num_heads=layers[0].num_heads, num_decoder_layers=len(layers))
        for heads in figure1_data(of, config)["maps"]["decoder_self"]["layers"]:
            assert all((np.isnan(decoded(head, fed)) == later).all() for head in heads)
