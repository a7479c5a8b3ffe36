"""A text with gold links: ranked pair by pair as the command line does."""

from core.analysis.alignment.aligners import head_error_rates, rank_aligners
from core.analysis.alignment.pharaoh import GoldLinks, GoldPair
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.model_memory import Loaded
from viz_app.session.models import Model
from viz_app.views.heads import gold_links

PAIRS = gold_links.pasted_pairs("a dog runs ||| ein Hund l\u00e4uft ||| 0-0 1-1 2?2\n\nwhere ? ||| wo ? ||| 0-0")


def test_the_ranking_equals_that_of_the_command_line(model: Model) -> None:
    rankings = TextRankings()
    rankings.begin(model, "attention", PAIRS)
    job = rankings.job
    assert job is not None
    assert job.advance(0)
    assert (job.done, rankings.last) == (1, None)
    assert not job.advance(0)
    ranked = rankings.last
    assert ranked is not None
    assert (ranked.num_pairs, ranked.aligners) == (2, rank_aligners(model.translator, PAIRS))
    assert rankings.error_rates(model) == head_error_rates(ranked.aligners)
    assert not rankings.error_rates(Model("other.safetensors", "another digest", Loaded(model.translator)))
    rankings.begin(model, "norms", PAIRS)
    assert rankings.last is ranked  # until the next one is finished
    rankings.job.advance(60)
    assert rankings.last.method == "norms"
    assert rankings.error_rates(model) == head_error_rates(ranked.aligners)  # still of the weights


def test_a_pair_that_cannot_be_scored_ends_the_job_with_its_reason(model: Model) -> None:
    rankings = TextRankings()
    rankings.begin(model, "attention", [PAIRS[0], GoldPair("very " * 600, "sehr", GoldLinks(frozenset(), frozenset()))])
    assert rankings.job is not None
    assert rankings.job.advance(0)
    assert not rankings.job.advance(0)
    assert rankings.job.error.startswith("pair 2: the text has")
    assert rankings.last is None
