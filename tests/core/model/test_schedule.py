import pytest

from core.model.schedule import WARMUP_SHARE, cooldown_factor, fitted_scale, fitted_warmup, learning_rate


@pytest.mark.parametrize(("d_model", "warmup", "paper"), [(512, 4000, 6.99e-4), (1024, 4000, 4.94e-4)])
def test_peak_is_at_the_end_of_the_warmup(d_model: int, warmup: int, paper: float) -> None:
    rates = {step: learning_rate(step, d_model, warmup) for step in range(1, 3 * warmup)}
    assert max(rates, key=rates.__getitem__) == warmup
    assert rates[warmup] == pytest.approx((d_model * warmup) ** -0.5)
    assert rates[warmup] == pytest.approx(paper, rel=1e-3)


def test_rises_in_a_line_and_falls_with_the_root() -> None:
    assert learning_rate(100, 64, 1000) == pytest.approx(100 * learning_rate(1, 64, 1000))
    assert learning_rate(4000, 64, 1000) == pytest.approx(learning_rate(1000, 64, 1000) / 2)


def test_steps_count_from_one() -> None:
    with pytest.raises(ValueError, match=r"step \(0\) must be at least 1"):
        learning_rate(0, 512, 4000)


def test_a_time_limit_ends_the_warmup_after_a_tenth_at_a_lower_peak() -> None:
    limit, seconds, warmup = 10.0, 2.0, 1000
    steps = range(1, 301)
    fitted = {fitted_warmup(step, warmup, step * seconds / 60, limit) for step in steps}
    first = round(60 * WARMUP_SHARE * limit / seconds)
    assert sorted(fitted) == pytest.approx([first] * len(fitted))
    scale = fitted_scale(first, warmup)
    rates = [scale * learning_rate(step, 64, first, "constant") for step in steps]
    assert rates[:first] == pytest.approx([step / first * rates[-1] for step in steps[:first]])
    assert rates[first:] == pytest.approx([learning_rate(warmup, 64, warmup) * (first / warmup) ** 0.5] * (300 - first))
    assert fitted_warmup(50, 5, 0.05, limit) == 5  # a short one is as ever
    assert fitted_scale(5, 5) == 1


def test_cooldown_falls_in_a_line_over_the_last_steps_and_only_then() -> None:
    factors = [cooldown_factor(step, last_step=100, cooldown=20) for step in range(1, 101)]
    assert factors[:80] == [1.0] * 80
    assert factors[80:] == pytest.approx([(20 - passed) / 21 for passed in range(20)])


def test_without_a_cooldown_the_rate_is_the_papers_to_the_end() -> None:
    assert {cooldown_factor(step, last_step=100, cooldown=0) for step in range(1, 101)} == {1.0}
