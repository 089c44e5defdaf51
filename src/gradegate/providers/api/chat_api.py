"""The form of a chat API, wherever it is served: makes a body from a request, and reads the output in a response."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from gradegate.core.conversation import Reply, Request
from gradegate.errors import ProviderError
from gradegate.structs import FrozenStruct, JsonObject

# What vendors and conventions call the end of an answer, by OpenAI's word. Case does not matter, nor whether a hyphen, a
# blank or a capital joins words.
FINISH_WORDS = {
    "stop": "stop end_turn stop_sequence completed complete finished finish stop_criteria_met end eos eos_token end_of_text",
    "length": "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded token_limit",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "content_filter": "content_filter content_filtered refusal safety blocklist prohibited_content recitation spii language "
    "image_safety image_prohibited_content image_recitation model_armor escalation guardrail_intervened",
}
# Finish reasons of answers that came to their end; empty where nobody says
COMPLETE = ("", "stop", "tool_calls")
BAD_REQUEST = (400, 422)  # the statuses of a request that the endpoint does not understand
MAX_COUNT = 10**15
# Our tool, which a model has to call if its API takes no schema in another way
TOOL = "give_verdict"
# The most tokens of a grader's first reply if the config sets no limit: of a model that answers at once, and of one that reasons first.
REPLY_TOKENS = 1024
REASONING_TOKENS = 8192

# What joins a body to ask for JSON, and what the answer then is: "schema", JSON of the schema; "tool", the input of our tool;
# empty if the schema is not sent.
Form = tuple[JsonObject, str]
Send = Callable[[JsonObject, str], Reply]
Place = tuple[str, ...]  # keys on the way into a body

_PLAIN: Form = ({}, "")
_ANY_SCHEMA: Any = "any schema"  # to see which other fields a form has
_BOUNDS = ("minimum", "maximum", "minItems", "maxItems")
# Vendors refuse these keys. They constrain llama.cpp, and what is built on it, to replies that are verdicts:
# https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md#json-schemas--gbnf
_ALTERNATIVES = ("anyOf", "prefixItems")
_DATA_URI = re.compile(r"data:(image/[a-z0-9.+-]+);base64,(.*)", re.IGNORECASE | re.DOTALL)
# What may stand for the underscore between two words
_WORD_JOINT = re.compile(r"[- ]|(?<=[a-z])(?=[A-Z])")


class ModelOutput(FrozenStruct):
    """What a response says. ``text`` is the refusal if the model declined, the tool calls as JSON if it only called tools.

    ``finish_reason`` is "stop", "length", "tool_calls", "content_filter", "" if the response gives none, or the
    vendor's own word in lower case for whatever else ended the answer.
    """

    text: str
    finish_reason: str = ""
    refused: bool = False
    tool_calls: Sequence[JsonObject] = ()


class NoOutput(ValueError):
    """A response without an answer; the message goes on from "the host answered"."""


class ChatApi:
    """The form of one chat API; ``config`` is the provider's. It knows no host, no key and no header.

    ``finish_words`` are the vendor's words for an answer that has come to its end, in its own spelling. The vendor's own host
    always sends one of them. Other hosts may send known words of all vendors, or none.

    ``takes_temperature``: the model is thought to take a temperature. If it is not, the temperature of the config is sent only
    with ``insists``. What an endpoint refuses is left out of the request, and that is remembered.
    """

    finish_words: ClassVar[tuple[str, ...]] = ("stop",)
    # Whether a schema may have ranges of numbers and lengths of lists, which Anthropic, Bedrock and Azure refuse:
    # https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    # https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/structured-outputs
    takes_bounds = True
    is_vendor_host = False
    # Where in a body the limit of the answer's tokens may stand, best first
    limit_places: tuple[Place, ...] = (("max_tokens",),)
    # The names of the token counts in `usage`. Tokens that a cache read or wrote may have counts of their own.
    prompt_counts: ClassVar[tuple[str, ...]] = ("prompt_tokens",)
    answer_count = "completion_tokens"
    required_limit: ClassVar[int | None] = None  # of an API that takes no request without one

    def __init__(
        self, config: JsonObject, *, takes_temperature: bool = True, insists: bool = False
    ) -> None:
        self.config = config
        self.passthrough = as_object(config.get("passthrough"))  # joins every body as it is
        self.is_reasoning = not takes_temperature  # before it answers
        self._takes_temperature = takes_temperature
        self._insists = insists
        self._forms_left = MAX_COUNT  # counted from the last form: those before were refused
        self._refused_limits = 0  # the places before this one were refused

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """What may join a body to ask for JSON of a schema, best first."""
        return ()

    def build_body(self, request: Request) -> JsonObject:
        """The body of a request without its temperature, and without the model if the URL names it."""
        raise NotImplementedError

    def temperature_fields(self, temperature: Any) -> JsonObject:
        """The temperature, where it goes in a body."""
        return {"temperature": temperature}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The answer in a response. Raises NoOutput."""
        raise NotImplementedError

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """The tokens of prompt and answer as a response counts them; None if it does not."""
        usage = as_object(response.get("usage"))
        return sum_counts(usage, *self.prompt_counts), usage.get(self.answer_count)

    def finish_reason(self, word: Any, calls: Any = ()) -> str:
        """Why an answer ended, by the vendor's ``word``. An answer that calls the caller's tools has not come to its end."""
        if word is not None and not isinstance(word, str):
            reason = normalize_finish(repr(word))
        else:
            reason = normalize_finish(word or "")

        if self.is_vendor_host and reason in ("", "stop") and word not in self.finish_words:
            return f"unknown ({word})" if reason else "absent"
        return "tool_calls" if calls and reason in COMPLETE else reason

    @property
    def reply_tokens(self) -> int | None:
        """The limit of the config, else a default for graders; None if the config says that there is no limit."""
        place, limit = self._written_limit(self.build_body(Request(())))
        if place:
            return limit if is_count(limit) and limit else None
        if not self.limit_places[self._refused_limits :]:
            return None
        return REASONING_TOKENS if self.is_reasoning else REPLY_TOKENS

    def complete(self, request: Request, send: Send) -> Reply:
        """Send a request in the best form that the endpoint takes. Raises what ``send`` raises.

        A form counts as refused only when the same request without it is answered.
        """
        body = self.build_body(request)
        forms = [*self._forms_of(request, body), _PLAIN]
        number = first = max(len(forms) - self._forms_left, 0)
        while True:
            form, constraint = forms[number]
            try:
                reply = self._complete_in_form(
                    request, merge_bodies(body, form), constraint, send, is_first=number == first
                )
            except ProviderError as e:
                if e.status not in BAD_REQUEST or number == len(forms) - 1:
                    raise
                number += 1
            else:
                if number > first:
                    self._forms_left = len(forms) - number
                return reply

    def _forms_of(self, request: Request, body: JsonObject) -> Sequence[Form]:
        """The forms in which a request may ask for JSON, best first; none if the config itself says in which form."""
        if request.schema is None or any(
            _collide(form, body) for form, _ in self.json_forms(_ANY_SCHEMA)
        ):
            return ()
        schema = vendor_schema(request.schema, self.takes_bounds)
        forms = self.json_forms(schema)
        llama_schema = _llama_schema(request.schema)
        if llama_schema != schema and not self.is_vendor_host:
            return *self.json_forms(llama_schema)[:1], *forms
        return forms

    def _complete_in_form(
        self, request: Request, body: JsonObject, constraint: str, send: Send, *, is_first: bool
    ) -> Reply:
        """Send a body with the temperature of the request's options, of the config, or 0, and with a limit of tokens, if any.

        If the endpoint refuses a temperature or a limit that nobody wrote, it is asked without it, and this is remembered.
        An endpoint may refuse a limit in any words, as too high for its context: with the first of several forms
        (``is_first``), any refusal counts as one of the limit.
        """
        config_temperature = self.config.get("temperature")
        takes_temperature = self._takes_temperature
        temperature = config_temperature
        if takes_temperature:
            default = 0 if config_temperature is None else config_temperature
            temperature = request.options.get("temperature", default)

        written_place, _ = self._written_limit(body)
        limit = request.max_tokens
        if written_place:
            places = [written_place]
        else:
            places = [*self.limit_places[self._refused_limits :]]
            limit = limit or self.required_limit

        while True:
            temperature_fields: JsonObject = {}
            if takes_temperature or (self._insists and temperature is not None):
                temperature_fields = self.temperature_fields(temperature)
            limit_fields = _nested(places[0], limit) if places and limit else {}
            try:
                reply = send(merge_bodies(temperature_fields, body, limit_fields), constraint)
            except ProviderError as e:
                if e.status not in BAD_REQUEST:
                    raise
                may_change_limit = limit_fields and not written_place
                if (
                    takes_temperature
                    and temperature != config_temperature
                    and "temperature" in str(e)
                ):
                    takes_temperature = False
                    temperature = config_temperature
                elif may_change_limit and places[0][-1] in str(e) and len(places) > 1:
                    places.pop(0)
                elif may_change_limit and is_first and not self.required_limit:
                    places.clear()
                else:
                    raise
            else:
                self._takes_temperature = takes_temperature
                if not written_place:
                    self._refused_limits = len(self.limit_places) - len(places)
                return reply

    def _written_limit(self, body: JsonObject) -> tuple[Place, Any]:
        """Place and value of the limit of tokens in a body; an empty place if it has none."""
        for place in self.limit_places:
            value: Any = body
            for key in place:
                value = as_object(value).get(key)
            if value is not None:
                return place, value
        return (), None


# --- schemas and bodies -----------------------------------------------------------------------------------------


def vendor_schema(schema: Any, takes_bounds: bool) -> Any:
    """A JSON Schema of ours as vendors take it; without ranges of numbers and lengths of lists if an API takes none."""
    if not isinstance(schema, dict):
        return schema
    dropped_keys = _ALTERNATIVES if takes_bounds else (*_ALTERNATIVES, *_BOUNDS)
    return {
        key: vendor_schema(value, takes_bounds)
        for key, value in schema.items()
        if key not in dropped_keys
    }


def _llama_schema(schema: Any) -> Any:
    """A JSON Schema of ours without the general schema of a list's items if each item has one: llama.cpp would take the general one."""
    if not isinstance(schema, dict):
        return schema
    dropped_key = "items" if "prefixItems" in schema else ""
    return {key: _llama_schema(value) for key, value in schema.items() if key != dropped_key}


def pick_options(config: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    """The options of a config that go into the request as they are; null means that none is set."""
    return {name: config[name] for name in names if config.get(name) is not None}


def merge_bodies(*parts: JsonObject) -> JsonObject:
    """One body of several parts; later ones win, and objects under the same key are merged in turn."""
    body: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            earlier = body.get(key)
            if isinstance(value, dict) and isinstance(earlier, dict):
                body[key] = {**earlier, **value}
            else:
                body[key] = value
    return body


def _nested(place: Place, value: Any) -> JsonObject:
    """An object with a value at a place."""
    for key in reversed(place):
        value = {key: value}
    return value  # type: ignore[no-any-return]


def _collide(form: JsonObject, body: JsonObject) -> bool:
    """Whether both have the same key, or the same key in an object that both have."""
    for key in form.keys() & body.keys():
        field, body_field = form[key], body[key]
        if not (isinstance(field, dict) and isinstance(body_field, dict)):
            return True
        if field.keys() & body_field.keys():
            return True
    return False


def parse_data_uri(image: str) -> tuple[str, str] | None:
    """Media type and base64 text of a data URI; None for a URL."""
    match = _DATA_URI.fullmatch(image.strip())
    return (match[1].lower(), "".join(match[2].split())) if match else None


def is_thinking(config: JsonObject) -> bool:
    """Whether an option makes Claude think before it answers."""
    return as_object(config.get("thinking")).get("type") in ("enabled", "adaptive")


# --- responses --------------------------------------------------------------------------------------------------


def as_object(value: Any) -> JsonObject:
    """A value of a response that should be an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[JsonObject]:
    """The objects of a list of a response; other items are left out."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []


def content_blocks(content: Any) -> list[JsonObject]:
    """The blocks of a message. Raises NoOutput for anything that is not a list of objects."""
    blocks = objects_in(content)
    if not isinstance(content, list) or len(blocks) != len(content):
        raise NoOutput("without content")
    return blocks


def require_text_or_calls(texts: Sequence[str], calls: Sequence[JsonObject], finish: str) -> str:
    """The texts in one, else the tool calls as JSON. Raises NoOutput if an answer came to its end without either."""
    if not texts and not calls and finish in ("stop", ""):
        raise NoOutput("without a text")
    return text_or_calls(texts, calls)


def text_or_calls(texts: Sequence[str], calls: Any) -> str:
    """The texts in one, else the tool calls as JSON; empty for neither."""
    return "".join(texts) or (json_text(calls) if calls else "")


def json_text(calls: Any) -> str:
    """Tool calls as JSON text."""
    return json.dumps(calls, ensure_ascii=False)


def sum_counts(usage: JsonObject, *names: str) -> int | None:
    """The sum of the counts that there are; None if there is none, or if one is no count."""
    counts = [usage[name] for name in names if usage.get(name) is not None]
    return sum(counts) if counts and all(map(is_count, counts)) else None


def is_count(tokens: Any) -> bool:
    """Whether a value is a number of tokens: a whole one from 0, below any that an answer takes."""
    return type(tokens) is int and 0 <= tokens < MAX_COUNT


def normalize_finish(word: str) -> str:
    """Why an answer ended, in OpenAI's words; an unknown word stays as it is, in lower case."""
    return _REASONS.get(word) or _REASONS.get(_snake_case(word), word.strip().lower())


def _snake_case(word: str) -> str:
    return _WORD_JOINT.sub("_", word.strip()).lower()


_REASONS = {
    _snake_case(word): reason for reason, words in FINISH_WORDS.items() for word in words.split()
}
