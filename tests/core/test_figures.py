"""Numbers say neither more nor less than they mean."""

from __future__ import annotations

from gradegate.core.numbers import describe_usage, format_count, format_number, format_percent, format_percents, format_price, format_scores
from gradegate.core.usage import NO_USAGE, Usage
from support.each import each


@each(
    ("value", "text"),
    [(0, "0"), (0.7, "0.7"), (1.0, "1"), (1234.5, "1,234.5"), (0.00001, "1e-05"), (1e308, "1e+308"), (float("nan"), "nan")],
)
def test_figures_are_short(value: float, text: str) -> None:
    assert format_number(value) == text


@each(
    ("one", "other", "pair"),
    [
        (0.2, 0.5, ("0.2", "0.5")),
        (0.69999, 0.7, ("0.69999", "0.7")),
        (0.5, 0.5, ("0.5", "0.5")),
        (0.1 + 0.2, 0.3, ("0.30000000000000004", "0.29999999999999999")),
    ],
)
def test_numbers_that_differ_look_different(one: float, other: float, pair: tuple[str, str]) -> None:
    assert format_scores(one, other) == pair


@each(("one", "other", "pair"), [(0.5, 0.95, ("50%", "95%")), (0.9496, 0.95, ("94.9%", "95%")), (0.95004, 0.95, ("95.004%", "95%"))])
def test_a_rate_just_below_its_limit_does_not_read_like_it(one: float, other: float, pair: tuple[str, str]) -> None:
    assert format_percents(one, other) == pair


@each(
    ("passed", "graded", "text"),
    [(2, 3, "66.6%"), (29, 100, "29%"), (2999, 3000, "99.9%"), (9999, 10_000, "99.9%"), (7, 7, "100%"), (0, 7, "0%")],
)
def test_a_rate_is_cut_as_the_output_pass_rate_is(passed: int, graded: int, text: str) -> None:
    assert format_percents(passed / graded, 0.5)[0] == text


def test_one_is_not_many() -> None:
    assert [format_count(number, "case") for number in (0, 1, 2000)] == ["0 cases", "1 case", "2,000 cases"]
    assert format_percent(2 / 3) == "66.7%"


@each(
    ("usage", "text"),
    [
        (NO_USAGE, "not called"),
        (Usage(1, 2, 3, 0.0), "1 call, 5 tokens, 0 USD"),
        (Usage(2, 2, 3, 1.5, unpriced=1, reasks=2), "2 calls, 5 tokens, cost unknown, re-asked 2 times"),
    ],
)
def test_a_cost_that_nobody_knows_is_not_zero(usage: Usage, text: str) -> None:
    assert describe_usage(usage) == text


def test_prices_are_in_dollars() -> None:
    assert format_price(Usage(1, cost=0.01234)) == "0.0123 USD"
