"""Fills in the templates of a first gate: a config, its recorded replies, and a workflow."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gradegate.cli.init.choices import ACTION, ACTION_COMMENT, Choices
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
    """The folders around a first gate."""

    cwd: Path
    root: Path  # of the repository; the working directory if there is no repository
    folder: tuple[str, ...]  # of the config, relative to the working directory

    @property
    def folder_in_repository(self) -> str:
        """The folder of the config as a workflow names it: relative to the repository, empty for its root."""
        return "/".join((*self.cwd.relative_to(self.root).parts, *self.folder))

    @property
    def workflow_name(self) -> str:
        """The name of the workflow: letters, digits and hyphens, and a different one for each folder."""
        folder = self.folder_in_repository
        if not folder:
            return "evals"
        words = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")
        is_complete = folder.isascii() and 0 < len(words) <= MOST_LETTERS
        if not is_complete:  # another folder may have the same letters
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
        for path in sorted(folder.rglob("*.*"), key=_sort_config_first):
            # The suffix keeps tools from taking the template of a program for a program of gradegate.
            name = path.relative_to(folder).as_posix().removesuffix(".template")
            place = Place(start.cwd, (*start.folder, *name.split("/")))
            text = _fill_in_template(path, values)
            if choices.live:
                text = _LIVE_LINES.sub(_uncomment_live_lines, text)
            texts[place] = text

    if choices.workflow:
        path = _TEMPLATES / f"workflow-{choices.template}.yml"
        if not path.exists():
            path = _TEMPLATES / "workflow.yml"
        place = Place(start.root, (".github", "workflows", f"{start.workflow_name}.yml"))
        texts[place] = _fill_in_template(path, values)
    return texts


def _sort_config_first(path: Path) -> tuple[bool, Path]:
    return path.name != CONFIG, path


def _uncomment_live_lines(match: re.Match[str]) -> str:
    commented_lines = match[2]
    return re.sub("(?m)^( *)# ", r"\1", commented_lines)


def _fill_in_template(path: Path, values: dict[str, str]) -> str:
    """Replace each ``__NAME__`` in a template by its value."""
    template = path.read_text(encoding="utf-8")
    return re.sub(r"__([A-Z_]+?)__", lambda name: values[name[1]], template)


def _template_values(choices: Choices, start: StartingPoint, needs: Needs) -> dict[str, str]:
    """The text for each name in the templates: what the choices, the needs and the folder decide."""
    target_access = ""
    target_key = choices.key_of(choices.target)
    if target_key:
        target_access = f", config: {{ apiKeyEnvar: {target_key} }}"
    grader = f'"{choices.judge}"'
    grader_key = choices.key_of(choices.judge)
    if grader_key:
        grader = f'{{ id: "{choices.judge}", config: {{ apiKeyEnvar: {grader_key} }} }}'

    grader_input = ""
    if choices.grader and not choices.config:  # a config that exists may name no grader
        grader_input = f"grader: {_quote(choices.grader)}{_NEXT_INPUT}"
    action = choices.action
    if action == ACTION and ACTION_COMMENT:
        action += f" # {ACTION_COMMENT}"

    return {
        "PROVIDER": choices.target,
        "GRADER": grader,
        "ACCESS": target_access,
        "TARGET_NEEDS": _describe_keys(needs.target_keys),
        "GRADER_NEEDS": _describe_keys(needs.grader_keys),
        "ACTION": action,
        "KEY": start.workflow_name,
        "READY": _render_ready_input(choices, needs.local_urls),
        "JUDGE": grader_input,
        "ENV": _render_step_env(choices, needs),
        **_folder_values(start),
    }


def _folder_values(start: StartingPoint) -> dict[str, str]:
    """The text for each name in the templates that is about the folder of the config."""
    folder = start.folder_in_repository
    if not folder:
        return {
            "PLACE": "this repository",
            "NAME": "evals",
            "FOLDER": "",
            "RUN_IN": "",
            "ANSWERS": "answers.jsonl",
            "PAGE": _REPORT_PAGE,
            "UP": "",
            "COMMENT_KEY": "",
        }
    working_directory = f"working-directory: {_quote(folder)}"
    return {
        "PLACE": folder,
        "NAME": _quote(f"evals of {folder}"),
        "FOLDER": f"{working_directory}{_NEXT_INPUT}",
        "RUN_IN": f"\n        {working_directory}",
        "ANSWERS": _quote(f"{folder}/answers.jsonl"),
        "PAGE": _quote(f"{folder}/{_REPORT_PAGE}"),
        "UP": "../" * len(folder.split("/")),
        "COMMENT_KEY": f"{_NEXT_INPUT}comment-key: {start.workflow_name}",
    }


def _describe_keys(variables: Sequence[str]) -> str:
    if not variables:
        return "it needs no key"
    return f"it needs {' and '.join(variables)}"


def _render_step_env(choices: Choices, needs: Needs) -> str:
    """Render the `env` of the gate's step, which passes the keys on."""
    keys = sorted({*needs.target_keys, *needs.grader_keys})
    if not keys:
        return "# No key: nobody is asked who takes one. One goes in here as `env: { NAME: ${{ secrets.NAME }} }`."
    first_line = "env: # secrets of the repository"
    if not _asks_models(choices):
        first_line += "; only needed once models are asked"
    lines = [first_line]
    lines += [f"{key}: ${{{{ secrets.{key} }}}}" for key in keys]
    return _NEXT_INPUT.join(lines)


def _render_ready_input(choices: Choices, urls: Sequence[str]) -> str:
    """Render the input that opens addresses on the runner, as a comment if recorded answers are used."""
    if not urls:
        return ""
    lines = ["ready: | # an earlier step starts what answers here"]
    lines += [f"  {url} 60" for url in urls]
    if not _asks_models(choices):
        lines = [f"# {line}" for line in lines]
    return "".join(line + _NEXT_INPUT for line in lines)


def _asks_models(choices: Choices) -> bool:
    """Whether models are asked from the start: a new config without --live uses recorded replies."""
    return choices.live or not choices.config


def _quote(text: str) -> str:
    """Quote a printable text for YAML. Characters are not escaped: YAML has no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)
