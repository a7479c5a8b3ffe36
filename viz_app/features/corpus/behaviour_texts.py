"""Texts of `core` about what heads do, listed for the catalogues."""

from viz_app.language import marked

BEHAVIOURS = (  # of `core.analysis.corpus.behaviours`: the names, with a capital, and the definitions
    marked("Looks at the previous token"),
    marked("Looks at the same position"),
    marked("Looks at the next token"),
    marked("Looks at a fixed distance"),
    marked("Looks at the same word"),
    marked("Looks at the rarest token"),
    marked("Looks at the end mark"),
    marked("Looks at the first token"),
    marked("Looks at punctuation"),
    marked("Copies"),
    marked("Writes the translation"),
    marked("Links words like the other heads"),
    marked("Agrees with gold links"),
    marked("Looks at one token at a time"),
    marked("Looks everywhere"),
    marked("share of the weight on the token before; in cross-attention, before the position of the predicted token"),
    marked("share of the weight on the token itself; in cross-attention, at the position of the predicted token"),
    marked("share of the weight on the token after; in cross-attention, after the position of the predicted token"),
    marked("share of tokens whose largest weight is at the head's most frequent distance (Voita et al. 2019)"),
    marked(
        "share of the weight on other occurrences of the token; in cross-attention, on source tokens equal to "
        "the predicted one"
    ),
    marked("share of tokens whose largest weight is on the rarest visible token (Voita et al. 2019)"),
    marked("share of the weight on </s>"),
    marked("share of the weight on <s> or the first token"),
    marked("share of the weight on punctuation"),
    marked(
        "share of the weight on tokens for which the head promotes this very token among the five most (Wang "
        "et al. 2022)"
    ),
    marked("share of the weight on source tokens for which the head promotes the predicted token among the five most"),
    marked("share of target words linked like the mean of the heads in the upper half of the layers"),
    marked("1 minus the alignment error rate (Och & Ney 2003) on sentences with links annotated by people"),
    marked("mean of the largest weight of a row, without </s> (Voita et al. 2019)"),
    marked("entropy of the weights over its maximum (Clark et al. 2019)"),
)
