"""What providers share that speak JSON over HTTP: sending, the vendor's words in an error, usage."""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from gradegate.core.conversation import Request
from gradegate.core.numbers import format_count
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.client import RETRIED_STATUSES, Client, PendingUrl
from gradegate.http.credentials import NO_CREDENTIAL, NO_FIELDS, Credential, FixedKey
from gradegate.http.exchange import Response
from gradegate.providers.api.chat_api import as_text, is_count, members, objects
from gradegate.providers.api.prices import is_number, rates
from gradegate.providers.api.provider import Provider, Setting, secret
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts
from gradegate.templating import chat_prompt

# The key, the model or the address is wrong: the same answer comes to every call.
SETUP_STATUSES = frozenset({401, 403, 404, 405, 407, 410})
SETUP_CODES = frozenset(
    {
        "model_not_found",
        "invalid_api_key",
        "model_not_available",
        "DeploymentNotFound",
        "API_KEY_INVALID",
    }
)
# The prompt was blocked: https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter
FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
# Of an address: a query, a fragment, `.` and `..` in its path, also written with a percent sign, and what some take for a slash.
_LEADS_ELSEWHERE = re.compile(r"[?#\\]|/(?:\.|%2e)+(?:/|$)", re.IGNORECASE)
# Options of providers: where the API is and who asks, and what it costs.
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiHost", "apiBaseUrl", "headers", "passthrough")


def base_url(setting: Setting, written: Any, *, whole: bool = False) -> str:
    """An address of a config or of the environment, without the slash at its end. Raises ConfigError for anything else.

    Unless it is the ``whole`` address of an application, the provider adds the end of the path: with a query, a fragment or dots
    in between, its key would go to another API.
    """
    url = str(written).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        fine = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and (whole or not _LEADS_ELSEWHERE.search(url))
        )
    except ValueError:
        fine = False
    if not fine:
        cure = "write the whole address, such as https://host/v1, without a query"
        raise setting.mistake(f"`{url}` is not an address for `{setting.spec.id}`", cure)
    return url


def place(setting: Setting, host_variable: str, variables: Sequence[str], own: str) -> str:
    """``apiHost`` or ``apiBaseUrl``, else the same by the variables of the environment, else the vendor's own. Raises ConfigError."""
    config = setting.config
    env = setting.env
    host = config.get("apiHost")
    base = config.get("apiBaseUrl")
    if not host and not base:
        host = env.get(host_variable)
        base = env.address(*variables)
    return base_url(setting, f"https://{host}/v1" if host else base or own)


def host_of(url: str) -> str:
    """Host and port of a URL, without a user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


# One part of a path, or the name of a host, that comes from a config
PART = r"[\w-]+(?:\.[\w-]+)*"


def must_be(kind: str, text: str, pattern: str, setting: Setting, cure: str) -> None:
    """Raises ConfigError for a part of an address that is not of its form."""
    if not re.fullmatch(pattern, text, re.ASCII):
        raise setting.mistake(f"`{text}` is no {kind} for `{setting.spec.id}`", cure)


def read_key(
    setting: Setting, *names: str, header: str = "Authorization", needed: bool = True
) -> FixedKey:
    """The provider's key, which goes into a header. Raises ConfigError when there is none and one is ``needed``."""
    key = secret(setting, *names)
    if needed and not key:
        variable = str(setting.config.get("apiKeyEnvar") or names[0])
        raise setting.keyless(
            "", f"set {variable}, or `apiKey` or `apiKeyEnvar` in its config", variable
        )
    return FixedKey(key, header)


def need_model(setting: Setting, example: str, kinds: Sequence[str] = ()) -> str:
    """The model of the id, or of ``model`` in the config. Raises ConfigError when neither names one, or the id only one of these kinds."""
    model = setting.model or str(setting.config.get("model") or "")
    if not model or model.partition(":")[0] in kinds:
        cure = "write it after the colon" if model else f"write {example}"
        raise setting.mistake(f"`{setting.spec.id}` names no model", cure)
    return model


def one_text(request: Request) -> str:
    """A question for an API that takes no messages: the prompt as it is written, else all messages as JSON."""
    prompt = own_prompt(request)
    return as_text(plain_messages(request)) if prompt is None else prompt


def own_prompt(request: Request) -> str | None:
    """The prompt as it is written, or the one message; None where only all messages together are the question."""
    is_alone = len(request.messages) == 1
    if request.prompt and (is_alone or chat_prompt.parse_chat(request.prompt)):
        return request.prompt
    return request.messages[0].content if is_alone else None


def plain_messages(request: Request) -> list[dict[str, str]]:
    """Role and content of each message."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def need_text(text: Any, host: str) -> str:
    """The text of an answer. Raises ProviderError for anything else."""
    if not isinstance(text, str):
        raise ProviderError(f"{host} answered without a text")
    return text


def post(
    client: Client,
    url: str,
    body: Any,
    *,
    headers: NamedTexts = NO_FIELDS,
    credential: Credential = NO_CREDENTIAL,
    pending_url: PendingUrl | None = None,
) -> tuple[Any, float]:
    """Send JSON; give the JSON that came back and the seconds it took. Raises ProviderError."""
    answer = client.send(
        "POST", url, headers=headers, body=body, credential=credential, pending_url=pending_url
    )
    if not answer.is_success:
        raise refusal(answer)
    content = answer.json()
    # Some gateways answer 200 with an error inside
    if isinstance(content, dict) and content.get("error"):
        raise ProviderError(f"{answer.host}: {words(content)}", status=answer.status)
    return content, answer.seconds


def refusal(answer: Response) -> ProviderError:
    """The error that an answer with an error status means, in the vendor's words."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = excerpt(answer.body[:1200].decode("utf-8", "replace").strip(), 300)
    # The codes in an error body: `error.code` of OpenAI and Azure, `error.details[].reason` of Google.
    error = members(members(body[0] if isinstance(body, list) and body else body).get("error"))
    reasons = [item.get("reason") for item in objects(error.get("details"))]
    codes = {code for code in (error.get("code"), *reasons) if isinstance(code, str)}
    setup = answer.status in SETUP_STATUSES or codes & SETUP_CODES
    what = {
        401: "the key was refused",
        403: "access was denied",
        404: "no such model or address",
    }.get(answer.status, "")
    if 300 <= answer.status < 400:
        setup = True
        to = host_of(answer.headers.get("location", "")) or "another place"
        what = f"it redirects to {to}; gradegate does not follow redirects, so the key stays with its host"
    text = f"{answer.host} answered {answer.status}" + (f" ({what})" if what else "")
    message = words(body)
    # This very request is not taken: others may be
    retry_trouble = Trouble.STATUS if answer.status in RETRIED_STATUSES else Trouble.MALFORMED
    trouble = Trouble.REFUSED if codes & FILTER_CODES else Trouble.SETUP if setup else retry_trouble
    return ProviderError(
        text + (f": {message}" if message else ""), trouble, answer.status, answer.asked
    )


def words(body: Any) -> str:
    """The message of ``{"error": {"message"}}``, ``{"error": "..."}``, ``{"message"}`` or FastAPI's ``{"detail"}``, or the text itself."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        error = body.get("error") or body
        if isinstance(error, dict):
            error = next(
                (error[key] for key in ("message", "detail", "type", "code") if error.get(key)),
                error,
            )
        body = error if isinstance(error, str | int) else json.dumps(error, ensure_ascii=False)
    return excerpt(" ".join(str(body).split()), 500)


def id_of(answer: JsonObject, host: str) -> str:
    """The id of a response that goes into an address. Raises ProviderError for one that would lead elsewhere."""
    identity = str(answer.get("id") or "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", identity):
        raise ProviderError(f"{host} answered without an id that an address can have")
    return identity


def rows(listed: Any, host: str, texts: int) -> list[Any]:
    """What is listed for so many texts. Raises ProviderError where it is not one for each."""
    if not isinstance(listed, list) or len(listed) != texts:
        count = len(listed) if isinstance(listed, list) else 0
        raise ProviderError(
            f"{host} gave {format_count(count, 'vector')} for {format_count(texts, 'text')}"
        )
    return listed


def vector(numbers: Any, host: str) -> list[float]:
    """A list of finite numbers. Raises ProviderError."""
    if not isinstance(numbers, list) or not numbers or not all(map(is_number, numbers)):
        raise ProviderError(f"{host} returned an embedding that is not a list of numbers")
    return [float(part) for part in numbers]


def labels(rows: Any, host: str) -> dict[str, float]:
    """Labels with scores, ``[{"label", "score"}]`` or ``{label: score}``. Raises ProviderError, also for one with two scores."""
    pairs = list(rows.items()) if isinstance(rows, dict) else None
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        pairs = [(row.get("label"), row.get("score")) for row in rows]
    if pairs is None or not all(
        isinstance(label, str) and is_number(score) for label, score in pairs
    ):
        raise ProviderError(f"{host} answered without labels and scores")
    scores = {label: float(score) for label, score in pairs}
    twice = next((label for label, score in pairs if scores[label] != score), None)
    if twice is not None:
        raise ProviderError(f"{host} gave the label {excerpt(twice, 60)!r} two scores")
    return scores


def token_usage(
    config: JsonObject, model: str, prompt: Any, completion: Any, seconds: float
) -> Usage:
    """The usage of one call; its price is unknown where the model's is, and where the response does not count the tokens."""
    read = count(prompt)
    wrote = count(completion)
    prices = rates(config, model)
    if prices is None or not is_count(prompt) or not is_count(completion):
        return Usage(1, read, wrote, 0.0, 1, seconds)
    return Usage(1, read, wrote, read * prices[0] + wrote * prices[1], 0, seconds)


class Model(Provider):
    """A model that is asked at ``url``, with the headers of its API, over which those of the config win."""

    def __init__(
        self,
        setting: Setting,
        url: str,
        credential: Credential,
        model: str,
        headers: NamedTexts = NO_FIELDS,
    ) -> None:
        self.name = setting.spec.name
        self._client = setting.client
        self._config = setting.config
        self._passthrough = members(setting.config.get("passthrough"))
        self.url = url
        self._credential = credential
        own = members(setting.config.get("headers"))
        self._headers = {**headers, **{str(name): str(value) for name, value in own.items()}}
        self._model = model

    @property
    def rates(self) -> tuple[float, float] | None:
        """From the config or the table; a deployment's name may say nothing."""
        return rates(self._config, self._priced_as({}))

    def _pending_url(self, response: Response) -> str:
        """Where to look for what a response has only begun, at the same host; empty for one that has ended. Raises ProviderError."""
        return ""

    def _headers_for(self, body: JsonObject) -> NamedTexts:
        """The headers of a request, which may depend on what it asks."""
        return self._headers

    def _post(self, body: JsonObject) -> tuple[JsonObject, float]:
        """Send JSON; give the JSON object that came back and the seconds it took. Raises ProviderError."""
        content, seconds = self._post_any(body)
        if not isinstance(content, dict):
            raise ProviderError(f"{self.host} answered JSON that is not an object")
        return content, seconds

    def _post_any(self, body: JsonObject) -> tuple[Any, float]:
        """As ``_post``, for an API that answers with any JSON."""
        headers = self._headers_for(body)
        try:
            return post(
                self._client,
                self.url,
                body,
                headers=headers,
                credential=self._credential,
                pending_url=self._pending_url,
            )
        except ProviderError as e:
            if not self.chosen:
                raise
            raise ProviderError(f"{e} ({self.chosen})", e.trouble, e.status, e.asked) from e

    def _priced_as(self, response: JsonObject) -> str:
        return self._model


def count(tokens: Any) -> int:
    """A number of tokens as a response gives it; 0 for anything that is not one."""
    return tokens if is_count(tokens) else 0
