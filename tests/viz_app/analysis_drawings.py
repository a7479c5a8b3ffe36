"""Every drawing of the analyses of a sentence, without Streamlit."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from core.analysis import generation_rows
from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast_methods import methods_of
from core.analysis.attribution.deletion_curves import curves_table, deletion_curves, methods_table
from core.analysis.attribution.faithfulness import rank_methods
from core.analysis.attribution.logit_attribution import attribute_logit
from core.analysis.attribution.logit_lexicon import head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import trace_logits
from core.analysis.attribution.score_components import ScoreComponentsOptions, score_components
from core.analysis.composition.edge_effects import exact_effects
from core.analysis.composition.edges import sender_side
from core.analysis.composition.paths import HeadPaths, positions_grid
from core.analysis.composition.replacement import record_replacement
from core.analysis.composition.survey import survey
from core.analysis.corpus import shown_examples
from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.head_charts import sampled_strengths, strongest_weights, tokens_table, weight_by_distance
from core.analysis.corpus.head_scores import chosen_heads, head_points, ranking_table
from core.analysis.corpus.index import CorpusFacts, HeadExample, IndexedSentence, NeuronExample
from core.analysis.corpus.index_file import index_bytes, parse_index
from core.analysis.corpus.recording import Neuron
from core.analysis.declaration import FIRST
from core.analysis.heads.ablation import HeadsOff, gate_effect, token_changes
from core.analysis.heads.bracket_attention import symbol_attention
from core.analysis.heads.head import Head, all_heads
from core.analysis.interventions.patch_results import PatchedComponents, PatchedHeads
from core.analysis.interventions.patching import head_effects, patching_map
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.lens.decoder_lens import EncoderLens, encoder_translations
from core.analysis.lens.logit_lens import logit_lens
from core.analysis.over_training.followed_sentence import FollowedSentence, OverTrainingOptions
from core.analysis.over_training.roles import developments
from core.analysis.over_training.snapshot_reading import level_grid, read_snapshot
from core.analysis.panels import PANELS
from core.analysis.pictures_data import picture_data
from core.analysis.sample_fan import sample_fan
from core.analysis.score_decomposition import score_parts
from core.analysis.token_path.token_walk import follow_token
from core.analysis.training_step.training_step import TrainingStepOptions, training_step
from core.analysis.two_models.buckets import buckets_grid, by_length
from core.analysis.two_models.translated_lines import TestPair, TranslatedPair
from core.analysis.weight_tables import maps_table
from core.analysis.word_scores.scored_lines import score_lines, word_columns, worst_words
from core.decoding import Sampling
from core.images.line_reader import attention_table
from core.mask_predict_translation import explain_iteration, mask_predict_states
from core.speculative_translation import translate_speculatively
from core.text.text_files import Line, parse_lines
from tests.strange_sentences import reason
from tests.viz_app.drawn_sentence import NO_DRAWING, Drawn, Subject
from viz_app.components import attention_map
from viz_app.drawing import ablation
from viz_app.language import translated, translated_all
from viz_app.views.compare.test_set import figures as test_set
from viz_app.views.corpus import corpus_examples
from viz_app.views.corpus.figures.corpus import scatter_figure
from viz_app.views.experiments.head_paths import figures as head_paths
from viz_app.views.models.parsing import constituency_tree
from viz_app.views.models.parsing import figures as parsing_figures
from viz_app.views.models.picture import figures as picture_attention
from viz_app.views.steps import step_walk
from viz_app.views.steps.token_path.figures import step_list
from viz_app.views.steps.training_step.figures.training_views import training_views
from viz_app.views.translate.beam import beam_tree as beam_component
from viz_app.views.translate.fan import fan_payload
from viz_app.views.translate.generation import figures as generation
from viz_app.views.translate.translation.samples_panel import sample_rows


def search(of: Subject) -> Iterator[Drawn]:
    """Beam."""
    yield beam_component.tree_payload(of.tree)
    yield of.tree.to_frame()
    yield {"": of.tree.stop_reason()}


def samples(of: Subject) -> Iterator[Drawn]:
    """Samples beside the beam."""
    rows = sample_rows(sample_fan(of.translator, of.text, Sampling(num_samples=3), 2))
    yield fan_payload(rows, (), "log-prob")


def faster_searches(of: Subject) -> Iterator[Drawn]:
    """Generation: drafted tokens, all tokens at once."""
    steps = list(translate_speculatively(of.translator, of.text, of.translator, 3))
    states = [state for (state, *_) in mask_predict_states(of.models.mask_predict, of.text, 3, 1)]
    for rows in (
        generation_rows.search_rows([("a", of.second)]),
        generation_rows.speculative_rows(steps, of.translator),
        generation_rows.mask_predict_rows(states, of.models.mask_predict),
    ):
        yield pd.DataFrame(generation_rows.rows_table(rows))
        yield generation.rows_html(rows, of.theme, 0)
    last = explain_iteration(of.models.mask_predict, of.text, states[-1])
    yield attention_map.map_payload(last.maps[of.kind][0], 0, of.theme)


def switches(of: Subject) -> Iterator[Drawn]:
    """Switches."""
    everything = all_heads(of.translator.model)
    gates = {of.choice.choice(everything): 0.0}
    found = gate_effect(of.translator, of.text, of.target, gates)
    tokens, before = of.explanation.predicted_tokens, of.explanation.log_probs
    yield ablation.changed_tokens(tokens, before, found.changes, of.theme)
    yield pd.DataFrame(token_changes(tokens, before, found.changes))
    old, new = (ablation.words_of(each) for each in (tokens, of.second.tokens))
    for words, marks in zip((old, new), ablation.difference(old, new), strict=True):
        yield ablation.marked_text(words, marks, "ins")
    effects = dict.fromkeys(everything, found.change)
    yield picture_data(HeadsOff(everything, gates, effects).pictures()[0], translated_all)


def written(of: Subject) -> Iterator[Drawn]:
    """What heads write."""
    trace = trace_logits(of.translator, of.text, of.target)
    found = attribute_logit(trace, of.position, against=of.choice.choice((None, "mean")))
    head = Head("cross", *of.place)
    for picture in found.pictures(head):
        yield picture_data(picture, translated_all, head)
    yield {"": translated(found.answer(head))}
    yield pd.DataFrame(found.table())
    yield pd.DataFrame(found.head_table(of.explanation, head, head_lexicon(trace, head)))
    for result in (head_lexicon(trace, head), rank_lexicons(trace)):
        yield picture_data(result.pictures()[0], translated_all)
        yield {"": translated(result.answer())}
        yield pd.DataFrame(result.table())


def scores(of: Subject) -> Iterator[Drawn]:
    """Why a head looks there."""
    options = ScoreComponentsOptions(head=Head("cross", *of.place), query=of.position, key=0)
    found = score_components(of.translator, of.text, of.target, options)
    for picture in found.pictures(FIRST, ["key.encoder_self.1", "query.cross.1"]):
        yield picture_data(picture, translated_all)
    yield {"": translated(found.answer())}
    yield pd.DataFrame(found.table())


def contrasts(of: Subject) -> Iterator[Drawn]:
    """Why A rather than B: three methods, which draw alike."""
    few = of.choice.sample([name for name in methods_of(of.translator.config) if name != "integrated gradients"], 3)
    found = attribute_contrast(of.translator, of.text, of.target, of.position, methods=few)
    view = of.choice.random() < 0.5, of.choice.random() < 0.5
    curves = deletion_curves(found, 2)
    ranking = rank_methods([curves])
    for picture in (*found.pictures(FIRST, *view), *ranking.pictures()):
        yield picture_data(picture, translated_all)
    yield {"": translated(found.answer())}
    yield {"": translated(ranking.answer())}
    for table in (found.table(*view), found.correlations(), methods_table(found, curves), curves_table(curves)):
        yield pd.DataFrame(table)
    yield pd.DataFrame(ranking.table())


def layers(of: Subject) -> Iterator[Drawn]:
    """Layer by layer."""
    found = logit_lens(of.translator, of.text, of.target, 5)
    yield picture_data(found.pictures(FIRST)[0], translated_all, (of.position, 1))
    yield pd.DataFrame(found.cell_table(of.position, 1))
    yield pd.DataFrame(found.table())
    yield pd.DataFrame(EncoderLens(encoder_translations(of.translator, of.text, 1)).table())


def panels(of: Subject) -> Iterator[Drawn]:
    """The panels of declared analyses."""
    for analysis in PANELS:
        found = analysis(of.explanation)
        for picture in found.pictures(Head(of.kind, 0, 0)):
            yield picture_data(picture, translated_all)
        yield pd.DataFrame(found.table())


def patches(of: Subject) -> Iterator[Drawn]:
    """Patching: the tokens of the sentence in reverse order are the second sentence."""
    second = of.text[::-1]
    try:
        runs = record_runs(of.translator, of.text, second, of.target, of.position)
    except ValueError as error:
        reason(error, *NO_DRAWING)
        return
    results = [
        PatchedComponents([runs], "corrupted", patching_map(runs)),
        PatchedHeads([runs], "corrupted", "cross", 1, {0: head_effects(runs, "cross", 1, 0)}),
    ]
    for found in results:
        for picture in found.pictures():
            yield picture_data(picture, translated_all)
        yield {"": translated(found.answer())}
        yield pd.DataFrame(found.table())


def paths(of: Subject) -> Iterator[Drawn]:
    """Head to head."""
    run = record_replacement(of.translator, of.text, of.target, of.position, "mean")
    found = survey(run, 5)
    yield head_paths.path_graph(run.runs, found, 5, of.theme).data
    yield pd.DataFrame(found.table())
    yield picture_data(HeadPaths(run, found).pictures()[0], translated_all)
    edge = found.ranked()[0].edge
    side = sender_side(edge.sender)
    own = of.explanation.source_tokens if side == "encoder" else of.explanation.fed_tokens[: of.position + 1]
    effects = exact_effects(run, [(edge, at) for at in range(len(own))]).tolist()
    yield picture_data(positions_grid(effects, own), translated_all)


def steps(of: Subject) -> Iterator[Drawn]:
    """Step by step, and the products behind a cell."""
    stack = of.choice.choice(("encoder", "decoder"))
    tokens = of.explanation.source_tokens if stack == "encoder" else of.explanation.fed_tokens
    position = of.choice.randrange(len(tokens))
    path = follow_token(of.translator, of.text, of.target, stack, position, *of.place)
    target = list(of.translation.hypotheses[0].token_ids)
    views = step_list.step_list(path, of.piece, of.tree, target)
    yield step_walk.walk_payload(views, "steps", "about", ("", None), 0, of.theme)
    view = of.choice.choice(views)
    yield pd.DataFrame(path.table(view.part, view.quantities))


def trainings(of: Subject) -> Iterator[Drawn]:
    """One step of training."""
    options = TrainingStepOptions(token=of.position, step=of.choice.randrange(1, 9000))
    found = training_step(of.translator, of.text, of.target, options)
    views = training_views(found, of.translator.config.d_model)
    yield step_walk.walk_payload(views, "steps", "about", ("", None), 0, of.theme)
    view = of.choice.choice(views)
    yield pd.DataFrame(found.table(view.part))  # type: ignore[arg-type]


def first_scores(of: Subject) -> Iterator[Drawn]:
    """Positions: the scores of the first layer."""
    found = score_parts(of.translator, of.text, of.target, of.choice.choice(("encoder_self", "decoder_self")))
    yield pd.DataFrame(found.table(of.place[1]))


def training(of: Subject) -> Iterator[Drawn]:
    """Over training: the same snapshot twice."""
    ids = of.translator.token_ids(of.text, of.target).predicted
    reading = read_snapshot(of.translator, 0, of.text, ids, 1)
    readings = [reading, read_snapshot(of.translator, 9, of.text, ids, 1)]
    yield picture_data(level_grid(readings), translated_all)
    yield pd.DataFrame(FollowedSentence(readings, OverTrainingOptions()).table())
    yield pd.DataFrame(maps_table({each.step: each.explanation.maps[of.kind][0] for each in readings}, 0))
    found = developments([0, 9], [each.cards for each in readings], "confidence")
    for picture in found.pictures(FIRST):
        yield picture_data(picture, translated_all)


def examples(of: Subject) -> Iterator[Drawn]:
    """Corpus: an index of this sentence alone, and an example of a head and one of a neuron."""
    source_ids, _, predicted = of.translator.token_ids(of.text, of.target)
    indexed = IndexedSentence(1, of.text, len(source_ids), tuple(predicted[:-1]))
    head, at = Head("cross", *of.place), of.choice.randrange(len(source_ids))
    shown = [
        *shown_examples.head_examples(of.translator, head, [HeadExample(1.0, indexed, of.position, at)]),
        *shown_examples.neuron_examples(of.translator, Neuron("encoder", 0, 0), [NeuronExample(1.0, indexed, at)]),
    ]
    yield corpus_examples.examples_payload(shown, "title")
    yield pd.DataFrame(shown_examples.examples_table(shown, "strength"))
    corpus_pass = CorpusPass(of.translator, [Line(1, " ".join(of.text.splitlines()), None)])
    assert sum(corpus_pass.steps()) == 1
    index = parse_index(index_bytes(corpus_pass.index(CorpusFacts("tiny", "0" * 64, of.text[:9]))), "tiny")
    of_encoder, of_decoder, *_ = shown_examples.sides(of.translator, index.sentences[0])
    tokens: shown_examples.Tokens = {"encoder": [of_encoder], "decoder": [of_decoder]}
    stack = of.choice.choice(("encoder", "decoder"))
    yield pd.DataFrame(shown_examples.neurons_table(index, stack, 1, tokens, containing=of.text[:1]))
    yield pd.DataFrame(ranking_table(chosen_heads(index, "itself")))
    yield scatter_figure(head_points(index, "one", "spread"), "one", "spread", of.theme)
    yield pd.DataFrame(tokens_table(of.translator, index, head, "weight"))
    for chart in (
        strongest_weights(index, head),
        weight_by_distance(index, head, diagonal=True),
        sampled_strengths(index, head, 10),
    ):
        yield picture_data(chart.picture, translated_all)
        yield pd.DataFrame(chart.table())


def scored_words(of: Subject) -> Iterator[Drawn]:
    """Score a file."""
    try:
        lines = parse_lines(f"{of.text}\n\n{of.text}\t{of.explanation.target}")
        yield pd.DataFrame(word_columns(worst_words(score_lines(of.translator, lines, 1))))
    except ValueError as error:
        reason(error, "but no source", *NO_DRAWING)  # of a text that ends with a line break


def test_sets(of: Subject) -> Iterator[Drawn]:
    """Two models over a test set."""
    pair = TestPair(1, of.text, of.explanation.target)
    sides = [((), text) for text in (of.second.text, of.text)]
    lines = [TranslatedPair(pair, sides[0], sides[1], (20.0, 80.0))]
    names = of.text, of.explanation.target
    yield test_set.sentences_figure(lines, names, of.theme)
    yield picture_data(buckets_grid(by_length(lines), of.text, of.text, names), translated_all)


def trees(of: Subject) -> Iterator[Drawn]:
    """Parsing."""
    try:
        parse = of.models.parser.parse(of.text, 1)
    except ValueError as error:
        reason(error, "the sentence is empty", *NO_DRAWING)  # of one U+2581: SentencePiece's space
        return
    nodes = parsing_figures.tree_nodes(parse.tree)
    yield constituency_tree.tree_payload(parse.tree, 0, [0.5] * len(parse.words))
    yield parse.to_frame()
    explanation = of.models.parser.translator.explain(parse.text, parse.token_ids)
    at = parse.positions[of.choice.choice(nodes).opened]
    for kind in ("cross", "decoder_self"):
        found = symbol_attention(explanation, parse.words, at, kind)
        yield found.to_frame()
        yield attention_map.map_payload(parsing_figures.bracket_map(found), 0, of.theme)


def pictures(of: Subject) -> Iterator[Drawn]:
    """Read a picture."""
    reader = of.models.reader
    image = np.random.default_rng(len(of.text)).integers(0, 256, (reader.height, 16), dtype=np.uint8)
    explanation = reader.explain(image, reader.read(image, 1).token_ids)
    characters = picture_attention.character_attention(explanation, reader.rows, *of.place)
    yield pd.DataFrame(attention_table(explanation))
    yield picture_attention.characters_html(image, characters, reader.patch_size, of.theme, of.text)


DRAWINGS: tuple[Callable[[Subject], Iterator[Drawn]], ...] = (
    *(search, samples, faster_searches, switches, written, scores, contrasts, layers, panels, patches, paths, steps),
    *(trainings, first_scores, training, examples, scored_words, test_sets, trees, pictures),
)
