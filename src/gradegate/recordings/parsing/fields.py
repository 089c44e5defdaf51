"""Parses what several formats of recorded answers have in common: texts, numbers, usage and tool calls."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import encodable, to_json
from gradegate.providers.api.content import names_in_call, uniform_call
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer, RecordingFile
from gradegate.structs import JsonObject

_CALL_CURE = (
    'write {"id": ..., "type": "function", "function": {"name": ..., "arguments": "{...}"}}'
)


def read_rows(
    files: Iterable[RecordingFile], parse_row: Callable[[Any, Origin], RecordedAnswer]
) -> list[RecordedAnswer]:
    """Parse each row of the files into an answer. Raises ConfigError with the mistakes of all rows."""
    answers = []
    mistakes: list[Mistake] = []
    for file in files:
        for row in file.rows:
            origin = Origin(file.name, getattr(row, "line", 0))
            try:
                answers.append(parse_row(row, origin))
            except ConfigError as e:
                mistakes += e.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    return answers


# --- values ---------------------------------------------------------------------------------------------------


def as_text(value: Any) -> str | None:
    """An output as text: any value except a text becomes JSON, as in promptfoo. None stays None."""
    return value if value is None or isinstance(value, str) else to_json(value)


def as_mapping(value: Any) -> JsonObject:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def parse_texts(value: Any, key: str, origin: Origin) -> tuple[str, ...]:
    """Parse a text or a list of texts under a key. Blank texts are left out. Raises ConfigError."""
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        what = f"`{key}` is neither a text nor a list of texts"
        raise ConfigError.at(what, origin, "write a list of texts")
    return tuple(text for text in texts if text.strip())


def first_text(texts: Iterable[str]) -> str:
    """The first text that is not empty, else an empty text."""
    return next(filter(None, texts), "")


def unwritable_part(value: Any) -> str:
    """Say what in a value cannot be written into a report. Empty if everything can."""
    if isinstance(value, str) and encodable(value) != value:
        return "a text contains half of a surrogate pair, which is not valid Unicode"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number is not finite (NaN, or too large)"
    if isinstance(value, Mapping):
        return first_text(unwritable_part(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return first_text(map(unwritable_part, value))
    return ""


# --- usage ----------------------------------------------------------------------------------------------------

MAX_AMOUNT = 1e15  # no answer takes so many tokens, dollars or milliseconds
# Names of vendors for the tokens of the prompt and of the answer
_PROMPT_TOKENS = ("prompt_tokens", "input_tokens", "prompt")
_COMPLETION_TOKENS = ("completion_tokens", "output_tokens", "completion")


def parse_number(value: Any) -> float | None:
    """A number from 0 to ``MAX_AMOUNT``; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MAX_AMOUNT else None


def first_number(values: JsonObject, names: Iterable[str]) -> float | None:
    """The first number under one of the names; None without numbers."""
    for name in names:
        number = parse_number(values.get(name))
        if number is not None:
            return number
    return None


def parse_usage(
    tokens: JsonObject, cost: float | None = None, seconds: float | None = None
) -> Usage:
    """What an answer took: its tokens by the names of any vendor, its cost in dollars, and its time."""
    prompt_tokens = first_number(tokens, _PROMPT_TOKENS)
    completion_tokens = first_number(tokens, _COMPLETION_TOKENS)
    if (prompt_tokens, completion_tokens, cost, seconds) == (None, None, None, None):
        return NO_USAGE
    return Usage(
        calls=1,
        prompt_tokens=int(prompt_tokens or 0),
        completion_tokens=int(completion_tokens or 0),
        cost=cost or 0.0,
        unpriced=int(cost is None),
        seconds=seconds or 0.0,
        untimed=int(seconds is None),
    )


def check_tokens(tokens: JsonObject, origin: Origin) -> None:
    """Raises ConfigError if a count of tokens is not a number from 0."""
    for name in (*_PROMPT_TOKENS, *_COMPLETION_TOKENS):
        if tokens.get(name) is not None and parse_number(tokens[name]) is None:
            what = f"`{name}` of `usage` is not a number of tokens"
            raise ConfigError.at(what, origin, "write a number from 0, or leave it out")


# --- tool calls -----------------------------------------------------------------------------------------------


def parse_tool_calls(value: Any, origin: Origin) -> tuple[JsonObject, ...] | None:
    """Parse a list of calls, each as ``parse_tool_call`` does. None stays None. Raises ConfigError."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise ConfigError.at("`tool_calls` is not a list", origin, _CALL_CURE)
    return tuple(parse_tool_call(item, origin) for item in value)


def parse_tool_call(item: Any, origin: Origin) -> JsonObject:
    """Parse a call of any vendor, or ``{name, arguments}``, into OpenAI's form with its arguments as JSON text.

    Raises ConfigError if the call does not name exactly one function.
    """
    names = names_in_call(item)
    if not names:
        raise ConfigError.at("a tool call has no name of a function", origin, _CALL_CURE)
    if len(names) > 1:
        raise ConfigError.at("a tool call has two names", origin, _CALL_CURE)
    if not names.pop().strip().isprintable():
        what = "the name of a tool call contains an invisible character"
        raise ConfigError.at(what, origin, _CALL_CURE)
    return normalize_call(item)


def normalize_call(item: JsonObject) -> JsonObject:
    """A call in OpenAI's form, without blanks around its name."""
    call = uniform_call(item)
    function = call["function"]
    return {**call, "function": {**function, "name": function["name"].strip()}}


def call_identity(call: JsonObject) -> tuple[str, str]:
    """Name and arguments of a call. Arguments with the same JSON value are equal, whatever their blanks and order."""
    function = call["function"]
    arguments = function["arguments"]
    with suppress(ValueError, RecursionError):  # what is not JSON is compared as text
        arguments = json.dumps(json.loads(arguments), sort_keys=True)
    return function["name"], arguments
