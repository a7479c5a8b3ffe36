"""The search for discoveries: what single heads do, against random weights, and what changes without them.

A sample is translated greedily. For each head, the mean share of each behaviour over the sentences has an interval by
the Bayesian bootstrap over sentences (Rubin 1981). It is a finding if the interval is above what heads of its kind with
random weights reach. Many heads and behaviours are tried, so that limit is for all of them at once, as in Westfall &
Young 1993: `TWINS` models of the same configuration with random weights read the same sentences. Of each, the largest
share of a head counts, by kind and behaviour, in standard deviations of the other twins', and of these numbers the
largest. Their 99th percentile is that of a Gumbel distribution with their mean and variance, as a maximum has.

Then the heads of the findings are switched off one at a time, and as their control `LOT` heads drawn by lot. A greedy
translation changes if and only if a token of it is not the most probable one any more, given those before it: one
teacher-forced pass tells. A head without which no translation changes is no discovery.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from core.analysis.alignment.first_head import ContentWords
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_description import random_twin
from core.analysis.discoveries.facts import Discoveries, Fact
from core.analysis.heads.ablation import BLOCK_TOKENS
from core.analysis.heads.corpus_maps import BATCH_SIZE, Pair, batch_maps, translated_batches
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.gating import Gates, head_gates
from core.analysis.heads.head import Maps, all_heads
from core.analysis.heads.scorer import MeasuredRows
from core.analysis.sample_sentences import EVERYDAY
from core.decoding.limits import batches_by_length
from core.trace import KINDS, Head, Kind
from core.translator import Translator

FACTS, TRIED = 12, 36  # at most, and number of heads that are switched off to find them
LOT = 12  # heads drawn by lot
TWINS = 20  # models with random weights
TWIN_SENTENCES = 16  # of the sample, that they read
LEAST_DEVIATION = 0.01  # a share differs by chance by one percentage point at least
DRAWS = 2_000  # of the bootstrap
EXAMPLES = 3  # sentences in which a changed translation is looked for
PLACED = ("previous", "itself", "next", "same", "end", "first", "punctuation")  # shares of the weight
SOUGHT = (*PLACED, "distance", "links")


def discover(translator: Translator, sentences: Sequence[str] = EVERYDAY) -> Iterator[Discoveries]:
    """Look for what the heads of a model do, the most different things first.

    Yields:
        What is found so far, after every few steps; the last is the result. Stop iterating to cancel the rest.

    Raises:
        ValueError: a sentence cannot be translated, or the model is too large for a random twin, or not autoregressive.
    """
    translator.codec.require_autoregressive("looking for discoveries")
    pairs, rulers, found, facts, done = list[Pair](), list[Ruler](), list[Tensor](), list[Fact](), 0
    by_lot = list[int]()
    total = num_steps(sentences)

    def state(steps: int) -> Discoveries:
        nonlocal done
        done += steps
        return Discoveries(tuple(facts), done, total, tuple(by_lot))

    for batch in translated_batches(translator, sentences):
        pairs += batch
        for maps in batch_maps(translator, batch):
            rulers.append(Ruler(maps))
            found.append(rulers[-1].shares(maps))
        yield state(len(batch))
    heads, own = all_heads(translator.model), torch.stack(found)  # [S, H, B]
    kinds, by_chance = torch.tensor([KINDS.index(head.kind) for head in heads]), list[Tensor]()
    step = math.ceil(len(pairs) / TWIN_SENTENCES)
    for seed in range(TWINS):
        if (twin := random_twin(translator, seed)) is None:
            raise ValueError("this model is too large to be compared with random weights: look into a smaller one")
        shares = _mean_shares(twin, pairs[::step], rulers[::step])
        by_chance.append(torch.stack([shares[kinds == kind].amax(0) for kind in range(len(KINDS))]))
        yield state(1)
    limits = chance_limits(torch.stack(by_chance))[kinds]  # [H, B]
    means, intervals, passes = own.nanmean(0), _intervals(own), _Passes(translator, pairs)
    findings = _findings(heads, means, intervals[0], limits)[:TRIED]
    drawn = torch.randperm(len(heads), generator=torch.Generator().manual_seed(0))[:LOT].tolist() if findings else []
    for place in drawn:
        by_lot.append(len(passes.without(heads[place])[0]))
        yield state(1)
    for place, behaviour in findings:
        head = heads[place]
        if effect := passes.effect(head):
            share, low, high, limit = (each[place, behaviour].item() for each in (means, *intervals, limits))
            clearest = pairs[int(own[:, place, behaviour].nan_to_num(-1).argmax())]
            [maps] = batch_maps(translator, [clearest])
            shown = clearest, maps[head.kind][head.layer]
            facts.append(Fact(head, SOUGHT[behaviour], share, low, high, limit, len(pairs), *shown, *effect))
        if len(facts) == FACTS:
            break
        yield state(1)
    yield state(total - done)


def num_steps(sentences: Sequence[str]) -> int:
    """`Discoveries.total` of a search."""
    return len(sentences) + TWINS + LOT + TRIED


class Ruler:
    """Measures what heads do in one sentence with its translation, whatever the model."""

    def __init__(self, maps: Maps) -> None:
        self._words = ContentWords(maps["cross"][0])
        seen = {kind: MeasuredRows(layers[0]) for kind, layers in maps.items()}
        self._rows = {kind: each.rows for kind, each in seen.items()}
        self._places = {  # [P, R, K]
            kind: torch.stack([each.places[BEHAVIOURS[key].place] for key in PLACED]).float()
            for kind, each in seen.items()
        }

    def shares(self, maps: Maps) -> Tensor:
        """Share of each behaviour of `SOUGHT`, as score-cards have it: [H, B]; NaN where it is not defined."""
        return torch.cat([self._of_kind(kind, maps) for kind in maps])

    def _of_kind(self, kind: Kind, maps: Maps) -> Tensor:
        rows = self._rows[kind]
        weights = torch.stack([layer.weights for layer in maps[kind]])[:, :, rows]  # [L, H, R, K]
        placed = torch.einsum("lhrk,prk->lhp", weights, self._places[kind]) / len(rows)
        if not len(rows):
            return torch.full((weights.size(0) * weights.size(1), len(SOUGHT)), math.nan)
        offsets = weights.argmax(-1) - rows
        usual = offsets.mode(-1, keepdim=True).values
        distance = (offsets == usual).float().mean(-1) * (usual.squeeze(-1).abs() > 1)
        links = torch.full_like(distance, math.nan)
        if kind == "cross":
            links = torch.stack(self._words.agreeing(maps[kind])) / len(self._words.rows)
        return torch.cat([placed, distance[..., None], links[..., None]], -1).flatten(0, 1)


def _mean_shares(twin: Translator, pairs: Sequence[Pair], rulers: Sequence[Ruler]) -> Tensor:
    """Mean shares of another model over sentences: [H, B]."""
    starts = range(0, len(pairs), BATCH_SIZE)
    maps = (each for start in starts for each in batch_maps(twin, pairs[start : start + BATCH_SIZE]))
    return torch.stack([ruler.shares(of_pair) for ruler, of_pair in zip(rulers, maps, strict=True)]).nanmean(0)


def chance_limits(largest: Tensor) -> Tensor:
    """Shares that random weights exceed in one model of a hundred, whatever the kind and the behaviour.

    Args:
        largest: [models, kinds, B] the largest share of a head; NaN where it is not defined.

    Returns:
        [kinds, B]
    """

    def deviations(values: Tensor, others: Tensor) -> Tensor:
        return (values - others.mean(0)) / others.std(0).clamp_min(LEAST_DEVIATION)

    maxima = torch.stack(
        [
            deviations(own, torch.cat([largest[:number], largest[number + 1 :]])).nan_to_num(-math.inf).max()
            for number, own in enumerate(largest)
        ]
    )
    scale = maxima.std() * math.sqrt(6) / math.pi
    most = maxima.mean() - scale * (0.5772156649 + math.log(-math.log(0.99)))
    return largest.mean(0) + most * largest.std(0).clamp_min(LEAST_DEVIATION)


def _intervals(own: Tensor) -> Tensor:
    """Ends of the 95 % intervals of the mean shares: [2, H, B]."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.empty(DRAWS, len(own)).exponential_(generator=generator)
    counted = weights @ own.isfinite().flatten(1).float()
    means = (weights @ own.nan_to_num(0).flatten(1)) / counted
    return means.quantile(torch.tensor([0.025, 0.975]), dim=0).unflatten(1, own.shape[1:])


def _findings(heads: Sequence[Head], means: Tensor, low: Tensor, limits: Tensor) -> list[tuple[int, int]]:
    """Heads with the behaviour that is farthest above chance, as their places in the tensors [H, B].

    Second heads of a kind and a behaviour count half as far above, third ones a third.
    """
    above = ((means - limits) / (1 - limits)).masked_fill(~(low > limits), -1)
    best, behaviours = above.max(1)
    order = [place for place in best.argsort(descending=True).tolist() if best[place] > 0]
    before, discounted = Counter[tuple[str, int]](), dict[tuple[int, int], float]()
    for place in order:
        group = heads[place].kind, int(behaviours[place])
        before[group] += 1
        discounted[place, group[1]] = float(best[place]) / before[group]
    return sorted(discounted, key=lambda each: -discounted[each])


class _Passes:
    """Teacher-forced passes of a sample and its translations."""

    def __init__(self, translator: Translator, pairs: Sequence[Pair]) -> None:
        self._translator, self._sources = translator, [source for source, _ in pairs]
        self._ids = [translator.token_ids(*pair) for pair in pairs]
        lengths = [len(each.source) + len(each.fed) for each in self._ids]
        self._batches = list(batches_by_length(lengths, BLOCK_TOKENS))
        self._never = list(translator.setup.options(1).excluded)
        self._reference = self._run({})

    def effect(self, off: Head) -> tuple[int, float, str, str, str] | None:
        """The last fields of `Fact` for a head that is switched off; None if no text changes."""
        changed, changes = self.without(off)
        for row in sorted(changed, key=changes.__getitem__)[:EXAMPLES]:
            source = self._sources[row]
            before, after = (translate_gated(self._translator, source, {off: gate}, 1).text for gate in (1.0, 0.0))
            if before != after:
                return len(changed), sum(changes) / len(changes), source, before, after
        return None

    def without(self, off: Head) -> tuple[list[int], list[float]]:
        """Rows whose translation changes without a head, and by how much the log-probability of each row does."""
        (log_probs, best), (before_log_probs, before_best) = self._run({off: 0.0}), self._reference
        changes = [new - old for new, old in zip(log_probs, before_log_probs, strict=True)]
        return [row for row, old in enumerate(before_best) if bool((old & ~best[row]).any())], changes

    @torch.inference_mode()
    def _run(self, gates: Gates) -> tuple[list[float], list[Tensor]]:
        """Log-probability of each translation, and whether each of its tokens is the most probable one: [T]."""
        log_probs, best = [0.0] * len(self._ids), [torch.empty(0)] * len(self._ids)
        for rows in self._batches:
            inputs = [self._translator.batch([self._ids[row][side] for row in rows]) for side in (0, 1)]
            with self._translator.inspect() as model, head_gates(model, gates):
                logits = model(*inputs).float()
            for row, of_row in zip(rows, logits, strict=True):
                ids = self._ids[row].predicted
                forced = self._translator.codec.num_forced(ids, self._sources[row])
                predicted, found = torch.tensor(ids[forced:], device=of_row.device), of_row[forced : len(ids)]
                log_probs[row] = float(found.log_softmax(-1).gather(1, predicted[:, None]).sum())
                found[:, self._never] = -math.inf
                best[row] = (found.argmax(-1) == predicted).cpu()
        return log_probs, best
