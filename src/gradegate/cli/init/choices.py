"""The choices of `gradegate init`, and the defaults of those that were not made."""

import os
import re
from collections.abc import Callable, Container
from pathlib import Path
from urllib.parse import urlsplit

from gradegate import REPOSITORY
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.suite import Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.binding.models import ModelBinder
from gradegate.planning.checks.credentials import credential_mistakes
from gradegate.providers.api import options
from gradegate.providers.api.provider import PROVIDERS, split_id
from gradegate.security.egress import EgressPolicy
from gradegate.structs import FrozenStruct, replace

TEMPLATES = {
    "prompt": "a prompt, with a model that answers it",
    "application": "an application that answers over HTTP",
    "answers": "answers that a program of yours writes to a file",
    "rag": "answers from passages that were retrieved",
    "chatbot": "an assistant in a conversation",
}
PLACEHOLDER = f"openai:chat:{options.PLACEHOLDER}"
NO_COMMIT = "0" * 40  # where that of a release is to be written
ACTION = f"{REPOSITORY}@{NO_COMMIT}"
APPLICATION = "http://127.0.0.1:8000/ask"
_ID = re.compile(r"[A-Za-z][\w.:/@+?&=%~-]*")  # goes into YAML and into comments as it is
_ADDRESS = re.compile(r"https?://[\w.:/@+?&=%~\[\]-]*")
_ACTION = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w.-]+)*@[0-9a-f]{40}")
Ask = Callable[[str], str]  # shows a question and gives the line that was typed


class Choices(FrozenStruct):
    """``template`` is one of ``TEMPLATES``, ``provider`` and ``grader`` are ids; ``folder`` is relative to where the command is started.

    What is empty has a default: the grader is the model that answers, and a model that nobody named is a placeholder.
    """

    template: str = "prompt"
    provider: str = ""
    grader: str = ""
    folder: str = "."
    action: str = ACTION
    workflow: bool = True
    config: bool = True  # False: the config is there, and a workflow is written for it
    live: bool = False  # the models are asked at once, and the config has them asked
    key: str = ""  # the variable that holds the key, where that is not the vendor's own

    @property
    def target(self) -> str:
        """Who answers, as an id."""
        return self.provider or (APPLICATION if self.template == "application" else PLACEHOLDER)

    @property
    def judge(self) -> str:
        """Who grades, as an id."""
        return self.grader or (PLACEHOLDER if is_address(self.target) else self.target)

    @property
    def asked(self) -> dict[str, str]:
        """The models, by the option that names them."""
        if self.template == "answers" or is_address(self.target):
            return {"--grader": self.judge}
        return {"--provider": self.target, "--grader": self.judge}

    def key_of(self, id_: str) -> str:
        """The variable that the config names for a model: that of the first one, and of its vendor's others."""
        vendor = next(iter(self.asked.values())).partition(":")[0]
        return self.key if id_.partition(":")[0] == vendor else ""


def is_address(id_: str) -> bool:
    """Whether an application is asked there, and no model."""
    return id_.startswith(("http://", "https://"))


def fault(id_: str) -> tuple[str, str] | None:
    """What keeps an id or an address out of a config, and its cure; None where nothing does. It repeats no password."""
    if not is_address(id_):
        if _ID.fullmatch(id_):
            return None
        return "is not the id of a provider", f"write VENDOR:MODEL, such as {PLACEHOLDER}"
    try:
        parts = urlsplit(id_)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket without its fellow
        named = False
    if not named:
        return (
            "is an address without a host, or with a port that there is not",
            f"write its URL, such as {APPLICATION}",
        )
    if "@" in parts.netloc:  # the config is committed
        return (
            "has a user name or password in its address",
            "leave it out, and send it in `headers` from a variable of the environment",
        )
    if not _ADDRESS.fullmatch(id_):
        return (
            "holds a character that no config takes as it is",
            "write the character as %XX, and leave out what follows a `#`",
        )
    return None


def check(choices: Choices) -> None:
    """Raise ConfigError for what cannot be written into a config or a workflow."""
    if not (choices.config or choices.workflow):
        what = "--only-workflow and --no-workflow leave nothing to write"
        raise ConfigError.at(what, None, "give one of the two")
    if choices.provider and not choices.config:
        cure = "write the model under `providers` of the config, and leave --provider out"
        raise ConfigError.at("--only-workflow changes no config", None, cure)
    ids = {"provider": choices.target}
    if choices.grader:  # else it is the other one, and would say the same again
        ids["grader"] = choices.grader
    mistakes = []
    for option, id_ in ids.items():
        if wrong := fault(id_):
            # An address with a password is not shown again.
            shown = "" if is_address(id_) and "@" in id_ else f"{id_!r} "
            mistakes.append(Mistake(f"--{option} {shown}{wrong[0]}", None, wrong[1]))
    if (
        choices.config
        and not fault(choices.target)
        and (choices.template == "application") != is_address(choices.target)
    ):
        what = "is the address of an application"
        cure = "add --template application, or name a model"
        if choices.template == "application":
            what = "is not the address of an application"
            cure = f"write its URL, such as {APPLICATION}, or --template prompt"
        mistakes.append(Mistake(f"--provider {choices.target} {what}", None, cure))
    if choices.key and not (
        choices.key.isidentifier() and choices.key in os.environ
    ):  # it may be the key itself, and is not repeated
        cure = "set the variable, and write its name, such as OPENAI_API_KEY, never the key itself"
        mistakes.append(Mistake("--key is not the name of a variable that is set", None, cure))
    asked = {id_: option for option, id_ in reversed(choices.asked.items())} if choices.live else {}
    for id_, option in asked.items():
        if id_.endswith(f":{options.PLACEHOLDER}"):
            what = f"--live asks `{id_}`, which names no model yet"
            cure = f"give {option} VENDOR:NAME, as the vendor lists it"
            mistakes.append(Mistake(what, None, cure))
    if not _ACTION.fullmatch(choices.action):
        cure = f"write {REPOSITORY}@COMMIT with all 40 digits: a tag can be moved"
        mistakes.append(Mistake(f"--action {choices.action!r} names no commit", None, cure))
    parts = Path(choices.folder).parts
    if Path(choices.folder).is_absolute() or ".." in parts or ".git" in map(str.casefold, parts):
        cure = "start the command where the files are to be, or name a folder below"
        mistakes.append(
            Mistake(f"the folder {choices.folder!r} is not inside this one", None, cure)
        )
    if mistakes:
        raise ConfigError(*mistakes)


def completed(choices: Choices, given: Container[str], ask: Ask) -> Choices:
    """The choices; those not ``given`` are asked for, and an empty line takes the default. Raises ConfigError at the end of input."""
    try:
        names, template = list(TEMPLATES), choices.template if "template" in given else ""
        lines = [
            f"  {number}  {name:12} {TEMPLATES[name]}" for number, name in enumerate(names, start=1)
        ]
        question = "\n".join(["What is tested?", *lines, f"Number or name [{names[0]}]: "])
        while not template:
            typed = ask(question).strip().lower() or names[0]
            is_number = typed.isdecimal() and 0 < int(typed) <= len(names)
            template = names[int(typed) - 1] if is_number else typed if typed in names else ""
            question = f"A number from 1 to {len(names)}, or a name: "
        choices = replace(choices, template=template)
        if not choices.provider and template == "application":
            question = f"At which address does it answer? [{APPLICATION}] "
            while not choices.provider:
                typed = ask(question).strip() or APPLICATION
                wrong = fault(typed) if is_address(typed) else ("is no address", "write its URL")
                if wrong:
                    question = f"It {wrong[0]} ({wrong[1]}). Address [{APPLICATION}] "
                else:
                    choices = replace(choices, provider=typed)
        elif not choices.provider and template != "answers":
            question = (
                f"Which model answers? VENDOR:MODEL, or a vendor such as openai [{PLACEHOLDER}] "
            )
            choices = replace(choices, provider=_model(question, PLACEHOLDER, ask, choices.live))
        if not choices.grader:
            question = f"Which model grades? [{choices.judge}] "
            grader = _model(question, choices.judge, ask, choices.live)
            choices = replace(choices, grader=grader)
        if choices.live and not choices.key:
            usual = variables_of(next(iter(choices.asked.values())), "--provider")
            if len(usual) == 1:
                question = f"Which variable of the environment holds its key? [{usual[0]}] "
                typed = ask(question).strip()
                choices = replace(choices, key="" if typed == usual[0] else typed)
    except EOFError:
        cure = "answer the questions, or give --template, --provider and --grader"
        raise ConfigError.at(
            "the input ended before the questions did; nothing was written", None, cure
        ) from None
    return choices


def _model(question: str, default: str, ask: Ask, live: bool) -> str:
    """An id of a model; the vendor alone is asked for its model. ``live``: it is asked at once, and has to be named."""
    while True:
        typed = ask(question).strip() or default
        parts = split_id(typed)
        if parts and not parts[1] and getattr(PROVIDERS.find(parts[0]), "names_model", True):
            named = ask(f"Which model of it? [{options.PLACEHOLDER}] ").strip()
            typed = f"{typed.rstrip(':')}:{named or options.PLACEHOLDER}"
        wrong = fault(typed)
        if live and typed.endswith(f":{options.PLACEHOLDER}"):
            question = (
                "The model is asked at once, so name one as its vendor lists it. VENDOR:MODEL "
            )
            continue
        if split_id(typed) and not wrong and not is_address(typed):
            return typed
        cure = wrong[1] if wrong else options.suggest_id(typed)
        question = f"No provider has that id ({cure}). VENDOR:MODEL [{default}] "


def variables_of(id_: str, option: str, key: str = "") -> tuple[str, ...]:
    """The variables without which the model cannot be asked, sorted. Raises ConfigError for an id that nobody serves."""
    config = {"apiKeyEnvar": key} if key else {}
    named = id_.removesuffix(options.PLACEHOLDER)  # any model of the vendor takes the same
    spec = ProviderSpec(
        id_ if named == id_ else f"{named}any", config=config, origin=Origin(option)
    )
    here, client = Path(), Client(environ={})

    binder = ModelBinder(Suite(option), Workspace(here), here, client, {})
    provider = binder.bind_provider(spec)
    if mistakes := list(credential_mistakes([(spec, provider)], EgressPolicy())):
        raise ConfigError(*mistakes)
    return tuple(sorted({mistake.missing for mistake in binder.missing}))
