"""What ``gradegate init`` does: choose, look, write, and say what comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gradegate.access.environment import Environment
from gradegate.asking import unknown_ids
from gradegate.commands.choices import ACTION, PLACEHOLDER, TEMPLATES, Choices, check, is_address
from gradegate.commands.outlook import runner
from gradegate.commands.questions import Ask, completed
from gradegate.commands.starter_files import CONFIG, Ground, files, ground
from gradegate.errors import Origin
from gradegate.files.creating import create
from gradegate.files.replacing import Place
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.bind import Binder
from gradegate.steps.preparation import prepare_without_keys, with_stand_ins
from gradegate.values.settings import Settings, graders
from gradegate.values.suite import ProviderSpec, Suite

_THERE = "`gradegate init --only-workflow` writes a workflow for it; else move it away, or name another FOLDER"
_ABOUT = {
    CONFIG: "what is asked, and what blocks",
    "prompt.txt": "what the model is told",
    "recorded/answers.yaml": "what is answered until somebody is asked; says how to see a blocked run",
    "recorded/grades.yaml": "what the grader replies until one is asked",
    "answer_cases.py": "has your program answer; put it in there",
}


def begin(cwd: Path, given: Mapping[str, str], *, config: bool, workflow: bool, ask: Ask | None) -> Iterator[str]:
    """Write the files and give what is to be said, a line each. Without ``ask`` defaults are taken. Raises ConfigError.

    Without ``config`` there is one, and nothing is asked either.
    """
    choices = completed(dict(given), ask) if ask and config else Choices(**given)  # type: ignore[arg-type]
    choices = replace(choices, workflow=workflow, config=config)
    check(choices)
    where = ground(cwd, choices.folder)
    made = files(choices, where, _keys(choices, Workspace(where.root)) if config else ((), _keys_of_config(choices, where)))
    create(made, {Place(where.cwd, (*where.folder, CONFIG)): _THERE})
    yield from _written(made, where)
    yield from [] if ask or not config else _defaults(choices, given)
    yield from _next(choices, where)


def _keys(choices: Choices, workspace: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables of target and grader. Raises ConfigError for one that nobody serves."""
    asked = choices.template != "answers" and not is_address(choices.target)
    target = variables_of(choices.target, workspace, "--provider") if asked else ()
    return target, variables_of(choices.judge, workspace, "--grader")


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
    if choices.config:
        yield f"  gradegate run{folder}  # passes; answers and grades are recorded, so it takes no key"
    else:
        yield f"  gradegate validate{folder}  # what a run takes"
    yield "  gradegate init --from-pr  # what the workflow will do on a pull request"
    left = list(_left(choices, where))
    yield from ["Before it judges anything:", *left] if left else []


def _left(choices: Choices, where: Ground) -> Iterator[str]:
    """What nobody but its owner can do."""
    if choices.config:
        own = ", with a model that you name in place of MODEL" if PLACEHOLDER in (choices.target, choices.judge) else ""
        yield f"  swap the lines marked LIVE in {'/'.join((*where.folder, CONFIG))}{own}"
    if choices.workflow and choices.action == ACTION:
        yield "  put the commit of a release of gradegate into the workflow"


def variables_of(id_: str, workspace: Workspace, option: str) -> tuple[str, ...]:
    """The variables without which the model cannot be asked, sorted. Raises ConfigError for an id that nobody serves."""
    named = id_.removesuffix(unknown_ids.PLACEHOLDER)  # any model of the vendor takes the same
    spec = ProviderSpec(id_ if named == id_ else f"{named}any", origin=Origin(option))

    def build(keys: dict[str, str]) -> None:
        suite = Suite(option, env=Environment(keys))
        Binder(suite, workspace, workspace.root, Client(environ={}), {}).provider(spec)

    return tuple(sorted(with_stand_ins(build)[1]))
