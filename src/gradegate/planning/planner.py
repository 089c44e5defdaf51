"""One suite to jobs: its cases filled in and bound, each for every target and prompt that it has."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from gradegate.assertions.grading.bound import Binding
from gradegate.core.conversation import CONVERSATION, told
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Note, Suite
from gradegate.errors import ConfigError, Mistake
from gradegate.planning import filters, recall
from gradegate.planning.binding import model_choice as models
from gradegate.planning.binding.assertions import BROUGHT, Subject, bind, check_share
from gradegate.planning.binding.grader_options import check_options
from gradegate.planning.binding.models import Binder
from gradegate.planning.checks import rules as checks
from gradegate.planning.checks import scripts
from gradegate.planning.checks.variables import Names
from gradegate.planning.identity import definition, named
from gradegate.planning.pairs import Pairs, Target
from gradegate.planning.plan import Job, held
from gradegate.planning.prompts import Prompts
from gradegate.planning.size import Size, TooLarge
from gradegate.planning.variables import Variables

MAX_REPEATS = 10_000


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
        partial = any(
            (
                recorded,
                asked.filter_pattern,
                asked.filter_metadata,
                asked.filter_first,
                asked.filter_providers,
            )
        )
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
            self.mistakes += models.graders(self.suite)
            self.mistakes += checks.rules(self.suite, jobs, filters.leaving_out(self.settings))
            self.notes += checks.unselected(self.suite, jobs)
        if self.suite.policy.confirm == "answers" and any(job.needs for job in jobs):
            self.notes.append(
                Note(
                    "with `runs`, `confirm: answers` works like `confirm: grader`: each run is a new answer"
                )
            )
        self.notes += (
            *checks.toothless(self.suite, jobs),
            *checks.warnings(jobs, cases),
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
        self.mistakes += (
            check_options(case.options, case.origin, self.binder.idle)
            if case.options.settings
            else ()
        )
        self.pairs.check_names(case)
        repeat = case.options.repeat or self.settings.repeat or self.suite.repeat
        repeats = repeat or 1
        if repeats > MAX_REPEATS:
            raise ConfigError.at(
                f"`repeat` is more than {MAX_REPEATS:,}", case.origin, "repeat less often"
            )
        recalled = recall.used(case, self.suite.prompts, self.stored)
        kept = recall.stores(case)
        combinations = self._combinations(case)
        if recalled:
            combinations = [{**values, **recall.placeholders(recalled)} for values in combinations]
        self.size.check(len(combinations), case)
        defined = [definition(case, values) for values in combinations]
        bound = [
            (values, of, named(self._bind(case, values), of))
            for values, of in zip(combinations, defined, strict=True)
        ]
        asked = self.pairs.asked(case, targets)
        self.size.add_answers(len(combinations) * len(asked) * repeats, case)
        self.mistakes += (
            [mistake for provider, _ in asked for mistake in models.blind_target(case, provider)]
            if case.turns
            else ()
        )
        self.pairs.check_left(case, asked, targets)
        check_share("the test", case.threshold, case.origin)
        scripts.check_case(case)
        if asked is not self.asked:  # of most cases it is the same
            # A request that is a template of the config may do without a prompt where the config names none.
            self.shown = dict.fromkeys(
                prompt for provider, prompt in asked if provider.names_model or prompt.origin.line
            )
            self.asked, self.targeted = asked, dict.fromkeys(provider for provider, _ in asked)
        for values, of, assertions in bound:
            self.mistakes += models.untooled(assertions, self.targeted)
            self.names.see(case, values, self.shown, self.targeted)
            number, self.number = self.number, self.number + 1
            for provider, prompt in asked:
                text, render = (
                    self.prompts.text(case, prompt, provider, values),
                    self.prompts.render(case, prompt, values),
                )
                self.size.add_text(text, values, repeats, case.origin)
                in_order = self.stores and bool(kept or recalled or render)
                asked_of = (
                    self.suite.file,
                    case,
                    number,
                    repeats,
                    provider,
                    prompt,
                    text,
                    values,
                    assertions,
                    render,
                )
                job = Job(*asked_of, definition=of, stores=kept, in_order=in_order)
                if recalled:
                    subject = self._subject(case, values)
                    job = replace(
                        job,
                        recall=recall.later(
                            job, recalled, self.binder, subject, self.prompts.render
                        ),
                    )
                if self.recorded is None and (needs := held(job, self.suite.policy, repeat)):
                    self.size.add_answers(needs.whole.of - repeats, case)
                    job = replace(job, needs=needs, repeats=needs.whole.of)
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
            self.mistakes.append(
                Mistake(
                    f"`{CONVERSATION}` cannot be read: {e}",
                    case.origin,
                    "write the messages, oldest first",
                )
            )
        return [case.vars]  # the assertions are looked at all the same

    def _subject(self, case: Case, values: Mapping[str, Any]) -> Subject:
        brought = BROUGHT if self.settings.answers else frozenset()
        about = {
            "description": case.description,
            "metadata": case.metadata,
            "threshold": case.threshold,
        }
        return Subject(case.options, {"env": self.env, **values}, case.turns, brought, about)

    def _bind(self, case: Case, values: Mapping[str, Any]) -> tuple[Binding, ...]:
        subject = self._subject(case, values)
        bound = []
        for spec in case.assertions if not self.settings.listing else ():
            try:
                bound.append(bind(self.binder, spec, subject))
            except ConfigError as e:
                self.mistakes += e.mistakes
        self.mistakes += models.blind_graders(case, bound)
        return tuple(bound)
