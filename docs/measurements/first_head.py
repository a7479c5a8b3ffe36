"""Compare ways to choose the head to show first for a sentence.

python docs/measurements/first_head.py --sentences dev.en.xz --gold source.en target.de links.align

Each head is judged on its links, target word to source word: by ALTI on the model's translations (rolled-out
contributions, another pass; punctuation left out), and by gold links on given translations. See
`core.analysis.alignment.first_head`.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from core import Translator
from core.analysis.alignment.aligners import (
    AlignmentScore,
    argmax_links,
    given_words_of,
    score_links,
    shown_words_of,
    word_attention,
)
from core.analysis.alignment.first_head import first_head
from core.analysis.alignment.pharaoh import GoldLinks, read_gold_pairs
from core.analysis.alignment.sentence_alignment import WordAlignment, shown_words
from core.analysis.attribution.alti import contribution_maps
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.heads.scorer import score_cards
from core.capture import AttentionMap
from core.text.sentences import naming_sentence
from train.data.parallel_text import read_lines


@dataclass(frozen=True)
class Sentence:
    """Attention between words in one sentence.

    Attributes:
        cross: the maps of all layers.
        heads: [L * H, target words, source words] raw weights.
        judge: [target words, source words] ALTI.
        content: [target words] whether a word has letters or digits.
    """

    cross: tuple[AttentionMap, ...]
    heads: Tensor
    judge: Tensor
    content: Tensor
    gold: GoldLinks | None = None

    def agreement(self) -> Tensor:
        """Share of target words that each head links as ALTI does: [L * H]."""
        same = self.heads.argmax(-1) == self.judge.argmax(-1)
        return same[:, self.content].float().mean(-1)


Choice = Callable[[Sentence], int]


def read(translator: Translator, source: str, target: str | tuple[int, ...], gold: GoldLinks | None = None) -> Sentence:
    """Explain a translation, by words as shown or, with gold links, by white space."""
    trace = trace_forward(translator, source, target)
    cross = tuple(trace.explanation.maps["cross"])
    rolled = contribution_maps(trace)[1]["cross"][-1]
    given = target if gold and isinstance(target, str) else None
    words = shown_words_of(cross[0]) if given is None else given_words_of(translator, source, given)
    heads = torch.cat([word_attention(layer, words=words) for layer in cross])
    names = given.split() if given is not None else shown_words(cross[0].row_tokens)
    content = torch.tensor([any(map(str.isalnum, name)) for name in names])
    return Sentence(cross, heads, word_attention(rolled, words=words)[0], content | ~content.any(), gold)


def confident(sentence: Sentence) -> int:
    """Choose the most confident head of the upper layers, less its sinks."""
    upper = sentence.cross[len(sentence.cross) // 2 :]
    cards = score_cards([{"cross": upper}])
    best = max(cards, key=lambda card: card.confidence * (1 - card.sink_share)).head
    return best.layer * upper[0].num_heads + best.head


def consensus(sentence: Sentence) -> int:
    """Choose as the app does."""
    head = first_head(sentence.cross)
    return head.layer * sentence.cross[0].num_heads + head.head


def warned(sentence: Sentence, head: int) -> bool:
    """Whether the page Alignment doubts a head."""
    source, target = shown_words(sentence.cross[0].key_tokens), shown_words(sentence.cross[0].row_tokens)
    return bool(WordAlignment(source, target, sentence.heads[head]).concerns())


def main() -> None:
    """Print a row for each choice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="checkpoints/en-de.safetensors")
    parser.add_argument("--sentences", type=Path, required=True, help="source sentences, one per line")
    parser.add_argument("--count", type=int, default=400, help="use the first of them (default: %(default)s)")
    parser.add_argument("--gold", nargs=3, required=True, metavar="FILE", help="sources, targets and gold links")
    arguments = parser.parse_args()
    translator = Translator.from_checkpoint(arguments.checkpoint)
    texts = list(islice(read_lines(arguments.sentences), arguments.count))
    sentences = [
        read(translator, text, translation.hypotheses[0].token_ids)
        for text, translation in zip(texts, translator.translate_batch(texts), strict=True)
    ]
    gold: list[Sentence] = []
    for number, pair in enumerate(read_gold_pairs(*arguments.gold), start=1):
        with naming_sentence(number):
            source, target = " ".join(pair.source.split()), " ".join(pair.target.split())
            gold.append(read(translator, source, target, pair.links))
    fixed = int(sum(sentence.agreement() for sentence in sentences).argmax())
    choices: dict[str, Choice] = {
        "most confident": confident,
        "one for all": lambda _: fixed,
        "consensus": consensus,
        "ALTI": lambda sentence: int(sentence.agreement().argmax()),
    }
    print("choice | links as ALTI's | below half | doubted | gold AER")
    for name, choose in choices.items():
        heads = [choose(sentence) for sentence in sentences]
        agreeing = torch.stack([sentence.agreement()[head] for sentence, head in zip(sentences, heads, strict=True)])
        doubted = sum(warned(sentence, head) for sentence, head in zip(sentences, heads, strict=True)) / len(sentences)
        score = sum((score_links(argmax_links(each.heads[choose(each)]), each.gold) for each in gold), AlignmentScore())
        below = (agreeing < 0.5).float().mean()
        print(f"{name} | {agreeing.mean():.2f} | {below:.1%} | {doubted:.1%} | {score.error_rate:.2f}")


if __name__ == "__main__":
    main()
