"""Requests of a template, out of whose places no value breaks, and ``transformResponse``."""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from gradegate.core.conversation import IS_DATA, RAW, Variables
from gradegate.errors import ProviderError
from gradegate.files.documents import strict
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
    """What ``transformResponse`` makes of an answer; without a ``script``, the whole body is the output.

    ``reads_text``: the script may look at the body's text, not only at its JSON.
    """

    script: Script | None = None
    reads_text: bool = True

    def apply(self, text: str, answer: Response) -> tuple[str, JsonObject]:
        """The output as text, and the metadata: an object with ``output`` or ``error`` can have ``metadata`` beside it.

        Raises ProviderError.
        """
        value = _parsed(text)
        if self.script is None:  # a JSON string without its quotes
            if isinstance(value, str):
                return value, {}
            return text, {IS_DATA: True} if _is_true(value) else {}
        body = text if self.reads_text else ""
        headers = dict(answer.headers)
        response = {"status": answer.status, "headers": headers, "data": body, "cached": False}
        json_value = value if _is_true(value) else None
        try:
            made: Any = self.script.call(json_value, body, {"response": response}).value
        except ScriptError as e:
            what = f"transformResponse fails on the answer of {answer.host}"
            if value is None:
                what += f", which is not JSON ({excerpt(text, 80)!r})"
            raise ProviderError(f"{what}: {e}") from e
        metadata: Any = {}
        if isinstance(made, dict) and ("output" in made or "error" in made):
            if made.get("error"):
                error = excerpt(str(made["error"]), 500)
                raise ProviderError(f"{answer.host} answered with an error: {error}")
            made, metadata = made.get("output"), made.get("metadata")
        if made is None:
            what = f"transformResponse gives nothing for the answer of {answer.host}: {excerpt(text, 80)!r}"
            raise ProviderError(what)
        return _shown(made, metadata if isinstance(metadata, dict) else {}, answer.host)


def read_response_transform(written: Any) -> ResponseTransform:
    """Raises ValueError for JavaScript that cannot be used."""
    if not written:
        return ResponseTransform()
    if not isinstance(written, str | Mapping):
        raise ValueError(f"transformResponse is not text: {written!r}")
    # A function or a file may call the text by another name.
    is_expression = isinstance(written, str) and not is_function(written)
    reads_text = not is_expression or may_mention(written, "text", "context")
    return ResponseTransform(response_script(written), reads_text)


def _parsed(text: str) -> Any:
    """A text as JSON; None where it is not JSON."""
    try:
        return strict(text)
    except (ValueError, RecursionError):
        return None


def _shown(output: Any, metadata: JsonObject, host: str) -> tuple[str, JsonObject]:
    if isinstance(output, float) and not math.isfinite(output):
        raise ProviderError(f"transformResponse gives no value for the answer of {host}: {output}")
    metadata = {name: item for name, item in metadata.items() if name not in (IS_DATA, RAW)}
    if isinstance(output, str):
        return output, metadata
    return json.dumps(output, ensure_ascii=False), {**metadata, IS_DATA: True}


def error_in(text: str) -> Any:
    """The ``error`` or ``errors`` of a JSON object in which no other member holds a text, a list or an object, as of a 200; else None."""
    body = _parsed(text)
    rest = (
        [value for name, value in body.items() if name.lower() not in _ABOUT_ERRORS]
        if isinstance(body, dict)
        else ["no object"]
    )
    if any(value and isinstance(value, str | list | dict) for value in rest):
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


def _is_true(value: Any) -> bool:
    """As JavaScript has it: an empty object is true. promptfoo takes what is not for no data."""
    return bool(value) or isinstance(value, dict | list)


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain; charset=utf-8"
_CLIMBS = re.compile(r"/\.\.?(?:/|$)")
_ONE = re.compile(r"\s*\{\{(?:(?!\}\}).)*\}\}\s*", re.DOTALL)


def address(url: str, query: NamedTexts, variables: Variables) -> str:
    """The URL filled in; values are percent-encoded once, also if the template does it; not the environment. Raises ValueError."""
    filled = render(url, variables, into="url")
    if _CLIMBS.search(filled.partition("?")[0]) and not _CLIMBS.search(url):
        raise ValueError(
            "a variable makes a step of the path `.` or `..`, which would be another path"
        )
    if not query:
        return filled
    return (
        filled
        + ("&" if "?" in filled else "?")
        + urlencode({name: render(t, variables) for name, t in query.items()})
    )


def body(
    template: Any,
    headers: NamedTexts,
    variables: Variables,
    whole: JsonObject | None = None,
) -> tuple[bytes | None, str]:
    """The body and its Content-Type, unless ``headers`` set one. Raises TemplateError and ValueError.

    ``whole``: what a transform made, which wins over the members that the template has, and is not filled in.
    """
    declared = next(
        (text for name, text in headers.items() if name.lower() == "content-type"), ""
    ).lower()
    if whole is not None:
        written = template if isinstance(template, Mapping) else {}
        return _encoded({**written, **whole}), "" if declared else JSON
    if template is None:
        return None, ""
    if not isinstance(template, str):
        return _encoded(_filled(template, variables)), "" if declared else JSON
    if FORM in declared:
        return render(template, variables, into="url").encode(), ""
    if "json" in declared or (not declared and template.lstrip()[:1] in ("{", "[")):
        return _json(template, variables), "" if declared else JSON
    return render(template, variables).encode(), "" if declared else TEXT


def _json(template: str, variables: Variables) -> bytes:
    try:
        parsed = json.loads(template)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict | list):
        return _encoded(_filled(parsed, variables))
    # A template that is not JSON by itself, such as {"n": {{n}}}: what it makes must be.
    text = render(template, variables, into="json")
    try:
        json.loads(text)
    except ValueError as e:
        raise ValueError("the body is not JSON once it is filled in") from e
    return text.encode()


def _filled(template: Any, variables: Variables) -> Any:
    """A value that is one variable alone, such as ``{{ messages | dump }}``, becomes the list or object that it holds."""

    def fill(written: str) -> Any:
        text = render(written, variables)
        if _ONE.fullmatch(written) and text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                return json.loads(render(written, variables, into="json"))
        return text

    return change_texts(template, fill)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
