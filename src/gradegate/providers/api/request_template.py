"""Requests from templates, in which every value stays in its place, and ``transformResponse``."""

import json
import math
import re
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from gradegate.core.conversation import IS_DATA, RAW, Variables
from gradegate.errors import ProviderError
from gradegate.files.json_text import parse_untrusted_json
from gradegate.http.exchange import Response
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts
from gradegate.templating.javascript import is_function
from gradegate.templating.script import Script, ScriptError, may_mention, response_script
from gradegate.templating.template import change_texts, render

# Members of an answer that say more about an error, and are not an answer.
_ABOUT_ERRORS = frozenset(
    "error errors message detail details description code status statuscode status_code type title instance trace "
    "traceback stack path timestamp time request_id requestid trace_id traceid id success ok".split()
)


class ResponseTransform(FrozenStruct):
    """Turns an answer into the output by ``transformResponse``; without a ``script``, the whole body is the output.

    ``reads_text``: the script may look at the body's text, not only at its JSON.
    """

    script: Script | None = None
    reads_text: bool = True

    def apply(self, text: str, answer: Response) -> tuple[str, JsonObject]:
        """The output as text, and the metadata of an object that has ``output`` or ``error``.

        Raises ProviderError.
        """
        value = _parse_json(text)
        if self.script is None:
            if isinstance(value, str):
                return value, {}  # a JSON string without its quotes
            return text, {IS_DATA: True} if _is_truthy(value) else {}

        try:
            result = self._run(self.script, text, value, answer)
        except ScriptError as e:
            problem = f"transformResponse fails on the answer of {answer.host}"
            if value is None:
                problem += f", which is not JSON ({excerpt(text, 80)!r})"
            raise ProviderError(f"{problem}: {e}") from e

        metadata: Any = {}
        if isinstance(result, dict) and ("output" in result or "error" in result):
            if result.get("error"):
                error = excerpt(str(result["error"]), 500)
                raise ProviderError(f"{answer.host} answered with an error: {error}")
            metadata = result.get("metadata")
            result = result.get("output")
        if result is None:
            problem = f"transformResponse gives nothing for the answer of {answer.host}: {excerpt(text, 80)!r}"
            raise ProviderError(problem)
        return _as_output(result, metadata if isinstance(metadata, dict) else {}, answer.host)

    def _run(self, script: Script, text: str, value: Any, answer: Response) -> Any:
        """Run the script on the JSON value and the text of an answer. Raises ScriptError."""
        body = text if self.reads_text else ""
        response = {
            "status": answer.status,
            "headers": dict(answer.headers),
            "data": body,
            "cached": False,
        }
        json_value = value if _is_truthy(value) else None
        return script.call(json_value, body, {"response": response}).value


def read_response_transform(written: Any) -> ResponseTransform:
    """Raises ValueError for JavaScript that cannot be used."""
    if not written:
        return ResponseTransform()
    if not isinstance(written, str | dict):
        raise ValueError(f"transformResponse is not text: {written!r}")
    # A function or a file may call the text by another name.
    is_expression = isinstance(written, str) and not is_function(written)
    reads_text = not is_expression or may_mention(written, "text", "context")
    return ResponseTransform(response_script(written), reads_text)


def _parse_json(text: str) -> Any:
    """A text as JSON; None where it is not JSON."""
    try:
        return parse_untrusted_json(text)
    except (ValueError, RecursionError):
        return None


def _as_output(output: Any, metadata: JsonObject, host: str) -> tuple[str, JsonObject]:
    if isinstance(output, float) and not math.isfinite(output):
        raise ProviderError(f"transformResponse gives no value for the answer of {host}: {output}")
    metadata = {name: item for name, item in metadata.items() if name not in (IS_DATA, RAW)}
    if isinstance(output, str):
        return output, metadata
    return json.dumps(output, ensure_ascii=False), {**metadata, IS_DATA: True}


def find_error(text: str) -> Any:
    """The ``error`` or ``errors`` of a JSON object that contains nothing else than an error; None for any other text."""
    body = _parse_json(text)
    if not isinstance(body, dict):
        return None
    for name, value in body.items():
        is_content = value and isinstance(value, str | list | dict)
        if is_content and name.lower() not in _ABOUT_ERRORS:
            return None
    return body.get("error") or body.get("errors") or None


def is_broken_json(text: str) -> bool:
    """Whether a text begins as JSON and does not go on as such; several JSON texts in a row are not broken."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as e:
        return e.msg != "Extra data"
    except (ValueError, RecursionError):
        return False
    return False


def _is_truthy(value: Any) -> bool:
    """Whether JavaScript counts a value as true, as it does an empty object. promptfoo takes any other value for no data."""
    return bool(value) or isinstance(value, dict | list)


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain; charset=utf-8"
_DOT_STEP = re.compile(r"/\.\.?(?:/|$)")
_SINGLE_VARIABLE = re.compile(r"\s*\{\{(?:(?!\}\}).)*\}\}\s*", re.DOTALL)


def fill_url(url: str, query: NamedTexts, variables: Variables) -> str:
    """The URL filled in; values are percent-encoded once, also if the template does it; not the environment. Raises ValueError."""
    filled = render(url, variables, text_format="url")
    if _DOT_STEP.search(filled.partition("?")[0]) and not _DOT_STEP.search(url):
        raise ValueError(
            "a variable makes a step of the path `.` or `..`, which would be another path"
        )
    if not query:
        return filled
    separator = "&" if "?" in filled else "?"
    fields = {name: render(template, variables) for name, template in query.items()}
    return filled + separator + urlencode(fields)


def fill_body(
    template: Any,
    headers: NamedTexts,
    variables: Variables,
    whole: JsonObject | None = None,
) -> tuple[bytes | None, str]:
    """The body and its Content-Type, unless ``headers`` set one. Raises TemplateError and ValueError.

    ``whole``: what a transform made, which wins over the members that the template has, and is not filled in.
    """
    content_type = ""
    for name, text in headers.items():
        if name.lower() == "content-type":
            content_type = text.lower()
            break

    added_type = JSON
    body: bytes | None
    if whole is not None:
        members = template if isinstance(template, dict) else {}
        body = _encode({**members, **whole})
    elif template is None:
        return None, ""
    elif not isinstance(template, str):
        body = _encode(_fill_values(template, variables))
    elif FORM in content_type:
        body = render(template, variables, text_format="url").encode()
    elif "json" in content_type or (not content_type and template.lstrip()[:1] in ("{", "[")):
        body = _fill_json(template, variables)
    else:
        body = render(template, variables).encode()
        added_type = TEXT
    return body, "" if content_type else added_type


def _fill_json(template: str, variables: Variables) -> bytes:
    try:
        parsed = json.loads(template)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict | list):
        return _encode(_fill_values(parsed, variables))
    # A template that is not JSON by itself, such as {"n": {{n}}}: what it makes must be.
    text = render(template, variables, text_format="json")
    try:
        json.loads(text)
    except ValueError as e:
        raise ValueError("the body is not JSON once it is filled in") from e
    return text.encode()


def _fill_values(template: Any, variables: Variables) -> Any:
    """A value that is one variable alone, such as ``{{ messages | dump }}``, becomes the list or object that it holds."""

    def fill(written: str) -> Any:
        text = render(written, variables)
        if _SINGLE_VARIABLE.fullmatch(written) and text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                return json.loads(render(written, variables, text_format="json"))
        return text

    return change_texts(template, fill)


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
