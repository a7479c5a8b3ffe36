"""The view Table 2: the shipped models beside the paper's."""

from core.analysis.training_cost import TABLE_2
from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from tests.viz_app.pages import Start, opened


def test_the_shipped_models_are_below_the_rows_of_the_paper(start: Start) -> None:
    table = opened(start(text="Where?", beam_size="1"), "table_2").dataframe[0].value
    assert [*table["model"]] == [*(row.model for row in TABLE_2), "en-de", "en-fr"]
    for name, column in (("en-de", "bleu_de"), ("en-fr", "bleu_fr")):
        row = table.set_index("model").loc[name]
        scores = load_checkpoint(shipped_checkpoint(name)).training["scores"]
        (score,) = [each for each in scores if each["test_set"] == "newstest2014"]
        assert (row[column], row["signature"]) == (score["paper_bleu"], score["paper_bleu_signature"])
    shares = table["counted_exaflops"] / table["exaflops_de"]
    assert shares.dropna().between(0.1, 1).tolist() == [True, True]  # base and big
