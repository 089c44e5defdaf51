"""What an answer and its grades are called in every run, and what is asked of them: so that two runs can be compared.

A key finds the counterpart in another run; equal definitions say that both were held to the same. Neither knows the text
of the prompt, the target's settings or the grader: these are what pull requests change, and what the comparison is for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from gradegate.grading.conclude import Binding, Bound, BoundSet
from gradegate.planning.digests import sha256
from gradegate.planning.job import Job
from gradegate.values.result import Asserted
from gradegate.values.suite import Case


def row_key(job: Job, repeat: int) -> bytes:
    """What an answer is called: by its case, target, prompt and repetition."""
    case = job.case.description or job.vars
    # The label of a prompt without one is its text: such prompts pair in the order in which they are written.
    label = "" if job.prompt.label == job.prompt.text else job.prompt.label
    return sha256([job.suite, case, job.target.name, label, repeat])


def case_definition(case: Case, variables: Mapping[str, Any]) -> bytes:
    """What a case gives and asks for, apart from its assertions."""
    scripts = [code for code in (case.options.transform, case.scoring) if code]
    return sha256([variables, case.turns, case.threshold, case.options.settings, *scripts])


def named(bindings: Iterable[Binding], of: bytes) -> tuple[Binding, ...]:
    """The assertions of a case with their keys and definitions; ``of`` is the definition of the case."""
    seen: Counter[tuple[str, str]] = Counter()
    return tuple(_named(binding, of, seen) for binding in bindings)


def _named(binding: Binding, of: bytes, seen: Counter[tuple[str, str]]) -> Binding:
    key = _key(binding.asserted, seen)  # a set comes before its members, as in a report
    if isinstance(binding, BoundSet):
        members = tuple(_one(member, of, _key(member.asserted, seen)) for member in binding.bounds)
        definition = sha256([*_asked(binding, of), [member.asserted.definition.hex() for member in members]])
        return replace(binding, bounds=members, asserted=replace(binding.asserted, key=key, definition=definition))
    return _one(binding, of, key)


def _one(bound: Bound, of: bytes, key: bytes) -> Bound:
    transform = getattr(bound.grader, "context_transform", "")
    own = [bound.transform] if bound.transform else []
    definition = sha256([*_asked(bound, of), bound.rubric.steps, transform, *own])
    return replace(bound, asserted=replace(bound.asserted, key=key, definition=definition))


def _key(asserted: Asserted, seen: Counter[tuple[str, str]]) -> bytes:
    name = asserted.type, asserted.metric
    seen[name] += 1
    return _grade_key(*name, seen[name])


@cache
def _grade_key(kind: str, metric: str, number: int) -> bytes:
    return sha256([kind, metric, number])


def _asked(binding: Binding, of: bytes) -> list[Any]:
    asserted = binding.asserted
    return [of.hex(), asserted.type, asserted.value, binding.threshold, asserted.weight, asserted.config]
