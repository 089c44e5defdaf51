"""Grading prompts: our own templates, or what ``rubricPrompt`` puts in their place, as chat messages to fill in."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from gradegate.core.conversation import Message, Variables
from gradegate.files import documents
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating import chat_prompt
from gradegate.templating.template import (
    TemplateError,
    is_template,
    render,
    render_values,
    variables_used,
)

Template = tuple[Message, ...]  # contents and images are templates
_SHOWN = re.compile(r"\{\{.*?\}\}", re.DOTALL)  # what a template shows, as against its tags
IMAGES = ("https://", "http://", "data:image/")  # how the address of an image begins


class Rubric(FrozenStruct):
    """The user's grading prompts by step; "" is the prompt of a grader that asks once."""

    steps: Mapping[str, Template] = {}

    @property
    def images(self) -> bool:
        """Whether any prompt shows an image."""
        return any(message.images for template in self.steps.values() for message in template)


NO_RUBRIC = Rubric()


@cache
def default_prompt(name: str) -> Template:
    """Our prompt of that name, from ``prompts/NAME.yaml``."""
    file = f"{name}.yaml"
    content = resources.files("gradegate.assertions.judge").joinpath("prompts", file).read_bytes()
    return tuple(Message(item["role"], item["content"]) for item in documents.read(content, file))


@cache
def built_in_variables() -> frozenset[str]:
    """The variables that graders give to their prompts, whichever they are: what our own prompts ask for."""
    files = (
        entry.name
        for entry in resources.files("gradegate.assertions.judge").joinpath("prompts").iterdir()
        if entry.name.endswith(".yaml")
    )
    return frozenset().union(
        *(
            variables_used(message.content, trusted=True)
            for name in files
            for message in default_prompt(name.removesuffix(".yaml"))
        )
    )


def fill_prompt(
    template: Template, variables: Variables, ours: bool = False
) -> tuple[Message, ...]:
    """Messages with their variables filled in, each once; ``ours``: they are a ``default_prompt``. Raises TemplateError."""
    if ours:
        return tuple(
            Message(message.role, render(message.content, variables, ours)) for message in template
        )
    filled = []
    for it in template:
        content = _fill(it.content, variables)
        images = tuple(render(image, variables).strip() for image in it.images)
        wrong = next((image for image in images if not image.lower().startswith(IMAGES)), None)
        if wrong is not None:
            raise TemplateError(
                f"{excerpt(wrong, 60)!r} is not an image: give an https: URL or a data: URI"
            )
        filled.append(Message(it.role, content, images, render_values(it.written, variables)))
    return tuple(filled)


def _fill(content: str, variables: Variables) -> str:
    # JSON is filled value by value, so that a quote in an answer cannot end a string.
    if content.lstrip()[:1] in ("{", "["):
        try:
            parsed = json.loads(content)
        except ValueError:
            return render(content, variables)
        if isinstance(parsed, dict | list):
            return json.dumps(
                render_values(parsed, variables), ensure_ascii=False, separators=(",", ":")
            )
    return render(content, variables)


def parse_rubric(written: Any, steps: Sequence[str] = ()) -> Rubric:
    """``rubricPrompt`` in any of its forms. Raises ValueError with what is wrong.

    Text, chat as JSON or YAML text, a list of messages; for graders that ask in ``steps``: a mapping by step, or a
    list with one entry for each.
    """
    if not written:
        return NO_RUBRIC
    if not steps:
        return Rubric({"": _template(written)})
    if isinstance(written, Mapping):
        unknown = [key for key in written if key not in steps]
        if unknown:
            raise ValueError(
                f"rubricPrompt has no step `{unknown[0]}`; the steps are {', '.join(steps)}"
            )
        return Rubric({step: _template(text) for step, text in written.items() if text})
    if (
        isinstance(written, Sequence)
        and not isinstance(written, str)
        and len(written) == len(steps)
    ):
        return Rubric({step: _template(text) for step, text in zip(steps, written, strict=True)})
    raise ValueError(
        f"rubricPrompt must be a mapping or a list of {len(steps)} prompts: {', '.join(steps)}"
    )


def _template(written: Any) -> Template:
    if isinstance(written, str):
        wrong = _wrong(written)
        if wrong and is_template(written):
            written = _without_tags(written)
            wrong = _wrong(written)
        if wrong:
            raise ValueError(f"rubricPrompt looks like chat messages and {wrong}")
        return chat_prompt.parse_chat(written, only_sendable=True) or (Message("user", written),)
    if (
        isinstance(written, Mapping)
        and isinstance(written.get("content"), str)
        and set(written) <= {"role", "content"}
    ):
        return (Message(str(written.get("role") or "user"), written["content"]),)
    listed = [written] if isinstance(written, Mapping) else written
    messages = chat_prompt.parse_messages(
        listed if chat_prompt.is_chat(listed) else written, only_sendable=True
    )
    if messages is None and chat_prompt.is_chat(listed):
        raise ValueError(f"rubricPrompt {chat_prompt.messages_mistake(listed, only_sendable=True)}")
    return messages or (Message("user", json.dumps(written, ensure_ascii=False)),)


def _without_tags(written: str) -> str:
    """Messages with the tags between them filled in, and what they show left as it is. Raises ValueError.

    So an answer is filled in value by value, and can end no text of theirs.
    """
    try:
        asked = variables_used(_SHOWN.sub("", written))
        filled = render(
            _SHOWN.sub(lambda shown: f"{{% raw %}}{shown[0]}{{% endraw %}}", written), {}
        )
        asked |= variables_used(filled) - variables_used(written)
    except TemplateError as e:
        raise ValueError(f"rubricPrompt cannot be filled in: {e}") from e
    if asked:
        raise ValueError(
            f"a tag between the messages of rubricPrompt asks for `{min(asked)}`: write it inside the text of a message"
        )
    return filled


def _wrong(written: str) -> str:
    """Why a text that is meant as messages is none; empty for any other."""
    try:
        value = json.loads(written) if written.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    if chat_prompt.is_chat([value]):
        return "is one message: write a list of messages"
    return chat_prompt.chat_mistake(written, only_sendable=True)


def list_schema(
    key: str, item: JsonObject, count: int | None = None, each: Sequence[JsonObject] = ()
) -> JsonObject:
    """JSON Schema of an object that holds a list of such items, of exactly ``count`` where that is known.

    ``each`` is the schema of every single item, in order, for the servers that take one.
    """
    listed: dict[str, Any] = {"type": "array", "items": item}
    if count is not None:
        listed.update(minItems=count, maxItems=count)
    if each:
        listed["prefixItems"] = [*each]
    return object_schema(**{key: listed})


def object_schema(**properties: JsonObject) -> JsonObject:
    """JSON Schema of an object with exactly these properties, in this order: put the reason before the verdict."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
