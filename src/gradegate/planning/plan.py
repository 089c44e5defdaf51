"""From suites to jobs: everything is filled in and bound here, so that every mistake shows before the first call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradegate.asking.http import Client
from gradegate.asking.provider import Provider, Recorded
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.workspace import Workspace
from gradegate.grading.conclude import Bound
from gradegate.planning import sight
from gradegate.planning.bind import Binder, check_options
from gradegate.planning.variables import Variables
from gradegate.suite import Case, Note, Policy, PromptSpec, ProviderSpec, Suite
from gradegate.texts import chat
from gradegate.texts.template import TemplateError, data, render_prompt, visible_env

CONCURRENCY = 4  # promptfoo's default
CONVERSATION = "_conversation"  # the variable with what was said before, as promptfoo has it
_USES_CONVERSATION = re.compile(r"\{[{%][^}]*\b_conversation\b")
_RECORDED = Recorded()
Render = Callable[[Sequence[Any]], str]


@dataclass(frozen=True, slots=True)
class Job:
    """One question to one target, and what is asserted of the answer."""

    suite: str
    case: Case
    number: int  # jobs with the same number are answers to the same case
    repeat: int
    target: Provider
    prompt: PromptSpec
    text: str  # the prompt, filled in
    vars: Mapping[str, Any]
    assertions: tuple[Bound, ...]
    # Fills the prompt in once more, with the conversation so far; None when the prompt does not use it.
    render: Render | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All jobs in order. ``timeout`` is in seconds, None for the default."""

    jobs: tuple[Job, ...]
    policies: tuple[Policy, ...]
    notes: tuple[Note, ...] = ()
    models: tuple[str, ...] = ()
    concurrency: int = CONCURRENCY
    timeout: float | None = None
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what dialects keep for reports, by file


@dataclass(frozen=True, slots=True)
class Located:
    """A suite with the place its paths are relative to."""

    suite: Suite
    workspace: Workspace
    folder: Path


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line wants of all suites."""

    grader: str = ""
    repeat: int | None = None
    max_concurrency: int | None = None
    filter_pattern: str = ""


def plan(suites: Iterable[Located], wishes: Wishes, client: Client) -> Plan:
    """Raises ConfigError with every mistake of every suite."""
    pool: dict[str, Provider] = {}
    jobs: list[Job] = []
    notes: list[Note] = []
    mistakes: list[Mistake] = []
    policies, wanted, timeouts = [], [wishes.max_concurrency or 0], []
    about: dict[str, Mapping[str, Any]] = {}
    for located in suites:
        planner = _Planner(located, wishes, client, pool, len(jobs))
        found = planner.jobs()
        mistakes += [*located.suite.mistakes, *planner.mistakes]
        notes += [*located.suite.notes, *planner.notes]
        policies.append(located.suite.policy)
        wanted.append(0 if wishes.max_concurrency else located.suite.max_concurrency or 0)
        timeouts += [located.suite.timeout] if located.suite.timeout else []
        about |= {located.suite.file: located.suite.about} if located.suite.about else {}
        jobs += found
    if not mistakes and not any(job.assertions for job in jobs):
        mistakes.append(Mistake("no test asserts anything, so nothing would be checked", None, "add `assert`"))
    if mistakes:
        raise ConfigError(*_grouped(mistakes))
    models = tuple(dict.fromkeys(_model_name(provider) for provider in pool.values()))
    unique = tuple(dict.fromkeys(notes))
    concurrency, timeout = max(wanted) or CONCURRENCY, max(timeouts, default=None)
    return Plan(tuple(jobs), tuple(policies), unique, models, concurrency, timeout, about)


def _model_name(provider: Provider) -> str:
    name = provider.id or provider.name
    return f"{name} at {provider.host}" if provider.host else name


def _grouped(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """The same mistake at many lines is said once, with the lines."""
    places: dict[tuple[str, str], list[Origin | None]] = {}
    for mistake in mistakes:
        found = places.setdefault((mistake.what, mistake.cure), [])
        if mistake.origin not in found:
            found.append(mistake.origin)
    for (what, cure), origins in sorted(places.items(), key=lambda item: _place(item[1][0])):
        others = [str(origin) for origin in origins[1:] if origin]
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        also = f" (also at {', '.join(others[:5])}{more})" if others else ""
        yield Mistake(what + also, origins[0], cure)


def _place(origin: Origin | None) -> tuple[str, int]:
    return (origin.file, origin.line) if origin else ("", 0)


@dataclass
class _Planner:
    located: Located
    wishes: Wishes
    client: Client
    pool: dict[str, Provider]
    number: int  # of the first case
    mistakes: list[Mistake] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        suite = self.located.suite
        self.suite = suite
        self.env = data(visible_env(suite.env, secrets=False))
        self.variables = Variables(self.located.workspace, self.located.folder, self.env)
        grader = ProviderSpec(self.wishes.grader, origin=Origin("--grader")) if self.wishes.grader else None
        workspace, folder = self.located.workspace, self.located.folder
        self.binder = Binder(suite, workspace, folder, self.client, grader, self.pool)

    def jobs(self) -> list[Job]:
        targets = list(self._targets())
        cases = self._filtered()
        jobs: list[Job] = []
        for case in cases:
            try:
                jobs += self._case(case, targets)
            except ConfigError as e:
                self.mistakes += e.mistakes
        if len(targets) == len(self.suite.targets):
            self._check_comparisons(jobs)
        self._check_rules(jobs)
        self._warn(jobs, cases)
        return jobs

    def _targets(self) -> Iterator[tuple[ProviderSpec, Provider, list[PromptSpec]]]:
        for spec in self.suite.targets:
            try:
                provider = self.binder.provider(spec)
                if "text" not in provider.kinds:
                    raise ConfigError.at(f"`{spec.id}` answers no prompts", spec.origin, "name a chat model")
            except ConfigError as e:
                self.mistakes += e.mistakes
                continue
            prompts = [prompt for prompt in self.suite.prompts if _allows(spec.prompts, prompt.label)]
            if not prompts:
                labels = ", ".join(f"`{prompt.label}`" for prompt in self.suite.prompts)
                what = f"`prompts` of `{spec.name}` matches no prompt"
                self._say(what, spec.origin, f"the prompts are {labels}")
            yield spec, provider, prompts

    def _filtered(self) -> list[Case]:
        pattern = self.wishes.filter_pattern
        if not pattern:
            return list(self.suite.cases)
        try:
            found = [case for case in self.suite.cases if re.search(pattern, case.description)]
        except re.error as e:
            self._say(f"--filter-pattern is no regular expression: {e}", None, "correct it")
            return []
        if not found:
            self._say(f"--filter-pattern {pattern!r} matches no test of {self.suite.file}", None, "correct it")
        return found

    def _case(self, case: Case, targets: list[tuple[ProviderSpec, Provider, list[PromptSpec]]]) -> Iterator[Job]:
        self.mistakes += check_options(case.options, case.origin)
        self._check_names(case)
        repeats = case.options.repeat or self.wishes.repeat or self.suite.repeat
        combinations = self._combinations(case)
        bound = [(values, self._bind(case, values)) for values in combinations]
        asked = self._asked(case, targets)
        self.mistakes += [mistake for provider, _ in asked for mistake in sight.blind_target(case, provider)]
        for repeat in range(repeats):
            for values, assertions in bound:
                number, self.number = self.number, self.number + 1
                for provider, prompt in asked:
                    text, render = self._prompt(case, prompt, values), self._render(case, prompt, values)
                    yield Job(self.suite.file, case, number, repeat, provider, prompt, text, values, assertions, render)

    def _asked(
        self, case: Case, targets: list[tuple[ProviderSpec, Provider, list[PromptSpec]]]
    ) -> list[tuple[Provider, PromptSpec]]:
        """The targets of a case with the prompts that each gets; a recorded conversation is graded once."""
        if case.recorded and case.turns:
            return [(_RECORDED, PromptSpec(""))]
        if case.recorded and not self.suite.targets:
            return [(_RECORDED, self.suite.prompts[0] if self.suite.prompts else PromptSpec(""))]
        if case.target is not None:
            targets = [(case.target, self.binder.provider(case.target), list(self.suite.prompts))]
        elif case.providers:
            names = case.providers
            targets = [one for one in targets if _allows(names, one[0].id) or _allows(names, one[0].label)]
        return [
            (provider, prompt)
            for _, provider, prompts in targets
            for prompt in prompts
            if _allows(case.prompts, prompt.label)
        ]

    def _combinations(self, case: Case) -> list[Mapping[str, Any]]:
        try:
            return self.variables.resolve(case.vars, case.options.expand_vars, case.origin)
        except ConfigError as e:
            self.mistakes += e.mistakes
            return [case.vars]  # the assertions are looked at all the same

    def _bind(self, case: Case, values: Mapping[str, Any]) -> tuple[Bound, ...]:
        variables = {"env": self.env, **values}
        bound = []
        for spec in case.assertions:
            try:
                bound.append(self.binder.assertion(spec, case.options, variables))
            except ConfigError as e:
                self.mistakes += e.mistakes
        self.mistakes += sight.blind_graders(case, bound)
        return tuple(bound)

    def _render(self, case: Case, prompt: PromptSpec, values: Mapping[str, Any]) -> Render | None:
        source = case.options.prefix + prompt.text + case.options.suffix
        off = case.turns or case.options.settings.get("disableConversationVar")
        if off or not _USES_CONVERSATION.search(source):
            return None
        variables = {"env": self.env, **values}
        return lambda before: render_prompt(source, {**variables, CONVERSATION: list(before)})

    def _prompt(self, case: Case, prompt: PromptSpec, values: Mapping[str, Any]) -> str:
        source = case.options.prefix + prompt.text + case.options.suffix
        try:
            text = render_prompt(source, {"env": self.env, **values})
        except TemplateError as e:
            self._say(f"the prompt cannot be filled in: {e}", prompt.origin, "mend the template")
            return ""
        if chat.broken(text):
            self._say("the prompt looks like chat messages and is not valid JSON", prompt.origin, "mend the JSON")
        return text

    # --- checks -----------------------------------------------------------------------------------------------

    def _check_names(self, case: Case) -> None:
        names = [name for spec in self.suite.targets for name in (spec.id, spec.label)]
        labels = [prompt.label for prompt in self.suite.prompts]
        for wanted, known, kind in ((case.providers, names, "provider"), (case.prompts, labels, "prompt")):
            for name in wanted:
                if not any(_allows((name,), one) for one in known):
                    self._say(f"the test names a {kind} `{name}` that the config does not have", case.origin, "")

    def _check_comparisons(self, jobs: list[Job]) -> None:
        """Comparing takes two outputs of a case, and comparing scores takes assertions that give some."""
        outputs = Counter(job.number for job in jobs)
        for job in jobs:
            comparing = [bound for bound in job.assertions if bound.grader is not None and bound.grader.compares]
            for bound in comparing:
                if outputs[job.number] < 2:
                    what = f"`{bound.spec.type}` compares the outputs of a test, and this test has only one"
                    self._say(what, bound.spec.origin, "give the test a second provider or prompt")
                elif (
                    bound.grader is not None
                    and bound.grader.compares_scores
                    and len(comparing) == len(job.case.assertions)
                ):
                    what = f"`{bound.spec.type}` compares scores, and no other assertion of the test gives any"
                    self._say(what, bound.spec.origin, "add an assertion such as llm-rubric")

    def _check_rules(self, jobs: list[Job]) -> None:
        if self.mistakes or self.suite.mistakes:
            return
        for rule in self.suite.policy.rules:
            if rule.every_case or any(
                rule.select.takes(bound.spec.type, bound.metric, job.target.name, job.case.description)
                for job in jobs
                for bound in job.assertions
                if not rule.blocking or bound.spec.blocking
            ):
                continue
            cure = "correct `select`; its patterns are assertion, metric, provider and description"
            self._say(f"the rule `{rule.name}` selects nothing", rule.origin, cure)

    def _warn(self, jobs: list[Job], cases: list[Case]) -> None:
        assertions = [bound for job in jobs for bound in job.assertions]
        if assertions and all(bound.spec.weight == 0 for bound in assertions):
            self._note("every assertion has `weight: 0`, so no failure counts", assertions[0].spec.origin)
        for bound in assertions:
            limit, grader = bound.spec.threshold, bound.grader
            if grader is not None and grader.share and limit is not None and limit <= 0:
                self._note(f"`{bound.spec.type}` can never fail: its threshold is {limit:g}", bound.spec.origin)
        for case in cases:
            if not case.assertions:
                self._note("the test asserts nothing: its answer is not checked", case.origin)
            if case.threshold is not None and case.threshold <= 0:
                self._note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)

    def _say(self, what: str, origin: Origin | None, cure: str) -> None:
        self.mistakes.append(Mistake(what, origin, cure))

    def _note(self, text: str, origin: Origin) -> None:
        self.notes.append(Note(text, origin))


def _allows(patterns: tuple[str, ...], name: str) -> bool:
    """The filter of labels as promptfoo has it: exact, ``group:*``, or a ``group`` that the label starts with."""
    return not patterns or any(
        name == pattern or (name and name.startswith(pattern.removesuffix("*").rstrip(":") + ":"))
        for pattern in patterns
    )
