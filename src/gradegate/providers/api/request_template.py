"""Requests of a template, out of whose places no value breaks, and ``transformResponse``: paths, or else JavaScript."""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from gradegate.core.conversation import IS_DATA, RAW
from gradegate.errors import ProviderError, Trouble
from gradegate.files.documents import strict
from gradegate.http.exchange import Response
from gradegate.security.redaction import excerpt
from gradegate.structs import Struct
from gradegate.templating.script import Script, ScriptError, follow, of_response, steps
from gradegate.templating.template import render

# Members of an answer that say more about an error, and are not an answer.
_ABOUT_ERRORS = frozenset(
    "error errors message detail details description code status statuscode status_code type title instance trace "
    "traceback stack path timestamp time request_id requestid trace_id traceid id success ok".split()
)
_ARROW = re.compile(r"\(?\s*json\s*(?:,\s*text\s*(?:,\s*context\s*)?)?\)?\s*=>\s*")
_RETURN = re.compile(r"\{\s*return\s+(.*?);?\s*\}", re.DOTALL)
_KEY = re.compile(r"\s*(?:([A-Za-z_$][\w$]*)|'([^']*)'|\"([^\"]*)\")\s*:\s*")


class _Path(Struct, frozen=True):
    """A path into the answer; ``steps`` is None for its text."""

    written: str
    steps: tuple[Any, ...] | None

    def apply(self, text: str, host: str) -> Any:
        if self.steps is None:
            return text
        try:
            return follow(strict(text), self.steps)
        except (ValueError, RecursionError) as e:
            raise ProviderError(
                f"{host} answered something that is not JSON: {excerpt(text, 80)!r}",
                Trouble.MALFORMED,
            ) from e
        except LookupError as e:
            what = f"`{self.written}` leads nowhere in the answer of {host}: {e.args[0]}"
            raise ProviderError(what, Trouble.MALFORMED) from e


class Extract(Struct, frozen=True):
    """Where the answer's text is, and what is kept as metadata for ``contextTransform``."""

    output: _Path | None = None
    metadata: Mapping[str, _Path] = {}

    def apply(self, text: str, answer: Response) -> tuple[str, Mapping[str, Any]]:
        """The output as text and the metadata. Raises ProviderError."""
        host = answer.host
        if self.output is None:  # the answer as it is; a JSON string without its quotes
            value = _parsed(text)
            return (
                (value, {})
                if isinstance(value, str)
                else (text, {IS_DATA: True} if _is_true(value) else {})
            )
        output = self.output.apply(text, host)
        metadata = {name: path.apply(text, host) for name, path in self.metadata.items()}
        return _shown(output, metadata, host)


class Computed(Struct, frozen=True):
    """A transform that is JavaScript, over ``json``, ``text`` and ``context.response``."""

    script: Script

    def apply(self, text: str, answer: Response) -> tuple[str, Mapping[str, Any]]:
        """As ``Extract.apply``; an object with ``output`` or ``error`` says both, and ``metadata`` beside it."""
        value = _parsed(text)
        response = {
            "status": answer.status,
            "headers": dict(answer.headers),
            "data": text,
            "cached": False,
        }
        try:
            made = self.script.call(
                value if _is_true(value) else None, text, {"response": response}
            ).value
        except ScriptError as e:
            raise ProviderError(
                f"transformResponse fails on the answer of {answer.host}: {e}", Trouble.MALFORMED
            ) from e
        if not isinstance(made, dict) or not ("output" in made or "error" in made):
            return _shown(made, {}, answer.host)
        if made.get("error"):
            raise ProviderError(
                f"{answer.host} answered with an error: {excerpt(str(made['error']), 500)}"
            )
        metadata = made.get("metadata")
        return _shown(
            made.get("output"), metadata if isinstance(metadata, dict) else {}, answer.host
        )


def _parsed(text: str) -> Any:
    """A text as JSON; None where it is not JSON."""
    try:
        return strict(text)
    except (ValueError, RecursionError):
        return None


def _shown(output: Any, metadata: Mapping[str, Any], host: str) -> tuple[str, Mapping[str, Any]]:
    if output is None:
        raise ProviderError(f"{host} answered null where its output should be", Trouble.MALFORMED)
    if isinstance(output, float) and not math.isfinite(output):
        raise ProviderError(
            f"transformResponse gives no value for the answer of {host}: {output}",
            Trouble.MALFORMED,
        )
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


def parse(written: Any) -> Extract | Computed:
    """Raises ValueError for JavaScript that cannot be used."""
    if not written:
        return Extract()
    if not isinstance(written, str | Mapping):
        raise ValueError(f"transformResponse is not text: {written!r}")
    try:
        if isinstance(written, str):  # the forms that can be followed without running code
            text = written.strip().removesuffix(";").strip()
            arrow = _ARROW.match(text)
            text = text[arrow.end() :].strip() if arrow else text
            block = _RETURN.fullmatch(text)
            text = block[1].strip() if block else text
            if text.startswith("({") and text.endswith("})"):
                text = text[1:-1].strip()
            if not text.startswith("{"):
                return Extract(_path(text))
            members = _members(text)
            output, metadata = members.pop("output", None), members.pop("metadata", {})
            known = isinstance(metadata, dict) and all(
                isinstance(path, _Path) for path in metadata.values()
            )
            if not isinstance(output, _Path) or members or not known:
                raise _NoPathError
            return Extract(output, metadata)
    except _NoPathError:
        pass
    return Computed(of_response(written))


class _NoPathError(Exception):
    """It takes an engine."""


def _path(text: str) -> _Path:
    if text == "text":
        return _Path(text, None)
    path = steps(text.removeprefix("json")) if text.startswith("json") else None
    if path is None:
        raise _NoPathError
    return _Path(text, path)


def _members(text: str) -> dict[str, Any]:
    """``{key: path, key: {key: path}}`` by key."""
    members: dict[str, Any] = {}
    rest = text[1:-1].strip() if text.endswith("}") else None
    while rest:
        key = _KEY.match(rest)
        if key is None:
            raise _NoPathError
        rest, depth = rest[key.end() :], 0
        end = len(rest)  # of the value: the next comma outside brackets
        for place, character in enumerate(rest):
            depth += (character in "{[(") - (character in "}])")
            if character == "," and depth == 0:
                end = place
                break
        value, rest = rest[:end].strip(), rest[end + 1 :].strip()
        name = next(group for group in key.groups() if group is not None)
        members[name] = _members(value) if value.startswith("{") else _path(value)
    if rest is None:
        raise _NoPathError
    return members


def _is_true(value: Any) -> bool:
    """As JavaScript has it: an empty object is true. promptfoo takes what is not for no data."""
    return bool(value) or isinstance(value, dict | list)


JSON, FORM, TEXT = (
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain; charset=utf-8",
)
_CLIMBS = re.compile(r"/\.\.?(?:/|$)")
_ONE = re.compile(r"\s*\{\{(?:(?!\}\}).)*\}\}\s*", re.DOTALL)


def address(url: str, query: Mapping[str, str], variables: Mapping[str, Any]) -> str:
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
    headers: Mapping[str, str],
    variables: Mapping[str, Any],
    whole: Mapping[str, Any] | None = None,
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


def _json(template: str, variables: Mapping[str, Any]) -> bytes:
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


def _filled(template: Any, variables: Mapping[str, Any]) -> Any:
    """A value that is one variable alone, such as ``{{ messages | dump }}``, becomes the list or object that it holds."""

    def fill(written: str) -> Any:
        text = render(written, variables)
        if _ONE.fullmatch(written) and text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                return json.loads(render(written, variables, into="json"))
        return text

    return _changed(template, fill)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    return value
