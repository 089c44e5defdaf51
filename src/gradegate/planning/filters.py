"""Chooses the tests of a config that run: `--select`, and promptfoo's filters, which work as in promptfoo."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import compress

from gradegate.config.overrides import (
    Matches,
    match_pattern,
    note_on_left_out,
    provider_filters,
    selectors,
)
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note, Rule
from gradegate.core.settings import Again, Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Plan
from gradegate.structs import replace
from gradegate.templating.template import show_value


def select_cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept, options = list(suite.cases), []
    for option, keep in _steps(settings):
        options.append(option)
        found = [*keep(kept)]
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    return kept, note_on_left_out(len(kept), suite, "test", options)


def filter_options(settings: Settings) -> list[str]:
    """The options that choose tests or providers of a config."""
    return [option for option, _ in (*_steps(settings), *provider_filters(settings))]


def options_leaving_out(settings: Settings) -> list[str]:
    """The options by which tests or providers of a config may be left out."""
    return filter_options(settings) + [f"--provider {name}" for name in settings.providers]


def _steps(settings: Settings) -> Iterable[tuple[str, Callable[[list[Case]], Iterable[Case]]]]:
    """The options that choose tests, each with the tests that it keeps. The first N are taken last."""
    for it in selectors(settings):
        if it.key not in ("provider", "first"):
            yield it.option, partial(_keep, it.key, it.matches)
    for key, part in settings.filter_metadata:
        option = f"--filter-metadata {f'{key}={part}'!r}"
        yield option, partial(_keep, f"metadata.{key}", partial(_contains, part))
    if pattern := settings.filter_pattern:
        yield (
            f"--filter-pattern {pattern!r}",
            lambda kept: compress(
                kept,
                match_pattern("--filter-pattern", pattern, [case.description for case in kept]),
            ),
        )
    if number := settings.filter_first:
        yield f"--filter-first-n {number}", lambda kept: kept[:number]
    if first := dict(settings.select).get("first"):
        yield f"<--select first={first}>", lambda kept: kept[: int(first)]


def _keep(key: str, matches: Matches, cases: list[Case]) -> list[Case]:
    """The tests with a description or with metadata that matches."""
    return [case for case in cases if matches(_texts(case, key))]


def _contains(part: str, texts: Sequence[str]) -> bool:
    return any(part in text for text in texts)


def _texts(case: Case, key: str) -> list[str]:
    """The description, or the value of a metadata key: each one of a list."""
    if key == "description":
        return [case.description]
    value = case.metadata.get(key.removeprefix("metadata."))
    values = value if isinstance(value, list | tuple) else [value]
    return [show_value(it) for it in values if it is not None]


def select_failed_cases(plan: Plan, again: Again) -> Plan:
    """The part of a plan that did not pass in an earlier run: its cases whole, with the talks that they are part of.

    The rules of the gate are about all cases, so that here one rule holds: each of these cases passes. Raises ConfigError.
    """
    keys = [{answer_key(job, repeat) for repeat in range(job.repeats)} for job in plan.jobs]
    pairs = [*zip(plan.jobs, keys, strict=True)]
    found = [job for job, own in pairs if not job.of_base and own & again.keys]
    if not found:
        what = "the configs have none of its failures any more"
        raise ConfigError.at(what, Origin(again.file.name), "run all of it: gradegate run")
    cases = {(job.suite, job.number) for job in found}
    talks = {job.ordered_group for job in found if job.ordered_group}
    kept = [
        (job, own)
        for job, own in pairs
        if (job.suite, job.number) in cases or job.ordered_group in talks
    ]
    asked = {key for _, own in kept for key in own}
    asks = format_count(sum(job.repeats for job, _ in kept), "answer")
    only = f"only {asks} of {again.of:,} asked again, of cases that did not pass in {again.file.name}; the rules of the gate do not apply"
    notes = [Note(only), *plan.notes]
    if gone := len(again.keys - asked):
        what = f"{format_count(gone, 'failure')} of {again.file.name} no longer in the configs"
        notes.append(Note(f"{what}, and not asked again"))
    suites = dict.fromkeys(job.suite for job, _ in kept)
    return replace(
        plan,
        jobs=tuple(job for job, _ in kept),
        policies=tuple(
            replace(
                policy,
                rules=(Rule("every case passes", every_case=True, suite=suite, runs=policy.runs),),
            )
            for policy in plan.policies
            if (suite := policy.rules[0].suite) in suites
        ),
        notes=tuple(notes),
        only=only,
    )
