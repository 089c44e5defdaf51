"""The first calls of a new gate: its models are asked the first case, and what they reply is recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gradegate.asking.provider import Provider
from gradegate.errors import ProviderError, Trouble
from gradegate.files import document
from gradegate.files.replacing import Place
from gradegate.reporting.visible import one_line
from gradegate.running.run import run
from gradegate.steps.preparation import prepare
from gradegate.values.conversation import Reply, Request
from gradegate.values.result import Outcome, Row
from gradegate.values.settings import Settings

_JUDGED = re.compile(r"^<([\w-]+) ([0-9a-f]{32})>\n(.*?)\n</\1 \2>$", re.DOTALL | re.MULTILINE)  # texts in a question of a grader
_SHOWN = 90  # characters of an answer


def record(made: Mapping[Place, str], folder: tuple[str, ...]) -> tuple[dict[Place, str], list[str]]:
    """The files with the recorded replies, and a line for each model. Raises ConfigError, and ProviderError where a call fails."""
    with TemporaryDirectory() as below:  # so that nothing is left behind where a call fails
        for place, text in made.items():
            path = Path(below, *place.parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        prepared = prepare(Settings(cwd=Path(below, *folder), environ=os.environ))
        job = prepared.plan.jobs[0]
        graders = {id(model): model for binding in job.assertions for bound in binding.bounds for model in bound.models.values()}
        answered, *graded = map(_listen, (job.target, *graders.values()))
        (row,) = run(replace(prepared.plan, jobs=(job,), policies=(), powers=()), prepared.client, reask=1).rows
    _check(row)
    grades = [it for several in graded for it in several]
    texts = {"answers.yaml": lambda text: _with_answers(text, answered), "grades.yaml": lambda text: _with_grades(text, grades)}
    files = {place: prepared.hide(texts.get(place.parts[-1], str)(text)) for place, text in made.items()}
    lines = [f"{job.target.id} answered: {one_line(row.output or '', _SHOWN)}"] if answered else []
    lines += [f"{it.assertion.type}: {it.outcome.value}; {one_line(it.reason, _SHOWN)}" for it in row.grades]
    return files, [prepared.hide(line) for line in lines]


def _listen(model: Provider) -> list[tuple[str, str]]:
    """What a model is asked from now on, with its replies; what needs no call is not recorded."""
    exchanges: list[tuple[str, str]] = []
    ask = model.complete

    def complete(request: Request) -> Reply:
        reply = ask(request)
        exchanges.append(("\n".join(message.content for message in request.messages), reply.text))
        return reply

    if model.replies_from == "model":
        model.complete = complete  # type: ignore[method-assign]
    return exchanges


def _check(row: Row) -> None:
    """Raises ProviderError, in the vendor's words, for an answer or a verdict that did not come."""
    failures = [grade for grade in row.grades if grade.outcome is Outcome.ERROR]
    if row.output is None or failures:
        setup = any(grade.setup for grade in failures)
        raise ProviderError(row.error or failures[0].reason, Trouble.SETUP if setup else Trouble.MALFORMED)


def _with_answers(text: str, exchanges: list[tuple[str, str]]) -> str:
    """With each reply in the entry that the question takes."""
    entries = document.read(text.encode(), "answers.yaml")
    for question, reply in exchanges:
        with suppress(StopIteration):
            entry = next(it for it in entries if it["when"] in question)
            text = text.replace(f"reply: {entry['reply']}\n", f"reply: {_quoted(reply)} # recorded by `gradegate init --live`\n", 1)
    return text


def _with_grades(text: str, exchanges: list[tuple[str, str]]) -> str:
    """With each reply before the others, to the same question about the same texts: nothing else gets a recorded verdict."""
    about, start, rest = text.partition("- when:")
    for question, reply in exchanges:
        parts = [question.partition("\n")[0], *(f">\n{it[3]}\n</{it[1]} " for it in _JUDGED.finditer(question))]
        about += f"- when: [{', '.join(map(_quoted, parts if len(parts) > 1 else [question]))}]\n  reply: {_quoted(reply)} # recorded by `gradegate init --live`\n"
    return about + start + rest


def _quoted(text: str) -> str:
    return str(yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))).rstrip("\n")
