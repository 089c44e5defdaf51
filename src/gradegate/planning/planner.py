"""Turns suites into a plan: fills in and binds each case, for every target and prompt that it has."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from gradegate.config.context import Context, with_keys_of_providers
from gradegate.config.load import SuiteFile
from gradegate.core.conversation import CONVERSATION, parse_conversation
from gradegate.core.policy import Limits, strictest_budget
from gradegate.core.provider_spec import PromptSpec, ProviderSpec
from gradegate.core.settings import CONCURRENCY, RETRIES, TIMEOUT, Settings
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.http.guard import Guard
from gradegate.http.pacing import PATIENCE
from gradegate.planning import filters, recall
from gradegate.planning.binding.assertions import (
    BROUGHT,
    Subject,
    bind_assertion,
    check_case_options,
    idle_values,
)
from gradegate.planning.binding.graders import GraderBinder
from gradegate.planning.binding.providers import ProviderBinder
from gradegate.planning.checks.check_plan import Draft, PlannedCase, check_plan
from gradegate.planning.checks.scripts import with_made_vars
from gradegate.planning.identity import case_definition, with_keys
from gradegate.planning.pairs import PairChooser, TargetPrompts
from gradegate.planning.plan import Job, Plan, grading_models, runs_required
from gradegate.planning.size import PlanSize, TooLarge
from gradegate.planning.variables import Prompts, Variables
from gradegate.providers.api.provider import Provider
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.structs import JsonObject, replace

MAX_REPEATS = 10_000


def make_plan(suite_files: Sequence[SuiteFile], context: Context, client: Client) -> Plan:
    """Plan the jobs of all suites, then run every check over the finished plan.

    Raises ConfigError with every mistake of every suite. A missing key is a mistake, too; in a ``keyless`` context it is
    data of the plan.
    """
    settings = context.settings
    specs: list[ProviderSpec] = []
    for file in suite_files:
        specs += file.suite.provider_specs()
    egress = with_keys_of_providers(context.egress, specs)
    # The same client sends the requests of the base and of the head.
    client.guard = Guard(egress.with_named_keys(client.guard.egress))

    pool: dict[bytes, Provider] = {}
    drafts = _draft_suites(suite_files, settings, client, pool)
    jobs = []
    for draft in drafts:
        jobs += draft.jobs

    findings = check_plan(jobs, drafts, pool.values(), egress, client.budget.limits, settings)
    error = findings.error(keyless=context.keyless)
    if error:
        raise error

    suites = [file.suite for file in suite_files]
    live_suites = [file.suite for file in suite_files if file.recorded is None]
    return Plan(
        jobs=tuple(jobs),
        policies=tuple(suite.policy for suite in suites),
        concurrency=concurrency(settings, suite_files),
        notes=tuple(dict.fromkeys(findings.notes)),
        models=_list_models(jobs, pool.values()),
        keys=_list_key_uses(pool.values()),
        missing_keys=frozenset(mistake.missing for mistake in findings.missing),
        about={suite.file: suite.about for suite in suites if suite.about},
        digests={file.suite.file: file.digest for file in suite_files},
        derived={suite.file: suite.derived for suite in live_suites if suite.derived},
        commit=context.commit,
    )


def _draft_suites(
    suite_files: Sequence[SuiteFile],
    settings: Settings,
    client: Client,
    pool: dict[bytes, Provider],
) -> list[Draft]:
    """Plan the cases of each suite. The suites share the providers in ``pool`` and one limit of size."""
    size = PlanSize()
    drafts = []
    for file in suite_files:
        providers = ProviderBinder(
            suite=with_made_vars(file.suite),
            workspace=file.workspace,
            folder=file.folder,
            client=client,
            pool=pool,
            asks_targets=settings.asks_targets,
        )
        planner = SuitePlanner(providers, settings, size, file.recorded)
        planner.plan_cases()
        drafts.append(planner.draft)
    return drafts


def _list_models(jobs: Iterable[Job], providers: Iterable[Provider]) -> tuple[AskedModel, ...]:
    """Every target and grader, as reports show them."""
    graders: set[Provider] = set()
    for job in jobs:
        graders.update(grading_models(job))
    models = []
    for provider in providers:
        model = AskedModel(
            name=provider.id or provider.name,
            host=provider.host,
            replies_from=provider.replies_from,
            chosen=provider.chosen,
            grades=provider in graders,
        )
        models.append(model)
    return tuple(dict.fromkeys(models))


def _list_key_uses(providers: Iterable[Provider]) -> tuple[KeyUse, ...]:
    """Every key that the run needs, with the host and path that it is sent to."""
    uses = []
    for provider in providers:
        path = urlsplit(provider.url).path
        uses += [KeyUse(key, provider.host, provider.kind, path) for key in provider.keys]
    return tuple(dict.fromkeys(uses))


class SuitePlanner:
    """Plans the jobs of one suite into its ``draft``.

    ``recorded`` are cases that bring their answers. They are planned in place of the suite's cases.
    """

    def __init__(
        self,
        providers: ProviderBinder,
        settings: Settings,
        size: PlanSize,
        recorded: tuple[Case, ...] | None,
    ) -> None:
        suite = providers.suite
        self.suite = suite
        self.graders = GraderBinder(providers, settings.default_grader_key, settings.grader_retries)
        self.settings = settings
        self.size = size
        self.recorded = recorded
        self.draft = Draft(providers, answers_given=recorded is not None)
        self.env = suite.env.open_variables()

        only_prompt = suite.prompts[0].text if len(suite.prompts) == 1 else ""
        self.variables = Variables(providers.workspace, providers.folder, self.env, only_prompt)
        self.pairs = PairChooser(
            suite, providers, self.draft.answers_given, mistakes=self.draft.mistakes
        )
        self.prompts = Prompts(self.env, self.draft.mistakes)
        self.has_stored_answers = any(
            recall.OPTION in case.options.settings for case in suite.cases
        )
        self.stored_names: list[str] = []  # under which the cases so far store their answers

    def plan_cases(self) -> None:
        """Plan every case that the filters keep, until the plan is too large."""
        draft = self.draft
        try:
            if self.recorded is None:
                with gather_mistakes(draft.mistakes):
                    draft.cases, notes = filters.select_cases(self.suite, self.settings)
                    draft.notes += notes
            else:
                draft.cases = self.recorded
            self.size.expect(self.suite, draft.cases)

            targets = list(self.pairs.targets()) if self.recorded is None else []
            draft.has_all_targets = len(targets) == len(self.suite.targets)
            for case in draft.cases:
                try:
                    # Jobs before a mistake stay in the draft, so that they are checked, too.
                    draft.jobs.extend(self._plan_case(case, targets))
                except TooLarge:
                    raise
                except ConfigError as e:
                    draft.mistakes += e.mistakes
        except TooLarge as e:
            draft.mistakes += e.mistakes
            draft.is_too_large = True

    def _plan_case(self, case: Case, targets: Sequence[TargetPrompts]) -> Iterator[Job]:
        """Yield the jobs of a case. Raises ConfigError, perhaps after some jobs."""
        if case.options.settings:
            self.draft.mistakes += check_case_options(case.options, case.origin, self.draft.idle)
        self.draft.idle += idle_values(case.assertions)
        self.pairs.check_names(case)
        repeat = case.options.repeat or self.settings.repeat or self.suite.repeat
        repeats = repeat or 1
        if repeats > MAX_REPEATS:
            what = f"`repeat` is more than {MAX_REPEATS:,}"
            raise ConfigError.at(what, case.origin, "repeat less often")
        used_names = recall.used_names(case, self.suite.prompts, self.stored_names)
        stored_name = recall.stored_name(case)

        # One planned case for each combination of the variables
        combinations = self._expand_variables(case)
        if used_names:
            placeholders = recall.placeholders(used_names)
            combinations = [{**values, **placeholders} for values in combinations]
        self.size.check(len(combinations), case)
        planned_cases = [self._bind_case(case, values) for values in combinations]

        # One job for each planned case, with each target and prompt
        pairs = self.pairs.choose(case, targets)
        self.size.add_answers(len(combinations) * len(pairs.pairs) * repeats, case)
        self.pairs.check_unanswered(case, pairs, targets)
        for planned in planned_cases:
            planned.pairs = pairs
            number = len(self.draft.planned)
            self.draft.planned.append(planned)
            for provider, prompt in pairs.pairs:
                job = self._make_job(planned, number, provider, prompt, repeats)
                job = self._with_stored_answers(job, stored_name, used_names)
                yield self._with_runs(job, repeat)

        # From here on, later cases may use the stored answer.
        if stored_name and stored_name not in self.stored_names:
            self.stored_names.append(stored_name)

    def _make_job(
        self,
        planned: PlannedCase,
        number: int,
        provider: Provider,
        prompt: PromptSpec,
        repeats: int,
    ) -> Job:
        """The job that asks one target about a case. ``number`` is the place of the planned case in its suite."""
        case = planned.case
        values = planned.values
        text = self.prompts.fill_in(case, prompt, provider, values)
        render = self.prompts.conversation_prompt(case, prompt, values)
        self.size.add_text(text, values, repeats, case.origin)
        return Job(
            suite=self.suite.file,
            case=case,
            number=number,
            repeats=repeats,
            target=provider,
            prompt=prompt,
            text=text,
            vars=values,
            assertions=planned.bindings,
            render=render,
            definition=planned.definition,
        )

    def _with_stored_answers(self, job: Job, stored_name: str, used_names: tuple[str, ...]) -> Job:
        """The job that stores the answer under ``stored_name`` and uses the stored answers ``used_names``.

        In a suite with stored answers, such jobs are asked in order, and so are the turns of a conversation.
        """
        depends_on_order = bool(stored_name or used_names or job.render)
        job = replace(
            job, stores=stored_name, in_order=self.has_stored_answers and depends_on_order
        )
        if not used_names:
            return job
        subject = self._subject(job.case, job.vars)
        stored_answers = recall.prepare_recall(job, used_names, self.graders, subject, self.prompts)
        return replace(job, recall=stored_answers)

    def _with_runs(self, job: Job, repeat: int | None) -> Job:
        """The job, asked as often as its case has runs that count together. Raises ConfigError."""
        if self.recorded is not None:
            return job
        needs = runs_required(job, self.suite.policy, repeat)
        if needs is None:
            return job
        runs = needs.whole.of  # the 3 of ``runs: 2/3``
        self.size.add_answers(runs - job.repeats, job.case)
        return replace(job, needs=needs, repeats=runs)

    def _expand_variables(self, case: Case) -> list[JsonObject]:
        """The variables of a case: one mapping for each combination of the values in its lists.

        After a mistake these are the variables as they are written, so that the assertions are checked, too.
        """
        mistakes = self.draft.mistakes
        combinations = [case.vars]
        try:
            parse_conversation(case.vars.get(CONVERSATION) or ())
            with gather_mistakes(mistakes):
                combinations = self.variables.expand(
                    case.vars, case.options.expand_vars, case.origin
                )
        except ValueError as e:
            what = f"`{CONVERSATION}` cannot be read: {e}"
            mistakes.append(Mistake(what, case.origin, "write the messages, oldest first"))
        return combinations

    def _subject(self, case: Case, values: JsonObject) -> Subject:
        about = {
            "description": case.description,
            "metadata": case.metadata,
            "threshold": case.threshold,
        }
        return Subject(
            case.options,
            {"env": self.env, **values},
            case.turns,
            BROUGHT if self.settings.answers else frozenset(),
            about,
        )

    def _bind_case(self, case: Case, values: JsonObject) -> PlannedCase:
        """The case with these variables and its assertions, without those that cannot be bound."""
        subject = self._subject(case, values)
        assertions = () if self.settings.is_listing else case.assertions
        bindings = []
        for assertion in assertions:
            with gather_mistakes(self.draft.mistakes):
                bindings.append(bind_assertion(self.graders, assertion, subject))
        definition = case_definition(case, values)
        return PlannedCase(case, values, with_keys(bindings, definition), definition)


# --- the client, and what its calls may use ---------------------------------------------------------------------


def build_client(suite_files: Sequence[SuiteFile], context: Context) -> Client:
    """One client for all providers. Its timeout is the command line's, else the longest of the configs."""
    settings = context.settings
    timeouts = [file.suite.timeout or 0.0 for file in suite_files]
    configured = max(timeouts, default=0.0)
    return Client(
        timeout=settings.timeout or configured or TIMEOUT,
        retries=RETRIES,
        slots=concurrency(settings, suite_files),
        ramps=settings.max_concurrency is None,
        patience=PATIENCE,
        environ=context.environ,
        budget=Budget(budget_limits(settings, suite_files)),
    )


def concurrency(settings: Settings, suite_files: Iterable[SuiteFile]) -> int:
    """How many calls to a host may be in flight: the command line's number, else the largest of the configs, else 50."""
    limits = [file.suite.max_concurrency or 0 for file in suite_files]
    configured = max(limits, default=0)
    calls = settings.max_concurrency or configured or CONCURRENCY
    return shard_share(calls, settings.shard, least=1)


def budget_limits(settings: Settings, suite_files: Iterable[SuiteFile]) -> Limits:
    """The strictest limits of the command line and the configs; a shard gets an even share of calls and dollars."""
    budgets = [file.suite.policy.budget for file in suite_files]
    limits = strictest_budget((settings.budget, *budgets))
    shard = settings.shard
    if shard is None:
        return limits
    return Limits(
        calls=None if limits.calls is None else shard_share(limits.calls, shard),
        usd=None if limits.usd is None else limits.usd / shard[1],
        seconds=limits.seconds,  # shards run at the same time
    )


def shard_share(whole: int, shard: tuple[int, int] | None, least: int = 0) -> int:
    """An even share of a whole number; the first shards get the rest. All of it if there is no shard."""
    if shard is None:
        return whole
    number, shards = shard
    share, rest = divmod(whole, shards)
    if number <= rest:
        share += 1
    return max(least, share)
