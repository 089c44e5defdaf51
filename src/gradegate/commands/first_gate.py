"""What ``gradegate init`` does: choose, look, write, and say what comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from gradegate.commands.choices import ACTION, PLACEHOLDER, TEMPLATES, Choices, check
from gradegate.commands.outlook import runner
from gradegate.commands.questions import Ask, completed, variables_of
from gradegate.commands.starter_files import CONFIG, Ground, files, ground
from gradegate.files.plain_files import Place, check_free, create
from gradegate.steps.preparation import prepare_without_keys
from gradegate.values.settings import Settings, graders

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
    keys = {"--grader": _keys_of_config(choices, where)} if not config else {}
    keys |= {option: variables_of(id_, option, choices.key_of(id_)) for option, id_ in choices.asked.items() if config}
    made = files(choices, where, (keys.get("--provider", ()), keys["--grader"]))
    cures = {Place(where.cwd, (*where.folder, CONFIG)): _THERE}
    if live:
        from gradegate.commands.first_calls import record

        check_free(made, cures)  # before anything is paid for
        made, lines = record(made, where.folder)
        yield from lines
    create(made, cures)
    yield from _written(made, where)
    yield from [] if ask or not config else _defaults(choices, given)
    yield from _next(choices, where)


def _keys_of_config(choices: Choices, where: Ground) -> tuple[str, ...]:
    """The variables that the config takes on the runner, which is there already. Raises ConfigError with its mistakes."""
    providers = (choices.provider,) if choices.provider else ()
    folder = where.cwd.joinpath(*where.folder)
    settings = Settings(cwd=folder, environ=runner(where.root), providers=providers, graders=graders([choices.grader]))
    return tuple(sorted(prepare_without_keys(settings)[1]))


def _written(made: Mapping[Place, str], where: Ground) -> Iterator[str]:
    ups = {root: "" if root == where.cwd else "../" * len(where.cwd.relative_to(root).parts) for root in {place.root for place in made}}
    names = {place: ups[place.root] + "/".join(place.parts) for place in made}  # as somebody in the working directory names them
    width = max(map(len, names.values()))
    yield "Written:"
    for place, name in names.items():
        own = "/".join(place.parts[len(where.folder) :])
        yield f"  {name:{width}}  {_ABOUT.get(own, 'what runs on a pull request')}"


def _defaults(choices: Choices, given: Mapping[str, str]) -> Iterator[str]:
    """What nobody chose."""
    taken = []
    if "template" not in given:
        taken.append(f"--template {choices.template} ({TEMPLATES[choices.template]})")
    if "provider" not in given and choices.template != "answers":
        taken.append(f"--provider {choices.target}")
    if "grader" not in given:
        taken.append(f"--grader {choices.judge}")
    yield from [f"Defaults taken: {', '.join(taken)}"] if taken else []


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
    left = list(_left(choices, where))
    yield from ["Before it judges anything:", *left] if left else []


def _left(choices: Choices, where: Ground) -> Iterator[str]:
    """What nobody but its owner can do."""
    if choices.config and not choices.live:
        own = ", with a model that you name in place of MODEL" if PLACEHOLDER in (choices.target, choices.judge) else ""
        yield f"  swap the lines marked LIVE in {'/'.join((*where.folder, CONFIG))}{own}"
    if choices.workflow and choices.action == ACTION:
        yield "  put the commit of a release of gradegate into the workflow"
