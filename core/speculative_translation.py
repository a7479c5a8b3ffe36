"""Translation by speculative decoding: a small model drafts for a large one."""

from collections.abc import Iterator, Sequence

from core.decoding import FREE, Constraints, Hypothesis, SearchOptions, SpeculativeStep, speculative_steps
from core.results import Translation
from core.translator import Translator


def translate_with_draft(
    translator: Translator, text: str, draft: Translator, draft_tokens: int = 4, constraints: Constraints = FREE
) -> Translation:
    """Translate as `Translator.translate` with a beam of one, by speculative decoding: a small model drafts tokens.

    The translation is the same, but for ties to rounding between products of one and several rows (`cpu_products`).

    Raises:
        ValueError: as `Translator.translate`, and as `check_draft`.
    """
    options = translator.setup.options(1, constraints=constraints)

    def searched(packed: bool) -> Sequence[Hypothesis]:
        *_, last = _steps(translator, text, draft, draft_tokens, options, packed)
        return [last.hypothesis]

    return translator.check.translation(text, translator.codec.source_ids(text), options, searched)


def translate_speculatively(
    translator: Translator, text: str, draft: Translator, draft_tokens: int = 4, packed: bool = False
) -> Iterator[SpeculativeStep]:
    """The steps of `translate_with_draft`, by the models' modules unless `packed`, see `SharedModel.chain_logits`."""
    return _steps(translator, text, draft, draft_tokens, translator.setup.options(1), packed)


def _steps(
    translator: Translator, text: str, draft: Translator, draft_tokens: int, options: SearchOptions, packed: bool
) -> Iterator[SpeculativeStep]:
    check_draft(translator, draft)
    both = [(each, each.codec.source_ids(text)) for each in (translator, draft)]
    limit = min(each.limits.of_translation(source_ids) for each, source_ids in both)
    large, small = (each.shared.chain_logits(source_ids, packed) for each, source_ids in both)
    return speculative_steps(large, small, limit, options, draft_tokens)


def check_draft(translator: Translator, draft: Translator) -> None:
    """Check that a model can draft for another one.

    Raises:
        ValueError: a model is not autoregressive, vocabularies differ, or translations begin with a forced token.
    """
    for model in (translator, draft):
        model.codec.require_autoregressive("speculative decoding")
    if translator.tokenizer.to_bytes() != draft.tokenizer.to_bytes():
        raise ValueError(
            "the draft model has another vocabulary: train one with `python -m train prepare --tokenizer` and this "
            "checkpoint, such as en-de-draft for en-de"
        )
    if translator.setup.options(1).first_is_certain:
        raise ValueError("speculative decoding is not possible with a forced first token: use translate")
