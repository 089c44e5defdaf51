"""JSON Schemas of a config, checked and applied in the worker, because a pattern or a reference may never end.

Nothing is retrieved. A reference leads into the schema itself or to a metaschema of json-schema.org, which the library
has with it. What the worker does comes first, what asks it comes last.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from gradegate.registry import near
from gradegate.sandbox.evaluate import LimitExceeded, TaskRefused, evaluate
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

NEEDS = ("jsonschema", "_strptime")  # of the worker, which imports nothing later
_HERE = "gradegate.templating.json_schema"
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# What says something to people or to other tools, in schemas that were made for OpenAPI, Gemini or an editor.
_SAYS = {
    *"example deprecated nullable discriminator xml externalDocs propertyOrdering markdownDescription enumDescriptions".split()
}
_SAMPLES: tuple[Any, ...] = (None, True, 0, "", [], {})


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft7Validator, FormatChecker
    from jsonschema.validators import validator_for
    from referencing.jsonschema import (
        EMPTY_REGISTRY,
    )  # which retrieves nothing, unlike jsonschema's own

    loaded = json.loads(schema)
    kind = validator_for(loaded, default=Draft7Validator)
    return kind(loaded, format_checker=FormatChecker(), registry=EMPTY_REGISTRY)


def find_fault(schema: str, known: bool = False) -> str:
    """What is wrong with a schema in JSON; empty when nothing is. ``known``: every key has to be a keyword."""
    from jsonschema.exceptions import SchemaError
    from referencing.jsonschema import DRAFT7, specification_with

    validator = _validator(schema)
    try:
        validator.check_schema(validator.schema)
    except SchemaError as e:
        return f"is not a JSON Schema: {_said(e)}"
    if isinstance(validator.schema, Mapping):
        specification = specification_with(validator.META_SCHEMA.get("$schema", ""), default=DRAFT7)
        resource = specification.create_resource(validator.schema)
        if strange := _leads_away(specification, resource) or (
            _checks_nothing(validator, resource, schema) if known else ""
        ):
            return strange
    try:
        for sample in _SAMPLES:
            next(validator.iter_errors(sample), None)
    except RecursionError:
        return "is a JSON Schema that refers to itself without end"
    return ""


def _leads_away(specification: Any, resource: Any) -> str:
    """What is said of the first reference that leads nowhere."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    left = [(resource, REGISTRY.resolver_with_root(resource))]
    seen = set()
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
                return f"refers to `{excerpt(reference, 200)}`, which is not in the schema itself; gradegate fetches nothing"
            left.append((specification.create_resource(resolved.contents), resolved.resolver))
        left += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
    return ""


def _checks_nothing(validator: Any, resource: Any, schema: str) -> str:
    """What is said of the first key that no draft, or only another one, knows: whatever the answer, it would conform."""
    from jsonschema import Draft202012Validator

    keywords = _keywords(validator.META_SCHEMA)
    left = [resource]
    while left:
        resource = left.pop()
        keys = resource.contents if isinstance(resource.contents, Mapping) else ()
        strange = (
            it
            for it in keys
            if it not in keywords
            and it not in _SAYS
            and not it.startswith(("$", "x-"))
            and f'"#/{it}/' not in schema
        )
        if (key := next(strange, None)) is not None:
            cure = "keys of your own start with x-"
            if key in validator.schema and isinstance(validator.schema.get("schema"), Mapping):
                cure = "write what is in `schema` alone"
            elif close := near(key, keywords):
                cure = f'did you mean "{close}"?'
            elif key in _keywords(Draft202012Validator.META_SCHEMA):
                cure = f"name its draft, `$schema: {Draft202012Validator.META_SCHEMA['$id']}`"
            elif key in validator.schema and not validator.schema.keys() & keywords:
                cure = "fields stand in `properties`"
            return f"has the key `{excerpt(key, 200)}`, which checks nothing: {cure}"
        left += resource.subresources()
    return ""


def _keywords(metaschema: JsonObject) -> frozenset[str]:
    """The keywords of a draft, whose metaschema may be put together of several."""
    from jsonschema_specifications import REGISTRY

    folder = str(metaschema.get("$id") or metaschema.get("id")).rpartition("/")[0] + "/"
    parts = [REGISTRY.contents(uri) for uri in REGISTRY if uri.startswith(folder)]
    return frozenset(key for part in parts for key in part.get("properties", ()))


def find_problem(schema: str, value: Any) -> str:
    """Why a value does not conform to a schema in JSON; empty when it does. Raises ValueError where that is not known."""
    from referencing.exceptions import Unresolvable

    try:
        error = next(_validator(schema).iter_errors(value), None)
    except Unresolvable as e:
        raise ValueError(f"the schema refers to `{e.ref}`, which is not in it") from e
    return _said(error) if error else ""


def _said(error: Any) -> str:
    """What a value lacks or has too much, else the value and what is asked for: the library's own sentence is Python's."""
    keyword = error.validator
    asked = error.validator_value
    value = error.instance
    if keyword == "required" and isinstance(value, dict):
        lacking = ", ".join(f"`{excerpt(str(name), 60)}`" for name in asked if name not in value)
        return f"{error.json_path} lacks {lacking}"
    if keyword == "additionalProperties" and asked is False:
        known = error.schema.get("properties", {})
        names = ", ".join(f"`{excerpt(str(name), 60)}`" for name in value if name not in known)
        return f"{error.json_path} has {names}, and no further key is allowed"
    shown = (
        excerpt(json.dumps(it, ensure_ascii=False, default=str), 100)
        for it in (value, {keyword: asked})
    )
    return "{} is {}, and the schema asks for {}".format(error.json_path, *shown)


def find_problems(schemas: dict[str, str], values: list[tuple[str, Any]]) -> list[str]:
    """``problem`` of each value, which stands beside the name of its schema."""
    return [find_problem(schemas[name], value) for name, value in values]


@lru_cache(maxsize=256)
def check_schema(schema: str, known: bool = False) -> None:
    """Raises ValueError with what is wrong with a schema in JSON; ``known``: also with a key that is no keyword."""
    try:
        wrong = evaluate(f"{_HERE}:find_fault", schema, known)
    except (LimitExceeded, TaskRefused) as e:
        raise ValueError(f"is a JSON Schema that cannot be used: {e}") from e
    if wrong:
        raise ValueError(wrong)


def schema_problem(schema: str, value: Any) -> str:
    """``problem``, in the worker. Raises Exceeded and Refused, which are ValueErrors."""
    return str(evaluate(f"{_HERE}:find_problem", schema, value))


def schema_problems(schemas: Mapping[str, str], values: Sequence[tuple[str, Any]]) -> list[str]:
    """``problems``, in the worker: all within the limits of one. Raises Exceeded and Refused, which are ValueErrors."""
    return list(evaluate(f"{_HERE}:find_problems", schemas, values)) if values else []
