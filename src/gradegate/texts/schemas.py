"""JSON Schemas of a config, checked and applied in the worker: a pattern or a reference in one may never come to an end.

Nothing is retrieved. A reference leads into the schema itself or to a metaschema of json-schema.org, which the library
has with it. What the worker does comes first, what asks it comes last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gradegate.bounded.evaluate import Exceeded, Refused, evaluate

_HERE = "gradegate.texts.schemas"
_LONGEST = 2000  # characters of what is said: the library quotes the value whole
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAMPLES: tuple[Any, ...] = (None, True, 0, "", [], {})


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft7Validator, FormatChecker
    from jsonschema.validators import validator_for
    from referencing.jsonschema import EMPTY_REGISTRY  # which retrieves nothing, unlike jsonschema's own

    loaded = json.loads(schema)
    kind = validator_for(loaded, default=Draft7Validator)
    return kind(loaded, format_checker=FormatChecker(), registry=EMPTY_REGISTRY)


def fault(schema: str) -> str:
    """What is wrong with a schema in JSON; empty when nothing is."""
    from jsonschema.exceptions import SchemaError

    validator = _validator(schema)
    try:
        validator.check_schema(validator.schema)
    except SchemaError as e:
        return f"is not a JSON Schema: {e.json_path}: {e.message}"[:_LONGEST]
    strange = _leads_away(validator)
    if strange:
        return strange
    try:
        for sample in _SAMPLES:
            next(validator.iter_errors(sample), None)
    except RecursionError:
        return "is a JSON Schema that refers to itself without end"
    return ""


def _leads_away(validator: Any) -> str:
    """What is said of the first reference that leads nowhere."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT7, specification_with

    if not isinstance(validator.schema, Mapping):
        return ""
    specification = specification_with(validator.META_SCHEMA.get("$schema", ""), default=DRAFT7)
    resource = specification.create_resource(validator.schema)
    left, seen = [(resource, REGISTRY.resolver_with_root(resource))], set()
    while left:
        resource, resolver = left.pop()
        if id(resource.contents) in seen or not isinstance(resource.contents, Mapping):
            continue
        seen.add(id(resource.contents))
        for key in _REFERENCES:
            reference = resource.contents.get(key)
            if not isinstance(reference, str):
                continue
            try:
                resolved = resolver.lookup(reference)
            except (Unresolvable, ValueError):
                return f"refers to `{reference[:200]}`, which is not in the schema itself; nothing is fetched"
            left.append((specification.create_resource(resolved.contents), resolved.resolver))
        left += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
    return ""


def problem(schema: str, value: Any) -> str:
    """Why a value does not conform to a schema in JSON; empty when it does. Raises ValueError where that is not known."""
    from referencing.exceptions import Unresolvable

    try:
        error = next(_validator(schema).iter_errors(value), None)
    except Unresolvable as e:
        raise ValueError(f"the schema refers to `{e.ref}`, which is not in it") from e
    return f"{error.json_path}: {error.message}"[:_LONGEST] if error else ""


# --- what asks the worker ---------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def check(schema: str) -> None:
    """Raises ValueError with what is wrong with a schema in JSON."""
    try:
        wrong = evaluate(f"{_HERE}:fault", schema)
    except (Exceeded, Refused) as e:
        raise ValueError(f"is a JSON Schema that cannot be used: {e}") from e
    if wrong:
        raise ValueError(wrong)


def breach(schema: str, value: Any) -> str:
    """``problem``, in the worker. Raises Exceeded and Refused, which are ValueErrors."""
    return str(evaluate(f"{_HERE}:problem", schema, value))
