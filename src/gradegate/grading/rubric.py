"""Grading prompts: our own templates, or what ``rubricPrompt`` puts in their place, as chat messages to fill in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.files import document
from gradegate.texts import chat
from gradegate.texts.template import TemplateError, render, render_values, uses
from gradegate.values.conversation import Message

Template = tuple[Message, ...]  # contents and images are templates
NOT_SENT = (
    "rubricPrompt has a message that cannot be sent: the role must be known, the content a text or parts that are texts"
    " and images (image_url, input_image, or image with a source)"
)
IMAGES = ("https://", "http://", "data:image/")  # how the address of an image begins


@dataclass(frozen=True, slots=True)
class Rubric:
    """The user's grading prompts by step; "" is the prompt of a grader that asks once."""

    steps: Mapping[str, Template] = field(default_factory=dict)

    @property
    def images(self) -> bool:
        """Whether any prompt shows an image."""
        return any(message.images for template in self.steps.values() for message in template)


NO_RUBRIC = Rubric()


@cache
def default(name: str) -> Template:
    """Our prompt of that name, from ``prompts/NAME.yaml``."""
    file = f"{name}.yaml"
    content = resources.files("gradegate.grading").joinpath("prompts", file).read_bytes()
    return tuple(Message(item["role"], item["content"]) for item in document.read(content, file))


@cache
def built_in() -> frozenset[str]:
    """The variables that graders give to their prompts, whichever they are: what our own prompts ask for."""
    files = (entry for entry in resources.files("gradegate.grading").joinpath("prompts").iterdir())
    names = (entry.name.removesuffix(".yaml") for entry in files if entry.name.endswith(".yaml"))
    return frozenset().union(*(uses(message.content, ours=True) for name in names for message in default(name)))


def fill(template: Template, variables: Mapping[str, Any], ours: bool = False) -> tuple[Message, ...]:
    """Messages with their variables filled in, each once; ``ours``: they are a ``default``. Raises TemplateError."""
    if ours:
        return tuple(Message(message.role, render(message.content, variables, ours)) for message in template)
    return tuple(Message(message.role, _fill(message.content, variables), _images(message.images, variables)) for message in template)


def _images(images: Sequence[str], variables: Mapping[str, Any]) -> tuple[str, ...]:
    filled = tuple(render(image, variables).strip() for image in images)
    for image in filled:
        if not image.lower().startswith(IMAGES):
            raise TemplateError(f"{excerpt(image, 60)!r} is not an image: give an https: URL or a data: URI")
    return filled


def _fill(content: str, variables: Mapping[str, Any]) -> str:
    # JSON is filled value by value, so that a quote in an answer cannot end a string.
    if content.lstrip()[:1] in ("{", "["):
        try:
            parsed = json.loads(content)
        except ValueError:
            return render(content, variables)
        if isinstance(parsed, dict | list):
            return json.dumps(render_values(parsed, variables), ensure_ascii=False, separators=(",", ":"))
    return render(content, variables)


def parse(written: Any, steps: Sequence[str] = ()) -> Rubric:
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
            raise ValueError(f"rubricPrompt has no step `{unknown[0]}`; the steps are {', '.join(steps)}")
        return Rubric({step: _template(text) for step, text in written.items() if text})
    if isinstance(written, Sequence) and not isinstance(written, str) and len(written) == len(steps):
        return Rubric({step: _template(text) for step, text in zip(steps, written, strict=True)})
    raise ValueError(f"rubricPrompt must be a mapping or a list of {len(steps)} prompts: {', '.join(steps)}")


def _template(written: Any) -> Template:
    if isinstance(written, str):
        messages = chat.parse(written, understood=True)
        if messages is None and chat.is_chat(_parsed(written)):
            raise ValueError(NOT_SENT)
        if chat.broken(written):
            raise ValueError("rubricPrompt looks like chat messages and is not valid JSON: write it without comments and last commas")
        return messages or (Message("user", written),)
    if isinstance(written, Mapping) and isinstance(written.get("content"), str) and set(written) <= {"role", "content"}:
        return (Message(str(written.get("role") or "user"), written["content"]),)
    messages = chat.messages(written, understood=True)
    if messages is None and chat.is_chat([written] if isinstance(written, Mapping) else written):
        raise ValueError(NOT_SENT)
    return messages or (Message("user", json.dumps(written, ensure_ascii=False)),)


def _parsed(written: str) -> Any:
    try:
        return json.loads(written) if written.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return None


def shape(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of an object with exactly these properties, in this order: put the reason before the verdict."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
