"""The page "Build one" without a browser."""

from time import sleep

import pytest
from streamlit.testing.v1 import AppTest

from core.lab import comparison, measured
from core.lab.tasks import TASKS
from core.lab.training import Training
from core.lab.variants import VARIANTS, Settings
from tests.viz_app.pages import Start, comes_to, drawn, healthy, opened, said, state_of, to_page
from viz_app.session import environment
from viz_app.session.open_models import OpenModels
from viz_app.views.paper.build_one import lab_run
from viz_app.views.paper.build_one.lab_run import LabRun, LabSlot


@pytest.fixture
def lab(start: Start, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(lab_run, "STEPS", (4, 600))
    monkeypatch.setattr(comparison, "COUNTED", 5)
    return to_page(start(text="Where?", beam_size="1", lab_size="one", lab_steps="4"), "build_one")


def run_of(app: AppTest, *clicks: str) -> LabRun:
    """The training after clicks on buttons."""
    healthy(app.run())
    for key in clicks:
        healthy(app.button(key=key).click().run())
    run = state_of(app, LabSlot).measured
    assert run is not None
    return run


@pytest.mark.parametrize(
    ("task", "part", "size", "seed"), [("sort", "no_positions", {}, 7), ("dates", "no_warmup", {"num_layers": 1}, 1)]
)
def test_a_choice_trains_as_the_lab(lab: AppTest, task: str, part: str, size: dict[str, int], seed: int) -> None:
    comes_to(lab, lab_task=task, lab_part=part, lab_size="one" if size else "two", lab_seed=str(seed))
    run = run_of(lab, "lab_step", "lab_step")
    own = [Training(TASKS[task](), Settings(**size, seed=seed), each) for each in ([], [VARIANTS[part]])]
    assert run.losses == [[training.step().loss for _ in range(2)] for training in own]
    assert run.looked == run.job.done == 2
    closed = "all other views compute the paper's model, and are closed to this one" in said(lab)
    row = measured.recorded().get(measured.row_name(task, [part], own[0].settings))
    seen = f"{row.exact[-1].median:.0%} exact answers after 600 steps" if row else "not measured for this task and size"
    assert seen in said(lab)
    assert closed == (part == "no_positions") != ("lab_open" in [each.key for each in lab.button])


def test_pause_holds_and_stop_ends(lab: AppTest) -> None:
    run = run_of(comes_to(lab, lab_steps="600", lab_head="cross L1 H2"), "lab")
    assert "Cross L1 H2" in said(lab)
    done = run.job.done
    sleep(0.1)
    assert run.job.running
    assert run.job.done == done > 0  # only runs of the page train, and they end with the visit
    done = run_of(lab, "lab").job.done
    assert run_of(lab).job.done == done < 600
    assert run_of(lab, "lab_stop").job.done == 0
    assert not run.job.advance(0)


def test_what_is_trained_opens_and_answers_the_same(lab: AppTest) -> None:
    run = run_of(lab, "lab_step")
    list(run.trainings[0].steps(60))
    run_of(lab, "lab_open")
    translator, source = state_of(lab, OpenModels).model().translator, run.trainings[0].task.unseen[0][0]
    found = translator.translate(source, beam_size=1).hypotheses[0].token_ids
    assert run.trainings[0].answer_ids([source])[0][: len(found)] == list(found)
    assert drawn(opened(lab, "heads"), "grid_heads_cross")["size"]["key"] == len(source)


def test_own_pairs_and_limits(lab: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(comes_to(lab, lab_task="own").run())
    for text, problem in ("a", "Line 1 is 'a', expected a source, one tab"), ("a\tb", "1 different sources, at least"):
        assert problem in said(healthy(lab.text_area(key="lab_own").set_value(text).run()))
    pairs = "".join(f"a{number} b\tb a{number}\n" for number in range(20)).encode()
    for content, problem in ((b"\xff", "pairs.tsv is not UTF-8 text"), (pairs, "")):
        lab.file_uploader(key="lab_pairs").set_value([("pairs.tsv", content, "text/plain")])
        assert problem in said(healthy(lab.run()))
    monkeypatch.setattr(lab_run, "MAX_MINUTES", 0)
    assert [len(losses) for losses in run_of(lab, "lab_step", "lab_step").losses] == [1]
    assert "computed for 0 minutes at most: choose a smaller size" in said(lab)
    monkeypatch.setenv("HEADLIGHT_LAB", "off")
    assert "it was started with HEADLIGHT_LAB=off" in said(healthy(lab.run()))
    monkeypatch.setenv("HEADLIGHT_LAB", "no")
    with pytest.raises(environment.SettingError, match="HEADLIGHT_LAB is 'no': it must be on or off"):
        environment.check_settings()
