"""What there is to select, for a rule that selects nothing: values of the plan, those nearest to its patterns first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from gradegate.access.hiding import excerpt
from gradegate.planning.job import Job
from gradegate.values.result import Asserted
from gradegate.values.suite import Rule, Select

SHOWN, LONGEST = 5, 60  # values, and characters of each
KEYS = ("assertion", "metric", "provider", "description")


def selectable(rule: Rule, jobs: Sequence[Job]) -> str:
    """What to write in place of patterns that match nothing, or why those that match something select nothing."""
    grades = [(job, binding.asserted) for job in jobs for binding in job.assertions]
    if rule.blocking and any(_taken(rule.select, *grade) for grade in grades):
        why = "`blocking: false` or `threshold: none`"
        return f"what it looks at is advisory ({why}): let that block, or write `blocking: false` into the rule"
    counting = [grade for grade in grades if grade[1].blocking or not rule.blocking]
    written = [key for key in KEYS if getattr(rule.select, key)]
    wrong = [key for key in written if not any(_taken(_alone(rule.select, key), *grade) for grade in counting)]
    if wrong:
        return "; ".join(_instead(key, getattr(rule.select, key), counting) for key in wrong)
    return f"{' and '.join(f'`{key}`' for key in written)} select something each, and no grade is selected by all of them"


def _taken(select: Select, job: Job, asserted: Asserted) -> bool:
    return select.takes(asserted.type, asserted.metric, job.target.name, job.case.description)


def _alone(select: Select, key: str) -> Select:
    """One pattern of a selection by itself."""
    return replace(Select(), **{key: getattr(select, key)})


def _instead(key: str, pattern: str, grades: Sequence[tuple[Job, Asserted]]) -> str:
    """``metric: `tone`, `facts` and 3 more``."""
    values = sorted(set(_values(key, grades)))
    if not values:
        return f"no assertion that it could look at has a {key}"
    near = sorted(values[:1000], key=lambda value: -SequenceMatcher(None, pattern.lower(), value.lower()).ratio())
    shown = ", ".join(f"`{_short(value)}`" for value in near[:SHOWN])
    more = f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    return f"there is {key} {shown}{more}"


def _values(key: str, grades: Sequence[tuple[Job, Asserted]]) -> Iterator[str]:
    for job, asserted in grades:
        value = {
            "assertion": asserted.type,
            "metric": asserted.metric,
            "provider": job.target.name,
            "description": job.case.description,
        }[key]
        if value:
            yield value


def _short(value: str) -> str:
    return excerpt(" ".join(value.split()), LONGEST)
