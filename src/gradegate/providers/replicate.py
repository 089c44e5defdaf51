"""replicate: models of Replicate that answer with text, and Llama Guard for moderation.

API: https://replicate.com/docs/reference/http and https://replicate.com/docs/topics/predictions/create-a-prediction. With
``Prefer: wait=60`` the response is the prediction. A prediction that is not ready by then is looked up by its id, at the address
of the request and never at one that a reply names. Ids, the input and the categories of Llama Guard are those of promptfoo
(https://www.promptfoo.dev/docs/providers/replicate/).
"""

from collections.abc import Sequence
from typing import Any

from gradegate.core.conversation import Message, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError
from gradegate.http.exchange import Response
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.json_http import (
    HttpModel,
    base_url,
    check_part,
    need_model,
    read_key,
    request_text,
    response_id,
)
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor

_KEYS = ("REPLICATE_API_TOKEN", "REPLICATE_API_KEY")
_OURS = ("apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "prompt")
_INPUT = tuple(
    "system_prompt max_length max_new_tokens max_tokens temperature top_p top_k repetition_penalty stop_sequences seed".split()
)


@PROVIDERS.register("replicate")
class Replicate(HttpModel):
    """A model or a version of one; whatever its config has beside our own options goes into its input."""

    options = (*_OURS, *_INPUT)
    open = True
    default_graders = {"moderation": "replicate:moderation:meta/llama-guard-4-12b"}
    vendor = Vendor(
        _KEYS,
        ("api.replicate.com",),
        requests=(
            "POST /v1/predictions",
            "POST /v1/models/{owner}/{model}/predictions",
            "GET /v1/predictions/{id}",
        ),
    )
    rates = None

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "replicate:OWNER/MODEL")
        check_part(
            "model",
            model,
            r"\w[\w.-]*/\w[\w.-]*(?::\w+)?",
            setup,
            "write replicate:OWNER/MODEL or replicate:OWNER/MODEL:VERSION",
        )
        address = setup.config.get("apiBaseUrl") or "https://api.replicate.com/v1"
        self._base = base_url(setup, address)
        name, _, self._version = model.partition(":")
        path = "predictions" if self._version else f"models/{name}/predictions"
        credential = read_key(setup, *_KEYS)
        super().__init__(setup, f"{self._base}/{path}", credential, name, {"Prefer": "wait=60"})

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError for a prediction that did not end with text."""
        body: dict[str, Any] = {"input": self._model_input(request)}
        if self._version:
            body = {"version": self._version, **body}
        answer, seconds = self._post_object(body)
        status = answer.get("status")
        if status != "succeeded":
            raise ProviderError(f"{self.host} ended the prediction as `{status}`")

        output = answer.get("output")
        parts = output if isinstance(output, list) else [output]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) < len(parts):
            raise ProviderError(f"{self.host} answered with something that is not text")
        return Reply("".join(texts), Usage(1, unpriced=1, seconds=seconds), "stop")

    def _model_input(self, request: Request) -> dict[str, Any]:
        """The options, and the messages: a system's and a user's have places of their own, others are one text."""
        options = {name: value for name, value in self._config.items() if name not in _OURS}
        model_input = {**options, **request.options}

        roles = [message.role for message in request.messages]
        if roles in (["user"], ["system", "user"]):
            text = request.messages[-1].content
            if roles[0] == "system":
                model_input["system_prompt"] = request.messages[0].content
        else:
            text = request_text(request)

        affixes = as_object(self._config.get("prompt"))
        prefix = affixes.get("prefix") or ""
        suffix = affixes.get("suffix") or ""
        model_input["prompt"] = f"{prefix}{text}{suffix}"
        return model_input

    def _pending_url(self, response: Response) -> str:
        answer = as_object(response.json())
        if answer.get("status") not in ("starting", "processing"):
            return ""
        return f"{self._base}/predictions/{response_id(answer, self.host)}"


@PROVIDERS.register("replicate:moderation")
class ReplicateModeration(Replicate):
    """Llama Guard: the word safe, or the word unsafe and a line of categories, S1 to S14."""

    kinds = ("moderation",)

    def moderate(self, text: str, prompt: str) -> tuple[Sequence[str], Usage]:
        """Raises ProviderError for any other answer."""
        reply = self.complete(Request((Message("user", f"Human: {prompt}\n\nAssistant: {text}"),)))
        verdict, _, rest = reply.text.strip().partition("\n")
        if verdict.strip() == "safe":
            return [], reply.usage
        if verdict.strip() != "unsafe":
            raise ProviderError(f"{self.host} says neither safe nor unsafe")

        # The categories are in the next line, such as "S1,S10".
        line = rest.partition("\n")[0]
        names = [name.strip() for name in line.split(",")]
        categories = [name for name in names if name]
        return categories or ["unsafe"], reply.usage
