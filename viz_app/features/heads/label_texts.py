"""Names of `core` for what a head does, and their criteria, listed for the catalogues."""

from viz_app.language import marked

DEFINITIONS = {
    marked("aligns words"): marked(
        "an alignment error rate (Och & Ney 2003) below 50% where there are gold links; without them, more "
        "than 50% of the words are linked like the mean of the heads in the upper half of the layers"
    ),
    marked("previous word"): marked(
        "the token before: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or "
        "more than 50% of the weight"
    ),
    marked("next word"): marked(
        "the token after: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or "
        "more than 50% of the weight"
    ),
    marked("itself"): marked(
        "the token itself: the largest weight is there for at least 90% of the tokens (Voita et al. 2019), or "
        "more than 50% of the weight"
    ),
    marked("same position"): marked(
        "cross-attention to the source token with the number of the predicted one: the largest weight is "
        "there for at least 90% of the tokens (Voita et al. 2019), or more than 50% of the weight"
    ),
    marked("fixed distance"): marked(
        "a token at another distance, always the same: the largest weight is there for at least 90% of the "
        "tokens (Voita et al. 2019)"
    ),
    marked("same word"): marked(
        "more than 50% of the weight is on other occurrences of the token; in cross-attention, on source "
        "tokens equal to the predicted one"
    ),
    marked("rarest word"): marked(
        "the largest weight is on the rarest visible token (Voita et al. 2019) for more than 50% of the tokens"
    ),
    marked("end mark"): marked(
        "more than 50% of the weight is on </s>: perhaps a no-op, as Clark et al. 2019 suggest for separators in BERT"
    ),
    marked("first word"): marked("more than 50% of the weight is on <s> or the first token"),
    marked("punctuation"): marked("more than 50% of the weight is on punctuation"),
    marked("marks"): marked("more than 50% of the weight is on </s>, <s>, the first token and punctuation together"),
    marked("one word at a time"): marked(
        "the largest weight of a row, without </s>, is above 80% on average (Voita et al. 2019)"
    ),
    marked("spread out"): marked("the entropy is above 90% of its maximum (Clark et al. 2019)"),
}
