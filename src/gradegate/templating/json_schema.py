"""JSON Schemas of a config, checked and applied in the worker, because a pattern or a reference may never end.

Nothing is retrieved. A reference leads into the schema itself, or to a metaschema of json-schema.org, which the library has.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from gradegate.registry import near_miss
from gradegate.sandbox.evaluate import LimitExceeded, TaskRefused, evaluate
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

NEEDS = ("jsonschema", "_strptime")  # of the worker, which imports nothing later
_MODULE = "gradegate.templating.json_schema"
_REFERENCE_KEYS = ("$ref", "$dynamicRef", "$recursiveRef")
# Keys for people or for other tools, in schemas that were made for OpenAPI, Gemini or an editor
_ANNOTATIONS = {
    *"example deprecated nullable discriminator xml externalDocs propertyOrdering markdownDescription enumDescriptions".split()
}
_SAMPLES: tuple[Any, ...] = (None, True, 0, "", [], {})


@lru_cache(maxsize=256)
def check_schema(schema: str, only_keywords: bool = False) -> None:
    """Raises ValueError with what is wrong with a schema in JSON, such as a key that is no keyword with ``only_keywords``."""
    try:
        fault = evaluate(f"{_MODULE}:find_fault", schema, only_keywords)
    except (LimitExceeded, TaskRefused) as e:
        raise ValueError(f"is a JSON Schema that cannot be used: {e}") from e
    if fault:
        raise ValueError(fault)


def schema_problem(schema: str, value: Any) -> str:
    """Why a value does not conform to a schema in JSON; empty if it does. Raises LimitExceeded and TaskRefused, ValueErrors."""
    return str(evaluate(f"{_MODULE}:find_problem", schema, value))


def schema_problems(schemas: Mapping[str, str], values: Sequence[tuple[str, Any]]) -> list[str]:
    """The problem of each value with the schema of that name; all within the limits of one. Raises as ``schema_problem``."""
    return list(evaluate(f"{_MODULE}:find_problems", schemas, values)) if values else []


# --- what the worker does ---------------------------------------------------------------------------------------


def find_fault(schema: str, only_keywords: bool = False) -> str:
    """What is wrong with a schema in JSON; empty if nothing is. With ``only_keywords``, every key has to be a keyword."""
    from jsonschema.exceptions import SchemaError
    from referencing.jsonschema import DRAFT7, specification_with

    validator = _validator(schema)
    try:
        validator.check_schema(validator.schema)
    except SchemaError as e:
        return f"is not a JSON Schema: {_describe_error(e)}"
    if isinstance(validator.schema, Mapping):
        specification = specification_with(validator.META_SCHEMA.get("$schema", ""), default=DRAFT7)
        resource = specification.create_resource(validator.schema)
        fault = _find_lost_reference(specification, resource)
        if only_keywords and not fault:
            fault = _find_unknown_key(validator, resource, schema)
        if fault:
            return fault
    try:
        for sample in _SAMPLES:
            next(validator.iter_errors(sample), None)
    except RecursionError:
        return "is a JSON Schema that refers to itself without end"
    return ""


def find_problem(schema: str, value: Any) -> str:
    """Why a value does not conform to a schema in JSON; empty if it does. Raises ValueError for a reference that leads nowhere."""
    from referencing.exceptions import Unresolvable

    try:
        error = next(_validator(schema).iter_errors(value), None)
    except Unresolvable as e:
        raise ValueError(f"the schema refers to `{e.ref}`, which is not in it") from e
    return _describe_error(error) if error else ""


def find_problems(schemas: dict[str, str], values: list[tuple[str, Any]]) -> list[str]:
    """The problem of each value with the schema of that name."""
    return [find_problem(schemas[name], value) for name, value in values]


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft7Validator, FormatChecker
    from jsonschema.validators import validator_for
    from referencing.jsonschema import EMPTY_REGISTRY  # it retrieves nothing, unlike jsonschema's

    content = json.loads(schema)
    kind = validator_for(content, default=Draft7Validator)
    return kind(content, format_checker=FormatChecker(), registry=EMPTY_REGISTRY)


def _find_lost_reference(specification: Any, resource: Any) -> str:
    """The fault of the first reference that leads nowhere."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    waiting = [(resource, REGISTRY.resolver_with_root(resource))]
    seen = set()
    while waiting:
        resource, resolver = waiting.pop()
        if id(resource.contents) in seen or not isinstance(resource.contents, Mapping):
            continue
        seen.add(id(resource.contents))
        for key in _REFERENCE_KEYS:
            reference = resource.contents.get(key)
            if not isinstance(reference, str):
                continue
            try:
                resolved = resolver.lookup(reference)
            except (Unresolvable, ValueError):
                return f"refers to `{excerpt(reference, 200)}`, which is not in the schema itself; gradegate fetches nothing"
            waiting.append((specification.create_resource(resolved.contents), resolved.resolver))
        waiting += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
    return ""


def _find_unknown_key(validator: Any, resource: Any, schema: str) -> str:
    """The fault of the first key that no draft, or only another one, knows: every answer would conform to it."""
    keywords = _keywords(validator.META_SCHEMA)
    waiting = [resource]
    while waiting:
        resource = waiting.pop()
        for key in resource.contents if isinstance(resource.contents, Mapping) else ():
            is_known = key in keywords or key in _ANNOTATIONS or key.startswith(("$", "x-"))
            if not is_known and f'"#/{key}/' not in schema:  # a reference may lead to it
                cure = _cure_key(key, validator, keywords)
                return f"has the key `{excerpt(key, 200)}`, which checks nothing: {cure}"
        waiting += resource.subresources()
    return ""


def _cure_key(key: str, validator: Any, keywords: frozenset[str]) -> str:
    """What to write instead of a key that is no keyword."""
    from jsonschema import Draft202012Validator

    latest = Draft202012Validator.META_SCHEMA
    is_top_level = key in validator.schema
    if is_top_level and isinstance(validator.schema.get("schema"), Mapping):
        return "write what is in `schema` alone"
    if close := near_miss(key, keywords):
        return f'did you mean "{close}"?'
    if key in _keywords(latest):
        return f"name its draft, `$schema: {latest['$id']}`"
    if is_top_level and not validator.schema.keys() & keywords:
        return "fields stand in `properties`"
    return "keys of your own start with x-"


def _keywords(metaschema: JsonObject) -> frozenset[str]:
    """The keywords of a draft. Its metaschema may consist of several."""
    from jsonschema_specifications import REGISTRY

    folder = str(metaschema.get("$id") or metaschema.get("id")).rpartition("/")[0] + "/"
    parts = [REGISTRY.contents(uri) for uri in REGISTRY if uri.startswith(folder)]
    return frozenset().union(*(part.get("properties", ()) for part in parts))


def _describe_error(error: Any) -> str:
    """What a value lacks or has too much, else the value and what the schema asks for: the library's sentences are Python's."""
    keyword = error.validator
    required = error.validator_value
    value = error.instance
    if keyword == "required" and isinstance(value, dict):
        missing = [name for name in required if name not in value]
        return f"{error.json_path} lacks {_quote_names(missing)}"
    if keyword == "additionalProperties" and required is False:
        properties = error.schema.get("properties", {})
        further = [name for name in value if name not in properties]
        return f"{error.json_path} has {_quote_names(further)}, and no further key is allowed"
    return f"{error.json_path} is {_shorten(value)}, and the schema asks for {_shorten({keyword: required})}"


def _quote_names(names: list[Any]) -> str:
    return ", ".join(f"`{excerpt(str(name), 60)}`" for name in names)


def _shorten(value: Any) -> str:
    return excerpt(json.dumps(value, ensure_ascii=False, default=str), 100)
