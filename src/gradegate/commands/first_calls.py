"""The first calls of a new gate: its models are asked the first case, and what they reply is recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gradegate.asking.provider import Provider
from gradegate.errors import ProviderError, Trouble
from gradegate.files import document
from gradegate.files.plain_files import Place, create
from gradegate.reporting.visible import one_line
from gradegate.running.run import run
from gradegate.steps.preparation import prepare
from gradegate.values.conversation import Reply, Request
from gradegate.values.result import Outcome
from gradegate.values.settings import Settings

Exchanges = list[tuple[str, str]]  # questions with their replies
_JUDGED = re.compile(r"^<([\w-]+) ([0-9a-f]{32})>\n(.*?)\n</\1 \2>$", re.DOTALL | re.MULTILINE)  # texts in a question of a grader
_COMMENT = re.compile(r"^ *#.*\n", re.MULTILINE)  # of a template, about a gate that asks nobody yet
_SHOWN = 90  # characters of an answer


def record(made: Mapping[Place, str], folder: tuple[str, ...]) -> tuple[dict[Place, str], list[str]]:
    """The files with the recorded replies, and a line for each model. Raises ConfigError, and ProviderError where a call fails."""
    with TemporaryDirectory() as below:  # so that nothing is left behind where a call fails
        create({Place(Path(below), place.parts): text for place, text in made.items()})
        prepared = prepare(Settings(cwd=Path(below, *folder), environ=os.environ))
        job = prepared.plan.jobs[0]
        job = replace(job, target=copy(job.target))  # which may be a grader, too, and is recorded apart
        graders = {id(model): model for binding in job.assertions for bound in binding.bounds for model in bound.models.values()}
        answered, *graded = map(_listen, (job.target, *graders.values()))
        (row,) = run(replace(prepared.plan, jobs=(job,), policies=(), powers=()), prepared.client, reask=1).rows
    failures = [grade for grade in row.grades if grade.outcome is Outcome.ERROR]
    if row.output is None or failures:
        setup = any(grade.setup for grade in failures)
        raise ProviderError(prepared.hide(row.error or failures[0].reason), Trouble.SETUP if setup else Trouble.MALFORMED)
    texts = {
        "answers.yaml": partial(_with_answers, answered),
        "grades.yaml": partial(_with_grades, [it for several in graded for it in several]),
    }
    files = {place: prepared.hide(texts.get(place.parts[-1], str)(text)) for place, text in made.items()}
    lines = [f"{job.target.id} answered: {one_line(row.output, _SHOWN)}"] if answered else []
    lines += [f"{it.assertion.type}: {it.outcome.value}; {one_line(it.reason, _SHOWN)}" for it in row.grades]
    return files, [prepared.hide(line) for line in lines]


def _listen(model: Provider) -> Exchanges:
    """What a model is asked from now on, with its replies; what needs no call is not recorded."""
    exchanges: Exchanges = []
    ask = model.complete

    def complete(request: Request) -> Reply:
        reply = ask(request)
        exchanges.append(("\n".join(message.content for message in request.messages), reply.text))
        return reply

    if model.replies_from == "model":
        model.complete = complete  # type: ignore[method-assign]
    return exchanges


def _with_answers(exchanges: Exchanges, text: str) -> str:
    """With each reply in the entry that the question takes."""
    entries = document.read(text.encode(), "answers.yaml")
    text = f"# What was answered when it was recorded. Other entries are examples.\n{_COMMENT.sub('', text)}" if exchanges else text
    for question, reply in exchanges:
        example = next((it["reply"] for it in entries if it["when"] in question), "")
        text = text.replace(f"reply: {example}\n", f"reply: {_quoted(reply)}\n", 1)
    return text


def _with_grades(exchanges: Exchanges, text: str) -> str:
    """With each reply before the others, to the same question about the same texts: nothing else gets a recorded verdict."""
    _, start, rest = text.partition("- when:")
    about = "# What the grader replied when it was recorded. Other entries are examples: a recorded grader judges nothing else.\n"
    for question, reply in exchanges:
        texts = [f">\n{it[3]}\n</{it[1]} " for it in _JUDGED.finditer(question)]
        parts = [question.partition("\n")[0], *texts] if texts else [question]
        about += f"- when: [{', '.join(map(_quoted, parts))}]\n  reply: {_quoted(reply)}\n"
    return about + start + rest


def _quoted(text: str) -> str:
    return str(yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))).rstrip("\n")
