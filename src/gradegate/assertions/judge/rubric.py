"""Grading prompts as chat messages to fill in: our own from ``prompts/``, or those of ``rubricPrompt``."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any

from gradegate.core.conversation import Message, Variables
from gradegate.files import documents
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct
from gradegate.templating import chat_prompt
from gradegate.templating.template import (
    TemplateError,
    is_template,
    render,
    render_values,
    variables_used,
)

Template = tuple[Message, ...]  # contents and images are templates
# A value that a template shows, as opposed to a tag: `{{ output }}`
_SHOWN = re.compile(r"\{\{.*?\}\}", re.DOTALL)
IMAGES = ("https://", "http://", "data:image/")  # how the address of an image begins


class Rubric(FrozenStruct):
    """The user's grading prompts by step. The step "" is the prompt of an evaluator that asks once."""

    steps: Mapping[str, Template] = {}

    @property
    def has_images(self) -> bool:
        """Whether any prompt shows an image."""
        return any(message.images for template in self.steps.values() for message in template)


NO_RUBRIC = Rubric()


@cache
def default_prompt(name: str) -> Template:
    """Load our prompt with this name, from ``prompts/NAME.yaml``."""
    file = f"{name}.yaml"
    content = resources.files("gradegate.assertions.judge").joinpath("prompts", file).read_bytes()
    items = documents.read(content, file)
    return tuple(Message(item["role"], item["content"]) for item in items)


@cache
def built_in_variables() -> frozenset[str]:
    """The variables that evaluators give to their prompts: all variables that our own prompts use."""
    variables = set[str]()
    for file in resources.files("gradegate.assertions.judge").joinpath("prompts").iterdir():
        if file.name.endswith(".yaml"):
            for message in default_prompt(file.name.removesuffix(".yaml")):
                variables |= variables_used(message.content, trusted=True)
    return frozenset(variables)


def fill_default_prompt(name: str, variables: Variables) -> tuple[Message, ...]:
    """Fill in the variables of our prompt with this name. Raises TemplateError."""
    messages = []
    for message in default_prompt(name):
        content = render(message.content, variables, trusted=True)
        messages.append(Message(message.role, content))
    return tuple(messages)


def fill_prompt(template: Template, variables: Variables) -> tuple[Message, ...]:
    """Fill in the variables of a prompt of the user. Raises TemplateError."""
    messages = []
    for message in template:
        content = _fill_content(message.content, variables)
        images = tuple(render(image, variables).strip() for image in message.images)
        for image in images:
            if not image.lower().startswith(IMAGES):
                raise TemplateError(
                    f"{excerpt(image, 60)!r} is not an image: give an https: URL or a data: URI"
                )
        written = render_values(message.written, variables)
        messages.append(Message(message.role, content, images, written))
    return tuple(messages)


def _fill_content(content: str, variables: Variables) -> str:
    """Fill in a text. JSON is filled in value by value, so a quote in an answer cannot end a string."""
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
    """Parse ``rubricPrompt`` in any of its forms. Raises ValueError with the mistake.

    A prompt is a text, a chat as JSON or YAML text, or a list of messages. For an evaluator that asks in ``steps``,
    ``rubricPrompt`` is a mapping of prompts by step, or a list with one prompt for each step.
    """
    if not written:
        return NO_RUBRIC
    if not steps:
        return Rubric({"": _parse_template(written)})

    if isinstance(written, Mapping):
        for key in written:
            if key not in steps:
                raise ValueError(
                    f"rubricPrompt has no step `{key}`; the steps are {', '.join(steps)}"
                )
        return Rubric({step: _parse_template(prompt) for step, prompt in written.items() if prompt})

    is_list = isinstance(written, Sequence) and not isinstance(written, str)
    if is_list and len(written) == len(steps):
        prompts = zip(steps, written, strict=True)
        return Rubric({step: _parse_template(prompt) for step, prompt in prompts})
    raise ValueError(
        f"rubricPrompt must be a mapping or a list of {len(steps)} prompts: {', '.join(steps)}"
    )


def _parse_template(written: Any) -> Template:
    """Parse one prompt: a text, a message, or messages. Any other data is sent as JSON. Raises ValueError."""
    if isinstance(written, str):
        return _parse_template_text(written)

    if isinstance(written, Mapping):
        content = written.get("content")
        if isinstance(content, str) and set(written) <= {"role", "content"}:
            return (Message(str(written.get("role") or "user"), content),)

    message_list = [written] if isinstance(written, Mapping) else written
    if chat_prompt.is_chat(message_list):
        messages = chat_prompt.parse_messages(message_list, only_sendable=True)
        if messages is None:
            mistake = chat_prompt.messages_mistake(message_list, only_sendable=True)
            raise ValueError(f"rubricPrompt {mistake}")
    else:
        messages = chat_prompt.parse_messages(written, only_sendable=True)
    return messages or (Message("user", json.dumps(written, ensure_ascii=False)),)


def _parse_template_text(written: str) -> Template:
    """Parse a text as chat messages, or else as one message of the user. Raises ValueError."""
    mistake = _chat_mistake(written)
    if mistake and is_template(written):
        # Tags between the messages may be the reason.
        written = _render_tags(written)
        mistake = _chat_mistake(written)
    if mistake:
        raise ValueError(f"rubricPrompt looks like chat messages and {mistake}")
    return chat_prompt.parse_chat(written, only_sendable=True) or (Message("user", written),)


def _render_tags(written: str) -> str:
    """Fill in the tags of a text, and leave ``{{ variables }}`` in place. Raises ValueError if a tag uses a variable.

    The variables are filled in later, message by message, so an answer cannot end the text of a message.
    """
    try:
        variables = variables_used(_SHOWN.sub("", written))
        protected = _SHOWN.sub(lambda shown: f"{{% raw %}}{shown[0]}{{% endraw %}}", written)
        rendered = render(protected, {})
        variables |= variables_used(rendered) - variables_used(written)
    except TemplateError as e:
        raise ValueError(f"rubricPrompt cannot be filled in: {e}") from e
    if variables:
        raise ValueError(
            f"a tag between the messages of rubricPrompt asks for `{min(variables)}`: write it inside the text of a message"
        )
    return rendered


def _chat_mistake(written: str) -> str:
    """The mistake in a text that is meant as chat messages. Empty for any other text."""
    value = None
    if written.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(written)
    if chat_prompt.is_chat([value]):
        return "is one message: write a list of messages"
    return chat_prompt.chat_mistake(written, only_sendable=True)
