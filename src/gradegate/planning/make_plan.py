"""From suites to jobs: everything is filled in and bound here, so every mistake shows before the first call."""

from collections.abc import Iterable, Iterator, Sequence

from gradegate.config import idle
from gradegate.config.context import egress
from gradegate.config.load import Located
from gradegate.core.numbers import many
from gradegate.core.settings import CONCURRENCY, TIMEOUT, Settings
from gradegate.core.suite import Case, Limits, Note, Quarantine
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.http.budget import Budget, strictest
from gradegate.http.client import Client
from gradegate.http.guard import Guard
from gradegate.planning.binding.model_choice import grading_models, prices
from gradegate.planning.binding.models import Binder
from gradegate.planning.checks import scripts
from gradegate.planning.plan import Job, Plan
from gradegate.planning.planner import Planner
from gradegate.planning.size import Size
from gradegate.providers.api.provider import Provider
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.security.redaction import excerpt

_SOON = 7  # days before its end from which reports say that a quarantine ends
_NAMED = 20  # tests in quarantine that a note names


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


def concurrency(settings: Settings, suites: Iterable[Located]) -> int:
    """How many calls may be in flight: what the command line says, else the most that a config says, else 4."""
    configured = max((located.suite.max_concurrency or 0 for located in suites), default=0)
    return share(settings.max_concurrency or configured or CONCURRENCY, settings.shard, least=1)


def build_client(settings: Settings, suites: Sequence[Located]) -> Client:
    """One client for all providers; its time-out is the command line's, else the longest of the configs'."""
    configured = max((located.suite.timeout or 0.0 for located in suites), default=0.0)
    timeout = settings.timeout or configured or TIMEOUT
    slots = concurrency(settings, suites)
    budget = Budget(limits_of(settings, suites))
    return Client(
        timeout=timeout,
        retries=settings.retries,
        slots=slots,
        environ=settings.environ,
        budget=budget,
    )


def plan(suites: Sequence[Located], settings: Settings, client: Client) -> Plan:
    """Raises ConfigError with every mistake of every suite."""
    pool: dict[bytes, Provider] = {}
    allowed = egress(settings, (spec for located in suites for spec in located.suite.specs()))
    client.guard = Guard(allowed.beside(client.guard.egress))  # of base and head
    size = Size()
    jobs: list[Job] = []
    notes: list[Note] = []
    mistakes: list[Mistake] = []
    for located in suites:
        suite, wrong = scripts.with_made_vars(located.suite)
        binder = Binder(
            suite, located.workspace, located.folder, client, pool, allowed, settings.asks_targets
        )
        planner = Planner(suite, located.recorded, settings, binder, size)
        jobs += planner.jobs()
        mistakes += [*suite.mistakes, *wrong, *planner.mistakes]
        passed = idle.notes([*located.suite.idle, *dict.fromkeys(binder.idle)])
        notes += [*located.suite.notes, *passed, *planner.notes]
    notes += _quarantines(jobs)
    notes += [note for provider in pool.values() for note in provider.notes]
    mistakes += prices(client.budget.limits, jobs)
    if not mistakes and not settings.listing and not any(job.assertions for job in jobs):
        where = Origin(suites[0].suite.file) if len(suites) == 1 else None
        mistakes.append(
            Mistake("no test has an assertion, so nothing would be checked", where, "add `assert`")
        )
    if mistakes:
        raise ConfigError(*_grouped(mistakes))
    grading = {id(model) for job in jobs for model in grading_models(job)}
    return Plan(
        jobs=tuple(jobs),
        policies=tuple(located.suite.policy for located in suites),
        concurrency=concurrency(settings, suites),
        notes=tuple(dict.fromkeys(notes)),
        models=tuple(
            dict.fromkeys(
                AskedModel(it.id or it.name, it.host, it.replies_from, it.chosen, id(it) in grading)
                for it in pool.values()
            )
        ),
        keys=tuple(
            dict.fromkeys(KeyUse(name, it.host) for it in pool.values() for name in it.keys)
        ),
        about={
            located.suite.file: located.suite.about for located in suites if located.suite.about
        },
        digests={located.suite.file: located.digest for located in suites},
        derived={
            it.suite.file: it.suite.derived
            for it in suites
            if it.suite.derived and it.recorded is None
        },
        commit=settings.commit,
    )


def _grouped(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """The same mistake at many lines is said once, with the lines."""
    places: dict[tuple[str, str, str], list[Origin | None]] = {}
    for mistake in mistakes:
        seen = places.setdefault((mistake.what, mistake.cure, mistake.missing), [])
        if mistake.origin not in seen:
            seen.append(mistake.origin)

    def place(item: tuple[object, list[Origin | None]]) -> tuple[str, int]:
        first = item[1][0]
        return (first.file, first.line) if first else ("", 0)

    for (what, cure, missing), origins in sorted(places.items(), key=place):
        others = [str(origin) for origin in origins[1:] if origin]
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        also = f" (also at {', '.join(others[:5])}{more})" if others else ""
        yield Mistake(what + also, origins[0], cure, missing)


# --- quarantine ---------------------------------------------------------------------------------------------------


def _quarantines(jobs: Iterable[Job]) -> Iterator[Note]:
    """A note for each day on which a quarantine ends, at the first of its tests."""
    cases = {(job.suite, job.number): job.case for job in jobs if job.case.quarantine}
    by_day: dict[Quarantine, list[Case]] = {}
    for case in cases.values():
        if case.quarantine:
            by_day.setdefault(case.quarantine, []).append(case)
    for quarantine, together in sorted(by_day.items(), key=lambda item: item[0].until):
        names = ", ".join(
            f"`{excerpt(case.description or str(case.origin), 80)}`" for case in together[:_NAMED]
        )
        more = f" and {len(together) - _NAMED:,} more" if len(together) > _NAMED else ""
        ends = (
            f"; it ends in {many(quarantine.days, 'day')}, and then they count again"
            if quarantine.days <= _SOON
            else ""
        )
        said = (
            f"in quarantine until {quarantine.until}, so failures of these tests only advise{ends}"
        )
        if quarantine.days < 0:
            said = f"the quarantine ended on {quarantine.until}, so these tests count again; fix them, and remove `flaky`"
        yield Note(f"{said}: {names}{more}", together[0].origin)
