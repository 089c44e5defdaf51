"""Fills in the templates of a first gate: a config, its recorded replies, and a workflow."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gradegate.cli.init.choices import ACTION, Choices
from gradegate.errors import ConfigError
from gradegate.files.git import repository_of
from gradegate.files.plain_files import Place
from gradegate.structs import FrozenStruct

CONFIG = "promptfooconfig.yaml"
MOST_LETTERS = 50  # of a folder in the name of its workflow
_REPORT_PAGE = "gradegate-report.html"  # of the workflow
_TEMPLATES = Path(__file__).with_name("templates")
# A line of recorded replies, and the commented lines that take its place with --live.
_LIVE_LINES = re.compile(r"^( *)# LIVE.*\n.*scripted:.*\n((?:\1# .*\n)+)", re.MULTILINE)
_NEXT_INPUT = "\n          "  # the indent of an input in a workflow


class StartingPoint(FrozenStruct):
    """Where somebody starts: the working directory, the repository around it, and the config's folder relative to it."""

    cwd: Path
    root: Path  # the working directory itself, if there is no repository
    folder: tuple[str, ...]

    @property
    def folder_in_repository(self) -> str:
        """The folder of the config as a workflow names it: relative to the repository, empty for its root."""
        return "/".join((*self.cwd.relative_to(self.root).parts, *self.folder))

    @property
    def workflow_name(self) -> str:
        """The name of the folder's workflow, unlike any other in the repository: letters, digits and hyphens."""
        folder = self.folder_in_repository
        if not folder:
            return "evals"
        words = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")
        # Other folders may have the same letters.
        if not 0 < len(words) <= MOST_LETTERS or not folder.isascii():
            digest = sha256(folder.encode()).hexdigest()[:8]
            words = f"{words[:MOST_LETTERS]}-{digest}".strip("-")
        return f"evals-{words}"


def find_starting_point(cwd: Path, folder: str) -> StartingPoint:
    """Find the repository around a working directory. Raises ConfigError if no workflow can name the folder."""
    cwd = cwd.resolve()
    start = StartingPoint(cwd, repository_of(cwd) or cwd, PurePosixPath(folder).parts)
    name = start.folder_in_repository
    is_trimmed = name == name.strip()  # the Action removes spaces around an input
    is_expression = "${{" in name
    is_in_git = ".git" in name.casefold().split("/")
    if not is_trimmed or not name.isprintable() or is_expression or is_in_git:
        what = f"the folder {name!r} cannot stand in a workflow"
        raise ConfigError.at(what, None, "start in a folder with a plain name")
    return start


class Needs(FrozenStruct):
    """What the models of a first gate need on the runner."""

    target_keys: Sequence[str] = ()  # variables of the environment
    grader_keys: Sequence[str] = ()
    local_urls: Sequence[str] = ()  # addresses on the runner that answer


def render_files(choices: Choices, start: StartingPoint, needs: Needs) -> dict[Place, str]:
    """The text of every file, the config first and the workflow last."""
    values = _template_values(choices, start, needs)
    texts = {}
    if choices.config:
        folder = _TEMPLATES / choices.template
        for path in sorted(folder.rglob("*.*"), key=lambda path: (path.name != CONFIG, path)):
            # The suffix keeps tools from taking the template of a program for a program of gradegate.
            name = path.relative_to(folder).as_posix().removesuffix(".template")
            text = _fill_in(path, values)
            if choices.live:
                text = _LIVE_LINES.sub(_uncomment, text)
            texts[Place(start.cwd, (*start.folder, *name.split("/")))] = text
    if choices.workflow:
        path = _TEMPLATES / f"workflow-{choices.template}.yml"
        if not path.exists():
            path = _TEMPLATES / "workflow.yml"
        place = Place(start.root, (".github", "workflows", f"{start.workflow_name}.yml"))
        texts[place] = _fill_in(path, values)
    return texts


def _uncomment(match: re.Match[str]) -> str:
    return re.sub("(?m)^( *)# ", r"\1", match[2])


def _fill_in(path: Path, values: dict[str, str]) -> str:
    template = path.read_text(encoding="utf-8")
    return re.sub(r"__([A-Z_]+?)__", lambda match: values[match[1]], template)


def _template_values(choices: Choices, start: StartingPoint, needs: Needs) -> dict[str, str]:
    """The text for each name in the templates."""
    target_key = choices.key_of(choices.target)
    grader = f'"{choices.judge}"'
    grader_key = choices.key_of(choices.judge)
    if grader_key:
        grader = f'{{ id: "{choices.judge}", config: {{ apiKeyEnvar: {grader_key} }} }}'
    action = choices.action
    if action == ACTION:
        action += " # put the commit of a release here"

    values = {
        "PROVIDER": choices.target,
        "GRADER": grader,
        "ACCESS": f", config: {{ apiKeyEnvar: {target_key} }}" if target_key else "",
        "TARGET_NEEDS": _describe_keys(needs.target_keys),
        "GRADER_NEEDS": _describe_keys(needs.grader_keys),
        "ACTION": action,
        "KEY": start.workflow_name,
        "READY": _ready_input(choices, needs.local_urls),
        "JUDGE": "",
        "ENV": _env_of_step(choices, needs),
        # In the root of the repository:
        "PLACE": "this repository",
        "NAME": "evals",
        "FOLDER": "",
        "RUN_IN": "",
        "ANSWERS": "answers.jsonl",
        "PAGE": _REPORT_PAGE,
        "UP": "",
        "COMMENT_KEY": "",
    }
    if choices.grader and not choices.config:  # a config that exists may name no grader
        values["JUDGE"] = f"grader: {_quote(choices.grader)}{_NEXT_INPUT}"
    folder = start.folder_in_repository
    if folder:
        directory = f"working-directory: {_quote(folder)}"
        values |= {
            "PLACE": folder,
            "NAME": _quote(f"evals of {folder}"),
            "FOLDER": f"{directory}{_NEXT_INPUT}",
            "RUN_IN": f"\n        {directory}",
            "ANSWERS": _quote(f"{folder}/answers.jsonl"),
            "PAGE": _quote(f"{folder}/{_REPORT_PAGE}"),
            "UP": "../" * len(folder.split("/")),
            "COMMENT_KEY": f"{_NEXT_INPUT}comment-key: {start.workflow_name}",
        }
    return values


def _describe_keys(variables: Sequence[str]) -> str:
    return f"it needs {' and '.join(variables)}" if variables else "it needs no key"


def _env_of_step(choices: Choices, needs: Needs) -> str:
    """The `env` of the gate's step, which passes the keys on."""
    keys = sorted({*needs.target_keys, *needs.grader_keys})
    if not keys:
        return "# No key: nobody is asked who takes one. One goes in here as `env: { NAME: ${{ secrets.NAME }} }`."
    when = "" if _asks_models(choices) else "; only needed once models are asked"
    lines = [f"env: # secrets of the repository{when}"]
    lines += [f"{key}: ${{{{ secrets.{key} }}}}" for key in keys]
    return _NEXT_INPUT.join(lines)


def _ready_input(choices: Choices, urls: Sequence[str]) -> str:
    """The input that opens addresses on the runner; a comment as long as recorded answers are used."""
    if not urls:
        return ""
    lines = ["ready: | # an earlier step starts what answers here"]
    lines += [f"  {url} 60" for url in urls]
    mark = "" if _asks_models(choices) else "# "
    return "".join(f"{mark}{line}{_NEXT_INPUT}" for line in lines)


def _asks_models(choices: Choices) -> bool:
    """Whether models are asked from the start: a new config without --live uses recorded replies."""
    return choices.live or not choices.config


def _quote(text: str) -> str:
    """Quote a printable text for YAML. Characters are not escaped: YAML has no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)
