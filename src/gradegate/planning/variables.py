"""Expands the variables of a test: reads files, combines lists and fills in templates; and fills in prompts."""

import base64
import glob
import itertools
import math
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradegate.config.code import template_from_result
from gradegate.core.conversation import CONVERSATION
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import Complaints, ConfigError, Mistake, Origin, ProviderError
from gradegate.files import documents
from gradegate.files.limits import MAX_COMBINATIONS, MAX_TEXT_CHARACTERS
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.planning.plan import Render
from gradegate.providers.api.provider import Provider
from gradegate.sandbox import repository_code
from gradegate.sandbox.program import Program
from gradegate.sandbox.repository_code import USE_FILE, load_program
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating import chat_prompt
from gradegate.templating.template import (
    TemplateError,
    fill_prompt,
    has_open_braces,
    is_template,
    mentions_name,
    render,
    show_value,
    variables_used,
)

_NO_TEXT = "it returned no dict with a text as `output`"
_ROUNDS = 5  # how deep variables may refer to one another
_REFERENCE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Variables:
    """Expands the variables of the cases of one suite; ``folder`` is what paths are relative to."""

    def __init__(
        self, workspace: Workspace, folder: Path, env: JsonObject, prompt: str = ""
    ) -> None:
        self._workspace = workspace
        self._folder = folder
        self._env = env
        self._prompt = prompt  # the only prompt of the suite, for code that gives a value
        self._contents: dict[str, list[str]] = {}  # each file is read once, by its reference

    def expand(self, written: JsonObject, expand_lists: bool, origin: Origin) -> list[JsonObject]:
        """Every combination of the values, filled in. Raises ConfigError."""
        if all(_is_plain(value) for value in written.values()):
            return [written]
        choices = [self._choices(value, expand_lists, origin) for value in written.values()]
        count = math.prod([len(values) for values in choices])
        if count > MAX_COMBINATIONS:
            what = f"the lists in `vars` make {count:,} combinations"
            raise ConfigError.at(what, origin, f"at most {MAX_COMBINATIONS:,}")

        combinations: list[JsonObject] = []
        for values in itertools.product(*choices):
            variables = dict(zip(written, values, strict=True))
            self._call_programs(variables, origin)
            self._fill_in(variables, origin)
            combinations.append(variables)
        return combinations

    def _choices(self, value: Any, expand_lists: bool, origin: Origin) -> list[Any]:
        """The values that a variable takes: several for a list of texts, or for a pattern of files."""
        if isinstance(value, Verbatim):
            return [value]
        if isinstance(value, str) and value.startswith("file://"):
            if is_code(value) and not glob.has_magic(value):
                return [load_program(value, self._workspace, self._folder, origin, USE_FILE)]
            if value not in self._contents:
                self._contents[value] = list(self._read_files(value, origin))
            return self._contents[value]
        is_list_of_texts = isinstance(value, list) and bool(value) and isinstance(value[0], str)
        if not is_list_of_texts or not expand_lists:
            return [value]
        choices = []
        for item in value:
            choices += self._choices(item, False, origin)
        return choices

    def _read_files(self, reference: str, origin: Origin) -> Iterator[str]:
        for path in self._workspace.glob(reference, self._folder, origin):
            suffix = path.suffix.lower()
            if is_code(path.name):
                what = f"`{reference}` is code, and one file of code gives a value, not a pattern"
                raise ConfigError.at(what, origin, "write the value")
            if suffix == ".pdf":
                what = f"`{reference}`: PDF is not read"
                raise ConfigError.at(what, origin, "save its text as .txt or .md")
            place = str(path), self._folder, origin
            if suffix in (".yaml", ".yml"):
                content = self._workspace.read(*place)
                yield documents.to_json(documents.read(content, self._workspace.name(path)))
            elif suffix in _IMAGES:
                encoded = base64.b64encode(self._workspace.read(*place)).decode()
                yield f"data:{mimetypes.guess_type(path.name)[0]};base64,{encoded}"
            else:
                yield self._workspace.text(*place).strip()

    def _call_programs(self, variables: dict[str, Any], origin: Origin) -> None:
        """Replace each program by the value that it gives. Raises ConfigError."""
        for name, value in variables.items():
            if isinstance(value, Program):
                variables[name] = self._call_program(name, value, variables, origin)

    def _call_program(
        self, name: str, program: Program, variables: JsonObject, origin: Origin
    ) -> Any:
        """The output of ``get_var(name, prompt, other_variables)``, which returns ``{output}`` or ``{error}``."""
        other_variables = {}
        for key, value in variables.items():
            other_variables[key] = str(value) if isinstance(value, Program) else value
        failure = f"`{program}` gave no value for `{name}`"
        try:
            result = repository_code.call_function(
                program, [name, self._prompt, other_variables], "target", "get_var"
            )
        except repository_code.CodeError as e:
            raise ConfigError.at(f"{failure}: {e.line}", origin, "correct it") from e

        output = None
        error = None
        if isinstance(result, Mapping):
            output = result.get("output")
            error = result.get("error")
        is_python = program.file.is_python
        is_wrong_type = is_python and not isinstance(output, str)
        if error or not output or is_wrong_type:
            reason = excerpt(str(error or _NO_TEXT), 300)
            raise ConfigError.at(f"{failure}: {reason}", origin, "correct it")
        return output.strip() if is_python else output

    def _fill_in(self, variables: dict[str, Any], origin: Origin) -> None:
        """Fill in values as promptfoo does: without their last newline, and with ``{{ name }}`` replaced by other values.

        Other templates are filled in with the prompt. Names that nothing defines stay as they are written.
        """
        names = []
        for name, value in variables.items():
            if isinstance(value, str) and not isinstance(value, Verbatim):
                names.append(name)
                text = self._fill_in_environment(name, value, origin)
                variables[name] = text.removesuffix("\n")
        _fill_in_references(variables, names, origin)

    def _fill_in_environment(self, name: str, text: str, origin: Origin) -> str:
        """The text of a variable, filled in if it is a template of nothing but ``env``. Raises ConfigError."""
        try:
            if not is_template(text) or has_open_braces(text):
                return text
            if variables_used(text) != {"env"}:
                return text
            return render(text, {"env": self._env})
        except TemplateError as e:
            what = f"the variable `{name}` cannot be filled in: {e}"
            raise ConfigError.at(what, origin, "correct the template") from e


def _fill_in_references(variables: dict[str, Any], names: Iterable[str], origin: Origin) -> None:
    """Replace ``{{ name }}`` in the variables with these names by the values of other variables. Raises ConfigError."""
    added = 0  # characters
    for _ in range(_ROUNDS):
        before = dict(variables)
        for name in names:
            text = variables[name]
            match = _REFERENCE.search(text)
            if match is None or match[1] not in variables:
                continue
            value = show_value(variables[match[1]])
            variables[name] = text.replace(match[0], value, 1)
            added += len(variables[name]) - len(text)
            if added > MAX_TEXT_CHARACTERS:
                what = f"the variables of the test, filled into each other, have more than {MAX_TEXT_CHARACTERS:,} characters"
                raise ConfigError.at(what, origin, "use fewer references")
        if variables == before:
            break


def _is_plain(value: Any) -> bool:
    """Whether a value stays as it is written."""
    if isinstance(value, str) and not isinstance(value, Verbatim):
        return not (value.startswith("file://") or value.endswith("\n") or is_template(value))
    return not isinstance(value, list)


class Prompts(FrozenStruct, Complaints):
    """Fills in the prompts of one suite; ``env`` is the part of the environment that they may show."""

    env: JsonObject
    mistakes: list[Mistake]

    def conversation_prompt(
        self, case: Case, prompt: PromptSpec, values: JsonObject
    ) -> Render | None:
        """A function that fills in a prompt with the conversation so far; None if the prompt does not use it."""
        source = case.options.prefix + prompt.text + case.options.suffix
        if CONVERSATION not in source or case.turns or values.get(CONVERSATION):
            return None
        if case.options.settings.get("disableConversationVar"):
            return None
        if not mentions_name(source, CONVERSATION):
            return None
        variables = {"env": self.env, **values}
        return lambda history: fill_prompt(source, {**variables, CONVERSATION: list(history)})

    def fill_in(
        self, case: Case, prompt: PromptSpec, provider: Provider, values: JsonObject
    ) -> str:
        """The prompt, filled in; empty if it cannot be filled in, which is noted as a mistake."""
        try:
            template = prompt.text
            if prompt.maker is not None:
                label = provider.spec.label if provider.spec else ""
                target = {"id": provider.id, "label": label}
                made = prompt.maker({"vars": values, "provider": target, "config": {}})
                template = template_from_result(made)
            source = case.options.prefix + template + case.options.suffix
            text = fill_prompt(source, {"env": self.env, **values})
        except TemplateError as e:
            self.say(f"the prompt cannot be filled in: {e}", prompt.origin, "correct the template")
            return ""
        except ValueError as e:
            what = f"the prompt `{prompt.label}` is not made: {getattr(e, 'line', e)}"
            self.say(what, prompt.origin, "correct it")
            return ""

        problem = chat_prompt.chat_mistake(text)
        if problem:
            what = f"the prompt looks like chat messages and {problem}"
            self.say(what, prompt.origin, "correct it")
        messages = None if case.is_recorded else chat_prompt.parse_chat(text)
        if messages:
            try:
                provider.check_messages(messages)
            except (ProviderError, ValueError) as e:
                what = f"the prompt cannot be sent to `{provider.name}`: {e}"
                cure = "write what it takes, or ask another provider"
                self.say(what, prompt.origin, cure)
        return text
