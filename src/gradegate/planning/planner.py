"""Turns suites into a plan: each case filled in and bound, for every target and prompt that it has."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from gradegate.config.context import Context, with_named_keys
from gradegate.config.load import SuiteFile
from gradegate.core.conversation import CONVERSATION, parse_conversation
from gradegate.core.policy import Limits, strictest_budget
from gradegate.core.settings import CONCURRENCY, RETRIES, TIMEOUT, Settings
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.http.guard import Guard
from gradegate.http.pacing import PATIENCE
from gradegate.planning import filters, recall
from gradegate.planning.binding.assertions import BROUGHT, Subject, bind, check_options
from gradegate.planning.binding.models import ModelBinder
from gradegate.planning.checks.check_plan import Draft, PlannedCase, check_plan
from gradegate.planning.checks.scripts import with_made_vars
from gradegate.planning.identity import case_definition, with_keys
from gradegate.planning.pairs import Pairs, Target
from gradegate.planning.plan import Job, Plan, grading_models, runs_required
from gradegate.planning.size import PlanSize, TooLarge
from gradegate.planning.variables import Prompts, Variables
from gradegate.providers.api.provider import Provider
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.structs import JsonObject, replace

MAX_REPEATS = 10_000


def make_plan(suites: Sequence[SuiteFile], context: Context, client: Client) -> Plan:
    """Cases to jobs, then every check over the finished plan. Raises ConfigError with every mistake of every suite.

    A key that is missing is a mistake, too; in a ``keyless`` context it is data of the plan.
    """
    settings = context.settings
    egress = with_named_keys(
        context.egress, (spec for located in suites for spec in located.suite.specs())
    )
    client.guard = Guard(egress.beside(client.guard.egress))  # of base and head
    pool: dict[bytes, Provider] = {}
    size = PlanSize()
    drafts = []
    for located in suites:
        binder = ModelBinder(
            with_made_vars(located.suite),
            located.workspace,
            located.folder,
            client,
            pool,
            egress,
            settings.asks_targets,
            settings.default_grader_key,
            settings.grader_retries,
        )
        planner = SuitePlanner(binder, settings, size, located.recorded)
        planner.plan_cases()
        drafts.append(planner.draft)
    jobs = tuple(job for draft in drafts for job in draft.jobs)
    findings = check_plan(jobs, drafts, pool.values(), client.budget.limits, settings)
    if error := findings.error(keyless=context.keyless):
        raise error

    grading = {id(model) for job in jobs for model in grading_models(job)}
    models = []
    keys = []
    for it in pool.values():
        name = it.id or it.name
        models.append(AskedModel(name, it.host, it.replies_from, it.chosen, id(it) in grading))
        keys += [KeyUse(key, it.host, it.kind, urlsplit(it.url).path) for key in it.keys]
    read = [located.suite for located in suites]
    asked = [located.suite for located in suites if located.recorded is None]
    return Plan(
        jobs=jobs,
        policies=tuple(suite.policy for suite in read),
        concurrency=concurrency(settings, suites),
        notes=tuple(dict.fromkeys(findings.notes)),
        models=tuple(dict.fromkeys(models)),
        keys=tuple(dict.fromkeys(keys)),
        missing_keys=frozenset(mistake.missing for mistake in findings.missing),
        about={suite.file: suite.about for suite in read if suite.about},
        digests={located.suite.file: located.digest for located in suites},
        derived={suite.file: suite.derived for suite in asked if suite.derived},
        commit=context.commit,
    )


class SuitePlanner:
    """Plans the jobs of one suite into its ``draft``. ``recorded`` are cases with answers, planned in place of the suite's."""

    def __init__(
        self,
        binder: ModelBinder,
        settings: Settings,
        size: PlanSize,
        recorded: tuple[Case, ...] | None,
    ) -> None:
        suite = self.suite = binder.suite
        self.binder, self.settings, self.size, self.recorded = binder, settings, size, recorded
        self.draft = draft = Draft(binder, answers_given=recorded is not None)
        self.env = suite.env.texts()
        prompt = suite.prompts[0].text if len(suite.prompts) == 1 else ""
        self.variables = Variables(binder.workspace, binder.folder, self.env, prompt)
        self.pairs = Pairs(suite, binder, draft.answers_given, draft.mistakes)
        self.prompts = Prompts(self.env, draft.mistakes)
        self.in_order = any(recall.OPTION in case.options.settings for case in suite.cases)
        self.asked: object = None  # targets with prompts, of the last case
        self.stored: dict[str, None] = {}  # the names under which cases so far store their answers

    def plan_cases(self) -> None:
        """Every case that the filters keep; nothing more once the plan is too large."""
        draft = self.draft
        try:
            if self.recorded is None:
                with gather_mistakes(draft.mistakes):
                    draft.cases, notes = filters.select_cases(self.suite, self.settings)
                    draft.notes += notes
            else:
                draft.cases = [*self.recorded]
            self.size.expect(self.suite, draft.cases)
            targets = [*self.pairs.targets()] if self.recorded is None else []
            draft.has_all_targets = len(targets) == len(self.suite.targets)
            for case in draft.cases:
                try:
                    draft.jobs += self._plan_case(case, targets)
                except TooLarge:
                    raise
                except ConfigError as e:
                    draft.mistakes += e.mistakes
        except TooLarge as e:
            draft.mistakes += e.mistakes
            draft.is_too_large = True

    def _plan_case(self, case: Case, targets: Sequence[Target]) -> Iterator[Job]:
        """Raises ConfigError."""
        mistakes = self.draft.mistakes
        if case.options.settings:
            mistakes += check_options(case.options, case.origin, self.binder.idle)
        self.pairs.check_names(case)
        repeat = case.options.repeat or self.settings.repeat or self.suite.repeat
        repeats = repeat or 1
        if repeats > MAX_REPEATS:
            what = f"`repeat` is more than {MAX_REPEATS:,}"
            raise ConfigError.at(what, case.origin, "repeat less often")
        recalled = recall.used(case, self.suite.prompts, self.stored)
        stores = recall.stores(case)

        combinations = self._combinations(case)
        if recalled:
            combinations = [{**values, **recall.placeholders(recalled)} for values in combinations]
        self.size.check(len(combinations), case)
        bound = [self._bind(case, values) for values in combinations]
        asked = self.pairs.asked(case, targets)
        self.size.add_answers(len(combinations) * len(asked) * repeats, case)
        self.pairs.check_left(case, asked, targets)

        if asked is not self.asked:  # of most cases it is the same
            self.asked = asked
            # A request that is a template of the config may do without a prompt where the config names none.
            shown = [prompt for target, prompt in asked if target.names_model or prompt.origin.line]
            self.shown = dict.fromkeys(shown)
            self.targets = dict.fromkeys(target for target, _ in asked)
        for planned in bound:
            planned.prompts, planned.targets = self.shown, self.targets
            number = len(self.draft.planned)
            self.draft.planned.append(planned)
            for provider, prompt in asked:
                text = self.prompts.text(case, prompt, provider, planned.values)
                render = self.prompts.render(case, prompt, planned.values)
                self.size.add_text(text, planned.values, repeats, case.origin)
                job = Job(
                    self.suite.file,
                    case,
                    number,
                    repeats,
                    provider,
                    prompt,
                    text,
                    planned.values,
                    planned.bindings,
                    render,
                    planned.definition,
                    stores=stores,
                    in_order=self.in_order and bool(stores or recalled or render),
                )
                if recalled:
                    subject = self._subject(case, planned.values)
                    later = recall.later(job, recalled, self.binder, subject, self.prompts.render)
                    job = replace(job, recall=later)
                if self.recorded is None and (
                    needs := runs_required(job, self.suite.policy, repeat)
                ):
                    self.size.add_answers(needs.whole.of - repeats, case)
                    job = replace(job, needs=needs, repeats=needs.whole.of)
                yield job
        if stores:
            self.stored[stores] = None

    def _combinations(self, case: Case) -> list[JsonObject]:
        """The variables of a case, filled in: one mapping for each combination of the values in its lists."""
        mistakes = self.draft.mistakes
        try:
            parse_conversation(case.vars.get(CONVERSATION) or ())
            with gather_mistakes(mistakes):
                return self.variables.resolve(case.vars, case.options.expand_vars, case.origin)
        except ValueError as e:
            what = f"`{CONVERSATION}` cannot be read: {e}"
            mistakes.append(Mistake(what, case.origin, "write the messages, oldest first"))
        return [case.vars]  # the assertions are looked at all the same

    def _subject(self, case: Case, values: JsonObject) -> Subject:
        brought = BROUGHT if self.settings.answers else frozenset()
        about = {
            "description": case.description,
            "metadata": case.metadata,
            "threshold": case.threshold,
        }
        return Subject(case.options, {"env": self.env, **values}, case.turns, brought, about)

    def _bind(self, case: Case, values: JsonObject) -> PlannedCase:
        """The case with these variables and its assertions; those that cannot be bound are left out."""
        subject = self._subject(case, values)
        bindings = []
        for assertion in case.assertions if not self.settings.listing else ():
            with gather_mistakes(self.draft.mistakes):
                bindings.append(bind(self.binder, assertion, subject))
        described = case_definition(case, values)
        return PlannedCase(case, values, with_keys(tuple(bindings), described), described)


# --- what calls may use -----------------------------------------------------------------------------------------


def share(whole: int, shard: tuple[int, int] | None, least: int = 0) -> int:
    """An even share of a whole number, of which the first shards have what is over; all of it where there are none."""
    if shard is None:
        return whole
    number, of = shard
    return max(least, whole // of + (number <= whole % of))


def limits_of(settings: Settings, suites: Iterable[SuiteFile]) -> Limits:
    """The strictest of what command line and configs allow; of a shard its share."""
    limits = strictest_budget(
        (settings.budget, *(located.suite.policy.budget for located in suites))
    )
    if settings.shard is None:
        return limits
    # An even share of calls and dollars. Seconds go by for all shards at once.
    calls, usd, shard = limits.calls, limits.usd, settings.shard
    return Limits(
        calls=None if calls is None else share(calls, shard),
        usd=None if usd is None else usd / shard[1],
        seconds=limits.seconds,
    )


def concurrency(settings: Settings, suites: Iterable[SuiteFile]) -> int:
    """How many calls to a host may be in flight: what the command line says, else the most that a config says, else 50."""
    configured = max((located.suite.max_concurrency or 0 for located in suites), default=0)
    return share(settings.max_concurrency or configured or CONCURRENCY, settings.shard, least=1)


def build_client(suites: Sequence[SuiteFile], context: Context) -> Client:
    """One client for all providers; its time-out is the command line's, else the longest of the configs'."""
    settings = context.settings
    configured = max((located.suite.timeout or 0.0 for located in suites), default=0.0)
    return Client(
        timeout=settings.timeout or configured or TIMEOUT,
        retries=RETRIES,
        slots=concurrency(settings, suites),
        ramps=settings.max_concurrency is None,
        patience=PATIENCE,
        environ=context.environ,
        budget=Budget(limits_of(settings, suites)),
    )
