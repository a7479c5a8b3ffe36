"""Names of `core` for what a head does, with a capital, listed for the catalogues."""

from viz_app.language import marked

BEHAVIOURS = (  # of `core.analysis.corpus.behaviours`; their definitions are in `viz_app.drawing.core_texts`
    marked("Attends to the previous token"),
    marked("Attends to the same position"),
    marked("Attends to the next token"),
    marked("Attends at a fixed distance"),
    marked("Attends to the same word"),
    marked("Attends to the rarest token"),
    marked("Attends to the end mark"),
    marked("Attends to the first token"),
    marked("Attends to punctuation"),
    marked("Copies"),
    marked("Writes the translation"),
    marked("Links words like the other heads"),
    marked("Agrees with gold links"),
    marked("Attends to one token at a time"),
    marked("Attends everywhere"),
)
