"""Names of `core` for what a head does, with a capital, listed for the catalogues."""

from viz_app.language import marked

BEHAVIOURS = (  # of `core.analysis.corpus.behaviours`; their definitions are in `viz_app.figures.core_texts`
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
)
