"""Recording of the runs of two sources with one target prefix."""

from collections.abc import Sequence

import torch

from core.analysis.heads.head import attention_layers
from core.analysis.interventions.pair_runs import (
    COMPONENTS,
    Component,
    Metric,
    PairRuns,
    component_modules,
    component_place,
)
from core.analysis.subject import check_position
from core.trace import STACKS, Stack, attention_place, record
from core.translator import Translator

MIN_DIFFERENCE = 0.01  # nats between the metrics of both runs; a share of less says nothing


@torch.inference_mode()
def record_runs(
    translator: Translator,
    clean: str,
    corrupted: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
    metric: Metric = "difference",
) -> PairRuns:
    """Run two sources of equal length in tokens with one target prefix, and record all components' outputs.

    The prefix is what comes before a predicted position, counted from 0. A is by default the predicted token, B the
    corrupted run's most probable other one; both are ids.

    Raises:
        ValueError: as `Translator.explain`; the sources have different lengths, are the same, or hardly differ in the
            metric; there is no such position or token; A is B.
    """
    clean_ids, fed, predicted = translator.token_ids(clean, target)
    corrupted_ids = translator.token_ids(corrupted, "").source
    check_sources(translator, clean_ids, corrupted_ids)
    check_position(position, len(predicted))
    token = predicted[position] if token is None else token
    runs = recorded_passes(
        translator, (clean, corrupted), (clean_ids, corrupted_ids), fed[: position + 1], token, against, metric
    )
    if abs(runs.clean - runs.corrupted) < MIN_DIFFERENCE:
        name = "difference of the logits" if metric == "difference" else "log-probability"
        raise ValueError(
            f"the {name} is {runs.clean:.3f} with the clean sentence and {runs.corrupted:.3f} with the corrupted one, "
            f"so there is nothing to recover: choose another predicted token or another corrupted sentence"
        )
    return runs


@torch.inference_mode()
def recorded_passes(
    translator: Translator,
    texts: tuple[str, str],
    sources: tuple[Sequence[int], Sequence[int]],
    fed: Sequence[int],
    token: int,
    against: int | None,
    metric: Metric,
) -> PairRuns:
    """Run two sources of equal length with the same fed tokens, and record all components' outputs, see `record_runs`.

    Raises:
        ValueError: there is no such token, or A is B.
    """
    with translator.inspect() as model:
        outputs: dict[tuple[Component, int], str] = {
            (component, layer): component_place(component, layer)
            for component in COMPONENTS
            for layer in range(len(component_modules(model, component)))
        }
        heads = {key: attention_place(*key, "heads") for key in attention_layers(model)}
        entered: dict[Stack, str] = {stack: f"{stack}.0.self_attention.residual_before" for stack in STACKS}
        masks = {key: attention_place(*key, "mask") for key in heads}
        memory = "decoder.0.cross_attention.memory"
        source_ids, fed_ids = translator.batch(list(sources)), translator.batch([fed])
        recorded = (*outputs.values(), *heads.values(), *entered.values(), *masks.values(), memory)
        with record(model, recorded) as values:
            logits = model(source_ids, fed_ids.expand(2, -1))[:, -1].float()
    if against is None:
        against = translator.setup.best_other(logits[1], token)
    for name, token_id in (("token", token), ("against", against)):
        if not 0 <= token_id < logits.size(1):
            raise ValueError(f"{name} is {token_id}, expected the id of a target token, 0 to {logits.size(1) - 1}")
    if token == against:
        raise ValueError(f"both tokens are {translator.codec.piece(token)}: give another one to compare with")
    return PairRuns(
        translator=translator,
        texts=texts,
        source_ids=source_ids,
        fed=fed_ids,
        token=token,
        against=against,
        metric=metric,
        outputs={key: values[place] for key, place in outputs.items()},
        heads={key: values[place].transpose(1, 2) for key, place in heads.items()},
        entered={stack: values[place] for stack, place in entered.items()},
        masks={key: values[place][:1] for key, place in masks.items()},
        memory=values[memory],
        logits=logits,
    )


def check_sources(translator: Translator, clean: Sequence[int], corrupted: Sequence[int]) -> None:
    """Check that two sources can be patched.

    Raises:
        ValueError: they have different lengths, or are the same.
    """
    if len(clean) != len(corrupted):
        written = [" ".join(translator.codec.source_pieces(ids)) for ids in (clean, corrupted)]
        raise ValueError(
            f"the clean sentence has {len(clean)} tokens ({written[0]}), the corrupted one {len(corrupted)} "
            f"({written[1]}): patching needs equally many, so replace a word by one of as many tokens"
        )
    if clean == corrupted:
        raise ValueError("both sentences have the same tokens: change a word of the corrupted one")
