"""The generateContent shape of Gemini, the same at Google AI Studio and Vertex AI.

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
from gradegate.providers.api.content import MessageForm, Part, ToolCall, ToolResult
from gradegate.structs import JsonObject

# Options of `generationConfig`, under promptfoo's names and the API's, and those beside it.
GENERATION = tuple(
    "temperature topP topK maxOutputTokens stopSequences seed presencePenalty frequencyPenalty candidateCount "
    "thinkingConfig responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution".split()
)
_ALIASES = {"top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens"}
BESIDE = ("safetySettings", "tools", "toolConfig", "systemInstruction", "cachedContent", "labels")
_OWN = "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split()
_TAKEN = MessageForm("Gemini", (*_OWN,), ("text",), typed=False, images_first=False, by_name=True)
OPTIONS = (*GENERATION, *_ALIASES, *BESIDE, "generationConfig", "service_tier", "passthrough")


class Gemini(ChatApi):
    """Questions to Gemini, and its answers; the URL names the model."""

    finished = ("STOP",)
    limit_places = (("generationConfig", "maxOutputTokens"),)

    def __init__(self, config: JsonObject) -> None:
        # Every model takes a temperature, and `body` sets it: there is nothing to try.
        super().__init__(config, heats=False)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """With a schema, else any JSON."""
        json_alone = {"responseMimeType": "application/json"}
        return ({"generationConfig": {**json_alone, "responseJsonSchema": schema}}, "schema"), (
            {"generationConfig": json_alone},
            "",
        )

    def build_body(self, request: Request) -> JsonObject:
        """The whole body."""
        system, rest = _TAKEN.split_system(request.messages)
        beside = pick_options(self.config, BESIDE)
        if isinstance(beside.get("systemInstruction"), str):
            beside["systemInstruction"] = {"parts": [{"text": beside["systemInstruction"]}]}
        named = {
            _ALIASES.get(name, name): value
            for name, value in (*self.config.items(), *request.options.items())
        }
        pieces = (
            (name.split("_"), value)
            for name, value in as_object(self.config.get("generationConfig")).items()
        )
        written = {
            first + "".join(map(str.capitalize, rest)): value for (first, *rest), value in pieces
        }
        generation = {"temperature": 0, **written, **pick_options(named, GENERATION)}
        if isinstance(generation.get("responseSchema"), str):
            generation["responseSchema"] = json.loads(generation["responseSchema"])
        if "responseSchema" in generation or "responseJsonSchema" in generation:
            generation.setdefault("responseMimeType", "application/json")
        own = {
            "contents": [
                {
                    "role": "model" if role == "assistant" else "user",
                    "parts": [_part(part) for part in parts],
                }
                for role, parts in rest
            ],
            **beside,
            **(
                {"systemInstruction": {"parts": [_part(part) for part in system]}} if system else {}
            ),
            "generationConfig": generation,
        }
        return merge_bodies(own, self.passthrough)

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The first candidate; a prompt that was blocked has none. Raises NoOutput."""
        feedback = as_object(response.get("promptFeedback"))
        if feedback.get("blockReason"):
            words = (
                feedback.get("blockReasonMessage")
                or f"the prompt was blocked: {feedback['blockReason']}"
            )
            return ModelOutput(str(words), "content_filter", True, ())
        candidates = response.get("candidates")
        if (
            not isinstance(candidates, list)
            or not candidates
            or not isinstance(candidates[0], dict)
        ):
            raise NoOutput("without a candidate")
        candidate = candidates[0]
        word = candidate.get("finishReason")
        parts = objects_in(as_object(candidate.get("content")).get("parts"))
        texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
        calls = objects_in([part.get("functionCall") for part in parts])
        finish = self.finish_reason(word, calls)
        text = text_or_calls(texts, calls)
        if finish == "content_filter":
            words = text or str(candidate.get("finishMessage") or f"the answer was blocked: {word}")
            return ModelOutput(words, finish, True, calls)
        if not parts and finish != "length":
            raise NoOutput(f"without a text (finishReason {word or 'absent'})")
        return ModelOutput(text, finish, False, calls)

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the vendor counts them, who leaves out what is 0."""
        usage = {"candidatesTokenCount": 0, **as_object(response.get("usageMetadata"))}
        return usage.get("promptTokenCount"), sum_counts(
            usage, "candidatesTokenCount", "thoughtsTokenCount"
        )


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
