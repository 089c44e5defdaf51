"""The generateContent API of Gemini, the same at Google AI Studio and Vertex AI.

API: https://ai.google.dev/api/generate-content, as in the types of the ``google-genai`` package 3.4:
``responseJsonSchema`` takes JSON Schema; parts with ``thought`` are reasoning.
"""

import json
from collections.abc import Sequence
from typing import Any

from gradegate.core.conversation import Image, Request
from gradegate.providers.api.chat_api import (
    ChatApi,
    Form,
    ModelOutput,
    NoOutput,
    as_object,
    merge_bodies,
    objects_in,
    parse_data_uri,
    pick_options,
    sum_counts,
    text_or_calls,
)
from gradegate.providers.api.content import MessageForm, Part, Parts, ToolCall, ToolResult
from gradegate.structs import JsonObject

# Options of `generationConfig`, under promptfoo's names and the API's, and those beside it
GENERATION = tuple(
    "temperature topP topK maxOutputTokens stopSequences seed presencePenalty frequencyPenalty candidateCount "
    "thinkingConfig responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution".split()
)
_ALIASES = {"top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens"}
BODY_OPTIONS = (
    "safetySettings",
    "tools",
    "toolConfig",
    "systemInstruction",
    "cachedContent",
    "labels",
)
OPTIONS = (*GENERATION, *_ALIASES, *BODY_OPTIONS, "generationConfig", "service_tier", "passthrough")
_MESSAGE_FORM = MessageForm(
    "Gemini",
    tuple(
        "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split()
    ),
    ("text",),
    typed=False,
    images_first=False,
    results_by_name=True,
)
_ROLES = {"user": "user", "assistant": "model"}
_JSON = {"responseMimeType": "application/json"}


class Gemini(ChatApi):
    """Requests to Gemini and its answers; the URL names the model."""

    finish_words = ("STOP",)
    limit_places = (("generationConfig", "maxOutputTokens"),)

    def __init__(self, config: JsonObject) -> None:
        # Every model takes a temperature, and the body has it: there is nothing to try.
        super().__init__(config, takes_temperature=False)

    @property
    def response_schema(self) -> Any:
        """``responseSchema`` as the config writes it, a mapping or JSON text; None for no schema."""
        return self._written_generation(Request(())).get("responseSchema")

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """With a schema, else any JSON."""
        with_schema = {**_JSON, "responseJsonSchema": schema}
        return ({"generationConfig": with_schema}, "schema"), ({"generationConfig": _JSON}, "")

    def build_body(self, request: Request) -> JsonObject:
        """The whole body."""
        system, conversation = _MESSAGE_FORM.split_system(request.messages)
        contents = [{"role": _ROLES[role], **_content(parts)} for role, parts in conversation]
        body: dict[str, Any] = {"contents": contents, **pick_options(self.config, BODY_OPTIONS)}
        if isinstance(body.get("systemInstruction"), str):
            body["systemInstruction"] = {"parts": [{"text": body["systemInstruction"]}]}
        if system:
            body["systemInstruction"] = _content(system)
        body["generationConfig"] = self._generation_config(request)
        return merge_bodies(body, self.passthrough)

    def _generation_config(self, request: Request) -> JsonObject:
        """``generationConfig`` of a body."""
        generation = self._written_generation(request)
        if isinstance(generation.get("responseSchema"), str):
            generation["responseSchema"] = json.loads(generation["responseSchema"])
        if "responseSchema" in generation or "responseJsonSchema" in generation:
            generation.setdefault("responseMimeType", "application/json")
        return generation

    def _written_generation(self, request: Request) -> dict[str, Any]:
        """``generationConfig`` as the options of the config and of a request say, under the names of the API."""
        generation: dict[str, Any] = {"temperature": 0}
        for name, value in as_object(self.config.get("generationConfig")).items():
            first, *words = name.split("_")
            generation[first + "".join(map(str.capitalize, words))] = value

        options = {}
        for config in (self.config, request.options):
            for name, value in config.items():
                options[_ALIASES.get(name, name)] = value
        return {**generation, **pick_options(options, GENERATION)}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The first candidate; a prompt that was blocked has none. Raises NoOutput."""
        feedback = as_object(response.get("promptFeedback"))
        block_reason = feedback.get("blockReason")
        if block_reason:
            message = feedback.get("blockReasonMessage")
            text = str(message or f"the prompt was blocked: {block_reason}")
            return ModelOutput(text, "content_filter", True, ())

        candidates = response.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(candidate, dict):
            raise NoOutput("without a candidate")
        parts = objects_in(as_object(candidate.get("content")).get("parts"))
        texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
        calls = objects_in([part.get("functionCall") for part in parts])
        text = text_or_calls(texts, calls)

        word = candidate.get("finishReason")
        finish = self.finish_reason(word, calls)
        if finish == "content_filter":
            message = candidate.get("finishMessage") or f"the answer was blocked: {word}"
            return ModelOutput(text or str(message), finish, True, calls)
        if not parts and finish != "length":
            raise NoOutput(f"without a text (finishReason {word or 'absent'})")
        return ModelOutput(text, finish, False, calls)

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the vendor counts them, who leaves out what is 0."""
        usage = {"candidatesTokenCount": 0, **as_object(response.get("usageMetadata"))}
        answer_tokens = sum_counts(usage, "candidatesTokenCount", "thoughtsTokenCount")
        return usage.get("promptTokenCount"), answer_tokens


def _content(parts: Parts) -> JsonObject:
    return {"parts": [_part(part) for part in parts]}


def _part(part: Part) -> JsonObject:
    match part:
        case Image():
            encoded = parse_data_uri(part)
            if encoded:
                return {"inlineData": {"mimeType": encoded[0], "data": encoded[1]}}
            return {"fileData": {"fileUri": part.strip()}}
        case str():
            return {"text": part}
        case ToolCall():
            return {"functionCall": {"name": part.name, "args": part.arguments}}
        case ToolResult():
            return {"functionResponse": {"name": part.name, "response": {"output": part.content}}}
    return part
