"""replicate: models of Replicate that answer with text, and Llama Guard for moderation.

API: https://replicate.com/docs/reference/http and https://replicate.com/docs/topics/predictions/create-a-prediction. With
``Prefer: wait=60`` the answer to the question is the prediction; one that is not ready by then is looked at by its id, at the address
that was asked and never at one that a reply names. Ids, the input and the categories of Llama Guard are those of promptfoo
(https://www.promptfoo.dev/docs/providers/replicate/).
"""

from collections.abc import Sequence

from gradegate.core.conversation import Message, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError
from gradegate.http.exchange import Response
from gradegate.providers.api.chat_api import members
from gradegate.providers.api.json_http import (
    Model,
    base_url,
    id_of,
    must_be,
    need_model,
    one_text,
    read_key,
)
from gradegate.providers.api.provider import PROVIDERS, Setting
from gradegate.security.vendors import Vendor

_KEYS = ("REPLICATE_API_TOKEN", "REPLICATE_API_KEY")
_OURS = ("apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "prompt")
_INPUT = tuple(
    "system_prompt max_length max_new_tokens max_tokens temperature top_p top_k repetition_penalty stop_sequences seed".split()
)


@PROVIDERS.register("replicate")
class Replicate(Model):
    """A model or a version of one; whatever its config has beside our own options goes into its input."""

    options = (*_OURS, *_INPUT)
    open = True
    siblings = {"moderation": "replicate:moderation:meta/llama-guard-4-12b"}
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

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "replicate:OWNER/MODEL")
        config = setting.config
        must_be(
            "model",
            model,
            r"\w[\w.-]*/\w[\w.-]*(?::\w+)?",
            setting,
            "write replicate:OWNER/MODEL or replicate:OWNER/MODEL:VERSION",
        )
        self._base = base_url(setting, config.get("apiBaseUrl") or "https://api.replicate.com/v1")
        name, _, self._version = model.partition(":")
        url = (
            f"{self._base}/predictions"
            if self._version
            else f"{self._base}/models/{name}/predictions"
        )
        super().__init__(setting, url, read_key(setting, *_KEYS), name, {"Prefer": "wait=60"})

    def complete(self, request: Request) -> Reply:
        """A system's message and a user's go where the model has a place for each; other messages are one text. Raises ProviderError."""
        roles = [message.role for message in request.messages]
        apart = roles in (["user"], ["system", "user"])
        system = (
            {"system_prompt": request.messages[0].content} if apart and roles[0] == "system" else {}
        )
        around = members(self._config.get("prompt"))
        prompt = f"{around.get('prefix') or ''}{request.messages[-1].content if apart else one_text(request)}{around.get('suffix') or ''}"
        own = {name: value for name, value in self._config.items() if name not in _OURS}
        body = {"input": {**own, **request.options, **system, "prompt": prompt}}
        answer, seconds = self._post({"version": self._version, **body} if self._version else body)
        if answer.get("status") != "succeeded":
            raise ProviderError(f"{self.host} ended the prediction as `{answer.get('status')}`")
        output = answer.get("output")
        parts = output if isinstance(output, list) else [output]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) < len(parts):
            raise ProviderError(f"{self.host} answered with something that is not text")
        return Reply("".join(texts), Usage(1, unpriced=1, seconds=seconds), "stop")

    def _pending_url(self, response: Response) -> str:
        answer = members(response.json())
        if answer.get("status") not in ("starting", "processing"):
            return ""
        return f"{self._base}/predictions/{id_of(answer, self.host)}"


@PROVIDERS.register("replicate:moderation")
class ReplicateModeration(Replicate):
    """Llama Guard: the word safe, or the word unsafe and a line of categories, S1 to S14."""

    kinds = ("moderation",)

    def moderate(self, text: str, prompt: str) -> tuple[Sequence[str], Usage]:
        """Raises ProviderError for any other answer."""
        reply = self.complete(Request((Message("user", f"Human: {prompt}\n\nAssistant: {text}"),)))
        verdict, *lines = [line.strip() for line in reply.text.strip().split("\n")]
        if verdict not in ("safe", "unsafe"):
            raise ProviderError(f"{self.host} says neither safe nor unsafe")
        flags = [name.strip() for name in lines[0].split(",") if name.strip()] if lines else []
        return ([] if verdict == "safe" else flags or ["unsafe"]), reply.usage
