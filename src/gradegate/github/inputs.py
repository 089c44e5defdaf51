"""The inputs of the Action: ``INPUT_*`` variables as settings, and inputs of promptfoo's action as ours.

The script of the Action passes two variables as JSON: the inputs and the environment of the workflow's step. The runner gives a
composite action no ``INPUT_*``, and no way to tell the variables of the step from those of the machine. The contexts ``inputs`` and
``env`` have both, unknown inputs among them (actions/runner, CompositeActionHandler).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradegate.core.options import MOST_RUNS, SWITCH, Option, parse_part, resolve_option_names
from gradegate.core.settings import (
    ACTION_OPTIONS,
    AUTO,
    LIVE,
    OPTIONS,
    RUN_OPTIONS,
    ActionSettings,
    Settings,
)
from gradegate.errors import ConfigError, Mistake
from gradegate.files.documents import encodable, table
from gradegate.registry import suggest
from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.structs import JsonObject, NamedTexts, Struct, replace

# The runner takes two inputs for every container action, and warns of neither (actions/runner, ActionRunner).
NO_ARGUMENTS = "the image has one entry point and takes no arguments; remove it"
INPUTS, ENV = "GRADEGATE_INPUTS", "GRADEGATE_ENV"
OFFICIAL = "official"  # of `node`: the program of Node's own image
# What steers this process or the runner is not the step's to set.
_RESERVED = re.compile(
    r"(?:GITHUB|RUNNER|ACTIONS|INPUT|PYTHON|LD)_.*|PYTHON\w*|PATH|HOME|CI|GRADEGATE_(?:INPUTS|ENV|MATRIX|NETWORK)",
    re.DOTALL,
)


def settings_from_inputs(environ: NamedTexts, cwd: Path) -> ActionSettings:
    """Read ``INPUT_*`` as the runner spells them. A wrong input has its default, and is in ``mistakes``.

    The runner upper-cases a name, turns spaces into underscores and keeps hyphens: ``INPUT_MAX-CONCURRENCY``
    (actions/runner, ContainerActionHandler).
    """
    inputs = _Inputs(environ)
    run = inputs.read_values(RUN_OPTIONS)
    around = inputs.read_values(ACTION_OPTIONS)

    # Paths begin at the workspace, and links on the way to the working directory must stay in it.
    if "base_checkout" in run:
        run["base_checkout"] = str(cwd / run["base_checkout"])
    if run.get("baseline", AUTO) not in (AUTO, LIVE):
        run["baseline"] = str(cwd / run["baseline"])
    folder = str(run.get("cwd", ""))
    run["cwd"] = cwd / folder
    workspace = Path(environ.get("GITHUB_WORKSPACE") or cwd)
    if not run["cwd"].resolve().is_relative_to(workspace.resolve()):
        cure = "give a folder inside the workspace"
        inputs.mistakes.append(_wrong_input("working-directory", folder, cure))
    if run.get("node") == OFFICIAL:  # container/run.sh puts the program on PATH
        del run["node"]

    run_settings = Settings(**run, in_ci=True, inputs=True, separate_exec_user=True)
    settings = ActionSettings(run_settings, **around)
    mistakes = [*inputs.mistakes, *inputs.find_unknown(), *_check_inputs(settings, environ)]
    if settings.approve_label:  # a label says nothing unless weakening blocks
        settings = replace(settings, run=replace(settings.run, weakening="block"))
    return replace(settings, mistakes=tuple(mistakes))


def _check_inputs(settings: ActionSettings, environ: NamedTexts) -> Iterator[Mistake]:
    """Yield mistakes about inputs that do not go together."""
    run = settings.run
    # At a pull request an empty `base-checkout` may be a typo in the workflow, and nothing would be compared.
    is_pull_request = environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request")
    if is_pull_request and not run.base_checkout:
        needs_base = {
            "weakening": run.weakening == "block",
            "approve-label": settings.approve_label,
        }
        for name, is_set in needs_base.items():
            if is_set:
                what = f"the input `{name}` needs `base-checkout`, which is empty"
                yield Mistake(what, None, "give `base-checkout`: docs/weakened-gates.md says how")
    if run.baseline == AUTO and (run.shard or run.merge):
        what = "`baseline: auto` is for a job that runs the whole plan"
        yield Mistake(what, None, "with shards, give every job the same folder")
    if settings.paths and settings.when != "changed":
        what = "the input `paths` has no effect without `when: changed`"
        yield Mistake(what, None, "give `when: changed`, or remove `paths`")


class _Inputs:
    """The values of inputs, and the mistakes in them."""

    def __init__(self, environ: NamedTexts) -> None:
        self._environ = environ
        self.mistakes: list[Mistake] = []

    def read_values(self, options: Iterable[Option]) -> dict[str, Any]:
        """The values of the inputs that are not empty, by the fields of the settings."""
        values = {}
        for option in options:
            value = None if option.no_input else self._read_value(option)
            if value is not None:
                values[option.field] = value
        return values

    def _read_value(self, option: Option) -> Any:
        """The value of an input. None for an empty one, and for a wrong one, which adds a mistake."""
        text = self._environ.get(f"INPUT_{option.name.upper()}", "").strip()
        kind = option.kind
        if "${{" in text:
            cure = "GitHub evaluates expressions only in workflow files; pass the value itself"
            what = f"the input `{option.name}` contains an expression that was not evaluated"
            self.mistakes.append(Mistake(what, None, cure))
            return None
        if kind.choices or kind is SWITCH:
            text = text.lower()
        values = []
        is_wrong = False
        lines = text.splitlines() if kind.gather else [text]
        for line in map(str.strip, lines):
            value = kind.read(line) if line else None
            if value is not None:
                values.append(value)
            elif line:
                is_wrong = True
                self.mistakes.append(_wrong_input(option.name, line, f"give {kind.needs}"))
        if is_wrong or not values:
            return None
        try:
            return kind.gather(values) if kind.gather else values[0]
        except ConfigError as e:
            self.mistakes += e.mistakes
            return None

    def find_unknown(self) -> Iterator[Mistake]:
        """Yield a mistake for each unknown input. The runner passes all of them, and warns of some."""
        names = [option.name for option in OPTIONS if not option.no_input]
        known = {f"INPUT_{name.upper()}" for name in names}
        removed = table("config", "removed.yaml")
        cures = {option.name: option.no_input for option in OPTIONS if option.no_input}
        cures |= removed["options"] | removed["inputs"] | promptfoo_answers()
        for variable in sorted(self._environ):
            if not variable.startswith("INPUT_") or variable in known:
                continue
            name = variable.removeprefix("INPUT_").lower()
            if name in ("args", "entrypoint"):
                cure = NO_ARGUMENTS
            else:
                cure = (
                    cures.get(name.replace("_", "-"))
                    or suggest(name, sorted(names))
                    or f"remove it from `with` (or {variable} from `env`); docs/action.md has all"
                )
            cure = resolve_option_names(cure, inputs=True)
            yield Mistake(f"there is no input `{name}`", None, cure)


def _wrong_input(name: str, text: str, cure: str) -> Mistake:
    return Mistake(f"the input `{name}` is {text!r}", None, cure)


# --- the environment of the step ----------------------------------------------------------------------------------------


def environment_of_step(environ: NamedTexts) -> dict[str, str]:
    """The environment as a container action has it. Raises ConfigError if the script passes something else than JSON objects."""
    inputs = _parse_variables(environ, INPUTS)
    variables = _parse_variables(environ, ENV)
    machine = {name: text for name, text in environ.items() if name not in (INPUTS, ENV)}
    step = {name: text for name, text in variables.items() if not _RESERVED.fullmatch(name)}
    spelled = {f"INPUT_{name.replace(' ', '_').upper()}": text for name, text in inputs.items()}
    return {**machine, **step, **spelled}


def _parse_variables(environ: NamedTexts, name: str) -> dict[str, str]:
    content = environ.get(name, "")
    try:
        values = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        what = f"{name} is not a JSON object of texts"
        raise ConfigError.at(what, None, "leave it to action.yml, which sets it")
    for key, text in values.items():
        # A workflow may pass on any sign from an event, and the system takes only some for a variable.
        both = key + text
        if not key or "=" in key or "\0" in both or encodable(both) != both:
            place = "`with`" if name == INPUTS else "`env`"
            what = f"`{one_line(key, 100)}` in {place} of the step cannot be a variable of the environment"
            cure = "give it a name without `=`, and a text without the sign NUL and without halves of signs"
            raise ConfigError.at(what, None, cure)
    return values


# --- promptfoo's action -------------------------------------------------------------------------------------------------

_TABLE = table("github", "promptfoo_action.yaml")
_ANSWERS: Mapping[str, NamedTexts] = _TABLE["answers"]
# Variables that decide in promptfoo, with what to write here.
PROMPTFOO_VARIABLES: NamedTexts = _TABLE["variables"]
_PATHS = next(option for option in ACTION_OPTIONS if option.field == "paths")
_IN_WORKSPACE = re.compile(r"(?:\$\{\{ *github\.workspace *\}\}/)?(\.?[\w-][\w./-]*)")
_BOTH = "promptfoo also required {0}% of all single runs to pass; here every case must pass {1} of its runs, and single runs do not count"
_PROMPTS = "promptfoo ran changed prompt files instead of those in the config; here the prompts of the config run"


def promptfoo_answers() -> dict[str, str]:
    """What to write in place of each input, for a person."""
    return {name: _describe_answer(entry) for name, entry in _ANSWERS.items()}


def _describe_answer(entry: NamedTexts) -> str:
    name = entry.get("as", "")
    remark = entry.get("say", "")
    if entry["do"] == "leave":
        return f"leave it out: {remark}"
    if not name:
        return remark
    cure = f"give `{name}`"
    if entry["do"] == "env":
        cure = f"set the variable by `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`"
    return join_nonempty("; ", cure, remark)


class InputChanges(Struct):
    """What to change in the inputs of a step, in its ``env`` and in its config."""

    drop: set[str] = set()
    put: dict[str, Any] = {}
    rename: dict[str, str] = {}
    env: dict[str, str] = {}
    gate: tuple[str, float | str] | None = None  # a key of the gate, with its value
    remarks: list[tuple[str, str, str]] = []  # the input, what is different now, and what to do


def migrate_inputs(inputs: JsonObject) -> InputChanges:
    """What a step must give here in place of the inputs of promptfoo's action.

    An input that no machine can change stays, and is a mistake of the step.
    """
    texts = {}
    for key, value in inputs.items():
        text = str(value)
        texts[key.lower()] = text.lower() if isinstance(value, bool) else text.strip()
    runs = f"{texts.get('repeat-min-pass', '')}/{texts.get('repeat', '')}"
    least = parse_part(runs, MOST_RUNS)

    changes = InputChanges()
    remarks = changes.remarks
    for key in inputs:
        text = texts[key.lower()]
        entry = _ANSWERS.get(key.lower(), {})
        new_name = entry.get("as", "")
        match entry.get("do"):
            case "name":
                changes.rename[key] = new_name
            case "paths":
                _migrate_paths(key, text, texts, changes)
            case "env":
                changes.env[new_name] = text
            case "write" if text in ("true", "false"):
                if text == "true":
                    name, value = new_name.split(": ")
                    changes.put[name] = value
            case "concurrency":
                remarks.append((key, f"`{key}: {text}` is left out", concurrency_cure(text)))
            case "runs" if least:
                changes.gate = ("runs", runs)
                changes.drop |= {name for name in inputs if name.lower() == "repeat"}
            case "gate" if re.fullmatch(r"\d{1,2}(\.\d+)?|100", text):
                _migrate_threshold(key, text, least, changes)
            case "cache":
                has_other_folder = "{" in text and "working-directory" in texts
                path = None if ".." in text or has_other_folder else _IN_WORKSPACE.fullmatch(text)
                if path:
                    changes.put["cache"] = path[1]
                else:
                    what = f"replies were kept in {text}, and are no longer kept"
                    remarks.append((key, what, _describe_answer(entry)))
            case "leave":
                pass
            case _:
                continue
        if key not in changes.rename:
            changes.drop.add(key)
    return changes


def _migrate_threshold(
    key: str, text: str, least: tuple[int, int] | None, changes: InputChanges
) -> None:
    """``text`` is the percentage of single runs that must pass, ``least`` the runs of a case that must pass."""
    if least is None:
        share = float(f"{text}e-2")
        changes.gate = ("min-pass-rate", share)
        if 0 < share < 0.01:
            what = f"`{key}: {text}` means {text} % in both tools"
            cure = f"write `min-pass-rate: {text}` if you meant a share"
            changes.remarks.append((key, what, cure))
    elif float(text) * least[1] > 100 * least[0]:  # promptfoo's action requires both
        cure = "raise the first number of `runs` if that matters"
        what = _BOTH.format(text, "{} of {}".format(*least))
        changes.remarks.append((key, what, cure))


def concurrency_cure(text: str) -> str:
    """What to write in a config in place of promptfoo's `max-concurrency` or `-j`."""
    return f"write `evaluateOptions: {{maxConcurrency: {text}}}` in the config"


def _migrate_paths(key: str, text: str, texts: NamedTexts, changes: InputChanges) -> None:
    """Where promptfoo's action looks for changes, and what it runs then."""
    if texts.get("use-config-prompts") != "true":
        cure = "list the prompts to test in the config"
        changes.remarks.append((key, _PROMPTS, cure))
    if texts.get("force-run") == "true":
        return
    changes.put["when"] = "changed"
    patterns = [line.strip() for line in text.splitlines() if line.strip()]
    if all(map(_PATHS.kind.read, patterns)) and "working-directory" not in texts:
        changes.rename[key] = "paths"
    else:
        what = f"`{text}` is not a pattern for `paths`"
        cure = f"give {_PATHS.kind.needs}, if other files count, too"
        changes.remarks.append((key, what, cure))
