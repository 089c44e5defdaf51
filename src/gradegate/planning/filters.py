"""Chooses the tests of a config that run: `--select`, and promptfoo's filters, which work as in promptfoo."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress

from gradegate.config.overrides import (
    Matches,
    match_pattern,
    notes_on_left_out,
    provider_filters,
    selectors,
)
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note, Rule
from gradegate.core.settings import Rerun, Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Plan
from gradegate.structs import replace
from gradegate.templating.template import show_value

# An option that chooses tests, and a function that gives the tests that it keeps
CaseFilter = tuple[str, Callable[[list[Case]], Iterable[Case]]]


def select_cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, and a note on how many are left out. Raises ConfigError if none is kept."""
    cases = list(suite.cases)
    options = []
    for option, keep in _case_filters(settings):
        options.append(option)
        kept = list(keep(cases))
        if cases and not kept:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        cases = kept
    return cases, notes_on_left_out(len(cases), suite, "test", options)


def filter_options(settings: Settings) -> list[str]:
    """The options that choose tests or providers of a config."""
    return [option for option, _ in (*_case_filters(settings), *provider_filters(settings))]


def options_leaving_out(settings: Settings) -> list[str]:
    """The options that may leave out tests or providers of a config."""
    return filter_options(settings) + [f"--provider {name}" for name in settings.providers]


def is_partial(settings: Settings) -> bool:
    """Whether the run leaves out tests or targets of the configs, or replaces targets."""
    return settings.rerun is not None or bool(options_leaving_out(settings))


def _case_filters(settings: Settings) -> Iterator[CaseFilter]:
    """The filters of the options. The first N tests are taken last."""
    for selector in selectors(settings):
        if selector.key not in ("provider", "first"):
            yield selector.option, partial(_keep_matching, selector.key, selector.matches)
    for key, part in settings.filter_metadata:
        pair = f"{key}={part}"
        option = f"--filter-metadata {pair!r}"
        yield option, partial(_keep_matching, f"metadata.{key}", partial(_contains, part))
    pattern = settings.filter_pattern
    if pattern:
        yield f"--filter-pattern {pattern!r}", partial(_keep_by_pattern, pattern)
    number = settings.filter_first
    if number:
        yield f"--filter-first-n {number}", partial(_keep_first, number)
    first = dict(settings.select).get("first")
    if first:
        yield f"<--select first={first}>", partial(_keep_first, int(first))


def _keep_matching(key: str, matches: Matches, cases: list[Case]) -> list[Case]:
    return [case for case in cases if matches(_texts_of(case, key))]


def _keep_by_pattern(pattern: str, cases: list[Case]) -> Iterable[Case]:
    descriptions = [case.description for case in cases]
    return compress(cases, match_pattern("--filter-pattern", pattern, descriptions))


def _keep_first(number: int, cases: list[Case]) -> list[Case]:
    return cases[:number]


def _contains(part: str, texts: Sequence[str]) -> bool:
    return any(part in text for text in texts)


def _texts_of(case: Case, key: str) -> list[str]:
    """The description of a test, or the value of a metadata key: each item of a list."""
    if key == "description":
        return [case.description]
    value = case.metadata.get(key.removeprefix("metadata."))
    items = value if isinstance(value, list | tuple) else [value]
    return [show_value(item) for item in items if item is not None]


def select_failed_cases(plan: Plan, rerun: Rerun) -> Plan:
    """The cases of a plan that did not pass in an earlier run, with the conversations that they are part of.

    The gate's rules are about all cases, so here one other rule applies: each of these cases passes. Raises ConfigError.
    """
    file = rerun.file.name
    # Which cases failed, and which conversations are they part of?
    answer_keys = []  # those of each job, in the order of the plan
    failed_cases = set()
    conversations = set()
    for job in plan.jobs:
        keys = {answer_key(job, repeat) for repeat in range(job.repeats)}
        answer_keys.append(keys)
        if not job.of_base and not keys.isdisjoint(rerun.keys):
            failed_cases.add((job.suite, job.number))
            if job.ordered_group is not None:
                conversations.add(job.ordered_group)
    if not failed_cases:
        what = "the configs have none of its failures any more"
        raise ConfigError.at(what, Origin(file), "run all of it: gradegate run")

    jobs = []
    kept_keys = set()
    for job, keys in zip(plan.jobs, answer_keys, strict=True):
        has_failed = (job.suite, job.number) in failed_cases
        if has_failed or job.ordered_group in conversations:
            jobs.append(job)
            kept_keys |= keys

    answers = format_count(sum(job.repeats for job in jobs), "answer")
    only = f"only {answers} of {rerun.of:,} asked again, of cases that did not pass in {file}; the rules of the gate do not apply"
    notes = [Note(only), *plan.notes]
    gone = len(rerun.keys - kept_keys)
    if gone:
        what = f"{format_count(gone, 'failure')} of {file} no longer in the configs"
        notes.append(Note(f"{what}, and not asked again"))

    # One rule for each suite that is asked: each of these cases passes.
    suites = {job.suite for job in jobs}
    policies = []
    for policy in plan.policies:
        suite = policy.rules[0].suite
        if suite in suites:
            rule = Rule("every case passes", every_case=True, suite=suite, runs=policy.runs)
            policies.append(replace(policy, rules=(rule,)))
    return replace(plan, jobs=tuple(jobs), policies=tuple(policies), notes=tuple(notes), only=only)
