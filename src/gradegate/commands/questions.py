"""Asks on a terminal what the command line did not say."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path

from gradegate.access.environment import Environment
from gradegate.asking import unknown_ids
from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.commands.choices import APPLICATION, PLACEHOLDER, TEMPLATES, Choices, fault, is_address
from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.bind import Binder
from gradegate.steps.preparation import with_stand_ins
from gradegate.values.suite import ProviderSpec, Suite

Ask = Callable[[str], str]  # shows a question and gives the line that was typed


def completed(choices: Choices, given: Container[str], ask: Ask) -> Choices:
    """The choices; those not ``given`` are asked for, and an empty line takes the default. Raises ConfigError at the end of input."""
    try:
        template = choices.template if "template" in given else _template(ask)
        choices = replace(choices, template=template)
        if not choices.provider and template != "answers":
            question = f"Which model answers? VENDOR:MODEL, or a vendor such as openai [{PLACEHOLDER}] "
            provider = _address(ask) if template == "application" else _model(question, PLACEHOLDER, ask, choices.live)
            choices = replace(choices, provider=provider)
        if not choices.grader:
            choices = replace(choices, grader=_model(f"Which model grades? [{choices.judge}] ", choices.judge, ask, choices.live))
        usual = variables_of(next(iter(choices.asked.values())), "--provider") if choices.live and not choices.key else ()
        if len(usual) == 1:
            typed = ask(f"Which variable of the environment holds its key? [{usual[0]}] ").strip()
            choices = replace(choices, key="" if typed == usual[0] else typed)
    except EOFError:
        cure = "answer the questions, or give --template, --provider and --grader"
        raise ConfigError.at("the input ended before the questions did; nothing was written", None, cure) from None
    return choices


def _template(ask: Ask) -> str:
    names = list(TEMPLATES)
    lines = [f"  {number}  {name:12} {TEMPLATES[name]}" for number, name in enumerate(names, start=1)]
    question = "\n".join(["What is tested?", *lines, f"Number or name [{names[0]}]: "])
    while True:
        typed = ask(question).strip().lower() or names[0]
        if typed in names:
            return typed
        if typed.isdecimal() and 0 < int(typed) <= len(names):
            return names[int(typed) - 1]
        question = f"A number from 1 to {len(names)}, or a name: "


def _address(ask: Ask) -> str:
    question = f"At which address does it answer? [{APPLICATION}] "
    while True:
        typed = ask(question).strip() or APPLICATION
        told = fault(typed) if is_address(typed) else ("is no address", "write its URL")
        if not told:
            return typed
        question = f"It {told[0]} ({told[1]}). Address [{APPLICATION}] "


def _model(question: str, default: str, ask: Ask, live: bool) -> str:
    """An id of a model; the vendor alone is asked for its model. ``live``: it is asked at once, and has to be named."""
    while True:
        typed = ask(question).strip() or default
        parts = split_id(typed)
        if parts and not parts[1] and getattr(PROVIDERS.find(parts[0]), "names_model", True):
            named = ask(f"Which model of it? [{unknown_ids.PLACEHOLDER}] ").strip()
            typed = f"{typed.rstrip(':')}:{named or unknown_ids.PLACEHOLDER}"
        told = fault(typed)
        if live and typed.endswith(f":{unknown_ids.PLACEHOLDER}"):
            question = "The model is asked at once, so name one as its vendor lists it. VENDOR:MODEL "
            continue
        if split_id(typed) and not told and not is_address(typed):
            return typed
        question = f"No provider has that id ({told[1] if told else unknown_ids.nearest(typed)}). VENDOR:MODEL [{default}] "


def variables_of(id_: str, option: str, key: str = "") -> tuple[str, ...]:
    """The variables without which the model cannot be asked, sorted. Raises ConfigError for an id that nobody serves."""
    config = {"apiKeyEnvar": key} if key else {}
    named = id_.removesuffix(unknown_ids.PLACEHOLDER)  # any model of the vendor takes the same
    spec = ProviderSpec(id_ if named == id_ else f"{named}any", config=config, origin=Origin(option))

    def build(keys: dict[str, str]) -> None:
        suite = Suite(option, env=Environment(keys))
        Binder(suite, Workspace(Path()), Path(), Client(environ={}), {}).provider(spec)

    return tuple(sorted(with_stand_ins(build)[1]))
