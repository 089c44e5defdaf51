"""What a step of a workflow will do on a pull request, by the code that reads its inputs there; makes no call.

What GitHub fills in when it runs is not known: a secret is taken to be there, and an input that is an expression is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gradegate.errors import ConfigError, Mistake
from gradegate.github.inputs import KEYS, ActionSettings, from_inputs
from gradegate.pipeline import MOST_ROUNDS, STAND_IN, Prepared, cases, prepare
from gradegate.planning.sides import both, is_asked
from gradegate.settings import Settings
from gradegate.starting.workflows import ActionStep

# What action.yml has where a workflow says nothing; the code has the others.
DEFAULTS = {"output": "gradegate-results.json\ngradegate-junit.xml\n", "github-token": STAND_IN}
_OPEN = "${{"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A step with what its inputs come to.

    ``unknown`` are inputs that GitHub fills in; ``passed`` the variables that hold secrets, ``missing`` those that the run needs and
    the step does not pass. ``prepared`` is None where ``mistakes`` keep the plan from being made; ``both_sides`` says that the base is
    asked in the same run. ``unseen`` is why there is no plan where code of the repository, which is not run here, has part in it.
    """

    step: ActionStep
    action: ActionSettings
    unknown: tuple[str, ...]
    passed: tuple[str, ...]
    missing: tuple[str, ...] = ()
    prepared: Prepared | None = None
    mistakes: tuple[Mistake, ...] = ()
    both_sides: bool = False
    unseen: str = ""


def foresee(step: ActionStep, root: Path) -> Foreseen:
    """Read the inputs of a step as the Action does on the runner, and make its plan without what only the runner has."""
    environ, unknown, passed = _environ(step, root)
    action = from_inputs(environ, root)
    found = Foreseen(step, action, unknown, passed, mistakes=action.mistakes)
    settings = replace(action.run, base="", baseline="", compare="", shard=None, merge="", open="", allow_exec=False)
    try:
        prepared, missing = planned(settings)
    except ConfigError as e:
        if action.run.allow_exec:  # on the runner the code has leave, and here it has none
            return replace(found, unseen=e.mistakes[0].what)
        return replace(found, mistakes=(*found.mistakes, *e.mistakes))
    found = replace(found, prepared=prepared, missing=tuple(sorted(missing)))
    return _with_base(found) if is_asked(action.run, prepared.plan.policies) else found


def _with_base(found: Foreseen) -> Foreseen:
    """The base, too, is asked in the same run. Its files are not here: it is taken to ask what is asked now."""
    if not found.step.inputs.get("base"):
        what = "`compare: base` asks the prompts of the base, and the input `base` is empty"
        return replace(found, mistakes=(*found.mistakes, Mistake(what, None, "check the base out, and give `base`")))
    assert found.prepared is not None
    plan = both(found.prepared.plan, found.prepared.plan)
    return replace(found, prepared=replace(found.prepared, plan=plan), both_sides=True)


def _environ(step: ActionStep, root: Path) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """The variables of the process on the runner; the inputs that are not known; the variables that hold secrets."""
    inputs = {**DEFAULTS, **step.inputs}
    unknown = [name for name, text in inputs.items() if _OPEN in text and not _holds_secret(name)]
    given = {name: STAND_IN if _OPEN in text else text for name, text in inputs.items() if name not in unknown}
    secret = {KEYS[name] for name, text in inputs.items() if _OPEN in text and name in KEYS}
    secret |= {name for name, text in step.env.items() if _OPEN in text}
    environ = {
        **{name: STAND_IN if _OPEN in text else text for name, text in step.env.items()},
        **{f"INPUT_{name.replace(' ', '_').upper()}": text for name, text in given.items()},
        **runner(root),
    }
    return environ, tuple(unknown), tuple(sorted(secret))


def runner(root: Path) -> dict[str, str]:
    """The variables of a runner at a pull request that decide how a config is read; ``root`` is the repository."""
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_WORKSPACE": str(root)}


def _holds_secret(name: str) -> bool:
    return name in KEYS or name == "github-token"


def planned(settings: Settings) -> tuple[Prepared, frozenset[str]]:
    """The plan with something in the place of keys that are not passed, and which these are. Raises ConfigError."""
    names: frozenset[str] = frozenset()
    for _ in range(MOST_ROUNDS):
        there = replace(settings, environ={**settings.environ, **dict.fromkeys(names, STAND_IN)})
        try:
            return _prepared(there), names
        except ConfigError as e:
            if not e.missing - names:
                raise
            names |= e.missing
    raise ConfigError.at("the variables that the configs take are not found out", None, "name fewer providers")


def _prepared(settings: Settings) -> Prepared:
    """The plan; answers that another job makes are not there yet, so one stands in for them. Raises ConfigError."""
    if not settings.answers:
        return prepare(settings)
    call = next(cases(replace(settings, answers=()), ""), "")
    if not call:
        return prepare(replace(settings, answers=()))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonl"
        path.write_text(json.dumps(_answered(json.loads(call))) + "\n", encoding="utf-8")
        return prepare(replace(settings, answers=(str(path),)))


def _answered(call: Mapping[str, object]) -> dict[str, object]:
    """An answer to a planned call, of the shape that it asks for."""
    turns = call.get("turns")
    if not isinstance(turns, list):
        return {"id": call["id"], "output": "-"}
    said = [[{"role": "user", "content": turn["content"]}, {"role": "assistant", "content": "-"}] for turn in turns]
    return {"id": call["id"], "messages": [message for pair in said for message in pair]}
