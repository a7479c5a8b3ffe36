"""Cost of the analyses of one sentence, beside one translation of it.

    python -m benchmarks.analyses [--checkpoint FILE] [--words 20] [--threads 2] [--rounds 9] [--quick]

Each analysis and the translation that it explains take turns in one process. Every call computes everything again, as
the first view of a page does; only the model is warm. The explained token is the one in the middle. The search for
cuts is also timed for its slowest token: the one whose search takes most rounds. Those without a goal report progress.
"""

import statistics
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from benchmarks import ratios, turns
from benchmarks.capture import SHIPPED, sentence, timed
from core import Translator
from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS
from core.analysis.attribution.logit_attribution import attribute_logit
from core.analysis.attribution.logit_lexicon import head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import trace_logits
from core.analysis.attribution.score_components import ScoreComponentsOptions, score_components
from core.analysis.composition.replacement import record_replacement
from core.analysis.composition.survey import survey
from core.analysis.interventions.cut_search import find_cuts
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import Cut, cut_effect
from core.analysis.interventions.minimal_pairs import minimal_pairs
from core.analysis.interventions.pair_runs import PairRuns
from core.analysis.interventions.patching import patching_map
from core.analysis.interventions.path_patching import Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.lens.decoder_lens import encoder_translations
from core.analysis.lens.logit_lens import logit_lens
from core.analysis.signs.left_out import left_out
from core.analysis.signs.pair_signs import pair_signs
from core.analysis.token_path.token_walk import follow_token
from core.trace import Head

GOAL = 1.0  # seconds, for 20 words on two cores without AMX
GOAL_WORDS, QUICK_WORDS = 20, 6


@dataclass(frozen=True)
class Subject:
    """A sentence, its translation, and the choices that a visitor makes."""

    translator: Translator
    text: str
    target: tuple[int, ...]
    position: int  # of the explained token, in the middle
    hardest: int  # position of the token whose search for cuts takes most rounds
    head: Head  # a cross-attention head, of the last layer
    corrupted: str  # a second sentence
    differing: int  # position of the last token whose logits differ between both

    def contributions(self) -> None:
        """Split the logit of the token."""
        attribute_logit(trace_logits(self.translator, self.text, self.target), self.position)

    def lexicons(self) -> None:
        """Rank all lexicons, and read those of every cross-attention head at every source token."""
        trace = trace_logits(self.translator, self.text, self.target)
        for agreement in rank_lexicons(trace).heads:
            head_lexicon(trace, agreement.head)

    def score_components(self) -> None:
        """Split the score of the token and the first key over both streams."""
        options = ScoreComponentsOptions(head=self.head, query=self.position, key=0)
        score_components(self.translator, self.text, self.target, options)

    def cut(self) -> None:
        """Cut a head: its effect on every token, and the new translation."""
        cuts = [Cut(self.head)]
        cut_effect(self.translator, self.text, self.target, cuts)
        translate_cut(self.translator, self.text, cuts)

    def methods(self) -> None:
        """Attribute the token by every method."""
        contrast = contrast_at(self.translator, self.text, self.target, self.position)
        attribute_contrast(self.translator, self.text, self.target, self.position, None, runner_up(contrast), METHODS)

    def patching(self) -> None:
        """Patch every component of every layer at every position."""
        patching_map(self._pair())

    def sending_heads(self) -> None:
        """Patch the path from every encoder head to a cross-attention head's values."""
        receiver = Receiver(self.head, "value")
        path_effects(self._pair(), possible_senders(self.translator.model, receiver), [receiver])

    def _pair(self) -> PairRuns:
        return record_runs(self.translator, self.text, self.corrupted, self.target, self.differing)

    def paths(self) -> None:
        """Estimate all edges, and measure the strongest 200."""
        survey(record_replacement(self.translator, self.text, self.target, self.position))


def analyses(subject: Subject) -> dict[str, tuple[Callable[[], object], bool]]:
    """Return the analyses by name, each with whether the goal holds for it."""
    given = subject.translator, subject.text, subject.target
    return {
        "contributions": (subject.contributions, True),
        "lexicons, all heads": (subject.lexicons, True),
        "score components": (subject.score_components, True),
        "lens": (partial(logit_lens, *given), True),
        "lens, encoder": (partial(encoder_translations, subject.translator, subject.text), True),
        "cut, with its translation": (subject.cut, True),
        "search for cuts": (lambda: exhaust(find_cuts(*given, subject.position)), True),
        "search for cuts, slowest token": (lambda: exhaust(find_cuts(*given, subject.hardest)), False),
        "step": (partial(follow_token, *given, "decoder", subject.position, 0, 0), False),
        "contrast, all methods": (subject.methods, False),
        "signs": (partial(pair_signs, subject.translator, [(subject.text, subject.target)]), False),
        "left-out words": (partial(left_out, subject.translator, subject.text, subject.target), False),
        "patching": (subject.patching, False),
        "patching, all senders to a head": (subject.sending_heads, False),
        "paths": (subject.paths, False),
    }


def exhaust(steps: Iterable[object]) -> int:
    """Run an incremental analysis to its end, and return its number of steps."""
    return sum(1 for _ in steps)


def prepared(translator: Translator, text: str) -> Subject:
    """Translate a sentence, find a second one, and the token whose search for cuts takes most rounds."""
    target, corrupted = translator.translate(text).hypotheses[0].token_ids, minimal_pairs(translator, text)[0].text
    rounds, differing = dict[int, int](), list[int]()
    for position in range(len(target)):
        with suppress(ValueError):  # not the most probable token
            rounds[position] = exhaust(find_cuts(translator, text, target, position))
        with suppress(ValueError):  # as probable with the second sentence
            record_runs(translator, text, corrupted, target, position)
            differing.append(position)
    head, hardest = Head("cross", len(translator.model.decoder.layers) - 1, 0), max(rounds, key=rounds.__getitem__)
    middle = min(rounds, key=lambda position: abs(position - len(target) // 2))
    return Subject(translator, text, target, middle, hardest, head, corrupted, differing[-1])


def main() -> None:
    """Measure and print the table."""
    parser = ratios.parser(__doc__, "few words, two rounds: shows that it works", threads=2, rounds=9)
    parser.add_argument("--checkpoint", type=Path, default=SHIPPED, help="instead of the shipped one")
    parser.add_argument("--words", type=int, nargs="+", default=[GOAL_WORDS], help=f"default: {GOAL_WORDS}")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    measured: dict[str, list[float]] = {}
    print(f"seconds and ratios to a translation, {arguments.threads} threads, beam 4; {ratios.processor()}")
    for num_words in [QUICK_WORDS] if arguments.quick else arguments.words:
        subject = prepared(translator, sentence(num_words))
        tokens = f"token {subject.position + 1}, slowest {subject.hardest + 1}"
        print(f"\n{num_words} words, {len(subject.target)} tokens out; {tokens}")
        print("analysis | seconds | ratio to a translation | goal")
        for name, (analysis, has_goal) in analyses(subject).items():
            analysis()  # warm
            turn = [
                (timed(analysis), timed(partial(translator.translate, subject.text)))
                for _ in range(2 if arguments.quick else arguments.rounds)
            ]
            seconds, per_turn = [own for own, _ in turn], [own / translation for own, translation in turn]
            goal = ""
            if has_goal and num_words == GOAL_WORDS:
                goal = f"{GOAL}{'' if statistics.median(seconds) < GOAL else ', missed'}"
            print(f"{name} | {turns.spread(seconds)} | {turns.spread(per_turn)} | {goal}", flush=True)
            measured[f"{name}, {num_words} words: analysis / translation"] = per_turn
    ratios.save(arguments.json, measured)


if __name__ == "__main__":
    main()
