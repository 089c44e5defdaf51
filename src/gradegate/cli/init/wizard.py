"""``gradegate init``: completes the choices, writes a first gate, and lists the next steps."""

import shlex
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from gradegate.cli.init.choices import (
    PLACEHOLDER,
    TEMPLATES,
    Ask,
    Choices,
    check_choices,
    complete_choices,
    is_address,
    key_variables,
    needs_commit,
)
from gradegate.cli.init.first_files import (
    CONFIG,
    Needs,
    StartingPoint,
    find_starting_point,
    render_files,
)
from gradegate.cli.init.recording import record_replies
from gradegate.cli.init.workflows import PlannedRun
from gradegate.core.option_kinds import parse_graders
from gradegate.core.settings import Settings
from gradegate.files.new_files import check_free, create_files
from gradegate.files.plain_files import Place
from gradegate.security.hosts import host_at, is_inside

_CONFIG_EXISTS = "`gradegate init --only-workflow` writes a workflow for it; else move it away, or name another FOLDER"
_DESCRIPTIONS = {
    CONFIG: "what is asked, and what blocks",
    "prompt.txt": "what the model is told",
    "recorded/answers.yaml": "the answers of a run that asks no model",
    "recorded/grades.yaml": "the grades of a run that asks no model",
    "answer_cases.py": "has your program answer; put it in there",
}
_WORKFLOW_DESCRIPTION = "what runs on a pull request"


def write_first_gate(
    cwd: Path, choices: Choices, chosen: Container[str], ask: Ask | None
) -> Iterator[str]:
    """Write the files of a first gate. Yields the lines to print.

    ``chosen`` names the options of the command line. ``ask`` puts questions about the others; without it, they take
    defaults. With --only-workflow no question is asked. Raises ConfigError, and ProviderError if a model does not reply
    with --live.
    """
    if ask and choices.config:
        choices = complete_choices(choices, chosen, ask)
    check_choices(choices)
    start = find_starting_point(cwd, choices.folder)
    if choices.config:
        needs = _find_needs_of_new_config(choices)
    else:
        needs = _find_needs_of_config(choices, start)
    files = render_files(choices, start, needs)

    cures = {Place(start.cwd, (*start.folder, CONFIG)): _CONFIG_EXISTS}
    if choices.live:
        check_free(files, cures)  # before anything is paid for
        recording = record_replies(files, start.folder)
        files = recording.files
        yield from recording.lines
    create_files(files, cures)

    yield from _list_files(files, start)
    defaults = _list_defaults(choices, chosen)
    if defaults and choices.config and not ask:
        yield f"Defaults taken: {', '.join(defaults)}"
    yield from _list_next_steps(choices, start)


def _find_needs_of_new_config(choices: Choices) -> Needs:
    """Find the keys and local addresses that the chosen models need. Raises ConfigError."""
    keys_by_option = {}
    for option, model in choices.models.items():
        keys_by_option[option] = key_variables(model, option, choices.key_of(model))
    local_urls = []
    if is_address(choices.target):
        local_urls.append(choices.target)
    target_keys = keys_by_option.get("--provider", ())
    return Needs(target_keys, keys_by_option["--grader"], local_urls)


def _find_needs_of_config(choices: Choices, start: StartingPoint) -> Needs:
    """Find the needs of a config that exists. Raises ConfigError."""
    folder = start.cwd.joinpath(*start.folder)
    settings = Settings(cwd=folder, graders=parse_graders([choices.grader]))
    plan = PlannedRun(settings, {}).prepare().plan
    local_urls = []
    for host_name in dict.fromkeys(model.host for model in plan.models):
        host = host_at(f"http://{host_name}")
        if host and is_inside(host.name):
            local_urls.append(f"http://{host_name}")
    return Needs(grader_keys=sorted(plan.missing_keys), local_urls=local_urls)


def _list_files(places: Iterable[Place], start: StartingPoint) -> Iterator[str]:
    """Yield a line for each file: its path from the working directory, and its purpose."""
    paths = {}
    for place in places:
        levels_up = len(start.cwd.relative_to(place.root).parts)
        paths[place] = "../" * levels_up + "/".join(place.parts)
    width = max(map(len, paths.values()))

    yield "Written:"
    for place, path in paths.items():
        path_in_folder = "/".join(place.parts[len(start.folder) :])
        description = _DESCRIPTIONS.get(path_in_folder, _WORKFLOW_DESCRIPTION)
        yield f"  {path:{width}}  {description}"


def _list_defaults(choices: Choices, chosen: Container[str]) -> list[str]:
    """List the options that nobody gave, with their values."""
    defaults = {
        "template": f"{choices.template} ({TEMPLATES[choices.template]})",
        "provider": choices.target,
        "grader": choices.judge,
    }
    if choices.template == "answers":
        del defaults["provider"]
    return [f"--{name} {value}" for name, value in defaults.items() if name not in chosen]


def _list_next_steps(choices: Choices, start: StartingPoint) -> Iterator[str]:
    """Yield the commands to run next, and what to change before the gate judges anything."""
    path = "/".join(start.folder)
    if path.startswith("-"):
        path = f"./{path}"  # not an option
    argument = f" {shlex.quote(path)}" if path else ""

    yield "Next:"
    if choices.live:
        yield f"  gradegate run{argument} --provider scripted:recorded/answers.yaml --grader scripted:recorded/grades.yaml  # needs no key"
        yield f"  gradegate run{argument}  # asks the models"
    elif choices.config:
        yield f"  gradegate run{argument}  # passes; answers and grades are recorded, so it takes no key"
    else:
        yield f"  gradegate validate{argument}  # what a run takes"
    yield "  gradegate init --from-pr  # what the workflow will do on a pull request"

    unfinished = []
    if choices.config and not choices.live:
        line = f"  swap the lines marked LIVE in {'/'.join((*start.folder, CONFIG))}"
        if PLACEHOLDER in (choices.target, choices.judge):
            line += ", with a model that you name in place of MODEL"
        unfinished.append(line)
    if choices.workflow and needs_commit(choices.action):
        unfinished.append("  put the commit of a release of gradegate into the workflow")
    if unfinished:
        yield "Before it judges anything:"
        yield from unfinished
