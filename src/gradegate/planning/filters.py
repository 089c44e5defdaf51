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


def _case_filters(
    settings: Settings,
) -> Iterator[tuple[str, Callable[[list[Case]], Iterable[Case]]]]:
    """The options that choose tests, each with a function that keeps tests. The first N are taken last."""
    for selector in selectors(settings):
        if selector.key not in ("provider", "first"):
            yield selector.option, partial(_keep_matching, selector.key, selector.matches)
    for key, part in settings.filter_metadata:
        option = f"--filter-metadata {f'{key}={part}'!r}"
        yield option, partial(_keep_matching, f"metadata.{key}", partial(_contains, part))
    if pattern := settings.filter_pattern:
        yield f"--filter-pattern {pattern!r}", partial(_keep_by_pattern, pattern)
    if number := settings.filter_first:
        yield f"--filter-first-n {number}", partial(_keep_first, number)
    if first := dict(settings.select).get("first"):
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
    keys = [{answer_key(job, repeat) for repeat in range(job.repeats)} for job in plan.jobs]
    cases = set()
    conversations = set()
    for job, answer_keys in zip(plan.jobs, keys, strict=True):
        if not job.of_base and not answer_keys.isdisjoint(rerun.keys):
            cases.add((job.suite, job.number))
            conversations.add(job.ordered_group)
    if not cases:
        what = "the configs have none of its failures any more"
        raise ConfigError.at(what, Origin(file), "run all of it: gradegate run")

    conversations.discard(None)
    jobs = []
    kept_keys = set[bytes]()
    for job, answer_keys in zip(plan.jobs, keys, strict=True):
        if (job.suite, job.number) in cases or job.ordered_group in conversations:
            jobs.append(job)
            kept_keys |= answer_keys

    answers = format_count(sum(job.repeats for job in jobs), "answer")
    only = f"only {answers} of {rerun.of:,} asked again, of cases that did not pass in {file}; the rules of the gate do not apply"
    notes = [Note(only), *plan.notes]
    if gone := len(rerun.keys - kept_keys):
        what = f"{format_count(gone, 'failure')} of {file} no longer in the configs"
        notes.append(Note(f"{what}, and not asked again"))

    suites = {job.suite for job in jobs}
    policies = []
    for policy in plan.policies:
        suite = policy.rules[0].suite
        if suite in suites:
            rule = Rule("every case passes", every_case=True, suite=suite, runs=policy.runs)
            policies.append(replace(policy, rules=(rule,)))
    return replace(plan, jobs=tuple(jobs), policies=tuple(policies), notes=tuple(notes), only=only)
