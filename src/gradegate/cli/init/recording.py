"""Asks the models of a first gate once, and records their replies in its files (``init --live``)."""

import os
import re
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gradegate.config.context import build_context
from gradegate.core.conversation import Reply, Request
from gradegate.core.settings import Settings
from gradegate.errors import ProviderError, Trouble
from gradegate.files import documents
from gradegate.files.plain_files import Place, create
from gradegate.planning.plan import grading_models
from gradegate.providers.api.provider import Provider
from gradegate.reports.format.escape import one_line
from gradegate.runner.prepare import prepare
from gradegate.runner.run import run_plan
from gradegate.structs import FrozenStruct, replace

# A graded text in a grader's question, between tags with a random number.
_GRADED_TEXT = re.compile(r"^<([\w-]+) ([0-9a-f]{32})>\n(.*?)\n</\1 \2>$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^ *#.*\n", re.MULTILINE)  # of a template, about a gate that asks no model
_MOST_SHOWN = 90  # characters of an answer


class _Exchange(FrozenStruct):
    question: str
    reply: str


class Recording(FrozenStruct):
    """Files with recorded replies, and a line for each model."""

    files: dict[Place, str]
    lines: list[str]


def record_replies(files: Mapping[Place, str], folder: tuple[str, ...]) -> Recording:
    """Ask the first case of a config in ``folder``, and put the replies into its files.

    Raises ConfigError, and ProviderError if a call fails.
    """
    with TemporaryDirectory() as temporary:  # nothing is left behind if a call fails
        create({Place(Path(temporary), place.parts): text for place, text in files.items()})
        preparation = prepare(build_context(Settings(cwd=Path(temporary, *folder)), os.environ))
        job = preparation.plan.jobs[0]
        # The target may be a grader, too. Its answers are recorded apart.
        job = replace(job, target=copy(job.target))
        answers = _listen(job.target)
        graders = {id(model): model for model in grading_models(job)}
        replies = [_listen(model) for model in graders.values()]
        plan = replace(preparation.plan, jobs=(job,), policies=(), powers=())
        row = run_plan(plan, preparation.client).rows[0]

    redact = preparation.hide
    errors = [grade for grade in row.grades if grade.has_error]
    if row.output is None or errors:
        is_setup = any(grade.setup for grade in errors)
        reason = redact(row.error or errors[0].reason)
        raise ProviderError(reason, Trouble.SETUP if is_setup else Trouble.MALFORMED)

    grades = [exchange for exchanges in replies for exchange in exchanges]
    recorded = dict(files)
    for place, text in files.items():
        if place.parts[-1] == "answers.yaml":
            recorded[place] = _with_answers(text, answers)
        elif place.parts[-1] == "grades.yaml":
            recorded[place] = _with_grades(text, grades)
        recorded[place] = redact(recorded[place])

    lines = []
    if answers:
        lines.append(f"{job.target.id} answered: {one_line(row.output, _MOST_SHOWN)}")
    for grade in row.grades:
        reason = one_line(grade.reason, _MOST_SHOWN)
        lines.append(f"{grade.assertion.type}: {grade.outcome.value}; {reason}")
    return Recording(recorded, list(map(redact, lines)))


def _listen(model: Provider) -> list[_Exchange]:
    """A list that grows by each request of a model from now on. What needs no call is not recorded."""
    exchanges = []
    ask = model.complete

    def complete(request: Request) -> Reply:
        reply = ask(request)
        question = "\n".join(message.content for message in request.messages)
        exchanges.append(_Exchange(question, reply.text))
        return reply

    if model.replies_from == "model":
        model.complete = complete  # type: ignore[method-assign]
    return exchanges


def _with_answers(text: str, exchanges: Sequence[_Exchange]) -> str:
    """The file of answers with each reply in the entry that its question matches."""
    if not exchanges:
        return text
    entries = documents.read(text.encode(), "answers.yaml")
    text = f"# What was answered when it was recorded. Other entries are examples.\n{_COMMENT.sub('', text)}"
    for exchange in exchanges:
        matching = [entry["reply"] for entry in entries if entry["when"] in exchange.question]
        example = matching[0] if matching else ""
        text = text.replace(f"reply: {example}\n", f"reply: {_quote(exchange.reply)}\n", 1)
    return text


def _with_grades(text: str, exchanges: Sequence[_Exchange]) -> str:
    """The file of grades with each reply before the examples.

    A reply is bound to its question and all graded texts: no other answer gets a recorded verdict.
    """
    _, start, examples = text.partition("- when:")
    head = "# What the grader replied when it was recorded. Other entries are examples: a recorded grader judges nothing else.\n"
    for exchange in exchanges:
        graded = _GRADED_TEXT.findall(exchange.question)
        parts = [exchange.question]
        if graded:
            parts = [exchange.question.partition("\n")[0]]
            parts += [f">\n{content}\n</{tag} " for tag, _, content in graded]
        head += f"- when: [{', '.join(map(_quote, parts))}]\n  reply: {_quote(exchange.reply)}\n"
    return head + start + examples


def _quote(text: str) -> str:
    """Quote any text for YAML, on one line."""
    dumped: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    return dumped.rstrip("\n")
