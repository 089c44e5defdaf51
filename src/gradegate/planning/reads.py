"""What code of a config reads of the target and the prompt: a pull request may change that without touching the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradegate.grading.conclude import Binding
from gradegate.planning.digests import digest
from gradegate.planning.job import Job
from gradegate.texts.code import reads
from gradegate.values.suite import Code

_Written = tuple[Code, bool]  # with whether a snippet is Python


def seen(job: Job) -> bytes:
    """A digest of it; empty where no code of the job looks there."""
    spec = job.target.spec
    shaping = [(code, False) for code in (spec.transform if spec else "", job.case.options.transform)]
    judging = list(_judging(job.assertions))
    found = ["target", job.target.name] if _any(judging, "provider") else []
    found += ["prompt", job.text] if _any([*judging, *shaping], "prompt") else []
    found += ["label", job.prompt.label] if _any(shaping, "prompt") else []
    return digest(found) if found else b""


def _any(codes: Sequence[_Written], name: str) -> bool:
    return any(code and reads(code, name, python=python) for code, python in codes)


def _judging(bindings: Sequence[Binding]) -> Iterator[_Written]:
    for bound in (bound for binding in bindings for bound in binding.bounds):
        written = bound.grader.written
        yield bound.transform, False
        if written.own_config:  # code, which is told the situation
            yield getattr(bound.grader, "value", ""), written.runs_code
