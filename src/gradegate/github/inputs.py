"""What the action's inputs say: ``INPUT_*`` of the environment as the settings of a run, and what the action does around it.

The action's script hands over two variables: the inputs and the environment of the workflow's step, as JSON. A composite action is
given no ``INPUT_*`` by the runner, and may not tell the step's own variables from those of the machine; the contexts ``inputs`` and
``env`` can (actions/runner, CompositeActionHandler), unknown inputs among them.
"""

import json
import re
from collections.abc import Iterable, Mapping
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
_CLOSED = re.compile(
    r"(?:GITHUB|RUNNER|ACTIONS|INPUT|PYTHON|LD)_.*|PYTHON\w*|PATH|HOME|CI|GRADEGATE_(?:INPUTS|ENV|MATRIX|NETWORK)",
    re.DOTALL,
)
_TABLE = table("github", "promptfoo_action.yaml")
_ANSWERS: Mapping[str, NamedTexts] = _TABLE["answers"]
PROMPTFOO_VARIABLES: NamedTexts = _TABLE[
    "variables"
]  # that decide in promptfoo, with what to write here
_PATHS = next(option for option in ACTION_OPTIONS if option.field == "paths")
_IN_WORKSPACE = re.compile(r"(?:\$\{\{ *github\.workspace *\}\}/)?(\.?[\w-][\w./-]*)")
_BOTH = "promptfoo also required {0}% of all single runs to pass; here every case must pass {1} of its runs, and single runs do not count"
_PROMPTS = "promptfoo ran changed prompt files instead of those in the config; here the prompts of the config run"


def from_inputs(environ: NamedTexts, cwd: Path) -> ActionSettings:
    """Read ``INPUT_*`` as the runner spells them; a mistaken one has its default, and stands in ``mistakes``.

    The runner upper-cases a name, turns spaces into underscores and keeps hyphens: ``INPUT_MAX-CONCURRENCY``
    (actions/runner, ContainerActionHandler).
    """
    inputs = _Inputs(environ)
    run, around = inputs.given(RUN_OPTIONS), inputs.given(ACTION_OPTIONS)
    if "base_checkout" in run:
        run["base_checkout"] = str(cwd / run["base_checkout"])
    if run.get("baseline", AUTO) not in (AUTO, LIVE):
        run["baseline"] = str(cwd / run["baseline"])
    folder = str(run.get("cwd", ""))  # of the workspace, where links on the way to it lead too
    workspace = Path(environ.get("GITHUB_WORKSPACE") or cwd)
    if not (cwd / folder).resolve().is_relative_to(workspace.resolve()):
        cure = "give a folder inside the workspace"
        inputs.mistakes.append(_mistake("working-directory", folder, cure))
    if run.get("node") == OFFICIAL:  # container/run.sh puts the program on PATH
        del run["node"]
    run["cwd"] = cwd / folder
    settings = ActionSettings(Settings(**run, in_ci=True, inputs=True, exec_apart=True), **around)
    mistakes = [*inputs.mistakes, *inputs.unknown()]
    # A gate that is to be compared, at a pull request, and with nothing: an empty `base-checkout` may be a slip of the workflow.
    if not settings.run.base_checkout and environ.get("GITHUB_EVENT_NAME", "").startswith(
        "pull_request"
    ):
        for name, given in (
            ("weakening", settings.run.weakening == "block"),
            ("approve-label", settings.approve_label),
        ):
            what = f"the input `{name}` needs `base-checkout`, which is empty"
            if given:
                cure = "give `base-checkout`: docs/github-base.md says how"
                mistakes.append(Mistake(what, None, cure))
    if settings.run.baseline == AUTO and (settings.run.shard or settings.run.merge):
        what = "`baseline: auto` is for a job that runs the whole plan"
        mistakes.append(Mistake(what, None, "with shards, give every job the same folder"))
    if settings.paths and settings.when != "changed":
        cure = "give `when: changed`, or remove `paths`"
        what = "the input `paths` has no effect without `when: changed`"
        mistakes.append(Mistake(what, None, cure))
    if settings.approve_label:  # what nobody has to approve needs no label
        settings = replace(settings, run=replace(settings.run, weakening="block"))
    return replace(settings, mistakes=tuple(mistakes))


class _Inputs:
    """The inputs as texts and as values of their options, with what is wrong about them."""

    def __init__(self, environ: NamedTexts) -> None:
        self._environ = environ
        self.mistakes: list[Mistake] = []

    def given(self, options: Iterable[Option]) -> dict[str, Any]:
        """The values of the inputs that are not empty, by the fields of the settings."""
        values = {entry.field: self.read(entry) for entry in options if not entry.no_input}
        return {name: value for name, value in values.items() if value is not None}

    def read(self, option: Option) -> Any:
        """The value of an input; None for an empty one, and for a mistaken one, which is noted."""
        text, kind = self._environ.get(f"INPUT_{option.name.upper()}", "").strip(), option.kind
        if "${{" in text:
            cure = "GitHub evaluates expressions only in workflow files; pass the value itself"
            what = f"the input `{option.name}` contains an expression that was not evaluated"
            self.mistakes.append(Mistake(what, None, cure))
            return None
        if kind.choices or kind is SWITCH:
            text = text.lower()
        lines = text.splitlines() if kind.gather else [text]
        lines = [line.strip() for line in lines if line.strip()]
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
        inputs = {
            f"INPUT_{entry.name.upper()}": entry.name for entry in OPTIONS if not entry.no_input
        }
        removed = table("config", "removed.yaml")
        answers = {entry.name: entry.no_input for entry in OPTIONS if entry.no_input}
        answers |= removed["options"] | removed["inputs"] | answers_to_promptfoo()
        mistakes = []
        for variable in sorted(
            it for it in self._environ if it.startswith("INPUT_") and it not in inputs
        ):
            name = variable.removeprefix("INPUT_").lower()
            remove = f"remove it from `with` (or {variable} from `env`); docs/action.md has all"
            cure = (
                answers.get(name.replace("_", "-"))
                or suggest(name, sorted(inputs.values()))
                or remove
            )
            cure = NO_ARGUMENTS if name in ("args", "entrypoint") else cure
            mistakes.append(
                Mistake(
                    f"there is no input `{name}`", None, resolve_option_names(cure, inputs=True)
                )
            )
        return mistakes


def _mistake(name: str, text: str, cure: str) -> Mistake:
    return Mistake(f"the input `{name}` is {text!r}", None, cure)


def handed(environ: NamedTexts) -> dict[str, str]:
    """The environment as a container action has it. Raises ConfigError where the script handed over something else."""
    inputs, variables = _variables(environ, INPUTS), _variables(environ, ENV)
    own = {name: value for name, value in environ.items() if name not in (INPUTS, ENV)}
    given = {name: value for name, value in variables.items() if not _CLOSED.fullmatch(name)}
    spelled = {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()}
    return {**own, **given, **spelled}


def _variables(environ: NamedTexts, name: str) -> dict[str, str]:
    text = environ.get(name, "")
    try:
        values = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ConfigError.at(
            f"{name} is not a JSON object of texts", None, "leave it to action.yml, which sets it"
        )
    # What the system takes for a variable; what a workflow passes on from an event may hold any sign.
    unfit = (
        key
        for key, text in values.items()
        if not key or "=" in key or "\0" in key + text or encodable(key + text) != key + text
    )
    wrong = next(unfit, None)
    if wrong is not None:
        where = "`with`" if name == INPUTS else "`env`"
        what = f"`{one_line(wrong, 100)}` in {where} of the step cannot be a variable of the environment"
        raise ConfigError.at(
            what,
            None,
            "give it a name without `=`, and a text without the sign NUL and without halves of signs",
        )
    return values


def answers_to_promptfoo() -> dict[str, str]:
    """What to write in place of each input, for a person."""
    return {name: _words(entry) for name, entry in _ANSWERS.items()}


def _words(entry: NamedTexts) -> str:
    name, say = entry.get("as", ""), entry.get("say", "")
    if entry["do"] == "leave":
        return f"leave it out: {say}"
    given = f"give `{name}`"
    if entry["do"] == "env":
        given = f"set the variable by `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`"
    return join_nonempty("; ", given, say) if name else say


class Moved(Struct):
    """Changes of the inputs of a step, of its ``env`` and of its config; ``left`` is what is to be known or done of an input."""

    drop: set[str] = set()
    put: dict[str, Any] = {}
    rename: dict[str, str] = {}
    env: dict[str, str] = {}
    gate: tuple[str, float | str] | None = None  # a key of the gate, with its value
    left: list[tuple[str, str, str]] = []  # the input, what is wrong, and the cure


def moved(given: JsonObject) -> Moved:
    """What a step gives to promptfoo's action, as what it is to give here. What no machine can change stays: a mistake of the step."""
    texts = {
        key.lower(): str(value).strip() if not isinstance(value, bool) else str(value).lower()
        for key, value in given.items()
    }
    runs = f"{texts.get('repeat-min-pass', '')}/{texts.get('repeat', '')}"
    found, least = Moved(), parse_part(runs, MOST_RUNS)
    for key in given:
        entry, text = _ANSWERS.get(key.lower(), {}), texts[key.lower()]
        do, new = entry.get("do"), entry.get("as", "")
        if do == "name":
            found.rename[key] = new
        elif do == "paths":
            _paths(key, text, texts, found)
        elif do == "env":
            found.env[new] = text
        elif do == "write" and text in ("true", "false"):
            if text == "true":
                found.put |= dict([new.split(": ")])
        elif do == "concurrency":
            found.left.append((key, f"`{key}: {text}` is left out", concurrency_in_config(text)))
        elif do == "runs" and least:
            found.gate = ("runs", runs)
            found.drop |= {it for it in given if it.lower() == "repeat"}
        elif do == "gate" and re.fullmatch(r"\d{1,2}(\.\d+)?|100", text):
            if least is None:
                share = float(f"{text}e-2")
                found.gate = ("min-pass-rate", share)
                if 0 < share < 0.01:
                    found.left.append(
                        (
                            key,
                            f"`{key}: {text}` means {text} % in both tools",
                            f"write `min-pass-rate: {text}` if you meant a share",
                        )
                    )
            elif (
                float(text) * least[1] > 100 * least[0]
            ):  # beside `repeat-min-pass` promptfoo's action wants both
                cure = "raise the first number of `runs` if that matters"
                found.left.append((key, _BOTH.format(text, "{} of {}".format(*least)), cure))
        elif do == "cache":
            inside = (
                None
                if ".." in text or ("{" in text and "working-directory" in texts)
                else _IN_WORKSPACE.fullmatch(text)
            )
            if inside:
                found.put["cache"] = inside[1]
            found.left += (
                []
                if inside
                else [(key, f"replies were kept in {text}, and are no longer kept", _words(entry))]
            )
        elif do != "leave":
            continue
        found.drop |= {key} - found.rename.keys()
    return found


def concurrency_in_config(text: str) -> str:
    """What to write in a config in place of promptfoo's `max-concurrency` or `-j`."""
    return f"write `evaluateOptions: {{maxConcurrency: {text}}}` in the config"


def _paths(key: str, text: str, texts: NamedTexts, found: Moved) -> None:
    """Where promptfoo's action looks for changes, and what it runs then."""
    if texts.get("use-config-prompts") != "true":
        found.left.append((key, _PROMPTS, "list the prompts to test in the config"))
    if texts.get("force-run") == "true":
        return
    found.put["when"] = "changed"
    if (
        all(map(_PATHS.kind.read, filter(None, map(str.strip, text.splitlines()))))
        and "working-directory" not in texts
    ):
        found.rename[key] = "paths"
    else:
        found.left.append(
            (
                key,
                f"`{text}` is not a pattern for `paths`",
                f"give {_PATHS.kind.needs}, if other files count, too",
            )
        )
