import torch
from torch import Tensor

from core.analysis.alignment.aligners import word_attention
from core.analysis.alignment.first_head import AgreementScorer, aligner_answer, first_head, head_links
from core.analysis.alignment.sentence_alignment import align_words, shown_words
from core.capture import AttentionMap
from core.trace import KINDS, Head
from core.translator import Translator

SOURCE = ("\u2581A", "\u2581dog", "\u2581barked", ".", "</s>")
TARGET = ("\u2581Ein", "\u2581Hund", "\u2581bellte", ".", "</s>")
DIAGONAL = torch.eye(5)


def cross(*heads: Tensor, layer: int = 0) -> AttentionMap:
    return AttentionMap("cross", layer, torch.stack(heads), ("<s>", *TARGET[:-1]), SOURCE, TARGET)


def on(*keys: int, weight: float = 1.0) -> Tensor:
    """Rows with `weight` on one key each, the rest on the end mark."""
    return torch.eye(5)[list(keys)] * weight + torch.eye(5)[[4] * 5] * (1 - weight)


def test_the_first_head_links_as_the_mean_of_the_upper_layers_does():
    confident_elsewhere = on(2, 2, 2, 2, 2)
    aligning = on(0, 1, 2, 3, 4, weight=0.6)
    maps = [
        cross(on(4, 0, 1, 2, 3), DIAGONAL, layer=0),
        cross(confident_elsewhere, aligning, layer=1),
        cross(on(0, 1, 2, 2, 4, weight=0.8), on(1, 1, 2, 3, 4, weight=0.7), layer=2),
    ]
    # Consensus of layers 2 and 3: Ein from A or dog? A 0.6 + 0.8, dog 0.7; so all content words are on the diagonal.
    # Heads L1 H2, L2 H2 and L3 H1 link all three words so; the first of them has the largest weight on words.
    assert first_head(maps) == Head("cross", 0, 1)
    assert first_head(maps[1:]) == Head("cross", 2, 0)


def test_links_are_counted_without_punctuation_and_each_source_word_is_named_once():
    maps = [cross(DIAGONAL, on(1, 1, 2, 0, 4, weight=0.9))]
    every, twice = head_links(maps, 0, 0), head_links(maps, 0, 1)
    assert every.pairs == (("Ein", "A"), ("Hund", "dog"), ("bellte", "barked"))
    assert (every.agreeing, every.words) == (3, 3)
    assert [source for _, source in twice.pairs] == ["dog", "barked"]
    assert (twice.agreeing, twice.words) == (2, 3)  # `Ein` is linked to `A` by the mean, 0.5 to 0.45


def test_the_answer_has_the_links_of_the_first_head_the_median_head_and_the_aligner_shown():
    maps = [cross(DIAGONAL, *(on(*[key] * 5, weight=0.3) for key in (1, 2)))]
    said = aligner_answer(maps, align_words(maps, (0, 2)))
    assert said.startswith("L1 H1 aligns best: it links 3 of 3 words like the other heads, the median ")
    assert said.endswith(" head 1; 1 of 3 source words have a link.")


def test_a_word_that_the_source_repeats_is_named_once():
    keys = ("\u2581dog", "\u2581barked", "\u2581dog", ".", "</s>")
    maps = [AttentionMap("cross", 0, on(0, 2, 1, 3, 4)[None], ("<s>", *TARGET[:-1]), keys, TARGET)]
    assert [source for _, source in head_links(maps, 0, 0).pairs] == ["dog", "barked"]


def test_links_that_disagree_are_named_only_if_none_agrees():
    maps = [cross(DIAGONAL, DIAGONAL, on(0, 2, 2, 3, 4), on(1, 2, 0, 3, 4))]
    assert head_links(maps, 0, 2).pairs == (("Ein", "A"), ("bellte", "barked"))  # not `Hund` from `barked`
    assert head_links(maps, 0, 3).pairs == (("Ein", "dog"), ("Hund", "barked"), ("bellte", "A"))


def test_words_with_less_than_half_of_their_row_are_not_named():
    faint = head_links([cross(on(0, 1, 2, 3, 4, weight=0.4))], 0, 0)
    assert (faint.pairs, faint.agreeing) == ((), 3)


def test_the_longest_target_words_are_named_in_the_order_of_the_target():
    target = ("\u2581a", "\u2581bbbb", "\u2581ccc", "\u2581dd", "\u2581eeeee", "</s>")
    keys = ("\u2581v", "\u2581w", "\u2581x", "\u2581y", "\u2581z", "</s>")
    maps = [AttentionMap("cross", 0, torch.eye(6)[None], ("<s>", *target[:-1]), keys, target)]
    assert head_links(maps, 0, 0).pairs == (("bbbb", "w"), ("ccc", "x"), ("eeeee", "z"))


def test_without_words_to_link_some_head_is_first():
    bare = AttentionMap("cross", 0, torch.ones(2, 1, 1), ("<s>",), ("</s>",), ("</s>",))
    assert first_head([bare]) in (Head("cross", 0, 0), Head("cross", 0, 1))
    found = head_links([bare], 0, 1)
    assert (found.pairs, found.words) == ((), 0)
    marks = AttentionMap("cross", 0, torch.eye(2)[None], ("<s>", "!"), ("\u2581!", "</s>"), ("\u2581!", "</s>"))
    assert head_links([marks], 0, 0).words == 1  # punctuation, if there is nothing else


def test_in_self_attention_the_first_head_is_confident_and_not_on_sinks():
    tokens = ("\u2581a", "\u2581b", "\u2581c", "</s>")
    resting, broad = torch.eye(4)[[3, 3, 3, 3]], torch.full((4, 4), 0.25)
    looking = torch.eye(4)[[1, 2, 1, 1]]
    maps = [
        AttentionMap("encoder_self", 0, torch.stack([resting, broad]), tokens, tokens),
        AttentionMap("encoder_self", 1, torch.stack([broad, looking]), tokens, tokens),
    ]
    assert first_head(maps) == Head("encoder_self", 1, 1)


def test_the_first_head_of_a_model_has_the_largest_sum_of_roots_by_a_loop(
    translator: Translator, parallel_text: list[tuple[str, str]]
):
    for pair in parallel_text[:3]:
        maps = translator.explain(*pair).maps
        words = [word_attention(layer) for layer in maps["cross"]]
        upper = [matrix for heads in words[len(words) // 2 :] for matrix in heads]
        mean = sum(upper[1:], upper[0]) / len(upper)
        consensus = [[float(row[s] / mean[:, s].sum() ** 0.5) for s in range(len(row))] for row in mean]
        rows = [t for t, word in enumerate(shown_words(maps["cross"][0].row_tokens)) if any(map(str.isalnum, word))]
        scores, counts = dict[Head, float](), dict[Head, int]()
        for layer, heads in enumerate(words):
            for number, matrix in enumerate(heads):
                same = [t for t in rows if int(matrix[t].argmax()) == consensus[t].index(max(consensus[t]))]
                scores[Head("cross", layer, number)] = sum(float(matrix[t].max()) ** 0.5 for t in same)
                counts[Head("cross", layer, number)] = len(same)
        assert first_head(maps["cross"]) == max(scores, key=scores.__getitem__)
        for head, count in counts.items():
            found = head_links(maps["cross"], head.layer, head.head)
            assert (found.agreeing, found.words) == (count, len(rows))
        scorer = AgreementScorer()
        scorer.add(maps)
        shares = {card.head: card.agreement for card in scorer.cards() if card.head.kind == "cross"}
        assert shares == {head: count / len(rows) for head, count in counts.items()}
        assert {first_head(maps[kind]).kind for kind in KINDS} == set(KINDS)
