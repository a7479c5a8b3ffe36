"""The index compared with brute force over everything that passes of one sentence at a time compute."""

import math
from collections.abc import Iterator

import pytest
import torch

from core.analysis.alignment.first_head import AgreementScorer
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.norms import head_norms
from core.analysis.corpus.collection import EXAMPLES, CorpusPass
from core.analysis.corpus.index import PLACES, QUANTILES, CorpusIndex, HeadExample, NeuronExample
from core.analysis.corpus.recomputation import head_strength, neuron_activation
from core.analysis.corpus.recording import Neuron, feed_forward_networks
from core.analysis.heads.head import all_heads
from core.analysis.heads.scorer import MeasuredRows, piece_frequencies
from core.text.text_files import Line
from core.trace import KINDS, Head
from core.translator import Translator
from tests.core.analysis.corpus.conftest import FACTS
from tests.margins import assert_equal_to_rounding, margin

Found = tuple[float, int, int, int]  # a strength, and the line, query and key


def of_sentence(translator: Translator, line: Line) -> Iterator[tuple[Head, str, Found]]:
    """The strength of each head at every pair of each place but those of promoted tokens, by loops."""
    trace = trace_forward(translator, line.source, line.target or "")
    for kind in KINDS:
        for sublayer in trace.sublayers[kind]:
            attention, norms = sublayer.map, head_norms(sublayer)
            keys = attention.key_tokens
            names = attention.row_tokens if kind == "cross" else attention.query_tokens
            sees, by_pair = attention.visible.sum(1).tolist(), norms.permute(1, 2, 0).tolist()
            for query, key in attention.visible.nonzero().tolist():
                if sees[query] == 1:
                    continue
                at = {
                    "previous": key == query - 1,
                    "same_position": key == query,
                    "following": key == query + 1,
                    "same_token": keys[key] == names[query] and (kind == "cross" or key != query),
                    "sink_end": keys[key] == "</s>",
                    "sink_start": keys[key] != "</s>" and (key == 0 or keys[key] == "<s>"),
                    "sink_punctuation": key > 0 and keys[key] in (".", ",", "?"),
                }
                at["any"] = True
                at["elsewhere"] = not any(each for name, each in at.items() if name not in ("same_token", "any"))
                places = [place for place, is_there in at.items() if is_there]
                for head, norm in enumerate(by_pair[query][key]):
                    yield from (
                        (Head(kind, attention.layer, head), place, (norm, line.number, query, key)) for place in places
                    )


def positions(examples: list[HeadExample]) -> list[tuple[int, int, int]]:
    return [(each.sentence.line, each.query, each.key) for each in examples]


def test_examples_of_heads_are_those_of_brute_force(translator: Translator, lines: list[Line], index: CorpusIndex):
    """Equal to rounding: of two strengths that are almost equal, either may come first."""
    everywhere: dict[tuple[Head, str], dict[tuple[int, int, int], float]] = {}
    for line in lines:
        for head, place, (strength, *position) in of_sentence(translator, line):
            everywhere.setdefault((head, place), {})[tuple(position)] = strength
    for head in all_heads(translator.model):
        for place in PLACES:
            if place in ("copies", "translates"):
                continue
            strengths, best, examples = everywhere.get((head, place), {}), {}, index.head_examples(head, place)
            for (line, *_), strength in strengths.items():
                best[line] = max(strength, best.get(line, 0.0))
            assert len({each.sentence.line for each in examples}) == len(examples)
            found = [each.strength for each in examples]
            for expected in sorted(best.values(), reverse=True)[:EXAMPLES], [strengths[p] for p in positions(examples)]:
                assert_equal_to_rounding(found, expected, translator.model, bits=16)
    elsewhere = [len(index.head_examples(head, "elsewhere")) for head in all_heads(translator.model)]
    assert all(elsewhere)


def test_examples_of_neurons_are_those_of_brute_force(translator: Translator, lines: list[Line], index: CorpusIndex):
    model = translator.model
    activations: dict[tuple[str, int], list[torch.Tensor]] = {}
    for line in lines:
        inputs: dict[tuple[str, int], torch.Tensor] = {}
        networks = feed_forward_networks(model)
        handles = [
            network.register_forward_pre_hook(
                lambda _module, arguments, key=key, inputs=inputs: inputs.update({key: arguments[0][0]})
            )
            for key, network in networks.items()
        ]
        translator.explain(line.source, line.target or "")
        for handle in handles:
            handle.remove()
        for key, network in networks.items():
            activations.setdefault(key, []).append(network.inner(inputs[key]))  # [L, F]
    rows = {line.number: row for row, line in enumerate(lines)}
    for (stack, layer), found in activations.items():
        tokens = torch.cat(found)
        table = index.neurons[stack]
        either = (tokens.abs() < margin(tokens, model)).float().mean(0)  # may have either sign
        difference = torch.tensor(table.active[layer]) - (tokens > 0).float().mean(0)
        assert (difference.abs() <= either + 1e-6).all()
        ninth = math.ceil(0.9 * len(tokens)) - 1  # tenth of the tokens
        torch.testing.assert_close(
            torch.tensor(table.quantiles[layer, :, QUANTILES.index(0.9)]),
            tokens.relu().sort(0).values[ninth],
            rtol=1 / 16,
            atol=1e-4,
        )
        best = torch.stack([each.amax(0).relu() for each in found]).sort(0, descending=True).values  # [N, F]
        for neuron in range(best.size(1)):
            examples = index.neuron_examples(Neuron(stack, layer, neuron))
            assert len({each.sentence.line for each in examples}) == len(examples)
            values = [each.activation for each in examples]
            own = [found[rows[each.sentence.line]][each.position, neuron] for each in examples]
            assert_equal_to_rounding(values, own, model, bits=16, terms=tokens)
            values += [0.0] * (EXAMPLES - len(values))
            assert_equal_to_rounding(values, best[:EXAMPLES, neuron], model, bits=16, terms=tokens)


def test_scores_are_those_of_score_cards(translator: Translator, lines: list[Line], index: CorpusIndex):
    scorer = AgreementScorer(piece_frequencies(translator.tokenizer, [line.source for line in lines]))
    for line in lines:
        scorer.add(translator.explain(line.source, line.target or "").maps)
    for card, expected in zip(index.cards, scorer.cards(), strict=True):
        for name, value in vars(expected).items():
            if name not in ("head", "copies", "translates"):
                assert getattr(card, name) == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), (card.head, name)
        assert card.head == expected.head
        assert math.isnan(card.copies) == (card.head.kind == "encoder_self")
        assert math.isnan(card.translates) == (card.head.kind != "cross")


def test_the_quantiles_of_a_head_are_over_the_strongest_key_of_each_row(
    translator: Translator, lines: list[Line], index: CorpusIndex
):
    rows: list[torch.Tensor] = []
    for line in lines:
        sublayer = trace_forward(translator, line.source, line.target or "").sublayers["decoder_self"][1]
        rows.append(head_norms(sublayer)[2, MeasuredRows(sublayer.map).rows].amax(-1))
    expected = torch.cat(rows).quantile(torch.tensor(QUANTILES), interpolation="higher")
    found = index.heads.quantiles[index.rows[Head("decoder_self", 1, 2)]]
    torch.testing.assert_close(torch.tensor(found), expected, rtol=1 / 15, atol=0)


def test_the_batch_size_does_not_change_the_result(translator: Translator, lines: list[Line], index: CorpusIndex):
    corpus = CorpusPass(translator, lines, batch_size=11)
    assert list(corpus.steps()) == [11, 1]
    other = corpus.index(FACTS)
    assert other.sentences == index.sentences
    assert_equal_to_rounding(other.heads.strengths, index.heads.strengths, translator.model, bits=16)
    for name in ("sentences", "queries", "keys"):  # but for examples that are equally strong, to rounding
        assert (getattr(other.heads, name) == getattr(index.heads, name)).mean() > 0.99, name
    for stack, table in index.neurons.items():
        assert_equal_to_rounding(other.neurons[stack].activations, table.activations, translator.model, bits=16)
        assert (other.neurons[stack].positions == table.positions).mean() > 0.99
    for mine, theirs in zip(other.cards, index.cards, strict=True):
        assert (mine.head, mine.num_tokens) == (theirs.head, theirs.num_tokens)
        assert_equal_to_rounding(list(vars(mine).values())[2:-1], list(vars(theirs).values())[2:-1], translator.model)


def test_an_example_is_computed_again_from_the_model(translator: Translator, index: CorpusIndex):
    for head in (Head("encoder_self", 1, 2), Head("decoder_self", 0, 1), Head("cross", 2, 3)):
        for example in index.head_examples(head):
            assert head_strength(translator, head, example) == pytest.approx(example.strength, rel=1e-4)
    for neuron in (Neuron("encoder", 1, 7), Neuron("decoder", 2, 30)):
        examples = index.neuron_examples(neuron)
        assert examples
        for example in examples:
            assert neuron_activation(translator, neuron, example) == pytest.approx(example.activation, rel=1e-4)
    beyond = index.head_examples(Head("cross", 0, 0))[0]._replace(query=60)
    with pytest.raises(ValueError, match="beyond the end of its sentence: the index belongs to another model"):
        head_strength(translator, Head("cross", 0, 0), beyond)
    far = NeuronExample(1.0, beyond.sentence, 60)
    with pytest.raises(ValueError, match="beyond the end of its sentence"):
        neuron_activation(translator, Neuron("encoder", 0, 0), far)


def test_an_index_can_be_made_before_the_end(
    translator: Translator, lines: list[Line], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.analysis.corpus.collection.WINDOW", 1)
    corpus = CorpusPass(translator, lines, batch_size=3)
    with pytest.raises(ValueError, match="no sentence has been read"):
        corpus.index(FACTS)
    steps = corpus.steps()
    next(steps)
    part = corpus.index(FACTS)
    assert (part.facts.num_sentences, {each.line for each in part.sentences}) == (3, {1, 2, 3})
    next(steps)
    assert {each.line for each in corpus.index(FACTS).sentences} == {1, 2, 3, 4, 5, 6}
    assert {each.line for each in part.sentences} == {1, 2, 3}


def test_repeated_and_long_lines_are_left_out(translator: Translator):
    lines = [Line(1, "A dog."), Line(2, "A dog."), Line(3, "very " * 200), Line(4, "A cat.", "Eine Katze.")]
    corpus = CorpusPass(translator, lines)
    assert [line.number for line in corpus.lines] == [1, 4]
    assert corpus.left_out == 2
    with pytest.raises(ValueError, match="no sentence has at most 128 tokens"):
        CorpusPass(translator, lines[2:3])


def test_too_many_sentences_are_refused(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.analysis.corpus.collection.MAX_SENTENCES", 1)
    with pytest.raises(ValueError, match="there are 2 sentences, at most 1 can be indexed"):
        CorpusPass(translator, [Line(1, "A."), Line(2, "B.")])


def test_a_translation_that_cannot_be_scored_is_named(translator: Translator):
    with pytest.raises(ValueError, match="line 7: the target has"):
        list(CorpusPass(translator, [Line(7, "A dog.", "sehr " * 900)]).steps())


def test_a_line_break_in_a_sentence_is_refused(translator: Translator):
    """The file of an index has a line for each sentence: it could not be read again."""
    with pytest.raises(ValueError, match=r"the sentence 'A dog.\\nA cat.' has a line break"):
        CorpusPass(translator, [Line(1, "A dog.\nA cat.")])
