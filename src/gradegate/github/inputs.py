"""What the action's inputs say: ``INPUT_*`` of the environment as the settings of a run, and what the action does around it.

The action's script hands over two variables: the inputs and the environment of the workflow's step, as JSON. A composite action is
given no ``INPUT_*`` by the runner, and may not tell the step's own variables from those of the machine; the contexts ``inputs`` and
``env`` can (actions/runner, CompositeActionHandler), unknown inputs among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradegate.errors import ConfigError, Mistake
from gradegate.github import promptfoo_inputs
from gradegate.github.artifact import FILES
from gradegate.options import SWITCH, Option
from gradegate.registry import suggest
from gradegate.reporting.visible import one_line
from gradegate.results.mapping import encodable
from gradegate.values.settings import ACTION_OPTIONS, AUTO, OPTIONS, RUN_OPTIONS, VARIABLES, ActionSettings, Settings

KEYS = {entry.name: entry.variable for entry in VARIABLES}
# The runner takes two inputs for every container action, and warns of neither (actions/runner, ActionRunner).
NO_ARGUMENTS = "the image has one entry point and takes no arguments; remove it"


def from_inputs(environ: Mapping[str, str], cwd: Path) -> ActionSettings:
    """Read ``INPUT_*`` as the runner spells them; a mistaken one has its default, and stands in ``mistakes``.

    The runner upper-cases a name, turns spaces into underscores and keeps hyphens: ``INPUT_MAX-CONCURRENCY``
    (actions/runner, ContainerActionHandler).
    """
    inputs = _Inputs(environ)
    variables = {entry.variable: value for entry in VARIABLES if (value := inputs.read(entry))}
    run, around = inputs.given(RUN_OPTIONS), inputs.given(ACTION_OPTIONS)
    auto = frozenset(name for name in FILES if run.get(name) == AUTO)
    run |= {name: "" if name in auto else str(cwd / run[name]) for name in ("base", *FILES) if name in run}
    run |= {"auto": auto, "cwd": inputs.folder(cwd, str(run.get("cwd", ""))), "environ": {**environ, **variables}}
    settings = ActionSettings(Settings(**run, in_ci=True, inputs=True, exec_apart=True), **around)
    mistakes = (*inputs.mistakes, *inputs.unknown(), *_without_base(settings, environ))
    if auto and (settings.run.shard or settings.run.merge):
        what = f"`{min(auto)}: auto` is for a job that runs the whole plan"
        mistakes = (*mistakes, Mistake(what, None, "with shards, give the same file to every job"))
    if settings.paths and not settings.only_changed:
        cure = "give `only-changed: true`, or remove `paths`"
        mistakes = (*mistakes, Mistake("the input `paths` has no effect without `only-changed`", None, cure))
    return replace(settings, mistakes=mistakes)


def _without_base(settings: ActionSettings, environ: Mapping[str, str]) -> Iterator[Mistake]:
    """A gate that is to be compared, at a pull request, and with nothing: an empty `base` may be a slip of the workflow."""
    if settings.run.base or not environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request"):
        return
    for name, given in (("changes", settings.run.changes == "block"), ("approve-label", bool(settings.approve_label))):
        if given:
            yield Mistake(f"the input `{name}` needs `base`, which is empty", None, "give `base`: docs/github-base.md says how")


class _Inputs:
    """The inputs as texts and as values of their options, with what is wrong about them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.mistakes: list[Mistake] = []

    def _text(self, name: str) -> str:
        text = self._environ.get(f"INPUT_{name.upper()}", "").strip()
        if "${{" not in text:
            return text
        cure = "GitHub evaluates expressions only in workflow files; pass the value itself"
        self.mistakes.append(Mistake(f"the input `{name}` contains an expression that was not evaluated", None, cure))
        return ""

    def given(self, options: Iterable[Option]) -> dict[str, Any]:
        """The values of the inputs that are not empty, by the fields of the settings."""
        values = {entry.field: self.read(entry) for entry in options if not entry.no_input}
        return {name: value for name, value in values.items() if value is not None}

    def read(self, option: Option) -> Any:
        """The value of an input; None for an empty one, and for a mistaken one, which is noted."""
        text, kind = self._text(option.name), option.kind
        if kind.choices or kind is SWITCH:
            text = text.lower()
        lines = [line.strip() for line in text.splitlines() if line.strip()] if kind.gather else [text] if text else []
        values = [kind.read(line) for line in lines]
        wrong = [line for line, value in zip(lines, values, strict=True) if value is None]
        self.mistakes += [_mistake(option.name, line, f"give {kind.needs}") for line in wrong]
        if wrong or not lines:
            return None
        try:
            return kind.gather(values) if kind.gather else values[0]
        except ConfigError as e:
            self.mistakes += e.mistakes
            return None

    def unknown(self) -> list[Mistake]:
        """A mistake for each input that there is not: the runner lets them all pass, and warns of some."""
        inputs = {f"INPUT_{entry.name.upper()}": entry.name for entry in OPTIONS if not entry.no_input}
        answers = {entry.name: entry.no_input for entry in OPTIONS if entry.no_input} | promptfoo_inputs.answers()
        mistakes = []
        for variable in sorted(it for it in self._environ if it.startswith("INPUT_") and it not in inputs):
            name = variable.removeprefix("INPUT_").lower()
            remove = f"remove it from `with` (or {variable} from `env`); docs/action.md has all"
            cure = answers.get(name.replace("_", "-")) or suggest(name, sorted(inputs.values())) or remove
            cure = NO_ARGUMENTS if name in ("args", "entrypoint") else cure
            mistakes.append(Mistake(f"there is no input `{name}`", None, cure))
        return mistakes

    def folder(self, cwd: Path, text: str) -> Path:
        """A folder of the workspace, where links on the way to it lead too."""
        root = Path(self._environ.get("GITHUB_WORKSPACE") or cwd)
        if not (cwd / text).resolve().is_relative_to(root.resolve()):
            self.mistakes.append(_mistake("working-directory", text, "give a folder inside the workspace"))
        return cwd / text


def _mistake(name: str, text: str, cure: str) -> Mistake:
    return Mistake(f"the input `{name}` is {text!r}", None, cure)


INPUTS, ENV = "GRADEGATE_INPUTS", "GRADEGATE_ENV"
# What steers this process or the runner is not the step's to set.
_CLOSED = re.compile(r"(?:GITHUB|RUNNER|ACTIONS|INPUT|PYTHON|LD)_.*|PYTHON\w*|PATH|HOME|CI|GRADEGATE_(?:INPUTS|ENV|NETWORK)", re.DOTALL)


def handed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as a container action has it. Raises ConfigError where the script handed over something else."""
    inputs, variables = _variables(environ, INPUTS), _variables(environ, ENV)
    own = {name: value for name, value in environ.items() if name not in (INPUTS, ENV)}
    given = {name: value for name, value in variables.items() if not _CLOSED.fullmatch(name)}
    spelled = {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()}
    return {**own, **given, **spelled}


def _variables(environ: Mapping[str, str], name: str) -> dict[str, str]:
    text = environ.get(name, "")
    try:
        values = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ConfigError.at(f"{name} is not a JSON object of texts", None, "leave it to action.yml, which sets it")
    # What the system takes for a variable; what a workflow passes on from an event may hold any sign.
    unfit = (key for key, text in values.items() if not key or "=" in key or "\0" in key + text or encodable(key + text) != key + text)
    wrong = next(unfit, None)
    if wrong is not None:
        where = "`with`" if name == INPUTS else "`env`"
        what = f"`{one_line(wrong, 100)}` in {where} of the step cannot be a variable of the environment"
        raise ConfigError.at(what, None, "give it a name without `=`, and a text without the sign NUL and without halves of signs")
    return values
