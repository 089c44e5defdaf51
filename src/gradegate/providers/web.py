"""http, https: any application or model behind a URL; the request is a template of the config.

The keys are those of promptfoo's provider (https://www.promptfoo.dev/docs/providers/http/): ``url``, ``method``,
``headers``, ``queryParams``, ``body``, ``transformRequest`` and ``transformResponse``. It grades, too: what
``transformResponse`` gives is a text, a list of numbers or labels with scores, as ``callApi``, ``callEmbeddingApi`` and
``callClassificationApi`` of promptfoo's custom providers do.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.files.documents import strings, to_json
from gradegate.http.exchange import Response
from gradegate.providers.api import request_template
from gradegate.providers.api.json_http import (
    base_url,
    error_text,
    host_of,
    parse_labels,
    parse_vector,
    plain_messages,
    response_error,
)
from gradegate.providers.api.provider import (
    PROVIDERS,
    LabelScores,
    Provider,
    ProviderSetup,
    Vectors,
)
from gradegate.security.redaction import last_part
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace
from gradegate.templating.script import ScriptError, request_script
from gradegate.templating.template import TemplateError, env_variables, render, variables_used


class _Templates(FrozenStruct):
    url: str
    headers: NamedTexts
    query: NamedTexts
    body: Any


@PROVIDERS.register("http", "https")
class Web(Provider):
    """An application that is asked over HTTP."""

    kinds = ("text", "embedding", "classification")
    names_model = False
    options = (
        "url",
        "method",
        "headers",
        "queryParams",
        "body",
        "transformRequest",
        "transformResponse",
        "responseParser",
    )
    # What promptfoo can do and gradegate does not: the key, and what to do instead.
    unsupported = {
        "request": "write it as `url`, `method`, `headers` and `body`",
        "requestTransform": "promptfoo calls it `transformRequest`",
        "sessionParser": "put `{{ messages | dump }}` into `body`: it contains the conversation so far",
        "session": "put `{{ messages | dump }}` into `body`: it contains the conversation so far",
        "validateStatus": "remove it: an answer counts when its status is 2xx",
        "multipart": "let the application take JSON",
        "signatureAuth": "let the application take a token in `headers`",
        "auth": "give the token in `headers`, e.g. `Authorization: Bearer {{ env.TOKEN }}`",
        "tls": "set REQUESTS_CA_BUNDLE to trust a certificate",
    }
    fields = ()
    is_repeatable = False  # its answers may change with its code

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.config
        origin = setup.spec.origin
        self.name = setup.spec.name
        url = config.get("url") or (setup.spec.id if setup.model.startswith("//") else None)
        if not url:
            raise ConfigError.at(
                f"`{setup.spec.id}` has no `url`", origin, "add it to its `config`"
            )
        parts = _Templates(
            str(url), _texts(config, "headers"), _texts(config, "queryParams"), config.get("body")
        )
        self._parts = parts
        self.templates = (
            parts.url,
            *parts.headers.values(),
            *parts.query.values(),
            *strings(parts.body),
        )
        method = config.get("method") or ("GET" if parts.body is None else "POST")
        self.method = str(method).upper()
        if not re.fullmatch(r"[A-Z]{1,20}", self.method):
            raise ConfigError.at(
                f"`{self.method}` is not an HTTP method", origin, "write one, such as GET or POST"
            )
        self._client = setup.client
        try:
            self._env = {}
            for name in env_variables(self.templates)[0]:
                value = setup.env.read_key(name)
                if value:
                    self._env[name] = value
            self.url = self._fill_fixed_url(setup)
            self._check_variables(setup)
            self._response = request_template.read_response_transform(
                config.get("transformResponse") or config.get("responseParser")
            )
            written = config.get("transformRequest")
            self._request = request_script(written) if written else None
        except ScriptError as e:
            raise ConfigError.at(f"a transform of `{self.name}`: {e}", origin, e.cure) from e
        except (TemplateError, ValueError) as e:
            raise ConfigError.at(f"`{setup.spec.name}`: {e}", origin, "correct it") from e

    def _fill_fixed_url(self, setup: ProviderSetup) -> str:
        """The URL with empty texts for what tests define, which shows the host. Raises ConfigError and ValueError."""
        template = self._parts.url
        variables = {**dict.fromkeys(variables_used(template), ""), "env": self._env}
        try:
            url = render(template, variables)
        except TemplateError as e:
            raise ValueError(f"`url` cannot be filled in: {e}") from e
        return base_url(setup, url, whole=True)

    def _check_variables(self, setup: ProviderSetup) -> None:
        """Raises ConfigError if every test would send the same request, and TemplateError."""
        variables = frozenset[str]().union(*map(variables_used, self.templates))
        if variables - {"env"} or setup.config.get("transformRequest"):
            return
        cure = "put {{prompt}} into `body`, `url` or `queryParams`"
        base = self.url.removesuffix("/chat/completions")
        # A server with OpenAI's API may have been meant
        if base.endswith("/v1") or base != self.url:
            cure += f", or write openai:chat:MODEL with `apiBaseUrl: {base}`"
        raise ConfigError.at(
            f"every test would send `{setup.spec.name}` the same request", setup.spec.origin, cure
        )

    @property
    def unasked_kinds(self) -> tuple[str, ...]:
        """Only texts: an application embeds or classifies only if a config names it for that."""
        return ("text",)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        messages = plain_messages(request)
        prompt = request.prompt or messages[0]["content"]
        if not request.prompt and len(messages) > 1:
            prompt = to_json(messages)
        text, answer = self._send(prompt, messages, request.vars)
        output, metadata = self._response.apply(text, answer)
        # Nobody knows which models the application asked in turn, so the price of its answer is unknown.
        return Reply(output, Usage(1, unpriced=1, seconds=answer.seconds), metadata=metadata)

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order, each in a request of its own. Raises ProviderError."""
        vectors = []
        usage = Usage()
        for text in texts:
            numbers, answer = self._send_text(text, "embedding")
            vectors.append(parse_vector(numbers, answer.host))
            usage += Usage(1, unpriced=1, seconds=answer.seconds)
        return vectors, usage

    def classify(self, text: str) -> tuple[LabelScores, Usage]:
        """Labels with scores. Raises ProviderError."""
        rows, answer = self._send_text(text, "classification")
        return parse_labels(rows, answer.host), Usage(1, unpriced=1, seconds=answer.seconds)

    def _send_text(self, text: str, key: str) -> tuple[Any, Response]:
        """Send a text; returns the JSON value of the output, or its only member if that is ``key``. Raises ProviderError."""
        body, answer = self._send(text, [{"role": "user", "content": text}], {})
        output = self._response.apply(body, answer)[0]
        value = replace(answer, body=output.encode("utf-8", "replace")).json()
        if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(key), list | dict):
            return value[key], answer
        return value, answer

    def _send(
        self, prompt: str, messages: Sequence[NamedTexts], test_variables: JsonObject
    ) -> tuple[str, Response]:
        """Fill in the request and send it; returns the text of the answer, and the answer. Raises ProviderError."""
        # Another text, or an object that is the body
        transformed = self._transform_prompt(prompt, test_variables)
        variables = {
            "messages": messages,
            **test_variables,
            "prompt": transformed,
            "env": self._env,
        }
        parts = self._parts
        whole_body = transformed if isinstance(transformed, dict) else None
        try:
            url = request_template.fill_url(parts.url, parts.query, variables)
            headers = {name: render(text, variables) for name, text in parts.headers.items()}
            body, kind = request_template.fill_body(parts.body, headers, variables, whole_body)
        except (TemplateError, ValueError) as e:
            raise ProviderError(
                f"the request to {self.host} cannot be filled in: {e}", Trouble.SETUP
            ) from e
        # A value at the end of the host's name would turn it into another host
        if host_of(url) != self.host:
            raise ProviderError(
                f"the variables of the test turn {self.host} into another host", Trouble.SETUP
            )
        if kind:
            headers = {"Content-Type": kind, **headers}
        answer = self._client.send(self.method, url, headers=headers, body=body)
        if not answer.is_success:
            raise response_error(answer)
        return _read_text(answer), answer

    def _transform_prompt(self, prompt: str, variables: JsonObject) -> Any:
        """The prompt, or what ``transformRequest`` makes of it. Raises ProviderError."""
        if not self._request:
            return prompt
        try:
            value: Any = self._request.call(prompt, variables, {"vars": variables}).value
        except ScriptError as e:
            raise ProviderError(f"transformRequest of {self.name} fails: {e}", Trouble.SETUP) from e
        if value is None:
            raise ProviderError(f"transformRequest of {self.name} gives nothing", Trouble.SETUP)
        if isinstance(value, float) and not math.isfinite(value):
            raise ProviderError(
                f"transformRequest of {self.name} gives no value ({value})", Trouble.SETUP
            )
        return value


def _read_text(answer: Response) -> str:
    """The text of an answer. Raises ProviderError if it is empty, cut, or only an error."""
    text = answer.body.decode("utf-8", "replace")
    is_json = "json" in answer.headers.get("content-type", "").lower()
    if not text.strip() or (is_json and text.strip() == "null"):
        raise ProviderError(f"{answer.host} answered with an empty body")
    error = request_template.find_error(text)
    if error is not None:
        raise ProviderError(
            f"{answer.host} answered with an error: {error_text(error)}", status=answer.status
        )
    if is_json and request_template.is_broken_json(text):
        problem = (
            f"{answer.host} answered JSON that is cut or broken: {last_part(text, 80)!r} is its end"
        )
        raise ProviderError(problem)
    return text


def _texts(config: JsonObject, key: str) -> NamedTexts:
    return {
        str(name): str(text) for name, text in (config.get(key) or {}).items() if text is not None
    }
