"""``transformResponse`` without JavaScript: paths into the answer of an HTTP target."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.asking.response import check_depth
from gradegate.errors import ProviderError, Trouble
from gradegate.texts.transform import follow, steps

FORMS = (
    "`text`, `json`, a path such as `json.choices[0].message.content`, or "
    "`{output: json.answer, metadata: {documents: json.sources}}`"
)
# Members of an answer that say more about an error, and are not an answer.
_ABOUT_ERRORS = frozenset(
    "error errors message detail details description code status statuscode status_code type title instance trace "
    "traceback stack path timestamp time request_id requestid trace_id traceid id success ok".split()
)
_ARROW = re.compile(r"\(?\s*json\s*(?:,\s*text\s*(?:,\s*context\s*)?)?\)?\s*=>\s*")
_RETURN = re.compile(r"\{\s*return\s+(.*?);?\s*\}", re.DOTALL)
_KEY = re.compile(r"\s*(?:([A-Za-z_$][\w$]*)|'([^']*)'|\"([^\"]*)\")\s*:\s*")


@dataclass(frozen=True, slots=True)
class _Path:
    """A path into the answer; ``steps`` is None for its text."""

    written: str
    steps: tuple[Any, ...] | None

    def apply(self, text: str, host: str) -> Any:
        if self.steps is None:
            return text
        try:
            value = json.loads(text)
            check_depth(value, text)
            return follow(value, self.steps)
        except (ValueError, RecursionError) as e:
            raise ProviderError(
                f"{host} answered something that is not JSON: {excerpt(text, 80)!r}", Trouble.MALFORMED
            ) from e
        except LookupError as e:
            what = f"`{self.written}` leads nowhere in the answer of {host}: {e.args[0]}"
            raise ProviderError(what, Trouble.MALFORMED) from e


@dataclass(frozen=True, slots=True)
class Extract:
    """Where the answer's text is, and what is kept as metadata for ``contextTransform``."""

    output: _Path | None = None
    metadata: Mapping[str, _Path] = field(default_factory=dict)

    def apply(self, text: str, host: str) -> tuple[str, Mapping[str, Any]]:
        """The output as text and the metadata. Raises ProviderError."""
        output = self.output.apply(text, host) if self.output else _whole(text)
        if output is None:
            raise ProviderError(f"{host} answered null where its output should be", Trouble.MALFORMED)
        shown = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return shown, {name: path.apply(text, host) for name, path in self.metadata.items()}


def error_in(text: str) -> Any:
    """The ``error`` or ``errors`` of a JSON object that says nothing else, as some applications answer with 200.

    None for anything else, such as an object in which another member holds a text, a list or an object.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    rest = [value for name, value in body.items() if name.lower() not in _ABOUT_ERRORS]
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


def parse(written: Any) -> Extract:
    """Raises ValueError for anything but the forms that can be followed without running code."""
    if not written:
        return Extract()
    text = str(written).strip().removesuffix(";").strip()
    arrow = _ARROW.match(text)
    text = text[arrow.end() :].strip() if arrow else text
    block = _RETURN.fullmatch(text)
    text = block[1].strip() if block else text
    if text.startswith("({") and text.endswith("})"):
        text = text[1:-1].strip()
    if not isinstance(written, str) or not text.startswith("{"):
        return Extract(_path(text, written))
    members = _members(text, written)
    output, metadata = members.pop("output", None), members.pop("metadata", {})
    if not isinstance(output, _Path) or members or not isinstance(metadata, dict):
        raise _code(written)
    if not all(isinstance(path, _Path) for path in metadata.values()):
        raise _code(written)
    return Extract(output, metadata)


def _path(text: str, written: Any) -> _Path:
    if text == "text":
        return _Path(text, None)
    path = steps(text.removeprefix("json")) if text.startswith("json") else None
    if path is None:
        raise _code(written)
    return _Path(text, path)


def _members(text: str, written: Any) -> dict[str, Any]:
    """``{key: path, key: {key: path}}`` by key."""
    members: dict[str, Any] = {}
    rest = text[1:-1].strip() if text.endswith("}") else None
    while rest:
        key = _KEY.match(rest)
        if key is None:
            raise _code(written)
        value, rest = _value(rest[key.end() :])
        name = next(group for group in key.groups() if group is not None)
        members[name] = _members(value, written) if value.startswith("{") else _path(value, written)
    if rest is None:
        raise _code(written)
    return members


def _value(text: str) -> tuple[str, str]:
    """The text up to the next comma outside brackets, and what follows it."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            return text[:place].strip(), text[place + 1 :].strip()
    return text.strip(), ""


def _whole(text: str) -> Any:
    """The answer as it is; a JSON string without its quotes."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def _code(written: Any) -> ValueError:
    return ValueError(f"transformResponse `{written}` is code, which gradegate does not run; it can follow {FORMS}")
