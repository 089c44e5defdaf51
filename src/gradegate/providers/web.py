"""http, https: any application or model behind a URL; the request is a template of the config.

The keys are those of promptfoo's provider (https://www.promptfoo.dev/docs/providers/http/): ``url``, ``method``,
``headers``, ``queryParams``, ``body``, ``transformRequest`` and ``transformResponse``. It grades, too: what
``transformResponse`` gives is a text, a list of numbers or labels with scores, as ``callApi``, ``callEmbeddingApi`` and
``callClassificationApi`` of promptfoo's custom providers do.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.files.documents import strings, to_json
from gradegate.http.exchange import Response
from gradegate.providers.api import request_template
from gradegate.providers.api.json_http import (
    base_url,
    host_of,
    labels,
    plain_messages,
    refusal,
    vector,
    words,
)
from gradegate.providers.api.provider import PROVIDERS, Labels, Provider, Setting, Vectors
from gradegate.security.redaction import ending
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
    repeatable = False  # what an application answers may change with its code

    def __init__(self, setting: Setting) -> None:
        config = setting.config
        origin = setting.spec.origin
        self.name = setting.spec.name
        url = config.get("url") or (setting.spec.id if setting.model.startswith("//") else None)
        if not url:
            raise ConfigError.at(
                f"`{setting.spec.id}` has no `url`", origin, "add it to its `config`"
            )
        self._parts = _Templates(
            str(url), _texts(config, "headers"), _texts(config, "queryParams"), config.get("body")
        )
        parts = self._parts
        self.templates = (
            parts.url,
            *parts.headers.values(),
            *parts.query.values(),
            *strings(parts.body),
        )
        self.method = str(
            config.get("method") or ("GET" if self._parts.body is None else "POST")
        ).upper()
        if not re.fullmatch(r"[A-Z]{1,20}", self.method):
            raise ConfigError.at(
                f"`{self.method}` is not an HTTP method", origin, "write one, such as GET or POST"
            )
        self._client = setting.client
        try:
            self._env = {
                name: value
                for name in env_variables(self.templates)[0]
                if (value := setting.env.key(name))
            }
            try:  # with empty texts for what tests define: it says the host
                address = render(
                    self._parts.url,
                    {**dict.fromkeys(variables_used(self._parts.url), ""), "env": self._env},
                )
            except TemplateError as e:
                raise ValueError(f"`url` cannot be filled in: {e}") from e
            self.url = base_url(setting, address, whole=True)
            if not (
                frozenset().union(*map(variables_used, self.templates)) - {"env"}
                or config.get("transformRequest")
            ):
                cure = "put {{prompt}} into `body`, `url` or `queryParams`"
                base = self.url.removesuffix("/chat/completions")
                # A server with OpenAI's API may have been meant
                if base.endswith("/v1") or base != self.url:
                    cure += f", or write openai:chat:MODEL with `apiBaseUrl: {base}`"
                raise ConfigError.at(
                    f"every test would send `{setting.spec.name}` the same request", origin, cure
                )
            self._response = request_template.read_response_transform(
                config.get("transformResponse") or config.get("responseParser")
            )
            written = config.get("transformRequest")
            self._request = request_script(written) if written else None
        except ScriptError as e:
            raise ConfigError.at(f"a transform of `{self.name}`: {e}", origin, e.cure) from e
        except (TemplateError, ValueError) as e:
            raise ConfigError.at(f"`{setting.spec.name}`: {e}", origin, "correct it") from e

    @property
    def unasked_kinds(self) -> tuple[str, ...]:
        """It cannot be told what an application gives: it embeds and classifies where it is named for that."""
        return ("text",)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        messages = plain_messages(request)
        prompt = request.prompt or (
            to_json(messages) if len(messages) > 1 else messages[-1]["content"]
        )
        body, answer = self._asked(prompt, messages, request.vars)
        text, metadata = self._response.apply(body, answer)
        # It is not known what the application asked in turn, so the price of its answer is unknown.
        return Reply(text, Usage(1, unpriced=1, seconds=answer.seconds), metadata=metadata)

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order, each in a request of its own. Raises ProviderError."""
        rows = []
        usage = Usage()
        for text in texts:
            value, answer = self._given(text, "embedding")
            rows.append(vector(value, answer.host))
            usage = usage + Usage(1, unpriced=1, seconds=answer.seconds)
        return rows, usage

    def classify(self, text: str) -> tuple[Labels, Usage]:
        """Labels with scores. Raises ProviderError."""
        value, answer = self._given(text, "classification")
        return labels(value, answer.host), Usage(1, unpriced=1, seconds=answer.seconds)

    def _given(self, text: str, member: str) -> tuple[Any, Response]:
        """The JSON that is answered to a text, or its member of that name."""
        body, answer = self._asked(text, [{"role": "user", "content": text}], {})
        shown = self._response.apply(body, answer)[0]
        value = replace(answer, body=shown.encode("utf-8", "replace")).json()
        inner = value.get(member) if isinstance(value, dict) and len(value) == 1 else None
        return inner if isinstance(inner, list | dict) else value, answer

    def _asked(
        self, prompt: str, messages: Sequence[NamedTexts], given: JsonObject
    ) -> tuple[str, Response]:
        """The text of the answer to a request that is filled in, and the answer. Raises ProviderError."""
        made: Any = prompt  # what `transformRequest` makes of it: another text, or an object that is the body
        if self._request:
            try:
                made = self._request.call(prompt, given, {"vars": given}).value
            except ScriptError as e:
                raise ProviderError(
                    f"transformRequest of {self.name} fails: {e}", Trouble.SETUP
                ) from e
            if made is None or (isinstance(made, float) and not math.isfinite(made)):
                shown = "nothing" if made is None else f"no value ({made})"
                raise ProviderError(f"transformRequest of {self.name} gives {shown}", Trouble.SETUP)
        variables = {"messages": messages, **given, "prompt": made, "env": self._env}
        whole = made if isinstance(made, Mapping) else None
        try:
            url = request_template.address(self._parts.url, self._parts.query, variables)
            headers = {name: render(text, variables) for name, text in self._parts.headers.items()}
            body, kind = request_template.body(self._parts.body, headers, variables, whole)
        except (TemplateError, ValueError) as e:
            raise ProviderError(
                f"the request to {self.host} cannot be filled in: {e}", Trouble.SETUP
            ) from e
        # A value at the end of the host's name would make it another's
        if host_of(url) != self.host:
            raise ProviderError(
                f"the variables of the test turn {self.host} into another host", Trouble.SETUP
            )
        headers = {**({"Content-Type": kind} if kind else {}), **headers}
        answer = self._client.send(self.method, url, headers=headers, body=body)
        if not answer.is_success:
            raise refusal(answer)
        # The text of an answer. Raises ProviderError when it is empty, cut, or nothing but an error.
        text = answer.body.decode("utf-8", "replace")
        is_json = "json" in answer.headers.get("content-type", "").lower()
        if not text.strip() or (is_json and text.strip() == "null"):
            raise ProviderError(f"{answer.host} answered with an empty body")
        error = request_template.error_in(text)
        if error is not None:
            raise ProviderError(
                f"{answer.host} answered with an error: {words(error)}", status=answer.status
            )
        if is_json and request_template.is_broken_json(text):
            what = f"{answer.host} answered JSON that is cut or broken: {ending(text, 80)!r} is its end"
            raise ProviderError(what)
        return text, answer


def _texts(config: JsonObject, key: str) -> NamedTexts:
    return {
        str(name): str(text) for name, text in (config.get(key) or {}).items() if text is not None
    }
