"""The page Translate without a browser: other tokens, other words, other targets, and the checks on them."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.sanity_checks import Check
from core.analysis.tokens.words import word_groups
from core.capture import KINDS
from core.decoding import Constraints, Forbidden
from tests.viz_app.pages import Start, healthy, reading, show_translation, state_of, to_page
from viz_app.controls.tables import NOTHING
from viz_app.frame import badges
from viz_app.session import python_code, readings
from viz_app.session.readings import Current, ForcedText, SelectedWords
from viz_app.views.translate.translation import forced_target

TEXT = "Where is it?"


@pytest.fixture
def app(start: Start) -> AppTest:
    return to_page(start(text=TEXT, beam_size="2"), "translate")


def force(app: AppTest, *token_ids: int, go_on: bool) -> AppTest:
    """A click on the page, which takes two runs."""
    forced = readings.ForcedTarget(token_ids) if go_on else readings.ForcedTarget(target=token_ids)
    state_of(app, Current).forced = ForcedText(reading(app).model.digest, TEXT, forced)
    app.run()
    return show_translation(app, readings.FORCED_INDEX)


def test_a_forced_beginning_is_kept_across_pages_and_settings_and_in_the_address(app: AppTest) -> None:
    healthy(app.run())
    first = next(
        token_id
        for token_id in range(300, 400)
        if all(token_id != found.token_ids[0] for found in reading(app).translation.hypotheses)
    )
    forced = reading(force(app, first, go_on=True))
    assert forced.hypothesis.token_ids[0] == first
    assert len(forced.hypothesis.token_ids) > 1
    assert forced.explain().predicted_tokens[: len(forced.hypothesis.tokens)] == forced.hypothesis.tokens
    assert app.query_params["prefix"] == str(first)
    assert any("1 token forced" in caption.value for caption in app.caption)
    app.session_state["beam_size"] = 1
    to_page(app, "heads")
    assert reading(healthy(app.run())).hypothesis.token_ids[0] == first
    assert app.query_params["prefix"] == str(first)
    to_page(app, "translate").run()
    app.button(key="own_again").click()
    assert reading(healthy(app.run())).index == 0
    assert reading(app).hypothesis.token_ids[0] != first
    assert "prefix" not in app.query_params


def forbid(app: AppTest, position: int) -> AppTest:
    """A click on the page, which takes two runs."""
    about = reading(app)
    forbidden = about.forced.forbidden if about.forced else ()
    pair = position, about.hypothesis.token_ids[position]
    forced = readings.ForcedTarget(about.hypothesis.token_ids[:position], forbidden=(*forbidden, pair))
    state_of(app, Current).forced = ForcedText(about.model.digest, TEXT, forced)
    app.run()
    return show_translation(app, readings.FORCED_INDEX)


def test_a_forbidden_token_is_not_written_here_and_on_other_pages(app: AppTest) -> None:
    own = reading(healthy(app.run()))
    written = own.hypothesis.token_ids[1]
    found = reading(forbid(app, 1))
    constraints = Constraints(forbidden=(Forbidden(written, 1),))
    expected = own.model.translator.translate(
        TEXT, 2, num_hypotheses=1, prefix=own.hypothesis.token_ids[:1], constraints=constraints
    )
    assert found.hypothesis.token_ids == expected.hypotheses[0].token_ids
    assert found.hypothesis.token_log_probs == pytest.approx(found.explain().log_probs, abs=1e-4)
    assert app.query_params["forbidden"] == f"2.{written}"
    assert any(each.value.startswith("Without ") and "as token 2" in each.value for each in app.caption)
    again = reading(forbid(app, 1))
    assert {written, found.hypothesis.token_ids[1]}.isdisjoint(again.hypothesis.token_ids[1:2])
    assert app.query_params["forbidden"] == f"2.{written}.2.{found.hypothesis.token_ids[1]}"
    to_page(app, "beam")
    tree = python_code.beam_search(again.model, again.search, again.prefix, again.constraints).known
    assert reading(healthy(app.run())).hypothesis.token_ids == tree.best
    to_page(app, "translate").run()
    app.button(key="own_again").click()
    assert reading(healthy(app.run())).hypothesis.token_ids == own.hypothesis.token_ids
    assert "forbidden" not in app.query_params


def test_what_is_forbidden_stays_so_while_the_tokens_before_it_stay(app: AppTest) -> None:
    about = reading(healthy(app.run()))
    first = about.hypothesis.token_ids[0]
    banned = replace(about, forced=readings.ForcedTarget((first,), forbidden=((1, 300), (2, 301))))
    assert forced_target._still_forbidden(banned, 1) == ()
    assert forced_target._still_forbidden(banned, 2) == ((1, 300),)
    assert forced_target.num_forced(banned) == 1
    assert forced_target.num_forced(replace(banned, forced=readings.ForcedTarget(forbidden=((0, 300),)))) == 0
    assert forced_target.selected_position(banned) == 2
    alternatives = about.explain().alternatives[1]
    named = about.model.translator.tokenizer.target
    other = next(name for name, _ in alternatives if name != about.explain().predicted_tokens[1])
    banned = replace(about, forced=readings.ForcedTarget((first,), forbidden=((1, named.token_id(other)),)))
    assert forced_target.forbidden_options(banned) == {(1, other)}
    assert forced_target.forbidden_options(about) == frozenset()


def test_the_minimum_length_is_in_the_address_and_in_every_search(app: AppTest) -> None:
    app.query_params["min_length"] = "4"
    about = reading(healthy(app.run()))
    assert app.session_state["min_length"] == 4
    assert all(len(each.token_ids) - each.finished >= 4 for each in about.translation.hypotheses)
    assert about.search.constraints() == Constraints(min_length=4)
    early = forced_target.forbidden_options(about)
    assert all(position < 4 and name == "</s>" for position, name in early)
    assert len(early) == sum("</s>" in dict(others) for others in about.explain().alternatives[:4])
    app.session_state["min_length"] = 0
    assert reading(healthy(app.run())).search.min_length == 0
    assert "min_length" not in app.query_params


def test_the_address_restores_what_was_forced(app: AppTest) -> None:
    app.query_params["target"] = "345.28.9"
    target = reading(healthy(app.run()))
    assert target.index == readings.FORCED_INDEX
    assert target.hypothesis.token_ids == (345, 28, 9)
    assert app.text_area(key=forced_target.TEXT.key).value == target.hypothesis.text
    assert len(app.dataframe) == 1  # beside the model's own
    assert any(each.value.startswith("One of the two is unfinished") for each in app.markdown)
    assert app.dataframe[0].value["change"].isna().any()  # where only one of the two has a token there is a dash
    assert app.dataframe[0].proto.placeholder == NOTHING
    app.text_input(key="text").set_value("Another sentence.")
    assert reading(healthy(app.run())).index == 0
    assert "target" not in app.query_params


def test_tokens_of_another_checkpoint_are_not_forced(app: AppTest) -> None:
    app.query_params["target"], app.query_params["model"] = "345.28.2", "0123abcd"
    assert reading(healthy(app.run())).index == 0
    assert "forces tokens of another checkpoint (0123abcd), this one is tiny" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("names", [["source.2"], ["target.1", "source.2"]])
def test_the_address_restores_the_selected_words(app: AppTest, names: list[str]) -> None:
    app.query_params["word"] = names
    about = reading(healthy(app.run()))
    sides = {"source.2": about.explain().source_tokens, "target.1": about.explain().predicted_tokens}
    words = {name: (name[:6], word_groups(tokens)[int(name[-1]) - 1]) for name, tokens in sides.items()}
    assert state_of(app, Current).words == SelectedWords(about.identity, tuple(words[name] for name in names))
    assert app.query_params["word"] == (names if len(names) > 1 else names[0])
    state_of(app, Current).words = SelectedWords(about.identity, ())
    assert "word" not in healthy(app.run()).query_params


def test_the_address_restores_a_hypothesis(app: AppTest) -> None:
    app.query_params["hypothesis"] = "2"
    assert reading(healthy(app.run())).index == 1
    assert app.query_params["hypothesis"] == "2"
    assert "hypothesis" not in show_translation(app, 0).query_params


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("target", "7.400.2", "The target has the token id 400, this model has 0 to 399"),
        ("prefix", "5;6", "The address has prefix=5;6, expected token ids such as 7"),
        ("prefix", "5." * 60 + "5", "which leaves no room for more"),
        ("forbidden", "3", "The address has forbidden=3, expected positions and token ids such as 3.12"),
        ("forbidden", "0.12", "The address has forbidden=0.12, expected positions"),
        ("forbidden", "2.400", "The token id 400 is forbidden, this model has 0 to 399"),
        ("hypothesis", "best", "The address has hypothesis=best, expected a number from 1 on"),
        ("word", "third", "The address has word=third, expected one such as source.3"),
        ("word", "source.40", "The address has word=source.40, but there are 5 words"),
    ],
)
def test_what_the_address_cannot_mean_is_said_and_the_best_is_shown(
    app: AppTest, name: str, value: str, message: str
) -> None:
    app.query_params[name] = value
    assert reading(healthy(app.run())).index == 0
    assert message in app.error[0].value.replace("\\", "")
    assert name not in app.query_params


def test_a_target_of_one_s_own_is_scored(app: AppTest) -> None:
    healthy(app.run())
    app.text_area(key=forced_target.TEXT.key).set_value("Ein  Hund")
    next(button for button in app.button if button.label == "Score it").click()
    mine = reading(healthy(app.run()))
    assert (mine.index, mine.hypothesis.text, mine.hypothesis.finished) == (readings.FORCED_INDEX, "Ein Hund", True)
    assert app.query_params["model"] == mine.model.digest[:8]
    assert app.query_params["target"] == ".".join(map(str, mine.hypothesis.token_ids))
    app.text_area(key=forced_target.TEXT.key).set_value("zu lang " * 300)
    next(button for button in app.button if button.label == "Score it").click()
    assert reading(healthy(app.run())).hypothesis == mine.hypothesis
    assert "at most 562 can be scored" in app.error[0].value
    assert app.text_area(key=forced_target.TEXT.key).value == "zu lang " * 300


def test_all_badges_hold_and_a_false_one_is_red_with_its_reason(app: AppTest) -> None:
    healthy(app.run())
    about = reading(app)
    assert [check.name for check in badges.checks(about) if check.passed] == list(badges.ABOUT)
    assert not app.error
    badges.checks(about)[1:2] = [Check("masks respected", False, "largest weight on a later token: 0.2")]
    healthy(app.run())
    assert "Failed: masks respected" in app.error[0].value
    assert "0\\.2" in app.error[0].value
    assert set(about.explain().maps) == set(KINDS)
