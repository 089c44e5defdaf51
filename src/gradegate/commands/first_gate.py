"""What ``gradegate init`` does: choose, look, write, and say what comes next."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gradegate.asking.provider import Provider
from gradegate.commands.choices import ACTION, PLACEHOLDER, TEMPLATES, Ask, Choices, check, completed, variables_of
from gradegate.commands.outlook import runner
from gradegate.commands.starter_files import CONFIG, Ground, files, ground
from gradegate.errors import ProviderError, Trouble
from gradegate.files import document
from gradegate.files.plain_files import Place, check_free, create
from gradegate.reporting.visible import one_line
from gradegate.running.run import Run
from gradegate.steps.preparation import prepare, prepare_without_keys
from gradegate.values.conversation import Reply, Request
from gradegate.values.result import Outcome
from gradegate.values.settings import Settings, graders

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
        (row,) = Run(replace(prepared.plan, jobs=(job,), policies=(), powers=()), prepared.client, reask=1).result().rows
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


_THERE = "`gradegate init --only-workflow` writes a workflow for it; else move it away, or name another FOLDER"
_ABOUT = {
    CONFIG: "what is asked, and what blocks",
    "prompt.txt": "what the model is told",
    "recorded/answers.yaml": "the answers of a run that asks no model",
    "recorded/grades.yaml": "the grades of a run that asks no model",
    "answer_cases.py": "has your program answer; put it in there",
}


def begin(cwd: Path, given: Mapping[str, str], *, config: bool, workflow: bool, live: bool, ask: Ask | None) -> Iterator[str]:
    """Write the files and give what is to be said, a line each. Without ``ask`` defaults are taken. Raises ConfigError.

    ``live``: the models are asked first, and a ProviderError is raised where one does not reply.
    Without ``config`` there is one, and nothing is asked either.
    """
    started = Choices(**given, workflow=workflow, config=config, live=live)
    choices = completed(started, given, ask) if ask and config else started
    check(choices)
    where = ground(cwd, choices.folder)
    if config:
        keys = {option: variables_of(id_, option, choices.key_of(id_)) for option, id_ in choices.asked.items()}
    else:  # it is there already: what it takes on the runner
        folder, providers = where.cwd.joinpath(*where.folder), (choices.provider,) if choices.provider else ()
        settings = Settings(cwd=folder, environ=runner(where.root), providers=providers, graders=graders([choices.grader]))
        keys = {"--grader": tuple(sorted(prepare_without_keys(settings)[1]))}
    made = files(choices, where, (keys.get("--provider", ()), keys["--grader"]))
    cures = {Place(where.cwd, (*where.folder, CONFIG)): _THERE}
    if live:
        check_free(made, cures)  # before anything is paid for
        made, lines = record(made, where.folder)
        yield from lines
    create(made, cures)
    yield from _written(made, where)
    defaults = {
        "template": f"{choices.template} ({TEMPLATES[choices.template]})",
        **({"provider": choices.target} if choices.template != "answers" else {}),
        "grader": choices.judge,
    }
    taken = [f"--{name} {value}" for name, value in defaults.items() if name not in given]
    if taken and config and not ask:
        yield f"Defaults taken: {', '.join(taken)}"
    yield from _next(choices, where)


def _written(made: Mapping[Place, str], where: Ground) -> Iterator[str]:
    ups = {root: "" if root == where.cwd else "../" * len(where.cwd.relative_to(root).parts) for root in {place.root for place in made}}
    names = {place: ups[place.root] + "/".join(place.parts) for place in made}  # as somebody in the working directory names them
    width = max(map(len, names.values()))
    yield "Written:"
    for place, name in names.items():
        own = "/".join(place.parts[len(where.folder) :])
        yield f"  {name:{width}}  {_ABOUT.get(own, 'what runs on a pull request')}"


def _next(choices: Choices, where: Ground) -> Iterator[str]:
    path = "/".join(where.folder)
    plain = f"./{path}" if path.startswith("-") else path  # which is no option
    folder = f" {shlex.quote(plain)}" if path else ""
    yield "Next:"
    if choices.live:
        yield f"  gradegate run{folder} --provider scripted:recorded/answers.yaml --grader scripted:recorded/grades.yaml  # needs no key"
        yield f"  gradegate run{folder}  # asks the models"
    elif choices.config:
        yield f"  gradegate run{folder}  # passes; answers and grades are recorded, so it takes no key"
    else:
        yield f"  gradegate validate{folder}  # what a run takes"
    yield "  gradegate init --from-pr  # what the workflow will do on a pull request"
    left = []
    if choices.config and not choices.live:
        own = ", with a model that you name in place of MODEL" if PLACEHOLDER in (choices.target, choices.judge) else ""
        left.append(f"  swap the lines marked LIVE in {'/'.join((*where.folder, CONFIG))}{own}")
    if choices.workflow and choices.action == ACTION:
        left.append("  put the commit of a release of gradegate into the workflow")
    yield from ["Before it judges anything:", *left] if left else []
