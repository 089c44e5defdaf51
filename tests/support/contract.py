"""Requests to GitHub, and the replies of the GitHub that tests are given, held to what the real one publishes.

openapi-core reads the OpenAPI documents of github.com and of an Enterprise Server. Its own checks leave room: a parameter that nobody knows, a page of
500 and a misspelled member of a body beside the right one pass. What is said of these here is read from the same documents; what GitHub says
in words alone (headers, the length of a comment, refusals that every operation may give) has a rule of its own.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support import openapi
from support.each import table
from support.installed import NotToBeHadError

SERVERS = ("api.github.com", "ghes-3.17")
# All that we ask: what is not here has not been looked at, whatever GitHub can do.
OPERATIONS = table(__file__, "OPERATIONS")
GRAPHQL = "POST /graphql"  # is in no OpenAPI document
WHOSE_TOKEN = {"query": "{viewer{login}}"}
LONGEST = 65_536  # characters of a comment
# https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api#headers
HEADERS = {
    "user-agent": r"gradegate/.+",
    "accept": r"application/vnd\.github\+json",
    "x-github-api-version": r"2022-11-28",  # the version that both documents describe
    "authorization": r"Bearer .+",
}
REFUSAL, HAPPENING = "basic-error", "state-change-issue-event"
SHOWN = 6  # of what is wrong with one value


class Exchange(NamedTuple):
    """A request as it came, below the address of the API, and what it was answered; ``headers`` in lower case."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: Any
    status: int
    reply: Any

    @property
    def operation(self) -> str:
        """The operation as OPERATIONS has it, or an empty string."""
        return next((name for name in (*OPERATIONS, GRAPHQL) if _matches(name, self.method, self.path)), "")


@lru_cache(maxsize=1)
def missing() -> str:
    """Why nothing can be held to the documents here, or an empty string.

    Raises NotToBeHadError where GRADEGATE_CONTAINER=required says that everything is to be tested.
    """
    try:
        _documents()
    except NotToBeHadError as e:
        if os.environ.get("GRADEGATE_CONTAINER") == "required":
            raise
        return str(e)
    return ""


class Held:
    """Exchanges that have been looked at: each shape once, because tests send the same request thousands of times."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def problems(self, exchange: Exchange) -> tuple[str, ...]:
        """What GitHub would not take, or would not answer; a line each, that begins with the server and the operation."""
        headers = {name: exchange.headers.get(name) for name in (*HEADERS, "content-type")}
        asked = [exchange.method, re.sub(r"\d+", "0", exchange.path), exchange.query, headers, exchange.status]
        body = exchange.body if exchange.operation == GRAPHQL else _shape(exchange.body)
        shape = json.dumps([*asked, body, _shape(exchange.reply)], sort_keys=True)
        if shape not in self._known:
            self._known[shape] = tuple(_problems(exchange))
        return self._known[shape]


def _problems(exchange: Exchange) -> Iterator[str]:
    place = f"{exchange.method} {exchange.path}"
    yield from (f"{place}: {line}" for line in _in_words(exchange))
    if exchange.operation == GRAPHQL:
        return
    for document in _documents():
        yield from (f"{document.name}: {place}: {line}" for line in document.problems(exchange))


def _in_words(exchange: Exchange) -> Iterator[str]:
    for name, pattern in HEADERS.items():
        value = exchange.headers.get(name, "")
        if not re.fullmatch(pattern, value):
            yield f"request: the header {name} is {value!r}, and not {pattern}"
    if exchange.operation == GRAPHQL and exchange.body != WHOSE_TOKEN:
        yield f"request: the query {exchange.body!r} is none that has been looked at"
    text = exchange.body.get("body") if isinstance(exchange.body, dict) else None
    if isinstance(text, str) and len(text) > LONGEST:
        yield f"request: a body of more than {LONGEST:,} characters"
    if exchange.status == 204 and exchange.reply is not None:
        yield "reply 204: there is something where there is no content"


@dataclass(frozen=True)
class _Document:
    """What one server publishes of the operations that we use."""

    name: str
    written: Mapping[str, Any]
    api: Any  # openapi_core.OpenAPI

    def problems(self, exchange: Exchange) -> Iterator[str]:
        """What is wrong with a request and with its reply."""
        from openapi_core.exceptions import OpenAPIError
        from openapi_core.templating.paths.exceptions import PathError

        request = self._request(exchange)
        try:
            self.api.validate_request(request)
        except PathError as e:
            yield f"request: no operation of GitHub's that has been looked at ({type(e).__name__})"
            return
        except OpenAPIError as e:
            yield from (f"request: {line}" for line in _describe_error(e))
        yield from (f"request: {line}" for line in self._unknown(exchange))
        yield from (f"reply {exchange.status}: {line}" for line in self._reply(exchange, request))

    def _request(self, exchange: Exchange) -> Any:
        from openapi_core.testing import MockRequest

        written = self.written["servers"][0]
        server = urlsplit(written["url"].format_map({name: it["default"] for name, it in written.get("variables", {}).items()}))
        return MockRequest(
            f"{server.scheme}://{server.netloc}",
            exchange.method,
            server.path + exchange.path,
            args={name: values[-1] for name, values in exchange.query.items()},
            headers=dict(exchange.headers),
            data=None if exchange.body is None else json.dumps(exchange.body).encode(),
            content_type=exchange.headers.get("content-type", ""),
        )

    def _unknown(self, exchange: Exchange) -> Iterator[str]:
        method, _, template = exchange.operation.partition(" ")
        there = self.written["paths"][template][method.lower()]
        known = {it["name"]: it for it in map(self._resolved, there.get("parameters", ())) if it["in"] == "query"}
        for name, values in exchange.query.items():
            if name not in known:
                yield f"no parameter {name!r}; there are {', '.join(sorted(known)) or 'none'}"
                continue
            if len(values) > 1:
                yield f"the parameter {name!r} is there {len(values)} times"
            most = re.search(r"\(max (\d+)\)", known[name].get("description", ""))
            if most and values[-1].isdecimal() and int(values[-1]) > int(most[1]):
                yield f"{name}={values[-1]} is more than the {most[1]} that there may be"
        if isinstance(exchange.body, dict):
            content = there.get("requestBody", {}).get("content", {}).get("application/json", {})
            taken = content.get("schema", {}).get("properties", {})
            yield from (f"the body has no member {name!r}" for name in sorted(exchange.body.keys() - taken.keys()))

    def _reply(self, exchange: Exchange, request: Any) -> Iterator[str]:
        from openapi_core.exceptions import OpenAPIError
        from openapi_core.templating.responses.exceptions import ResponseNotFound
        from openapi_core.testing import MockResponse

        content = b"" if exchange.reply is None else json.dumps(exchange.reply).encode()
        try:
            self.api.validate_response(request, MockResponse(content, exchange.status))
        except ResponseNotFound as e:
            if exchange.status < 400:  # refusals and outages are the same for all operations, and told in words
                yield str(e)
        except OpenAPIError as e:
            yield from _describe_error(e)
            return
        if exchange.status >= 400:
            yield from self._against({**self._named(REFUSAL), "type": "object", "required": ["message"]}, exchange.reply)
        elif exchange.path.endswith("/timeline"):
            for item in exchange.reply:
                yield from self._happened(item)

    def _happened(self, item: Any) -> Iterator[str]:
        """An item of a timeline, held to its own schema: among those of all kinds there are two that take anything."""
        event = str(item.get("event")).replace("_", "-")
        schemas = self.written["components"]["schemas"]
        own = "timeline-comment-event" if event == "commented" else ""
        names = (own, f"{event}-issue-event", f"timeline-{event}-event", HAPPENING)
        name = next(name for name in names if name in schemas)
        yield from (f"{event}: {line}" for line in self._against(self._named(name), item))

    def _named(self, schema: str) -> dict[str, Any]:
        return {"allOf": [{"$ref": f"#/components/schemas/{schema}"}]}

    def _against(self, schema: Mapping[str, Any], value: Any) -> list[str]:
        from openapi_schema_validator import OAS30ReadValidator, oas30_format_checker

        whole = {**schema, "components": self.written["components"]}
        return _listed(OAS30ReadValidator(whole, format_checker=oas30_format_checker).iter_errors(value))

    def _resolved(self, written: Mapping[str, Any]) -> Mapping[str, Any]:
        ref = written.get("$ref", "")
        return self.written["components"]["parameters"][ref.rpartition("/")[2]] if ref else written


@lru_cache(maxsize=1)
def _documents() -> tuple[_Document, ...]:
    """Raises NotToBeHadError."""
    written = openapi.documents(SERVERS, OPERATIONS, (REFUSAL, HAPPENING))
    from openapi_core import Config, OpenAPI

    # The documents themselves are GitHub's to check.
    config = Config(spec_validator_cls=None)
    return tuple(_Document(name, it, OpenAPI.from_dict(it, config=config)) for name, it in written.items())


def _matches(operation: str, method: str, path: str) -> bool:
    named, _, template = operation.partition(" ")
    parts, found = template.split("/"), path.split("/")
    same = all(part == own or part.startswith("{") for part, own in zip(parts, found, strict=False))
    return named == method and len(parts) == len(found) and same


def _describe_error(error: Exception) -> list[str]:
    """What openapi-core found, without the whole value that it found it in."""
    cause: BaseException | None = error
    while cause is not None:
        if hasattr(cause, "schema_errors"):
            return _listed(cause.schema_errors)
        last, cause = cause, cause.__cause__
    return [f"{error}: {last}" if last is not error else str(error)]


def _listed(errors: Iterable[Any]) -> list[str]:
    lines = [f"{'.'.join(map(str, error.absolute_path)) or 'it'}: {error.message[:200]}" for error in errors]
    more = f" (and {len(lines) - SHOWN} more)" if len(lines) > SHOWN else ""
    return [*lines[:SHOWN][:-1], *(f"{line}{more}" for line in lines[:SHOWN][-1:])]


def _shape(value: Any) -> Any:
    """What two values have in common that no schema tells apart: words and dates stay, for a schema may list or read them."""
    if isinstance(value, Mapping):
        return {name: _shape(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return sorted({json.dumps(_shape(item), sort_keys=True) for item in value})
    if isinstance(value, str):
        if re.fullmatch(r"[A-Za-z_]{0,40}|\d{4}-\d\d-.{0,40}", value):
            return value
        return ["longer"] if len(value) > LONGEST else ["link"] if "://" in value else ["text"]
    return value if value is None or isinstance(value, bool) else [type(value).__name__]
