"""Reads the inputs of the Action, which are ``INPUT_*`` variables, into settings, and finds every mistake in them.

The script of the Action passes two variables as JSON: the inputs and the environment of the workflow's step. The runner gives a
composite action no ``INPUT_*``, and no way to tell the variables of the step from those of the machine. The contexts ``inputs`` and
``env`` have both, unknown inputs among them (actions/runner, CompositeActionHandler).
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gradegate.core.options import SWITCH, Option, resolve_option_names
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
from gradegate.github.promptfoo_inputs import promptfoo_answers
from gradegate.registry import suggest
from gradegate.reports.format.escape import one_line
from gradegate.structs import NamedTexts, replace

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
    run_values = inputs.read_values(RUN_OPTIONS)
    action_values = inputs.read_values(ACTION_OPTIONS)

    # Paths begin at the workspace, and links on the way to the working directory must stay in it.
    if "base_checkout" in run_values:
        run_values["base_checkout"] = str(cwd / run_values["base_checkout"])
    if run_values.get("baseline", AUTO) not in (AUTO, LIVE):
        run_values["baseline"] = str(cwd / run_values["baseline"])
    folder = str(run_values.get("cwd", ""))
    run_values["cwd"] = cwd / folder
    workspace = Path(environ.get("GITHUB_WORKSPACE") or cwd)
    if not run_values["cwd"].resolve().is_relative_to(workspace.resolve()):
        cure = "give a folder inside the workspace"
        inputs.mistakes.append(_wrong_input("working-directory", folder, cure))
    if run_values.get("node") == OFFICIAL:  # container/run.sh puts the program on PATH
        del run_values["node"]

    run = Settings(**run_values, in_ci=True, inputs=True, separate_exec_user=True)
    settings = ActionSettings(run, **action_values)
    mistakes = [*inputs.mistakes, *inputs.find_unknown(), *_check_inputs(settings, environ)]
    if settings.approve_label:  # a label says nothing unless weakening blocks
        settings = replace(settings, run=replace(run, weakening="block"))
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

        # An input that takes several values has one on each line.
        values = []
        is_wrong = False
        lines = text.splitlines() if kind.gather else [text]
        for line in filter(None, map(str.strip, lines)):
            value = kind.read(line)
            if value is None:
                is_wrong = True
                self.mistakes.append(_wrong_input(option.name, line, f"give {kind.needs}"))
            else:
                values.append(value)
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
    """The environment as a container action has it. Raises ConfigError if the script passes something else than JSON objects.

    An input of the step wins over a variable of the step, and this over one of the machine.
    """
    inputs = _parse_variables(environ, INPUTS)
    variables = _parse_variables(environ, ENV)
    machine = {name: text for name, text in environ.items() if name not in (INPUTS, ENV)}
    step = {name: text for name, text in variables.items() if not _RESERVED.fullmatch(name)}
    spelled = {f"INPUT_{name.replace(' ', '_').upper()}": text for name, text in inputs.items()}
    return {**machine, **step, **spelled}


def _parse_variables(environ: NamedTexts, source: str) -> dict[str, str]:
    """Texts by name, from the JSON object in a variable of the script. ``source`` is INPUTS or ENV. Raises ConfigError."""
    try:
        variables = json.loads(environ.get(source) or "{}")
    except (ValueError, RecursionError):
        variables = None
    if not isinstance(variables, dict) or not all(
        isinstance(text, str) for text in variables.values()
    ):
        what = f"{source} is not a JSON object of texts"
        raise ConfigError.at(what, None, "leave it to action.yml, which sets it")

    for name, text in variables.items():
        if not _may_be_variable(name, text):
            place = "`with`" if source == INPUTS else "`env`"
            what = f"`{one_line(name, 100)}` in {place} of the step cannot be a variable of the environment"
            cure = "give it a name without `=`, and a text without the sign NUL and without halves of signs"
            raise ConfigError.at(what, None, cure)
    return variables


def _may_be_variable(name: str, text: str) -> bool:
    """Whether the system takes a variable. A workflow may pass on any sign from an event."""
    both = name + text
    return bool(name) and "=" not in name and "\0" not in both and encodable(both) == both
