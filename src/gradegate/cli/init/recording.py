"""Asks the models of a first gate once, and records their replies in its files (``init --live``)."""

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gradegate.config.context import build_context
from gradegate.core.conversation import Reply, Request
from gradegate.core.settings import Settings
from gradegate.errors import ProviderError, Trouble
from gradegate.files import documents
from gradegate.files.new_files import create_files
from gradegate.files.plain_files import Place
from gradegate.planning.plan import grading_models
from gradegate.providers.api.provider import Provider
from gradegate.reports.format.escape import one_line
from gradegate.results.rows import Row
from gradegate.runner.prepare import prepare
from gradegate.runner.run import run_plan
from gradegate.security.redaction import Redact
from gradegate.structs import FrozenStruct, replace

# A graded text in a grader's question, between tags with a random number.
_GRADED_TEXT = re.compile(r"^<([\w-]+) ([0-9a-f]{32})>\n(.*?)\n</\1 \2>$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^ *#.*\n", re.MULTILINE)  # of a template, about a gate that asks no model
_MOST_SHOWN = 90  # characters of an answer


class _Exchange(FrozenStruct):
    question: str
    reply: str


class _Trial(FrozenStruct):
    """The first case with its grades, and the exchanges with its models."""

    row: Row
    target: str  # id
    answers: Sequence[_Exchange]  # with the target
    grades: Sequence[_Exchange]  # with the graders
    redact: Redact


class Recording(FrozenStruct):
    """Files with recorded replies, and a line for each model."""

    files: dict[Place, str]
    lines: list[str]


def record_replies(files: Mapping[Place, str], folder: tuple[str, ...]) -> Recording:
    """Ask the first case of a config in ``folder``, and put the replies into its files.

    Raises ConfigError, and ProviderError if a call fails.
    """
    with TemporaryDirectory() as temporary:  # nothing is left behind if a call fails
        root = Path(temporary)
        create_files({Place(root, place.parts): text for place, text in files.items()})
        trial = _ask_first_case(root.joinpath(*folder))
    _check_trial(trial)

    recorded = {}
    for place, text in files.items():
        name = place.parts[-1]
        recorded_text = text
        if name == "answers.yaml":
            recorded_text = _with_answers(text, trial.answers)
        elif name == "grades.yaml":
            recorded_text = _with_grades(text, trial.grades)
        recorded[place] = trial.redact(recorded_text)
    lines = [trial.redact(line) for line in _describe_trial(trial)]
    return Recording(recorded, lines)


def _ask_first_case(folder: Path) -> _Trial:
    """Answer and grade the first case of the config in ``folder``. Raises ConfigError."""
    preparation = prepare(build_context(Settings(cwd=folder), os.environ))
    job = preparation.plan.jobs[0]
    # The target may be a grader, too. Its answers are recorded apart.
    job = replace(job, target=copy(job.target))

    answers = _listen(job.target)
    graders = {id(grader): grader for grader in grading_models(job)}  # each only once
    exchanges_by_grader = [_listen(grader) for grader in graders.values()]
    plan = replace(preparation.plan, jobs=(job,), policies=(), powers=())
    row = run_plan(plan, preparation.client).rows[0]

    grades = list(itertools.chain.from_iterable(exchanges_by_grader))
    return _Trial(row, job.target.id, answers, grades, preparation.hide)


def _check_trial(trial: _Trial) -> None:
    """Raise ProviderError if the target gave no answer, or a grader no verdict."""
    errors = [grade for grade in trial.row.grades if grade.has_error]
    if trial.row.output is not None and not errors:
        return

    reason = trial.row.error or errors[0].reason
    trouble = Trouble.MALFORMED
    if any(grade.setup for grade in errors):
        trouble = Trouble.SETUP
    raise ProviderError(trial.redact(reason), trouble)


def _describe_trial(trial: _Trial) -> Iterator[str]:
    """Yield a line for the answer and for each grade."""
    if trial.answers:
        output = trial.row.output or ""
        yield f"{trial.target} answered: {one_line(output, _MOST_SHOWN)}"
    for grade in trial.row.grades:
        reason = one_line(grade.reason, _MOST_SHOWN)
        yield f"{grade.assertion.type}: {grade.outcome.value}; {reason}"


def _listen(model: Provider) -> list[_Exchange]:
    """Record the requests of a model from now on in the list that is returned.

    The list stays empty for a provider that needs no call.
    """
    exchanges: list[_Exchange] = []
    if model.replies_from != "model":
        return exchanges
    complete = model.complete

    def complete_and_record(request: Request) -> Reply:
        reply = complete(request)
        question = "\n".join(message.content for message in request.messages)
        exchanges.append(_Exchange(question, reply.text))
        return reply

    model.complete = complete_and_record  # type: ignore[method-assign]
    return exchanges


def _with_answers(text: str, exchanges: Sequence[_Exchange]) -> str:
    """Put each reply into the first entry of the file of answers that its question matches."""
    if not exchanges:
        return text
    entries = documents.read(text.encode(), "answers.yaml")
    text = f"# What was answered when it was recorded. Other entries are examples.\n{_COMMENT.sub('', text)}"
    for exchange in exchanges:
        example = ""
        for entry in entries:
            if entry["when"] in exchange.question:
                example = entry["reply"]
                break
        text = text.replace(f"reply: {example}\n", f"reply: {_quote(exchange.reply)}\n", 1)
    return text


def _with_grades(text: str, exchanges: Sequence[_Exchange]) -> str:
    """Put each reply before the examples in the file of grades.

    A reply is bound to its question and all graded texts: no other answer gets a recorded verdict.
    """
    _, mark, examples = text.partition("- when:")
    entries = "# What the grader replied when it was recorded. Other entries are examples: a recorded grader judges nothing else.\n"
    for exchange in exchanges:
        parts = [exchange.question]
        graded_texts = _GRADED_TEXT.findall(exchange.question)
        if graded_texts:  # without the random numbers of their tags
            first_line = exchange.question.partition("\n")[0]
            parts = [first_line]
            parts += [f">\n{content}\n</{tag} " for tag, _, content in graded_texts]
        quoted_parts = ", ".join(map(_quote, parts))
        entries += f"- when: [{quoted_parts}]\n  reply: {_quote(exchange.reply)}\n"
    return entries + mark + examples


def _quote(text: str) -> str:
    """Quote any text for YAML, on one line."""
    dumped: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    return dumped.rstrip("\n")
