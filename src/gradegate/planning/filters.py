"""Chooses the tests of a config that run: `--select`, and promptfoo's filters, which work as in promptfoo."""

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gradegate.config.overrides import (
    match_globs,
    match_pattern,
    name_selector,
    note_on_left_out,
    provider_filters,
    selectors,
)
from gradegate.core.numbers import many
from gradegate.core.policy import Note, Rule
from gradegate.core.settings import Again, Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.planning.identity import identity
from gradegate.planning.plan import Plan
from gradegate.structs import replace
from gradegate.templating.template import show


def cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept = list(suite.cases)
    for option, keep in _steps(settings):
        found = keep(kept)
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    return kept, note_on_left_out(
        len(kept), suite, "test", [option for option, _ in _steps(settings)]
    )


def leaving_out(settings: Settings) -> list[str]:
    """The options by which tests or providers of a config may be left out."""
    options = [option for option, _ in (*_steps(settings), *provider_filters(settings))]
    return options + [f"--provider {name}" for name in settings.providers]


def _steps(settings: Settings) -> Iterable[tuple[str, Callable[[list[Case]], list[Case]]]]:
    """The options that choose tests, each with the tests that it keeps. The first N are taken last."""
    globs = selectors(settings)
    for key, texts in globs.items():
        if key not in ("provider", "first"):
            yield name_selector(key, texts), partial(_select, key, texts)
    for key, part in settings.filter_metadata:
        option = f"--filter-metadata {f'{key}={part}'!r}"
        yield (
            option,
            lambda kept, key=key, part=part: [  # type: ignore[misc]
                case for case in kept if any(part in text for text in _metadata(case, key))
            ],
        )
    if pattern := settings.filter_pattern:
        yield (
            f"--filter-pattern {pattern!r}",
            lambda kept: list(
                itertools.compress(
                    kept,
                    match_pattern("--filter-pattern", pattern, [case.description for case in kept]),
                )
            ),
        )
    if settings.filter_first is not None:
        yield (
            f"--filter-first-n {settings.filter_first}",
            lambda kept: kept[: settings.filter_first],
        )
    if first := globs.get("first"):
        yield name_selector("first", first), lambda kept: kept[: int(first[0])]


def _select(key: str, globs: list[str], cases: list[Case]) -> list[Case]:
    """The tests with a description, or with metadata, that one of the globs matches."""
    if key == "description":
        return [case for case in cases if match_globs(globs, [case.description])]
    name = key.removeprefix("metadata.")
    return [case for case in cases if match_globs(globs, _metadata(case, name))]


def _metadata(case: Case, key: str) -> list[str]:
    """The value of this metadata key as text, or the texts of a list."""
    value: Any = case.metadata.get(key)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return [show(it) for it in values]


def select_again(plan: Plan, again: Again) -> Plan:
    """The part of a plan that did not pass in an earlier run: its cases whole, with the talks that they are part of.

    The rules of the gate are about all cases, so that here one rule holds: each of these cases passes. Raises ConfigError.
    """
    keys = [{identity(job, repeat) for repeat in range(job.repeats)} for job in plan.jobs]
    found = [
        job
        for job, own in zip(plan.jobs, keys, strict=True)
        if not job.of_base and own & again.keys
    ]
    if not found:
        raise ConfigError.at(
            "the configs have none of its failures any more",
            Origin(again.file.name),
            "run all of it: gradegate run",
        )
    cases, talks = (
        {(job.suite, job.number) for job in found},
        {job.talk for job in found if job.talk},
    )
    kept = [
        (job, own)
        for job, own in zip(plan.jobs, keys, strict=True)
        if (job.suite, job.number) in cases or job.talk in talks
    ]
    asked = frozenset[bytes]().union(*(own for _, own in kept))
    asks = many(sum(job.repeats for job, _ in kept), "answer")
    only = f"only {asks} of {again.of:,} asked again, of cases that did not pass in {again.file.name}; the rules of the gate do not apply"
    gone = len(again.keys - asked)
    lost = (
        [
            Note(
                f"{many(gone, 'failure')} of {again.file.name} no longer in the configs, and not asked again"
            )
        ]
        if gone
        else []
    )
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
        notes=(Note(only), *plan.notes, *lost),
        baseline=plan.baseline
        and replace(
            plan.baseline, answers=tuple(row for row in plan.baseline.answers if row.key in asked)
        ),
        only=only,
    )
