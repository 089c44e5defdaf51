"""What chat APIs share apart from where they are: a request body out of a question, and an answer out of a response."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from gradegate.core.conversation import Reply, Request
from gradegate.errors import ProviderError
from gradegate.structs import FrozenStruct, JsonObject

# What vendors and conventions call the end of an answer, in OpenAI's words; neither case matters, nor whether a hyphen, a
# blank or a capital joins words.
FINISH_WORDS = {
    "stop": "stop end_turn stop_sequence completed complete finished finish stop_criteria_met end eos eos_token end_of_text",
    "length": "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded token_limit",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "content_filter": "content_filter content_filtered refusal safety blocklist prohibited_content recitation spii language "
    "image_safety image_prohibited_content image_recitation model_armor escalation guardrail_intervened",
}
# Of answers that came to their end, and of those of which nobody says
COMPLETE = ("", "stop", "tool_calls")
# What may stand for the underscore between two words
_JOINED = re.compile(r"[- ]|(?<=[a-z])(?=[A-Z])")


def _plain(word: str) -> str:
    return _JOINED.sub("_", word.strip()).lower()


_MEANT = {_plain(word): meant for meant, words in FINISH_WORDS.items() for word in words.split()}


def normalize_finish(word: str) -> str:
    """Why an answer ended, in OpenAI's words; a word that nobody knows stays as it is, in lower case."""
    return _MEANT.get(word) or _MEANT.get(_plain(word), word.strip().lower())


MAX_COUNT = 10**15
TOOL = "give_verdict"  # our own tool, which a model is made to call where it takes no schema in another way
_DATA_URI = re.compile(r"data:(image/[a-z0-9.+-]+);base64,(.*)", re.IGNORECASE | re.DOTALL)


_BOUNDS = ("minimum", "maximum", "minItems", "maxItems")


# What vendors refuse. It constrains llama.cpp, and what is built on it, to replies that are verdicts:
# https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md#json-schemas--gbnf
_ALTERNATIVES = ("anyOf", "prefixItems")


def vendor_schema(schema: Any, takes_bounds: bool) -> Any:
    """A JSON Schema of ours as vendors take it; without ranges of numbers and lengths of lists where an API takes none."""
    left_out = _ALTERNATIVES if takes_bounds else (*_ALTERNATIVES, *_BOUNDS)

    def without(schema: Any) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        return {key: without(value) for key, value in schema.items() if key not in left_out}

    return without(schema)


def _exact(schema: Any) -> Any:
    """A JSON Schema of ours without the general schema of a list's items, where there is one for each: llama.cpp takes the general one."""
    if not isinstance(schema, Mapping):
        return schema
    left_out = "items" if "prefixItems" in schema else ""
    return {key: _exact(value) for key, value in schema.items() if key != left_out}


class ModelOutput(FrozenStruct):
    """What a response says. ``text`` is the refusal where the model declined, the tool calls as JSON where it called.

    ``finish_reason`` is "stop", "length", "tool_calls", "content_filter", "" when the response gives none, or the
    vendor's own word in lower case for whatever else ended the answer.
    """

    text: str
    finish_reason: str = ""
    refused: bool = False
    tool_calls: Sequence[JsonObject] = ()


# What joins a body to ask for JSON, and what the answer is where the endpoint keeps to it: "schema", JSON of the schema; "tool", the
# input of our own tool; empty where the schema is not sent.
Form = tuple[JsonObject, str]
Send = Callable[[JsonObject, str], Reply]
_PLAIN: Form = ({}, "")
_SOME: Any = "any schema"  # in place of one: what a request asks for beside it is what counts
BAD_REQUEST = (400, 422)  # the statuses of a request that the endpoint does not understand
# The most tokens of a grader's first reply where the config sets no limit: of a model that answers at once, and of one that reasons first.
REPLY_TOKENS = 1024
REASONING_TOKENS = 8192
Place = tuple[str, ...]  # keys on the way into a body


class NoOutput(ValueError):
    """A response without an answer; the message goes on from "the host answered"."""


class ChatApi:
    """The form of one chat API; ``config`` is the provider's. A shape knows no host, no key and no header.

    ``finished`` are the vendor's words for an answer that has come to its end, in its own spelling: at its ``own`` hosts
    no other word will do, and there is always one. Elsewhere known words of all vendors do, and none at all.

    ``heats``: the model is thought to take a temperature; where it is not, what the config sets is sent only if it ``insists``. What an
    endpoint refuses is left out of the request, and that is remembered.
    """

    finished: ClassVar[tuple[str, ...]] = ("stop",)
    # Whether a schema may have ranges of numbers and lengths of lists, which Anthropic, Bedrock and Azure refuse:
    # https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    # https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/structured-outputs
    takes_bounds = True
    own = False
    # Where in a body the limit of the answer's tokens may stand, best first.
    limit_places: tuple[Place, ...] = (("max_tokens",),)
    # The names of the counts of tokens in `usage`; what a cache read or wrote may have counts of its own.
    prompt_counts: ClassVar[tuple[str, ...]] = ("prompt_tokens",)
    answer_count = "completion_tokens"
    required_limit: ClassVar[int | None] = None  # of an API that takes no request without one

    def __init__(
        self,
        config: JsonObject,
        *,
        heats: bool = True,
        insists: bool = False,
    ) -> None:
        self.config = config
        self.passthrough = as_object(config.get("passthrough"))  # joins every body as it is
        self._heats = heats
        self._insists = insists
        self.reasons = not heats  # before it answers
        self._forms_left = MAX_COUNT  # counted from the last one; those before were refused
        self._refused_limits = 0  # the places before this one were refused

    @property
    def reply_tokens(self) -> int | None:
        """The limit that the config sets, else a default for graders; None where the config says that there is none."""
        place, limit = self._written_limit(self.build_body(Request(())))
        if place:
            return limit if is_count(limit) and limit else None
        if not self.limit_places[self._refused_limits :]:
            return None
        return REASONING_TOKENS if self.reasons else REPLY_TOKENS

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """What may join a body to ask for JSON of a schema, best first."""
        return ()

    def complete(self, request: Request, send: Send) -> Reply:
        """Send the question in the best form that the endpoint takes. Raises what ``send`` raises.

        A form counts as refused only when the same question without it is answered.
        """
        body = self.build_body(request)
        # The config itself says in which form
        is_set = any(_collide(form, body) for form, _ in self.json_forms(_SOME))
        forms: list[Form] = []
        if request.schema is not None and not is_set:
            exact = _exact(request.schema)
            schema = vendor_schema(request.schema, self.takes_bounds)
            if exact != schema and not self.own:
                forms += self.json_forms(exact)[:1]
            forms += self.json_forms(schema)
        first = max(len(forms) - self._forms_left, 0)
        for number in range(first, len(forms) + 1):
            form, holds = (*forms, _PLAIN)[number]
            try:
                reply = self._ask(
                    request, merge_bodies(body, form), holds, send, is_first=number == first
                )
                break
            except ProviderError as e:
                if e.status not in BAD_REQUEST or number == len(forms):
                    raise
        if number > first:
            self._forms_left = len(forms) - number
        return reply

    def _ask(
        self, request: Request, body: JsonObject, holds: str, send: Send, *, is_first: bool
    ) -> Reply:
        """With ``temperature`` of the request's options, of the config, or 0, and with a limit of tokens where there is one.

        Where the model does not take what nobody wrote, it is asked without that, and this is remembered. A limit may be refused in
        any words, as too high for its context: the ``is_first`` of several forms is asked without one.
        """
        own = self.config.get("temperature")
        heats = self._heats
        heat = request.options.get("temperature", 0 if own is None else own) if heats else own
        written, _ = self._written_limit(body)
        limit = request.max_tokens or (None if written else self.required_limit)
        places = [written] if written else [*self.limit_places[self._refused_limits :]]
        while True:
            heated = self.temperature_fields(
                {"temperature": heat} if heats or (self._insists and heat is not None) else {}
            )
            limited = _nested(places[0], limit) if places and limit else {}
            try:
                reply = send(merge_bodies(heated, body, limited), holds)
            except ProviderError as e:
                if e.status not in BAD_REQUEST:
                    raise
                if heats and heat != own and "temperature" in str(e):
                    heats = False
                    heat = own
                elif limited and not written and places[0][-1] in str(e) and len(places) > 1:
                    places.pop(0)
                elif limited and not written and is_first and not self.required_limit:
                    places.clear()
                else:
                    raise
            else:
                self._heats = heats
                if not written:
                    self._refused_limits = len(self.limit_places) - len(places)
                return reply

    def _written_limit(self, body: JsonObject) -> tuple[Place, Any]:
        """Where a body has a limit of tokens, and which; an empty place where it has none."""
        for place in self.limit_places:
            value: Any = body
            for key in place:
                value = as_object(value).get(key)
            if value is not None:
                return place, value
        return (), None

    def build_body(self, request: Request) -> JsonObject:
        """The body of a request, without what names the model where the URL does."""
        raise NotImplementedError

    def temperature_fields(self, heat: JsonObject) -> JsonObject:
        """Where in a body the temperature goes; ``heat`` has it, or is empty."""
        return heat

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The answer in a response. Raises NoOutput."""
        raise NotImplementedError

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """The tokens of prompt and answer as a response counts them; None where it does not."""
        usage = as_object(response.get("usage"))
        return sum_counts(usage, *self.prompt_counts), usage.get(self.answer_count)

    def finish_reason(self, word: Any, calls: Any = ()) -> str:
        """Why an answer ended, by the vendor's ``word``; one that calls tools of the caller's has not come to its end."""
        end = normalize_finish(
            "" if word is None else word if isinstance(word, str) else repr(word)
        )
        if self.own and end in ("", "stop") and word not in self.finished:
            return f"unknown ({word})" if end else "absent"
        return "tool_calls" if calls and end in COMPLETE else end


def pick_options(config: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    """The options of a config that go into the request as they are; null means that none is set."""
    return {name: config[name] for name in names if config.get(name) is not None}


def parse_data_uri(image: str) -> tuple[str, str] | None:
    """Media type and base64 text of a data URI; None for a URL."""
    match = _DATA_URI.fullmatch(image.strip())
    return (match[1].lower(), "".join(match[2].split())) if match else None


def merge_bodies(*parts: JsonObject) -> JsonObject:
    """The parts in one; later ones win, and objects under the same key are joined in turn."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            both = key in whole and isinstance(value, Mapping) and isinstance(whole[key], Mapping)
            whole[key] = {**whole[key], **value} if both else value
    return whole


def _nested(place: Place, value: Any) -> JsonObject:
    """An object with a value at a place."""
    for key in reversed(place):
        value = {key: value}
    return value  # type: ignore[no-any-return]


def _collide(form: JsonObject, body: JsonObject) -> bool:
    """Whether both say something of the same: the same key, or the same key of an object that both have."""
    return any(
        not (isinstance(value, Mapping) and isinstance(body[key], Mapping))
        or not value.keys().isdisjoint(body[key])
        for key, value in form.items()
        if key in body
    )


def as_object(value: Any) -> JsonObject:
    """A value of a response that should be an object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects_in(value: Any) -> list[JsonObject]:
    """The objects of a list of a response; other items are left out."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict | Mapping)]
    return []


def content_blocks(content: Any) -> list[JsonObject]:
    """The blocks of a message. Raises NoOutput for anything that is not a list of objects."""
    found = objects_in(content)
    if not isinstance(content, list) or len(found) != len(content):
        raise NoOutput("without content")
    return found


def require_text_or_calls(texts: Sequence[str], calls: Sequence[JsonObject], finish: str) -> str:
    """The texts in one, else the tool calls as JSON. Raises NoOutput where an answer came to its end without either."""
    if not texts and not calls and finish in ("stop", ""):
        raise NoOutput("without a text")
    return text_or_calls(texts, calls)


def text_or_calls(texts: Sequence[str], calls: Any) -> str:
    """The texts in one, else the tool calls as JSON; empty for neither."""
    return "".join(texts) or (json_text(calls) if calls else "")


def is_thinking(config: JsonObject) -> bool:
    """Whether an option makes Claude think before it answers."""
    return as_object(config.get("thinking")).get("type") in ("enabled", "adaptive")


def sum_counts(usage: JsonObject, *names: str) -> int | None:
    """The sum of the counts that there are; None for none, and where one is no count."""
    counts = [usage[name] for name in names if usage.get(name) is not None]
    return sum(counts) if counts and all(map(is_count, counts)) else None


def is_count(tokens: Any) -> bool:
    """Whether a value is a number of tokens: a whole one from 0, as no answer takes more."""
    return type(tokens) is int and 0 <= tokens < MAX_COUNT


def json_text(calls: Any) -> str:
    """Tool calls as JSON text."""
    return json.dumps(calls, ensure_ascii=False)
