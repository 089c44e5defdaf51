"""What shards may take together is what the whole may."""

from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.policy import Limits
from gradegate.core.settings import Settings
from gradegate.planning.planner import budget_limits, shard_share

OF = st.integers(1, 40)


@given(whole=st.integers(0, 10**6), of=OF)
def test_shares_add_up_and_are_even(whole, of):
    shares = [shard_share(whole, (number, of)) for number in range(1, of + 1)]
    assert sum(shares) == whole
    assert max(shares) - min(shares) <= 1


@given(calls=st.integers(1, 1000), of=OF)
def test_calls_are_divided(calls, of):
    made = [budget_limits(Settings(budget=Limits(calls=calls), shard=(n, of)), ()) for n in range(1, of + 1)]
    assert sum(limits.calls for limits in made) == calls


def test_dollars_are_divided_and_seconds_are_not():
    settings = Settings(budget=Limits(usd=4.0, seconds=60.0), shard=(2, 4))
    limits = budget_limits(settings, ())
    assert (limits.calls, limits.usd, limits.seconds) == (None, 1.0, 60.0)


def test_a_run_that_is_not_divided_has_all_of_it():
    assert budget_limits(Settings(budget=Limits(calls=7)), ()).calls == shard_share(7, None) == 7


def test_every_shard_makes_a_call_at_once():
    assert [shard_share(2, (number, 4), least=1) for number in range(1, 5)] == [1, 1, 1, 1]
