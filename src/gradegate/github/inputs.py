"""What the action's inputs say: ``INPUT_*`` of the environment as the settings of a run, and what the action does around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from gradegate.errors import ConfigError, Mistake
from gradegate.registry import suggest
from gradegate.settings import (
    CHANGE_MODES,
    COMPARE_MODES,
    CONFIRM_MODES,
    MAX_AGE,
    PARTS,
    REASK,
    SHARD,
    Filters,
    Settings,
    amount,
    graders,
    hosts,
    open_variables,
    shard,
    whole_number,
)

T = TypeVar("T")
COMMENT_MODES = ("always", "changes", "failures", "off")
MISSING_MODES = ("fail", "neutral")  # what a run comes to whose keys GitHub withholds
# Inputs that set an environment variable.
KEYS = {
    "openai-api-key": "OPENAI_API_KEY",
    "openai-base-url": "OPENAI_BASE_URL",
    "anthropic-api-key": "ANTHROPIC_API_KEY",
    "azure-openai-api-key": "AZURE_OPENAI_API_KEY",
    "google-api-key": "GOOGLE_API_KEY",
    "mistral-api-key": "MISTRAL_API_KEY",
}
# The runner takes two inputs for every container action, and warns of neither (actions/runner, ActionRunner).
NO_ARGUMENTS = "the image has one entry point and takes no arguments; remove it"


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """What the action does around a run. ``token`` may be empty: then nothing is posted."""

    run: Settings
    token: str = field(default="", repr=False)
    comment: str = "always"
    comment_key: str = ""  # tells the comments of several jobs on one pull request apart
    summary: bool = True
    annotations: bool = True
    only_changed: bool = False  # a pull request that changes nothing that the run depends on passes without one
    paths: tuple[str, ...] = ()  # patterns of further files that count as a change
    neutral: bool = False  # a run whose keys GitHub withholds is no failure
    approve_label: str = ""  # on the pull request, approves of changes to its gate
    mistakes: tuple[Mistake, ...] = ()  # of the inputs: nothing may run before they are corrected


def from_inputs(environ: Mapping[str, str], cwd: Path, elsewhere: Mapping[str, str] | None = None) -> ActionSettings:
    """Read ``INPUT_*`` as the runner spells them; a mistaken one has its default, and stands in ``mistakes``.

    The runner upper-cases a name, turns spaces into underscores and keeps hyphens: ``INPUT_MAX-CONCURRENCY``
    (actions/runner, ContainerActionHandler). ``elsewhere`` has cures for inputs of another action.
    """
    inputs = _Inputs(environ)
    run = Settings(
        configs=inputs.lines("config"),
        outputs=inputs.lines("output"),
        graders=inputs.read("grader", graders, {}),
        providers=inputs.lines("provider"),
        max_concurrency=inputs.number("max-concurrency", least=1),
        repeat=inputs.number("repeat", least=1),
        filters=Filters(pattern=inputs.text("filter-pattern")),
        reask=REASK if (asked := inputs.number("reask", least=0)) is None else asked,
        timeout=inputs.number("timeout", least=1),
        base=str(cwd / base) if (base := inputs.text("base")) else "",
        confirm=inputs.choice("confirm", CONFIRM_MODES, default=""),
        baseline=str(cwd / baseline) if (baseline := inputs.text("baseline")) else "",
        compare=inputs.choice("compare", COMPARE_MODES).removeprefix(COMPARE_MODES[0]),
        changes=inputs.choice("changes", CHANGE_MODES),
        cache=inputs.text("cache"),
        max_age=MAX_AGE if (days := inputs.number("max-age", least=0)) is None else days,
        cache_http=inputs.switch("cache-http"),
        max_calls=inputs.number("max-calls", least=1),
        max_usd=inputs.amount("max-usd"),
        max_seconds=inputs.amount("max-seconds"),
        cwd=inputs.folder("working-directory", cwd),
        answers=inputs.lines("answers"),
        ready=inputs.lines("ready"),
        in_ci=True,
        allowed_hosts=inputs.read("allowed-hosts", hosts, ()),
        allowed_env=inputs.read("allowed-env", open_variables, frozenset()),
        environ=_with_keys(environ, inputs),
        allow_exec=inputs.switch("allow-exec"),
        exec_env=inputs.read("exec-env", partial(open_variables, option="exec-env"), frozenset()),
        exec_apart=True,
        shard=inputs.shard("shard"),
        parts=inputs.text("parts") or PARTS,
        merge=inputs.text("merge"),
        open=inputs.text("open"),
    )
    settings = ActionSettings(
        run,
        token=inputs.text("github-token"),
        comment=inputs.choice("comment", COMMENT_MODES),
        comment_key=inputs.text("comment-key"),
        summary=inputs.flag("summary"),
        annotations=inputs.flag("annotations"),
        approve_label=inputs.text("approve-label"),
        only_changed=inputs.switch("only-changed"),
        paths=inputs.paths("paths"),
        neutral=inputs.choice("on-missing-secrets", MISSING_MODES) == "neutral",
    )
    idle = (*_without_base(settings, environ), *_idle(settings))
    return replace(settings, mistakes=(*inputs.mistakes, *inputs.unknown(elsewhere or {}), *idle))


def _without_base(settings: ActionSettings, environ: Mapping[str, str]) -> Iterator[Mistake]:
    """A gate that is to be compared, at a pull request, and with nothing: an empty `base` may be a slip of the workflow."""
    if settings.run.base or not environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request"):
        return
    for name, given in (("changes", settings.run.changes == "block"), ("approve-label", bool(settings.approve_label))):
        if given:
            yield Mistake(
                f"the input `{name}` is given and `base` is empty", None, "give `base`: docs/github.md says how"
            )


def _idle(settings: ActionSettings) -> Iterator[Mistake]:
    if settings.paths and not settings.only_changed:
        cure = "give `only-changed: true`, or leave it out"
        yield Mistake("the input `paths` is given and nothing looks at it", None, cure)


def _with_keys(environ: Mapping[str, str], inputs: _Inputs) -> dict[str, str]:
    keys = {variable: inputs.text(name) for name, variable in KEYS.items()}
    return {**environ, **{variable: value for variable, value in keys.items() if value}}


class _Inputs:
    """The inputs, each of which exists because the code asks for it: there is no second list."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._asked: dict[str, str] = {}  # inputs by the variables that may hold them
        self.mistakes: list[Mistake] = []

    def text(self, name: str) -> str:
        spelled = f"INPUT_{name.upper()}"
        self._asked[spelled] = name
        text = self._environ.get(spelled, "").strip()
        if "${{" not in text:
            return text
        cure = "GitHub fills in expressions in workflow files alone; pass the value itself"
        self.mistakes.append(Mistake(f"the input `{name}` holds an expression that nobody filled in", None, cure))
        return ""

    def unknown(self, elsewhere: Mapping[str, str]) -> list[Mistake]:
        """A mistake for each input that no code asked for: the runner lets them all pass, and warns of some."""
        asked = sorted(set(self._asked.values()))
        mistakes = []
        for variable in sorted(filter(self._is_unknown, self._environ)):
            name = variable.removeprefix("INPUT_").lower()
            near = suggest(name, asked) or f"remove it from `with` (or {variable} from `env`); docs/action.md has all"
            known = elsewhere.get(name.replace("_", "-"))
            cure = NO_ARGUMENTS if name in ("args", "entrypoint") else known or near
            mistakes.append(Mistake(f"there is no input `{name}`", None, cure))
        return mistakes

    def _is_unknown(self, variable: str) -> bool:
        return variable.startswith("INPUT_") and variable not in self._asked

    def lines(self, name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.text(name).splitlines() if line.strip())

    def paths(self, name: str) -> tuple[str, ...]:
        """Patterns of paths from the root of the repository."""
        lines = self.lines(name)
        for line in lines:
            if re.match(r"[/!~]|\.\.?(?:/|$)", line) or re.search(r"[\\\[\]{}?]|/\.\.(?:/|$)", line):
                self._mistake(name, line, "write a path from the root of the repository, with * and ** alone: src/**")
        return lines

    def read(self, name: str, parse: Callable[[list[str]], T], otherwise: T) -> T:
        """What ``parse`` makes of the input; what it raises is noted."""
        try:
            return parse([self.text(name)])
        except ConfigError as e:
            self.mistakes += e.mistakes
            return otherwise

    def number(self, name: str, least: int) -> int | None:
        text = self.text(name)
        if not text:
            return None
        if (number := whole_number(text, least)) is not None:
            return number
        self._mistake(name, text, f"give a whole number from {least}")
        return None

    def amount(self, name: str) -> float | None:
        text = self.text(name)
        number = amount(text)
        if text and number is None:
            self._mistake(name, text, "give a number above 0, such as 2 or 0.5")
        return number

    def shard(self, name: str) -> tuple[int, int] | None:
        text = self.text(name)
        found = shard(text)
        if text and found is None:
            self._mistake(name, text, SHARD)
        return found

    def flag(self, name: str) -> bool:
        return self.choice(name, ("true", "false")) == "true"

    def switch(self, name: str) -> bool:
        """A flag that is off unless somebody sets it."""
        return self.choice(name, ("false", "true")) == "true"

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of the choices, by default the first."""
        default = choices[0] if default is None else default
        text = self.text(name).lower()
        if text and text not in choices:
            self._mistake(name, text, "give one of " + ", ".join(choices))
            return default
        return text or default

    def folder(self, name: str, cwd: Path) -> Path:
        """A folder of the workspace, where links on the way to it lead too."""
        text = self.text(name)
        root = Path(self._environ.get("GITHUB_WORKSPACE") or cwd)
        if not (cwd / text).resolve().is_relative_to(root.resolve()):
            self._mistake(name, text, "give a folder inside the workspace")
        return cwd / text

    def _mistake(self, name: str, text: str, cure: str) -> None:
        self.mistakes.append(Mistake(f"the input `{name}` is {text!r}", None, cure))
