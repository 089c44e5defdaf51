"""The limits of a run and of one shard: all shards together take no more than the whole run may."""

from collections.abc import Iterable

from gradegate.errors import ConfigError
from gradegate.http.budget import strictest
from gradegate.planning.cache import check_secret
from gradegate.planning.load import Located
from gradegate.values.settings import Settings
from gradegate.values.suite import Limits


def check_options(settings: Settings) -> None:
    """Raise ConfigError for options that do not go together, and for a secret that is too short."""
    check_secret(settings)
    if settings.shard and settings.merge:
        raise ConfigError.at("both `shard` and `merge` are given", None, "run the shard in one job, and merge in another")
    if settings.open and not settings.shard and not settings.merge:
        cure = "give <--shard 3/8>: the shard re-asks its share of these failures"
        raise ConfigError.at("`open` is given without `shard` or `merge`", None, cure)


def share(whole: int, shard: tuple[int, int] | None, least: int = 0) -> int:
    """An even share of a whole number, of which the first shards have what is over; all of it where there are none."""
    if shard is None:
        return whole
    number, of = shard
    return max(least, whole // of + (number <= whole % of))


def limits_of(settings: Settings, suites: Iterable[Located]) -> Limits:
    """The strictest of what command line and configs allow; of a shard its share of what is left of it."""
    own = Limits(settings.max_calls, settings.max_usd, settings.max_seconds)
    limits = strictest((own, *(located.suite.policy.budget for located in suites)))
    if settings.shard is None:
        return limits
    # An even share of the calls and dollars that are left. Seconds go by for all shards at once.
    calls, usd, shard, taken = limits.calls, limits.usd, settings.shard, settings.taken
    return Limits(
        calls=None if calls is None else share(max(0, calls - taken[0]), shard),
        usd=None if usd is None else max(0.0, usd - taken[1]) / shard[1],
        seconds=limits.seconds,
    )
