"""A test's variables: files read in, lists expanded, templates in values filled in."""

import base64
import glob
import itertools
import math
import mimetypes
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradegate.config import code as scripts
from gradegate.core.conversation import CONVERSATION
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import Complaints, ConfigError, Mistake, Origin, ProviderError
from gradegate.files import documents as document
from gradegate.files.limits import MAX_CHARACTERS, MAX_COMBINATIONS
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.planning.plan import Render
from gradegate.providers.api.provider import Provider
from gradegate.sandbox import repository_code as pool
from gradegate.sandbox.program import Program
from gradegate.sandbox.repository_code import USE_FILE, load_program
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating import chat_prompt as chat
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
ROUNDS = 5  # how deep variables may refer to one another
_REFERENCE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Variables:
    """Resolves variables of one suite; ``folder`` is what paths are relative to."""

    def __init__(
        self, workspace: Workspace, folder: Path, env: JsonObject, prompt: str = ""
    ) -> None:
        self._workspace = workspace
        self._folder = folder
        self._env = env
        self._prompt = prompt  # that code which gives a value is told of, where the suite has one
        self._files: dict[str, list[str]] = {}  # a document that every test quotes is read once

    def resolve(self, written: JsonObject, expand: bool, origin: Origin) -> list[JsonObject]:
        """Every combination of the values, filled in. Raises ConfigError."""
        if all(_is_plain(value) for value in written.values()):
            return [written]
        choices = [self._choices(value, expand, origin) for value in written.values()]
        count = math.prod(map(len, choices))
        if count > MAX_COMBINATIONS:
            what = f"the lists in `vars` make {count:,} combinations"
            raise ConfigError.at(what, origin, f"at most {MAX_COMBINATIONS:,}")
        return [
            self._filled(dict(zip(written, combo, strict=True)), origin)
            for combo in itertools.product(*choices)
        ]

    def _choices(self, value: Any, expand: bool, origin: Origin) -> list[Any]:
        if isinstance(value, Verbatim):
            return [value]
        if isinstance(value, str) and value.startswith("file://"):
            if is_code(value) and not glob.has_magic(value):
                return [load_program(value, self._workspace, self._folder, origin, USE_FILE)]
            if value not in self._files:
                self._files[value] = list(self._load(value, origin))
            return self._files[value]
        if expand and isinstance(value, list) and value and isinstance(value[0], str):
            return [choice for item in value for choice in self._choices(item, False, origin)]
        return [value]

    def _load(self, reference: str, origin: Origin) -> Iterator[str]:
        for path in self._workspace.glob(reference, self._folder, origin):
            suffix = path.suffix.lower()
            if is_code(path.name):
                what = f"`{reference}` is code, and one file of code gives a value, not a pattern"
                raise ConfigError.at(what, origin, "write the value")
            if suffix == ".pdf":
                raise ConfigError.at(
                    f"`{reference}`: PDF is not read", origin, "save its text as .txt or .md"
                )
            place = str(path), self._folder, origin
            if suffix in (".yaml", ".yml"):
                content = self._workspace.read(*place)
                yield document.to_json(document.read(content, self._workspace.name(path)))
            elif suffix in _IMAGES:
                encoded = base64.b64encode(self._workspace.read(*place)).decode()
                yield f"data:{mimetypes.guess_type(path.name)[0]};base64,{encoded}"
            else:
                yield self._workspace.text(*place).strip()

    def _filled(self, values: dict[str, Any], origin: Origin) -> JsonObject:
        """The values as promptfoo has them: without their last newline, and ``{{ name }}`` replaced by other values.

        What else a value asks for is filled in with the prompt; what nobody defines stays as it is written.
        """
        for name, value in values.items():
            if isinstance(value, Program):
                values[name] = self._made(name, value, values, origin)
        texts = [
            name
            for name, value in values.items()
            if isinstance(value, str) and not isinstance(value, Verbatim)
        ]
        for name in texts:
            text = values[name]
            try:
                if (
                    is_template(text)
                    and not has_open_braces(text)
                    and variables_used(text) == {"env"}
                ):
                    text = render(text, {"env": self._env})
            except TemplateError as e:
                what = f"the variable `{name}` cannot be filled in: {e}"
                raise ConfigError.at(what, origin, "correct the template") from e
            values[name] = text.removesuffix("\n")
        grown = 0
        for _ in range(ROUNDS):
            before = dict(values)
            for name in texts:
                text = values[name]
                match = _REFERENCE.search(text)
                if match and match[1] in values:
                    values[name] = text.replace(match[0], show_value(values[match[1]]), 1)
                    grown += len(values[name]) - len(text)
                    if grown > MAX_CHARACTERS:
                        what = f"the variables of the test, filled into each other, have more than {MAX_CHARACTERS:,} characters"
                        raise ConfigError.at(what, origin, "use fewer references")
            if values == before:
                break
        return values

    def _made(self, name: str, value: Program, values: JsonObject, origin: Origin) -> Any:
        """What ``get_var(name, prompt, others)`` gives: ``{output}`` or ``{error}``. Raises ConfigError."""
        others = {other: str(it) if isinstance(it, Program) else it for other, it in values.items()}
        try:
            made = pool.call_function(value, [name, self._prompt, others], "target", "get_var")
        except pool.CodeError as e:
            raise ConfigError.at(
                f"`{value}` gave no value for `{name}`: {e.line}", origin, "correct it"
            ) from e
        if not isinstance(made, Mapping):
            made = {}
        output, error = made.get("output"), made.get("error")
        python = value.file.is_python
        if not output or (python and not isinstance(output, str)) or error:
            what = f"`{value}` gave no value for `{name}`: {excerpt(str(error or _NO_TEXT), 300)}"
            raise ConfigError.at(what, origin, "correct it")
        return output.strip() if python else output


def _is_plain(value: Any) -> bool:
    if isinstance(value, Verbatim):
        return True
    if isinstance(value, str):
        return (
            not value.startswith("file://") and not value.endswith("\n") and not is_template(value)
        )
    return not isinstance(value, list)


class Prompts(FrozenStruct, Complaints):
    """Fills in the prompts of one suite; ``env`` is what they may show of the environment, mistakes are added to ``mistakes``."""

    env: JsonObject
    mistakes: list[Mistake]

    def render(self, case: Case, prompt: PromptSpec, values: JsonObject) -> Render | None:
        """Fills a prompt in that tells the conversation so far; None for any other."""
        source = case.options.prefix + prompt.text + case.options.suffix
        off = (
            CONVERSATION not in source
            or case.turns
            or case.options.settings.get("disableConversationVar")
            or values.get(CONVERSATION)
        )
        if off or not mentions_name(source, CONVERSATION):
            return None
        variables = {"env": self.env, **values}
        return lambda before: fill_prompt(source, {**variables, CONVERSATION: list(before)})

    def text(self, case: Case, prompt: PromptSpec, provider: Provider, values: JsonObject) -> str:
        """A prompt filled in; empty where it cannot be, which is among the mistakes."""
        try:
            written, label = prompt.text, provider.spec.label if provider.spec else ""
            if prompt.maker is not None:
                about = {"id": provider.id, "label": label}
                context = {"vars": values, "provider": about, "config": {}}
                written = scripts.template_from_result(prompt.maker(context))
            source = case.options.prefix + written + case.options.suffix
            text = fill_prompt(source, {"env": self.env, **values})
        except TemplateError as e:
            self.say(f"the prompt cannot be filled in: {e}", prompt.origin, "correct the template")
            return ""
        except ValueError as e:
            what = f"the prompt `{prompt.label}` is not made: {getattr(e, 'line', e)}"
            self.say(what, prompt.origin, "correct it")
            return ""
        if wrong := chat.chat_mistake(text):
            what = f"the prompt looks like chat messages and {wrong}"
            self.say(what, prompt.origin, "correct it")
        messages = chat.parse_chat(text) if not case.recorded else None
        try:
            if messages:
                provider.check(messages)
        except (ProviderError, ValueError) as e:
            cure = "write what it takes, or ask another provider"
            self.say(f"the prompt cannot be sent to `{provider.name}`: {e}", prompt.origin, cure)
        return text
