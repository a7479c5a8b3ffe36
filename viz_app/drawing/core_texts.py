"""Texts of `core` that the app shows, marked for the catalogues."""

from core.text.phrases import Phrase
from viz_app.language import marked, tr


def translated(text: str) -> str:
    """Return a phrase of `core` in the visitor's language.

    Other text, such as a number, is returned unchanged.
    """
    if not isinstance(text, Phrase):
        return text
    return tr(text.words, **{name: translated(value) for name, value in text.values.items()})


AXES = (  # of drawings of attention, see `core.drawing.drawing_data`
    marked("Encoder"),
    marked("Decoder"),
    marked("Cross"),
    marked("each source token attends to the source"),
    marked("each target token attends to the target before it"),
    marked("each target token attends to the source"),
    marked("source"),
    marked("attends to source"),
    marked("fed \u25b8 predicts"),
    marked("attends to fed tokens"),
)
LABELS = (  # of heads and their criteria, see `core.analysis.heads.labels`
    marked("aligns words"),
    marked("previous word"),
    marked("next word"),
    marked("itself"),
    marked("same position"),
    marked("fixed distance"),
    marked("same word"),
    marked("rarest word"),
    marked("end mark"),
    marked("first word"),
    marked("punctuation"),
    marked("marks"),
    marked("one word at a time"),
    marked("spread out"),
    marked(
        "an alignment error rate (Och & Ney 2003) below 50% where there are gold links; without them, more than "
        "50% of the words are linked like the mean of the heads in the upper half of the layers"
    ),
    marked(
        "the token before: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or "
        "more than 50% of the weight"
    ),
    marked(
        "the token after: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or more"
        " than 50% of the weight"
    ),
    marked(
        "the token itself: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or "
        "more than 50% of the weight"
    ),
    marked(
        "cross-attention to the source token with the number of the predicted one: the largest weight is there "
        "for at least 90% of the tokens (Voita et al. 2019), or more than 50% of the weight"
    ),
    marked(
        "a token at another distance, always the same: the largest weight is there for at least 90% of the tokens"
        " (Voita et al. 2019)"
    ),
    marked(
        "more than 50% of the weight is on other occurrences of the token; in cross-attention, on source tokens "
        "equal to the predicted one"
    ),
    marked("the largest weight is on the rarest visible token (Voita et al. 2019) for more than 50% of the tokens"),
    marked(
        "more than 50% of the weight is on </s>: perhaps a no-op, as Clark et al. 2019 suggest for separators in BERT"
    ),
    marked("more than 50% of the weight is on the start mark, a language code or the first token"),
    marked("more than 50% of the weight is on punctuation"),
    marked(
        "more than 50% of the weight is on the end mark, the start mark, language codes, the first token and "
        "punctuation together"
    ),
    marked("the largest weight of a row, without </s>, is above 80% on average (Voita et al. 2019)"),
    marked("the entropy is above 90% of its maximum (Clark et al. 2019)"),
)
LABEL_PHRASES = (  # what a head does, such as `It puts {share} of its weight on {place}.`
    marked("aligns words: its alignment error rate is {rate}"),
    marked("links {share} of the words like the other heads"),
    marked("puts {share} of its weight on tokens equal to the query token"),
    marked("attends most to the rarest visible token for {share} of tokens"),
    marked("puts {share} of its weight on one token on average"),
    marked("attends almost uniformly: {share} of the largest possible entropy"),
    marked("puts {share} of its weight on {place}"),
    marked("attends most to {place} for {share} of tokens"),
    marked("fixed distance: {count} back"),
    marked("fixed distance: {count} ahead"),
    marked("the source token at the same position"),
    marked("the source token at the same position {offset}"),
    marked("the previous token"),
    marked("the token itself"),
    marked("the next token"),
    marked("the token {count} before"),
    marked("the token {count} after"),
    marked("puts {share} of its weight on tokens of little content: {places}"),
    marked("{share} on {place}"),
    marked("{first} and {rest}"),
    marked("the first token"),
    marked("punctuation"),
)
BEHAVIOURS = (  # to search heads by, see `core.analysis.corpus.behaviours`
    marked("attends to the previous token"),
    marked("share of the weight on the token before; in cross-attention, before the position of the predicted token"),
    marked("attends to the same position"),
    marked("share of the weight on the token itself; in cross-attention, at the position of the predicted token"),
    marked("attends to the next token"),
    marked("share of the weight on the token after; in cross-attention, after the position of the predicted token"),
    marked("attends at a fixed distance"),
    marked("share of tokens whose largest weight is at the head's most frequent distance (Voita et al. 2019)"),
    marked("attends to the same word"),
    marked(
        "share of the weight on other occurrences of the token; in cross-attention, on source tokens equal to the"
        " predicted one"
    ),
    marked("attends to the rarest token"),
    marked("share of tokens whose largest weight is on the rarest visible token (Voita et al. 2019)"),
    marked("attends to the end mark"),
    marked("share of the weight on </s>"),
    marked("attends to the first token"),
    marked("share of the weight on the start mark, a language code or the first token"),
    marked("attends to punctuation"),
    marked("share of the weight on punctuation"),
    marked("copies"),
    marked(
        "share of the weight on tokens for which the head promotes this very token among the five most (Wang et "
        "al. 2022)"
    ),
    marked("writes the translation"),
    marked("share of the weight on source tokens for which the head promotes the predicted token among the five most"),
    marked("links words like the other heads"),
    marked("share of target words linked like the mean of the heads in the upper half of the layers"),
    marked("agrees with gold links"),
    marked("1 minus the alignment error rate (Och & Ney 2003) on sentences with links annotated by people"),
    marked("attends to one token at a time"),
    marked("mean of the largest weight of a row, without </s> (Voita et al. 2019)"),
    marked("attends everywhere"),
    marked("entropy of the weights over its maximum (Clark et al. 2019)"),
)
CONCERNS = (  # about an alignment, see `core.analysis.alignment.sentence_alignment`
    marked(
        "Only {share} of the weight is on source words, the rest on special tokens or the prefix: too little for an "
        "alignment."
    ),
    marked("\u201c{word}\u201d has {share} of all weight: the head attends to one word rather than aligning words."),
    marked("Little attention: {names}. Function words often get little; any other may not be translated."),
    marked("\u201c{word}\u201d ({coverage})"),
    marked("{names} and {count} more"),
    marked("{first}, {rest}"),
)
FACTS = (  # names of facts about a model, see `core.formats.model_facts`
    marked("Format"),
    marked("Parameters"),
    marked("Stored as"),
    marked("Languages"),
    marked("Target languages"),
    marked("Layers"),
    marked("Widths"),
    marked("Vocabulary"),
    marked("Matrices"),
    marked("Embeddings"),
    marked("Positions"),
    marked("Norms"),
    marked("Activation"),
    marked("Biases"),
    marked("Attention"),
    marked("Dropout in training"),
    marked("Length penalty"),
    marked("End of a search"),
    marked("Source"),
    marked("Token ids"),
    marked("First token"),
    marked("Never generated"),
    marked("Source prefix"),
    marked("Computation"),
    marked("Search of the source"),
    marked("Options not applied"),
    marked("Tokens"),
    marked("Probabilities"),
)
FACT_VALUES = (
    marked("{encoder} + {decoder}, {heads} heads"),
    marked("{name} {first} and {rest}"),
    marked("{count} tokens"),
    marked("{count} tokens of sources, {targets} of targets"),
    marked("both embeddings and the output projection are one matrix"),
    marked("the target's embedding and the output projection are one matrix"),
    marked("both embeddings are one matrix"),
    marked("three different matrices"),
    marked("multiplied by sqrt(d_model)"),
    marked("not scaled"),
    marked("learned, at most {count}"),
    marked("relative, in self-attention: {classes} classes of distances up to {distance}"),
    marked("sinusoidal"),
    marked("sines and cosines alternate"),
    marked("all sines before all cosines"),
    marked("exponent {exponent}"),
    marked("from {position} on"),
    marked("{norms}; epsilon {epsilon}"),
    marked("after each residual connection"),
    marked("on the input of each sub-layer"),
    marked("and after the last layer"),
    marked("and on the embeddings"),
    marked("approximated by tanh"),
    marked("multiplied by another projection"),
    marked("attention"),
    marked("feed-forward"),
    marked("logits"),
    marked("all positions"),
    marked("{count} nearest positions"),
    marked("in the decoder also later ones"),
    marked("as soon as beam-size hypotheses have finished"),
    marked("when no live hypothesis scores above the finished ones"),
    marked("tokens"),
    marked("patches of {size} x {size} pixels, {rows} in a column"),
    marked("padding, start"),
    marked("padding {id}"),
    marked("start {id}"),
    marked("end {id}"),
    marked("mask {id}"),
    marked("free"),
    marked("always {id}"),
    marked("the language: {token}, or the one that a text names"),
    marked("{first} to {rest}"),
    marked("{first}, or {rest}"),
    marked("one"),
    marked("none"),
    marked("not given"),
    marked("PyTorch, as {obstacle}"),
    marked("its source is an image"),
    marked("it has {variants}"),
    marked("relative positions"),
    marked("gated networks"),
    marked("the activation {name}"),
    marked("it is on {device}"),
    marked("its weights are in {type}"),
    marked("this PyTorch has no packed product for its weights"),
    marked("packed matrices, PyTorch's layers: the steps are not compiled for this processor"),
    marked("compiled layers, {instructions}"),
    marked("{layers}, on the matrices in {types}, not copied"),
    marked("attention without a model"),
    marked("{kind} {layers} of {heads} heads"),
    marked("encoder"),
    marked("decoder"),
    marked("cross"),
    marked("{source} source tokens, {target} target tokens"),
    marked("given"),
)
LAYER_TYPES = (  # of Table 1, see `core.analysis.layers.layer_types`
    marked("Self-attention"),
    marked("Recurrent"),
    marked("Convolutional"),
    marked("Separable convolutional"),
    marked("Restricted self-attention"),
)
