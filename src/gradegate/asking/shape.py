"""What chat APIs share apart from where they are: a request body out of a question, and an answer out of a response."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gradegate.asking.finish import WHOLE, ended
from gradegate.asking.negotiation import SendWay, Structure, Temperature, Way
from gradegate.values.conversation import Reply, Request

JsonObject = Mapping[str, Any]
MOST = 10**15
TOOL = "give_verdict"  # our own tool, which a model is made to call where it takes no schema in another way
_DATA_URI = re.compile(r"data:(image/[a-z0-9.+-]+);base64,(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """What a response says. ``text`` is the refusal where the model declined, the tool calls as JSON where it called.

    ``finish_reason`` is "stop", "length", "tool_calls", "content_filter", "" when the response gives none, or the
    vendor's own word in lower case for whatever else ended the answer.
    """

    text: str
    finish_reason: str = ""
    refused: bool = False
    tool_calls: Sequence[JsonObject] = ()


class NoOutput(ValueError):
    """A response without an answer; the message goes on from "the host answered"."""


class Shape:
    """The form of one chat API; ``config`` is the provider's. A shape knows no host, no key and no header.

    ``finished`` are the vendor's words for an answer that has come to its end, in its own spelling: at its ``own`` hosts
    no other word will do, and there is always one. Elsewhere known words of all vendors do, and none at all.
    """

    finished: ClassVar[tuple[str, ...]] = ("stop",)
    own = False

    def __init__(self, config: JsonObject, structure: Structure, temperature: Temperature) -> None:
        self.config = config
        self._structure = structure
        self._temperature = temperature

    def ask(self, request: Request, send: SendWay) -> Reply:
        """Send the question in the best form that the endpoint takes. Raises what ``send`` raises."""
        body = self.body(request)
        schema = None if self._structure.is_set(body) else request.schema  # the config itself says in which form

        def in_form(form: JsonObject, way: Way) -> Reply:
            return self._temperature.ask(request.options, lambda heat: send(joined(self.heated(heat), body, form), way))

        return self._structure.ask(schema, in_form)

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request, without what names the model where the URL does."""
        raise NotImplementedError

    def heated(self, heat: JsonObject) -> JsonObject:
        """Where in a body the temperature goes; ``heat`` has it, or is empty."""
        return heat

    def read(self, response: JsonObject) -> ModelOutput:
        """The answer in a response. Raises NoOutput."""
        raise NotImplementedError

    def tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """The tokens of prompt and answer as a response counts them; None where it does not."""
        raise NotImplementedError

    def ended(self, word: Any, calls: Any = ()) -> str:
        """Why an answer ended, by the vendor's ``word``; one that calls tools of the caller's has not come to its end."""
        end = ended("" if word is None else word if isinstance(word, str) else repr(word))
        if self.own and end in ("", "stop") and word not in self.finished:
            return f"unknown ({word})" if end else "absent"
        return "tool_calls" if calls and end in WHOLE else end


def picked(config: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    """The options of a config that go into the request as they are; null means that none is set."""
    return {name: config[name] for name in names if config.get(name) is not None}


def base64_image(image: str) -> tuple[str, str] | None:
    """Media type and base64 text of a data URI; None for a URL."""
    match = _DATA_URI.fullmatch(image.strip())
    return (match[1].lower(), "".join(match[2].split())) if match else None


def joined(*parts: JsonObject) -> dict[str, Any]:
    """The parts in one; later ones win, and objects under the same key are joined in turn."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            both = key in whole and isinstance(value, Mapping) and isinstance(whole[key], Mapping)
            whole[key] = {**whole[key], **value} if both else value
    return whole


def members(value: Any) -> JsonObject:
    """A value of a response that should be an object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[JsonObject]:
    """The objects of a list of a response; other items are left out."""
    return [item for item in value if isinstance(item, dict | Mapping)] if isinstance(value, list) else []


def blocks(content: Any) -> list[JsonObject]:
    """The blocks of a message. Raises NoOutput for anything that is not a list of objects."""
    found = objects(content)
    if not isinstance(content, list) or len(found) != len(content):
        raise NoOutput("without content")
    return found


def text_of(texts: Sequence[str], calls: Sequence[JsonObject], finish: str) -> str:
    """The texts in one, else the tool calls as JSON. Raises NoOutput where an answer came to its end without either."""
    if not texts and not calls and finish in ("stop", ""):
        raise NoOutput("without a text")
    return "".join(texts) or (as_text(calls) if calls else "")


def total(usage: JsonObject, *names: str) -> int | None:
    """The sum of the counts that there are; None for none, and where one is no count."""
    counts = [usage[name] for name in names if usage.get(name) is not None]
    return sum(counts) if counts and all(map(is_count, counts)) else None


def is_count(tokens: Any) -> bool:
    """Whether a value is a number of tokens: a whole one from 0, as no answer takes more."""
    return type(tokens) is int and 0 <= tokens < MOST


def as_text(calls: Any) -> str:
    """Tool calls as JSON text."""
    return json.dumps(calls, ensure_ascii=False)
