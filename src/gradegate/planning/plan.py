"""From suites to jobs: everything is filled in and bound here, so that every mistake shows before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradegate.access.egress import Egress
from gradegate.asking.provider import Provider
from gradegate.configs import generators, idle
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.grading.conclude import Binding
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.http.guard import Guard
from gradegate.planning import checks, filters, recall, scripts
from gradegate.planning.assertions import BROUGHT, Subject, bind, check_options, check_share
from gradegate.planning.bind import Binder
from gradegate.planning.credentials import egress
from gradegate.planning.identity import definition, named
from gradegate.planning.job import Job, Plan, Render
from gradegate.planning.load import Located
from gradegate.planning.names import Names
from gradegate.planning.pairs import Pairs, Target
from gradegate.planning.shares import limits_of, share
from gradegate.planning.size import Size, TooLarge
from gradegate.planning.variables import Variables
from gradegate.texts import chat
from gradegate.texts.prompt import fill
from gradegate.texts.references import asks_for
from gradegate.texts.template import TemplateError
from gradegate.values.account import AskedModel, KeyUse
from gradegate.values.conversation import CONVERSATION, told
from gradegate.values.settings import CONCURRENCY, TIMEOUT, Settings
from gradegate.values.suite import Case, Note, PromptSpec

MAX_REPEATS = 10_000


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
    return Client(timeout=timeout, retries=settings.retries, slots=slots, environ=settings.environ, budget=budget)


def plan(suites: Sequence[Located], settings: Settings, client: Client) -> Plan:
    """Raises ConfigError with every mistake of every suite."""
    pool: dict[str, Provider] = {}
    allowed = egress(settings, (spec for located in suites for spec in located.suite.specs()))
    client.guard = Guard(replace(allowed, named=allowed.named | client.guard.egress.named))  # of base and head
    size = Size()
    jobs: list[Job] = []
    notes: list[Note] = []
    mistakes: list[Mistake] = []
    for located in suites:
        planner = _Planner(located, settings, client, pool, allowed, size)
        jobs += planner.jobs()
        mistakes += [*located.suite.mistakes, *planner.mistakes]
        passed = idle.notes([*located.suite.idle, *dict.fromkeys(planner.binder.idle)])
        notes += [*located.suite.notes, *passed, *planner.notes]
    notes += [note for provider in pool.values() for note in provider.notes]
    mistakes += checks.prices(client.budget.limits, jobs)
    if not mistakes and not settings.listing and not any(job.assertions for job in jobs):
        where = Origin(suites[0].suite.file) if len(suites) == 1 else None
        mistakes.append(Mistake("no test asserts anything, so nothing would be checked", where, "add `assert`"))
    if mistakes:
        raise ConfigError(*_grouped(mistakes))
    return Plan(
        jobs=tuple(jobs),
        policies=tuple(located.suite.policy for located in suites),
        concurrency=concurrency(settings, suites),
        notes=tuple(dict.fromkeys(notes)),
        models=tuple(dict.fromkeys(AskedModel(it.id or it.name, it.host, it.replies_from) for it in pool.values())),
        keys=tuple(dict.fromkeys(KeyUse(name, it.host) for it in pool.values() for name in it.keys)),
        about={located.suite.file: located.suite.about for located in suites if located.suite.about},
        digests={located.suite.file: located.digest for located in suites},
        derived={it.suite.file: it.suite.derived for it in suites if it.suite.derived and it.recorded is None},
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


@dataclass
class _Planner:
    located: Located
    settings: Settings
    client: Client
    pool: dict[str, Provider]
    egress: Egress
    size: Size
    number: int = 0  # of the next case
    stored: dict[str, None] = field(default_factory=dict)  # the names under which cases so far store their answers
    mistakes: list[Mistake] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        suite, workspace, folder = self.located.suite, self.located.workspace, self.located.folder
        if any(case.options.transform_vars for case in suite.cases):
            suite, mistakes = scripts.with_made_vars(suite)
            self.mistakes += mistakes
        self.suite = suite
        self.env = suite.env.texts()
        recorded = self.located.recorded is not None
        prompt = suite.prompts[0].text if len(suite.prompts) == 1 else ""
        self.variables = Variables(workspace, folder, self.env, prompt)
        self.binder = Binder(suite, workspace, folder, self.client, self.pool, self.egress, self.settings.asks_targets)
        self.pairs = Pairs(suite, self.binder, recorded, self.mistakes)
        self.stores = any(recall.OPTION in case.options.settings for case in suite.cases)
        defined = {name for case in suite.cases for name in case.vars}
        self.names = Names(defined, suite.env, partial=self.settings.filtered or recorded)

    def jobs(self) -> list[Job]:
        try:
            return self._planned()
        except TooLarge as e:
            self.mistakes += e.mistakes
            return []

    def _planned(self) -> list[Job]:
        recorded = self.located.recorded
        cases: list[Case] = list(recorded or ())
        if recorded is None:
            try:
                cases, notes = filters.cases(self.suite, self.settings)
                self.notes += notes
            except ConfigError as e:
                self.mistakes += e.mistakes
        self.size.expect(self.suite, cases)
        targets = list(self.pairs.targets()) if recorded is None else []
        if recorded is not None or self.settings.listing:
            jobs = self._jobs(cases, targets)
            self.mistakes += self.names.mistakes()
            return jobs
        try:
            self.binder.opinions(self.suite.policy.second_opinions)
        except ConfigError as e:
            self.mistakes += e.mistakes
        jobs = self._jobs(cases, targets)
        self.mistakes += checks.derived(self.suite, jobs)
        if len(targets) == len(self.suite.targets):
            self.mistakes += checks.comparisons(jobs)
            self.mistakes += self.names.mistakes()
        if not self.mistakes and not self.suite.mistakes:
            self.mistakes += checks.graders(self.suite)
            self.mistakes += checks.rules(self.suite, jobs, filters.leaving_out(self.settings))
            self.notes += checks.unselected(self.suite, jobs)
        self.notes += (*checks.toothless(self.suite, jobs), *checks.warnings(jobs, cases), *self.names.notes())
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
        self.mistakes += check_options(case.options, case.origin, self.binder.idle)
        self.pairs.check_names(case)
        repeats = case.options.repeat or self.settings.repeat or self.suite.repeat
        if repeats > MAX_REPEATS:
            raise ConfigError.at(f"`repeat` is more than {MAX_REPEATS:,}", case.origin, "repeat less often")
        recalled = recall.used(case, self.suite.prompts, self.stored)
        kept = recall.stores(case)
        combinations = self._combinations(case)
        if recalled:
            combinations = [{**values, **recall.placeholders(recalled)} for values in combinations]
        self.size.check(len(combinations), case)
        defined = [definition(case, values) for values in combinations]
        bound = [(values, of, named(self._bind(case, values), of)) for values, of in zip(combinations, defined, strict=True)]
        asked = self.pairs.asked(case, targets)
        self.size.add_answers(len(combinations) * len(asked) * repeats, case)
        self.mistakes += [mistake for provider, _ in asked for mistake in checks.blind_target(case, provider)]
        self.pairs.check_left(case, asked, targets)
        check_share("the test", case.threshold, case.origin)
        scripts.check_case(case)
        # A request that is a template of the config may do without a prompt where the config names none.
        shown = dict.fromkeys(prompt for provider, prompt in asked if provider.names_model or prompt.origin.line)
        targeted = dict.fromkeys(provider for provider, _ in asked)
        for values, of, assertions in bound:
            self.mistakes += checks.untooled(assertions, targeted)
            self.names.see(case, values, shown, targeted)
            number, self.number = self.number, self.number + 1
            for provider, prompt in asked:
                text, render = self._prompt(case, prompt, provider, values), self._render(case, prompt, values)
                self.size.add_text(text, values, repeats, case.origin)
                in_order = self.stores and bool(kept or recalled or render)
                asked_of = self.suite.file, case, number, repeats, provider, prompt, text, values, assertions, render
                job = Job(*asked_of, definition=of, stores=kept, in_order=in_order)
                if recalled:
                    subject = self._subject(case, values)
                    job = replace(job, recall=recall.later(job, recalled, self.binder, subject, self._render))
                yield job
        if kept:
            self.stored[kept] = None

    def _combinations(self, case: Case) -> list[Mapping[str, Any]]:
        try:
            told(case.vars.get(CONVERSATION) or ())
            return self.variables.resolve(case.vars, case.options.expand_vars, case.origin)
        except ConfigError as e:
            self.mistakes += e.mistakes
        except ValueError as e:
            self._say(f"`{CONVERSATION}` cannot be read: {e}", case.origin, "write what was said, oldest first")
        return [case.vars]  # the assertions are looked at all the same

    def _subject(self, case: Case, values: Mapping[str, Any]) -> Subject:
        brought = BROUGHT if self.settings.answers else frozenset()
        about = {"description": case.description, "metadata": case.metadata, "threshold": case.threshold}
        return Subject(case.options, {"env": self.env, **values}, case.turns, brought, about)

    def _bind(self, case: Case, values: Mapping[str, Any]) -> tuple[Binding, ...]:
        subject = self._subject(case, values)
        bound = []
        for spec in case.assertions if not self.settings.listing else ():
            try:
                bound.append(bind(self.binder, spec, subject))
            except ConfigError as e:
                self.mistakes += e.mistakes
        self.mistakes += checks.blind_graders(case, bound)
        return tuple(bound)

    def _render(self, case: Case, prompt: PromptSpec, values: Mapping[str, Any]) -> Render | None:
        source = case.options.prefix + prompt.text + case.options.suffix
        off = case.turns or case.options.settings.get("disableConversationVar") or values.get(CONVERSATION)
        if off or not asks_for(source, CONVERSATION):
            return None
        variables = {"env": self.env, **values}
        return lambda before: fill(source, {**variables, CONVERSATION: list(before)})

    def _prompt(self, case: Case, prompt: PromptSpec, provider: Provider, values: Mapping[str, Any]) -> str:
        try:
            written, label = prompt.text, provider.spec.label if provider.spec else ""
            if prompt.maker is not None:
                asked = {"vars": values, "provider": {"id": provider.id, "label": label}, "config": {}}
                written = generators.text(prompt.maker(asked))
            source = case.options.prefix + written + case.options.suffix
            text = fill(source, {"env": self.env, **values})
        except TemplateError as e:
            self._say(f"the prompt cannot be filled in: {e}", prompt.origin, "correct the template")
            return ""
        except ValueError as e:
            self._say(f"the prompt `{prompt.label}` is not made: {getattr(e, 'line', e)}", prompt.origin, "correct it")
            return ""
        if chat.broken(text):
            self._say("the prompt looks like chat messages and is not valid JSON", prompt.origin, "correct the JSON")
        return text

    def _say(self, what: str, origin: Origin | None, cure: str) -> None:
        self.mistakes.append(Mistake(what, origin, cure))
