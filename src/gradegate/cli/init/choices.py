"""The choices of ``gradegate init``: defaults, questions for what nobody chose, and checks."""

import os
import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from gradegate import REPOSITORY, __version__
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.suite import Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.binding.providers import ProviderBinder
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
_NO_COMMIT = "0" * 40  # to be replaced by the commit of a release
_IS_RELEASED = ".dev" not in __version__
# A release names itself in a workflow. Before the first release there is nothing to name.
if _IS_RELEASED:
    ACTION = f"{REPOSITORY}@v{__version__}"
    ACTION_COMMENT = ""
else:
    ACTION = f"{REPOSITORY}@{_NO_COMMIT}"
    ACTION_COMMENT = "put the commit of a release here"
APPLICATION = "http://127.0.0.1:8000/ask"
_ID = re.compile(r"[A-Za-z][\w.:/@+?&=%~-]*")  # goes unquoted into YAML and its comments
_ADDRESS = re.compile(r"https?://[\w.:/@+?&=%~\[\]-]*")
_ACTION = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w.-]+)*@[0-9a-f]{40}")
Ask = Callable[[str], str]  # shows a question and returns the line that was typed


def needs_commit(action: str) -> bool:
    """Whether somebody must still put the commit of a release into the line ``uses: ACTION``."""
    return action.endswith(f"@{_NO_COMMIT}")


class Choices(FrozenStruct):
    """What somebody chose. Empty texts have defaults: ``target`` and ``judge`` say which."""

    template: str = "prompt"  # one of TEMPLATES
    provider: str = ""  # an id of a model, or the address of an application
    grader: str = ""
    folder: str = "."  # relative to the working directory
    action: str = ACTION
    workflow: bool = True
    config: bool = True  # False: the config exists, and a workflow is written for it
    live: bool = False  # the models are asked now, and by every run of the config
    key: str = ""  # the variable with the key, if it is not the vendor's own

    @property
    def target(self) -> str:
        """The id of the model or application that answers."""
        return self.provider or (APPLICATION if self.template == "application" else PLACEHOLDER)

    @property
    def judge(self) -> str:
        """The id of the grader: by default the model that answers."""
        return self.grader or (PLACEHOLDER if is_address(self.target) else self.target)

    @property
    def models(self) -> dict[str, str]:
        """The ids of the models by the options that name them, the target first."""
        if self.template == "answers" or is_address(self.target):
            return {"--grader": self.judge}
        return {"--provider": self.target, "--grader": self.judge}

    def key_of(self, model: str) -> str:
        """The variable that the config names for a model: the chosen key belongs to the first model's vendor."""
        first_model = next(iter(self.models.values()))
        is_same_vendor = model.partition(":")[0] == first_model.partition(":")[0]
        return self.key if is_same_vendor else ""


def is_address(id_: str) -> bool:
    """Whether an id is the address of an application instead of a model."""
    return id_.startswith(("http://", "https://"))


def key_variables(model: str, option: str, key: str = "") -> tuple[str, ...]:
    """The variables without which a model cannot be asked, sorted. Raises ConfigError for an unknown id."""
    # Every model of a vendor takes the same key.
    if model.endswith(options.PLACEHOLDER):
        model = f"{model.removesuffix(options.PLACEHOLDER)}any"
    spec = ProviderSpec(model, config={"apiKeyEnvar": key} if key else {}, origin=Origin(option))
    folder = Path()
    providers = ProviderBinder(Suite(option), Workspace(folder), folder, Client(environ={}), {})
    provider = providers.bind_provider(spec)
    mistakes = list(credential_mistakes([(spec, provider)], EgressPolicy()))
    if mistakes:
        raise ConfigError(*mistakes)
    return tuple(sorted({mistake.missing for mistake in providers.missing}))


# --- checks -------------------------------------------------------------------------------------------------------


class _Fault(FrozenStruct):
    """What keeps an id out of a config, and its cure. It never repeats a password."""

    what: str
    cure: str


def _find_fault(id_: str) -> _Fault | None:
    """What keeps an id or an address out of a config; None if nothing does."""
    if not is_address(id_):
        if _ID.fullmatch(id_):
            return None
        return _Fault("is not the id of a provider", f"write VENDOR:MODEL, such as {PLACEHOLDER}")
    try:
        parts = urlsplit(id_)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:  # an impossible port, or a bracket without its pair
        has_host = False
    if not has_host:
        return _Fault(
            "is an address without a host, or with a port that there is not",
            f"write its URL, such as {APPLICATION}",
        )
    if "@" in parts.netloc:  # the config is committed
        return _Fault(
            "has a user name or password in its address",
            "leave it out, and send it in `headers` from a variable of the environment",
        )
    if not _ADDRESS.fullmatch(id_):
        return _Fault(
            "holds a character that no config takes as it is",
            "write the character as %XX, and leave out what follows a `#`",
        )
    return None


def check_choices(choices: Choices) -> None:
    """Raise ConfigError with everything that cannot be written into a config or a workflow."""
    if not (choices.config or choices.workflow):
        what = "--only-workflow and --no-workflow leave nothing to write"
        raise ConfigError.at(what, None, "give one of the two")
    if choices.provider and not choices.config:
        cure = "write the model under `providers` of the config, and leave --provider out"
        raise ConfigError.at("--only-workflow changes no config", None, cure)

    mistakes = [*_id_mistakes(choices), *_live_mistakes(choices), *_workflow_mistakes(choices)]
    if mistakes:
        raise ConfigError(*mistakes)


def _id_mistakes(choices: Choices) -> Iterator[Mistake]:
    """Yield the mistakes in the ids of the target and the grader, and a target that does not fit the template."""
    ids = {"provider": choices.target}
    if choices.grader:  # by default it is the target, which is checked already
        ids["grader"] = choices.grader
    for option, id_ in ids.items():
        fault = _find_fault(id_)
        if fault:
            has_password = is_address(id_) and "@" in id_
            shown = "" if has_password else f"{id_!r} "
            yield Mistake(f"--{option} {shown}{fault.what}", None, fault.cure)

    needs_address = choices.template == "application"
    if choices.config and not _find_fault(choices.target):
        if needs_address and not is_address(choices.target):
            what = "is not the address of an application"
            cure = f"write its URL, such as {APPLICATION}, or --template prompt"
            yield Mistake(f"--provider {choices.target} {what}", None, cure)
        elif is_address(choices.target) and not needs_address:
            what = "is the address of an application"
            cure = "add --template application, or name a model"
            yield Mistake(f"--provider {choices.target} {what}", None, cure)


def _live_mistakes(choices: Choices) -> Iterator[Mistake]:
    """Mistakes in what models are asked with: the key, and models without a name."""
    # The value may be the key itself, so it is not repeated.
    if choices.key and not (choices.key.isidentifier() and choices.key in os.environ):
        cure = "set the variable, and write its name, such as OPENAI_API_KEY, never the key itself"
        yield Mistake("--key is not the name of a variable that is set", None, cure)
    if not choices.live:
        return
    options_by_model: dict[str, str] = {}
    for option, model in choices.models.items():
        options_by_model.setdefault(model, option)
    for model, option in reversed(options_by_model.items()):
        if model.endswith(f":{options.PLACEHOLDER}"):
            what = f"--live asks `{model}`, which names no model yet"
            yield Mistake(what, None, f"give {option} VENDOR:NAME, as the vendor lists it")


def _workflow_mistakes(choices: Choices) -> Iterator[Mistake]:
    """Yield the mistakes in what a workflow names: the release of the Action, and the folder of the config."""
    if choices.action != ACTION and not _ACTION.fullmatch(choices.action):
        cure = f"write {REPOSITORY}@COMMIT with all 40 digits: a tag can be moved"
        yield Mistake(f"--action {choices.action!r} names no commit", None, cure)
    folder = Path(choices.folder)
    names = [part.casefold() for part in folder.parts]
    if folder.is_absolute() or ".." in names or ".git" in names:
        cure = "start the command where the files are to be, or name a folder below"
        yield Mistake(f"the folder {choices.folder!r} is not inside this one", None, cure)


# --- questions ----------------------------------------------------------------------------------------------------


def complete_choices(choices: Choices, chosen: Container[str], ask: Ask) -> Choices:
    """Ask for every choice that nobody made. An empty line takes the default. Raises ConfigError at the end of input."""
    try:
        if "template" not in chosen:
            choices = replace(choices, template=_ask_for_template(ask))
        if not choices.provider and choices.template == "application":
            choices = replace(choices, provider=_ask_for_address(ask))
        elif not choices.provider and choices.template != "answers":
            question = (
                f"Which model answers? VENDOR:MODEL, or a vendor such as openai [{PLACEHOLDER}] "
            )
            provider = _ask_for_model(question, PLACEHOLDER, ask, choices.live)
            choices = replace(choices, provider=provider)
        if not choices.grader:
            question = f"Which model grades? [{choices.judge}] "
            grader = _ask_for_model(question, choices.judge, ask, choices.live)
            choices = replace(choices, grader=grader)
        if choices.live and not choices.key:
            choices = replace(choices, key=_ask_for_key(choices, ask))
    except EOFError:
        cure = "answer the questions, or give --template, --provider and --grader"
        raise ConfigError.at(
            "the input ended before the questions did; nothing was written", None, cure
        ) from None
    return choices


def _ask_for_template(ask: Ask) -> str:
    """Ask for a template by its number or name, until one is given."""
    names = list(TEMPLATES)
    lines = ["What is tested?"]
    for number, name in enumerate(names, start=1):
        lines.append(f"  {number}  {name:12} {TEMPLATES[name]}")
    question = "\n".join([*lines, f"Number or name [{names[0]}]: "])
    while True:
        answer = ask(question).strip().lower() or names[0]
        if answer in names:
            return answer
        if answer.isdecimal() and 0 < int(answer) <= len(names):
            return names[int(answer) - 1]
        question = f"A number from 1 to {len(names)}, or a name: "


def _ask_for_address(ask: Ask) -> str:
    """Ask for the address of an application, until one can be written into a config."""
    question = f"At which address does it answer? [{APPLICATION}] "
    while True:
        address = ask(question).strip() or APPLICATION
        fault: _Fault | None = _Fault("is no address", "write its URL")
        if is_address(address):
            fault = _find_fault(address)
        if fault is None:
            return address
        question = f"It {fault.what} ({fault.cure}). Address [{APPLICATION}] "


def _ask_for_model(question: str, default: str, ask: Ask, must_exist: bool) -> str:
    """Ask for the id of a model. If the answer is only a vendor, ask for the model, too."""
    while True:
        id_ = ask(question).strip() or default
        parts = split_id(id_)
        if parts and not parts[1] and getattr(PROVIDERS.find(parts[0]), "names_model", True):
            model = ask(f"Which model of it? [{options.PLACEHOLDER}] ").strip()
            id_ = f"{id_.rstrip(':')}:{model or options.PLACEHOLDER}"
        if must_exist and id_.endswith(f":{options.PLACEHOLDER}"):
            question = (
                "The model is asked at once, so name one as its vendor lists it. VENDOR:MODEL "
            )
            continue
        fault = _find_fault(id_)
        if split_id(id_) and not fault and not is_address(id_):
            return id_
        cure = fault.cure if fault else options.suggest_id(id_)
        question = f"No provider has that id ({cure}). VENDOR:MODEL [{default}] "


def _ask_for_key(choices: Choices, ask: Ask) -> str:
    """The variable with the key; empty if it is the vendor's own, or if the vendor takes none or several."""
    variables = key_variables(next(iter(choices.models.values())), "--provider")
    if len(variables) != 1:
        return ""
    question = f"Which variable of the environment holds its key? [{variables[0]}] "
    answer = ask(question).strip()
    return "" if answer == variables[0] else answer
