"""One suite to jobs: its cases filled in and bound, each for every target and prompt that it has."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from msgspec.structs import replace

from gradegate.assertions.grading.bound import Binding
from gradegate.config import unknown_keys
from gradegate.config.context import egress
from gradegate.config.load import Located
from gradegate.config.test_files import instead_of_variable
from gradegate.core.conversation import CONVERSATION, told
from gradegate.core.numbers import many, name_some
from gradegate.core.policy import Limits, Note, Quarantine, strictest
from gradegate.core.settings import CONCURRENCY, RETRIES, TIMEOUT, Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.http.guard import Guard
from gradegate.http.pacing import PATIENCE
from gradegate.planning import filters, recall
from gradegate.planning.binding.assertions import BROUGHT, Subject, bind, check_options, check_share
from gradegate.planning.binding.models import Binder
from gradegate.planning.checks import assertions, credentials, derived_metrics, models, scripts
from gradegate.planning.checks import rules as checks
from gradegate.planning.checks.models import prices
from gradegate.planning.checks.variables import Names
from gradegate.planning.identity import definition, named
from gradegate.planning.pairs import Pairs, Target
from gradegate.planning.plan import Job, Plan, grading_models, held
from gradegate.planning.size import Size, TooLarge
from gradegate.planning.variables import Prompts, Variables
from gradegate.providers.api.provider import Provider
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

MAX_REPEATS = 10_000
_SOON = 7  # days before its end from which reports say that a quarantine ends
_NAMED = 20  # tests in quarantine that a note names


@dataclass
class Planner:
    """Plans the jobs of one suite; what is wrong or worth a word is in ``mistakes`` and ``notes``."""

    suite: Suite
    recorded: (
        tuple[Case, ...] | None
    )  # cases that bring their answers, which are planned in place of the suite's
    settings: Settings
    binder: Binder
    size: Size
    number: int = 0  # of the next case
    stored: dict[str, None] = field(
        default_factory=dict
    )  # the names under which cases so far store their answers
    mistakes: list[Mistake] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        suite, self.env = self.suite, self.suite.env.texts()
        recorded = self.recorded is not None
        prompt = suite.prompts[0].text if len(suite.prompts) == 1 else ""
        self.variables = Variables(self.binder.workspace, self.binder.folder, self.env, prompt)
        self.pairs = Pairs(suite, self.binder, recorded, self.mistakes)
        self.prompts = Prompts(self.env, self.mistakes)
        self.asked: object = None  # targets with prompts, of the last case
        self.stores = any(recall.OPTION in case.options.settings for case in suite.cases)
        defined = {name for case in suite.cases for name in case.vars}
        asked = self.settings
        partial = recorded or bool(filters.filters_in(asked))
        self.names = Names(defined, suite.env, frozenset(asked.variables), partial=partial)

    def jobs(self) -> list[Job]:
        """All of them; none where the plan is too large."""
        try:
            return self._planned()
        except TooLarge as e:
            self.mistakes += e.mistakes
            return []

    def _planned(self) -> list[Job]:
        recorded = self.recorded
        cases = list(recorded or ())
        if recorded is None:
            with gather_mistakes(self.mistakes):
                cases, notes = filters.cases(self.suite, self.settings)
                self.notes += notes
        self.size.expect(self.suite, cases)
        targets = list(self.pairs.targets()) if recorded is None else []
        jobs = self._jobs(cases, targets)
        if recorded is not None or self.settings.listing:
            self.mistakes += self.names.mistakes()
            return jobs
        self.mistakes += derived_metrics.derived(self.suite, jobs)
        if len(targets) == len(self.suite.targets):
            self.mistakes += assertions.comparisons(jobs)
            self.mistakes += self.names.mistakes()
        if not self.mistakes and not self.suite.mistakes:
            self.mistakes += models.graders(self.suite)
            self.mistakes += checks.rules(self.suite, jobs, filters.leaving_out(self.settings))
            self.notes += checks.unselected(self.suite, jobs)
        if self.suite.policy.reask == "answers" and any(job.needs for job in jobs):
            text = (
                "with `runs`, `reask: answers` works like `reask: grader`: each run is a new answer"
            )
            self.notes.append(Note(text))
        self.notes += (
            *assertions.toothless(self.suite, jobs),
            *assertions.warnings(jobs, cases),
            *self.names.notes(),
        )
        return jobs

    def _jobs(self, cases: Iterable[Case], targets: list[Target]) -> list[Job]:
        jobs: list[Job] = []
        for case in cases:
            try:
                jobs += self._case(case, targets)
            except TooLarge:
                raise
            except ConfigError as e:
                self.mistakes += e.mistakes
        return jobs

    def _case(self, case: Case, targets: list[Target]) -> Iterator[Job]:
        if case.options.settings:
            self.mistakes += check_options(case.options, case.origin, self.binder.idle)
        self.pairs.check_names(case)
        repeat = case.options.repeat or self.settings.repeat or self.suite.repeat
        repeats = repeat or 1
        if repeats > MAX_REPEATS:
            what = f"`repeat` is more than {MAX_REPEATS:,}"
            raise ConfigError.at(what, case.origin, "repeat less often")
        recalled = recall.used(case, self.suite.prompts, self.stored)
        kept = recall.stores(case)
        combinations = self._combinations(case)
        if recalled:
            combinations = [{**values, **recall.placeholders(recalled)} for values in combinations]
        self.size.check(len(combinations), case)
        bound = []
        for values in combinations:
            of = definition(case, values)
            bound.append((values, of, named(self._bind(case, values), of)))
        asked = self.pairs.asked(case, targets)
        self.size.add_answers(len(combinations) * len(asked) * repeats, case)
        for provider, _ in asked if case.turns else ():
            self.mistakes += models.blind_target(case, provider)
        self.pairs.check_left(case, asked, targets)
        check_share("the test", case.threshold, case.origin)
        scripts.check_case(case)
        if asked is not self.asked:  # of most cases it is the same
            # A request that is a template of the config may do without a prompt where the config names none.
            self.shown = dict.fromkeys(
                prompt for provider, prompt in asked if provider.names_model or prompt.origin.line
            )
            self.asked, self.targeted = asked, dict.fromkeys(provider for provider, _ in asked)
        for values, of, bindings in bound:
            self.mistakes += models.untooled(bindings, self.targeted)
            self.names.see(case, values, self.shown, self.targeted)
            number, self.number = self.number, self.number + 1
            for provider, prompt in asked:
                text = self.prompts.text(case, prompt, provider, values)
                render = self.prompts.render(case, prompt, values)
                self.size.add_text(text, values, repeats, case.origin)
                job = Job(
                    self.suite.file,
                    case,
                    number,
                    repeats,
                    provider,
                    prompt,
                    text,
                    values,
                    bindings,
                    render,
                    of,
                    stores=kept,
                    in_order=self.stores and bool(kept or recalled or render),
                )
                if recalled:
                    subject = self._subject(case, values)
                    later = recall.later(job, recalled, self.binder, subject, self.prompts.render)
                    job = replace(job, recall=later)
                if self.recorded is None and (needs := held(job, self.suite.policy, repeat)):
                    self.size.add_answers(needs.whole.of - repeats, case)
                    job = replace(job, needs=needs, repeats=needs.whole.of)
                yield job
        if kept:
            self.stored[kept] = None

    def _combinations(self, case: Case) -> list[JsonObject]:
        try:
            told(case.vars.get(CONVERSATION) or ())
            with gather_mistakes(self.mistakes):
                return self.variables.resolve(case.vars, case.options.expand_vars, case.origin)
        except ValueError as e:
            what = f"`{CONVERSATION}` cannot be read: {e}"
            self.mistakes.append(Mistake(what, case.origin, "write the messages, oldest first"))
        return [case.vars]  # the assertions are looked at all the same

    def _subject(self, case: Case, values: JsonObject) -> Subject:
        brought = BROUGHT if self.settings.answers else frozenset()
        about = {
            "description": case.description,
            "metadata": case.metadata,
            "threshold": case.threshold,
        }
        return Subject(case.options, {"env": self.env, **values}, case.turns, brought, about)

    def _bind(self, case: Case, values: JsonObject) -> tuple[Binding, ...]:
        subject = self._subject(case, values)
        bound = []
        for spec in case.assertions if not self.settings.listing else ():
            with gather_mistakes(self.mistakes):
                bound.append(bind(self.binder, spec, subject))
        self.mistakes += models.blind_graders(case, bound)
        return tuple(bound)


def share(whole: int, shard: tuple[int, int] | None, least: int = 0) -> int:
    """An even share of a whole number, of which the first shards have what is over; all of it where there are none."""
    if shard is None:
        return whole
    number, of = shard
    return max(least, whole // of + (number <= whole % of))


def limits_of(settings: Settings, suites: Iterable[Located]) -> Limits:
    """The strictest of what command line and configs allow; of a shard its share."""
    limits = strictest((settings.budget, *(located.suite.policy.budget for located in suites)))
    if settings.shard is None:
        return limits
    # An even share of calls and dollars. Seconds go by for all shards at once.
    calls, usd, shard = limits.calls, limits.usd, settings.shard
    return Limits(
        calls=None if calls is None else share(calls, shard),
        usd=None if usd is None else usd / shard[1],
        seconds=limits.seconds,
    )


def concurrency(settings: Settings, suites: Iterable[Located]) -> int:
    """How many calls to a host may be in flight: what the command line says, else the most that a config says, else 50."""
    configured = max((located.suite.max_concurrency or 0 for located in suites), default=0)
    return share(settings.max_concurrency or configured or CONCURRENCY, settings.shard, least=1)


def build_client(settings: Settings, suites: Sequence[Located]) -> Client:
    """One client for all providers; its time-out is the command line's, else the longest of the configs'."""
    configured = max((located.suite.timeout or 0.0 for located in suites), default=0.0)
    return Client(
        timeout=settings.timeout or configured or TIMEOUT,
        retries=RETRIES,
        slots=concurrency(settings, suites),
        ramps=settings.max_concurrency is None,
        patience=PATIENCE,
        environ=settings.environ,
        budget=Budget(limits_of(settings, suites)),
    )


def plan(suites: Sequence[Located], settings: Settings, client: Client) -> Plan:
    """Raises ConfigError with every mistake of every suite."""
    pool: dict[bytes, Provider] = {}
    allowed = egress(settings, (spec for located in suites for spec in located.suite.specs()))
    client.guard = Guard(allowed.beside(client.guard.egress))  # of base and head
    size = Size()
    jobs = []
    notes = []
    mistakes = []
    for located in suites:
        suite, wrong = scripts.with_made_vars(located.suite)
        binder = Binder(
            suite,
            located.workspace,
            located.folder,
            client,
            pool,
            allowed,
            settings.asks_targets,
            settings.default_grader_key,
            settings.grader_retries,
        )
        planner = Planner(suite, located.recorded, settings, binder, size)
        jobs += planner.jobs()
        mistakes += [*suite.mistakes, *wrong, *planner.mistakes]
        passed = unknown_keys.notes([*located.suite.idle, *dict.fromkeys(binder.idle)])
        notes += [*located.suite.notes, *passed, *planner.notes]
    for located in suites:
        notes += credentials.written_keys(located.suite)
    notes += _quarantines(jobs)
    for provider in pool.values():
        notes += provider.notes
    mistakes += prices(client.budget.limits, jobs)
    if not mistakes and not settings.listing and not any(job.assertions for job in jobs):
        where = Origin(suites[0].suite.file) if len(suites) == 1 else None
        cures = (instead_of_variable(job.case.vars) for job in jobs)
        cure = next(filter(None, cures), "add `assert`")
        what = "no test has an assertion, so nothing would be checked"
        mistakes.append(Mistake(what, where, cure))
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
            dict.fromkeys(
                KeyUse(name, it.host, it.kind, urlsplit(it.url).path)
                for it in pool.values()
                for name in it.keys
            )
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
        also = f" (also at {name_some(others[:5], len(others))})" if others else ""
        yield Mistake(what + also, origins[0], cure, missing)


def _quarantines(jobs: Iterable[Job]) -> Iterator[Note]:
    """A note for each day on which a quarantine ends, at the first of its tests."""
    cases = {(job.suite, job.number): job for job in jobs if job.case.quarantine}
    by_day: dict[Quarantine, list[Job]] = {}
    for job in cases.values():
        if job.case.quarantine:
            by_day.setdefault(job.case.quarantine, []).append(job)
    for quarantine, together in sorted(by_day.items(), key=lambda item: item[0].until):
        names = [f"`{excerpt(job.case_name, 80)}`" for job in together]
        text = f"in quarantine until {quarantine.until}, so failures of these tests only advise"
        if quarantine.days < 0:
            text = f"the quarantine ended on {quarantine.until}, so these tests count again; fix them, and remove `flaky`"
        elif quarantine.days <= _SOON:
            text += f"; it ends in {many(quarantine.days, 'day')}, and then they count again"
        yield Note(f"{text}: {name_some(names[:_NAMED], len(names))}", together[0].case.origin)
