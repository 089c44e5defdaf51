"""What providers that speak JSON over HTTP share: addresses, keys, sending, errors in the vendor's words, and usage."""

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
from gradegate.providers.api.chat_api import as_object, is_count, json_text, objects_in
from gradegate.providers.api.prices import is_number, token_rates
from gradegate.providers.api.provider import Provider, ProviderSetup, find_key
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts
from gradegate.templating import chat_prompt

# The key, the model or the address is wrong, so every call would get the same answer.
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
# In an address: a query, a fragment, a backslash (a slash for some servers), and `.` or `..` in its path, also percent-encoded
_LEADS_ELSEWHERE = re.compile(r"[?#\\]|/(?:\.|%2e)+(?:/|$)", re.IGNORECASE)
_STATUS_WORDS = {
    401: "the key was refused",
    403: "access was denied",
    404: "no such model or address",
}
# Options of every provider here: the model, the key, the address, and what joins every request.
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiHost", "apiBaseUrl", "headers", "passthrough")
# One part of a path, or the name of a host, that comes from a config
PART = r"[\w-]+(?:\.[\w-]+)*"


# --- addresses ------------------------------------------------------------------------------------------------


def base_url(setup: ProviderSetup, address: Any, *, whole: bool = False) -> str:
    """Parse an address of a config or of the environment, and drop the slash at its end. Raises ConfigError.

    ``whole``: a request goes to this address as it is, as for an application. To any other address the provider adds
    the end of the path. Such an address may have no query, fragment or dots, which would send the key to another API.
    """
    url = str(address).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        is_address = False
    if not is_address or (not whole and _LEADS_ELSEWHERE.search(url)):
        cure = "write the whole address, such as https://host/v1, without a query"
        raise setup.mistake(f"`{url}` is not an address for `{setup.spec.id}`", cure)
    return url


def service_url(
    setup: ProviderSetup, host_variable: str, base_variables: Sequence[str], vendor_url: str
) -> str:
    """The address from ``apiHost`` or ``apiBaseUrl``, else from variables of the environment, else the vendor's.

    A host comes before an address. Raises ConfigError.
    """
    host = setup.config.get("apiHost")
    base = setup.config.get("apiBaseUrl")
    if not host and not base:
        host = setup.env.read(host_variable)
        base = setup.env.read_first(*base_variables)
    if host:
        return base_url(setup, f"https://{host}/v1")
    return base_url(setup, base or vendor_url)


def host_of(url: str) -> str:
    """Host and port of a URL, without a user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def check_part(kind: str, text: str, pattern: str, setup: ProviderSetup, cure: str) -> None:
    """Raise ConfigError if a part of an address does not match its pattern. ``kind`` names the part in the message."""
    if not re.fullmatch(pattern, text, re.ASCII):
        raise setup.mistake(f"`{text}` is no {kind} for `{setup.spec.id}`", cure)


# --- options of a config ----------------------------------------------------------------------------------------


def check_schema(setup: ProviderSetup, option: str, schema: Any) -> None:
    """Raise ConfigError if the JSON Schema of an option is a text that is not JSON."""
    if not isinstance(schema, str):
        return
    try:
        json.loads(schema)
    except (ValueError, RecursionError) as e:
        problem = f"`{option}` of `{setup.spec.id}` is a text that is not JSON"
        raise setup.mistake(problem, "write the schema as a mapping, or as valid JSON") from e


def read_key(
    setup: ProviderSetup, *names: str, header: str = "Authorization", needed: bool = True
) -> FixedKey:
    """The provider's key, which goes into a header. ``names`` are the variables that may contain the key.

    Raises ConfigError if a key is ``needed`` and missing.
    """
    key = find_key(setup, *names)
    if needed and not key:
        variable = str(setup.config.get("apiKeyEnvar") or names[0])
        cure = f"set {variable}, or `apiKey` or `apiKeyEnvar` in its config"
        raise setup.keyless(why="", cure=cure, missing=variable)
    return FixedKey(key, header)


def need_model(setup: ProviderSetup, example: str, kinds: Sequence[str] = ()) -> str:
    """The model from the id, else from ``model`` in the config. Raises ConfigError if the model is missing.

    ``kinds`` are words such as "embedding" that precede the model in an id, and so are not a model.
    """
    model = setup.model or str(setup.config.get("model") or "")
    if not model or model.partition(":")[0] in kinds:
        cure = "write it after the colon" if model else f"write {example}"
        raise setup.mistake(f"`{setup.spec.id}` names no model", cure)
    return model


# --- requests -------------------------------------------------------------------------------------------------


def request_text(request: Request) -> str:
    """The text for an API that takes no messages: ``prompt_text``, else all messages as JSON."""
    prompt = prompt_text(request)
    return json_text(plain_messages(request)) if prompt is None else prompt


def prompt_text(request: Request) -> str | None:
    """The prompt as it is written, else the only message. None for several messages that no prompt contains."""
    has_one_message = len(request.messages) == 1
    # A chat prompt is the JSON of all its messages. Any other prompt is only one of several messages.
    if request.prompt and (has_one_message or chat_prompt.parse_chat(request.prompt)):
        return request.prompt
    return request.messages[0].content if has_one_message else None


def plain_messages(request: Request) -> list[dict[str, str]]:
    """Role and content of each message."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def post_json(
    client: Client,
    url: str,
    body: Any,
    *,
    headers: NamedTexts = NO_FIELDS,
    credential: Credential = NO_CREDENTIAL,
    pending_url: PendingUrl | None = None,
) -> tuple[Any, float]:
    """Send JSON; return the JSON that came back and the seconds it took. Raises ProviderError."""
    answer = client.send(
        "POST", url, headers=headers, body=body, credential=credential, pending_url=pending_url
    )
    if not answer.is_success:
        raise response_error(answer)
    content = answer.json()
    # Some gateways answer 200 with an error inside
    if isinstance(content, dict) and content.get("error"):
        raise ProviderError(f"{answer.host}: {error_text(content)}", status=answer.status)
    return content, answer.seconds


# --- error responses ------------------------------------------------------------------------------------------


def response_error(answer: Response) -> ProviderError:
    """The error of an answer with an error status, in the vendor's words."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = excerpt(answer.body.decode("utf-8", "replace").strip(), 300)

    codes = _error_codes(body)
    is_redirect = 300 <= answer.status < 400
    if codes & FILTER_CODES:
        trouble = Trouble.REFUSED
    elif is_redirect or answer.status in SETUP_STATUSES or codes & SETUP_CODES:
        trouble = Trouble.SETUP
    elif answer.status in RETRIED_STATUSES:
        trouble = Trouble.STATUS
    else:  # this very request is not taken: others may be
        trouble = Trouble.MALFORMED

    problem = _STATUS_WORDS.get(answer.status, "")
    if is_redirect:
        target = host_of(answer.headers.get("location", "")) or "another place"
        problem = f"it redirects to {target}; gradegate does not follow redirects, so the key stays with its host"
    text = f"{answer.host} answered {answer.status}"
    if problem:
        text += f" ({problem})"
    message = error_text(body)
    if message:
        text += f": {message}"
    return ProviderError(text, trouble, answer.status, answer.refusing_model)


def _error_codes(body: Any) -> set[str]:
    """The codes in an error body: ``error.code`` of OpenAI and Azure, ``error.details[].reason`` of Google."""
    error = as_object(as_object(_first_of_list(body)).get("error"))
    reasons = [detail.get("reason") for detail in objects_in(error.get("details"))]
    return {code for code in (error.get("code"), *reasons) if isinstance(code, str)}


def error_text(body: Any) -> str:
    """The message of an error body in one line: of ``{"error": {...}}``, ``{"error": "..."}``, or of the body itself.

    An object without a member for its message, such as FastAPI's ``{"detail"}``, is shown as JSON.
    """
    error = _first_of_list(body)
    if isinstance(error, dict):
        error = error.get("error") or error

    message = error
    if isinstance(error, dict):
        for key in ("message", "detail", "type", "code"):
            if error.get(key):
                message = error[key]
                break
    if not isinstance(message, str | int):
        message = json.dumps(message, ensure_ascii=False)
    return excerpt(" ".join(str(message).split()), 500)


def _first_of_list(body: Any) -> Any:
    """Google may answer a list with one error."""
    return body[0] if isinstance(body, list) and body else body


# --- fields of responses --------------------------------------------------------------------------------------


def need_text(text: Any, host: str) -> str:
    """The text of an answer. Raises ProviderError for anything else."""
    if not isinstance(text, str):
        raise ProviderError(f"{host} answered without a text")
    return text


def response_id(answer: JsonObject, host: str) -> str:
    """The id of a response, as it goes into an address. Raises ProviderError for an id with other characters."""
    identity = str(answer.get("id") or "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", identity):
        raise ProviderError(f"{host} answered without an id that an address can have")
    return identity


def expect_rows(rows: Any, host: str, texts: int) -> list[Any]:
    """The rows of a response. Raises ProviderError unless there are as many rows as texts; ``texts`` is their number."""
    count = len(rows) if isinstance(rows, list) else 0
    if not isinstance(rows, list) or count != texts:
        raise ProviderError(
            f"{host} gave {format_count(count, 'vector')} for {format_count(texts, 'text')}"
        )
    return rows


def parse_vector(numbers: Any, host: str) -> list[float]:
    """A list of finite numbers. Raises ProviderError."""
    if not isinstance(numbers, list) or not numbers or not all(map(is_number, numbers)):
        raise ProviderError(f"{host} returned an embedding that is not a list of numbers")
    return [float(number) for number in numbers]


def parse_labels(rows: Any, host: str) -> dict[str, float]:
    """Scores by label, from ``[{"label", "score"}]`` or ``{label: score}``. Raises ProviderError, also for a label with two scores."""
    unreadable = f"{host} answered without labels and scores"
    if isinstance(rows, dict):
        pairs = list(rows.items())
    elif isinstance(rows, list):
        pairs = [(as_object(row).get("label"), as_object(row).get("score")) for row in rows]
    else:
        raise ProviderError(unreadable)

    scores: dict[str, float] = {}
    for label, score in pairs:
        if not isinstance(label, str) or not is_number(score):
            raise ProviderError(unreadable)
        scores[label] = float(score)
    for label, score in pairs:
        if scores[label] != score:
            raise ProviderError(f"{host} gave the label {excerpt(label, 60)!r} two scores")
    return scores


def token_usage(
    config: JsonObject, model: str, prompt: Any, completion: Any, seconds: float
) -> Usage:
    """The usage of one call, without a price if the model's is unknown or the response does not count the tokens."""
    prompt_tokens = token_count(prompt)
    answer_tokens = token_count(completion)
    rates = token_rates(config, model)
    if rates is None or not is_count(prompt) or not is_count(completion):
        return Usage(1, prompt_tokens, answer_tokens, unpriced=1, seconds=seconds)
    prompt_rate, answer_rate = rates
    cost = prompt_tokens * prompt_rate + answer_tokens * answer_rate
    return Usage(1, prompt_tokens, answer_tokens, cost=cost, seconds=seconds)


def token_count(tokens: Any) -> int:
    """A number of tokens of a response; 0 for anything that is not one."""
    return tokens if is_count(tokens) else 0


# --- the base class -------------------------------------------------------------------------------------------


class HttpModel(Provider):
    """A model at ``url``. Requests have the headers of its API; a header of the config replaces one with the same name."""

    def __init__(
        self,
        setup: ProviderSetup,
        url: str,
        credential: Credential,
        model: str,
        headers: NamedTexts = NO_FIELDS,
    ) -> None:
        config = setup.config
        self.name = setup.spec.name
        self.url = url
        self._client = setup.client
        self._config = config
        self._passthrough = as_object(config.get("passthrough"))
        self._credential = credential
        self._headers = dict(headers)
        for name, value in as_object(config.get("headers")).items():
            self._headers[str(name)] = str(value)
        self._model = model

    @property
    def rates(self) -> tuple[float, float] | None:
        """From the config or the table; a deployment's name may say nothing."""
        return token_rates(self._config, self._priced_as({}))

    def _priced_as(self, response: JsonObject) -> str:
        """The model's name in the table of prices."""
        return self._model

    def _pending_url(self, response: Response) -> str:
        """Where to ask for the rest if a response is not finished, at the same host; empty if it is. Raises ProviderError."""
        return ""

    def _headers_for(self, body: JsonObject) -> NamedTexts:
        """The headers of a request, which may depend on its body."""
        return self._headers

    def _post_object(self, body: JsonObject) -> tuple[JsonObject, float]:
        """Send JSON; return the JSON object that came back and the seconds it took. Raises ProviderError."""
        content, seconds = self._post_any(body)
        if not isinstance(content, dict):
            raise ProviderError(f"{self.host} answered JSON that is not an object")
        return content, seconds

    def _post_any(self, body: JsonObject) -> tuple[Any, float]:
        """As ``_post_object``, for an API that answers with any JSON."""
        try:
            return post_json(
                self._client,
                self.url,
                body,
                headers=self._headers_for(body),
                credential=self._credential,
                pending_url=self._pending_url,
            )
        except ProviderError as e:
            if not self.chosen:
                raise
            raise ProviderError(
                f"{e} ({self.chosen})", e.trouble, e.status, e.refusing_model
            ) from e
