"""The JSON Schema of a config file, for editors: made from the keys in `keys` and from the evaluators.

The schema is never stricter than the reader: what the schema refuses, the reader refuses too, or ignores with a note. So
numbers and flags may be in quotes, and a key may have no value.
"""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter

from gradegate.assertions.grading.evaluator import EVALUATORS, Evaluator
from gradegate.config import keys
from gradegate.config.unknown_keys import DOCUMENTS
from gradegate.core.assertion import ASSERT_SET
from gradegate.core.policy import LIMITS, limit_key
from gradegate.files.documents import table
from gradegate.providers.api.options import TEST_PARAMETERS

Schema = dict[str, Any]

ANYTHING: Schema = {}
NULL: Schema = {"type": "null"}
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SET_SENTENCE = "Several assertions that count as one."


def config_schema() -> Schema:
    """The schema of a config file in promptfoo's dialect, with gradegate's own keys."""
    schema = keys.ConfigKeys.model_json_schema()
    definitions = schema.pop("$defs")
    for model in (
        keys.TestKeys,
        keys.AssertionKeys,
        keys.ProviderKeys,
        keys.DerivedKeys,
        keys.ScenarioKeys,
    ):
        definition = model.model_json_schema()
        definitions.update(definition.pop("$defs", {}))
        definitions[model.__name__] = definition

    models = {"ConfigKeys": schema, **definitions}
    _add_values_read_later(models)
    _replace_metadata_by_pattern(models["SelectKeys"])
    _require_limit(models["RuleKeys"])
    _add_test_options(models["OptionKeys"])
    for name, model_schema in models.items():
        _finish_model(name, model_schema)

    _add_assertion_types(definitions["AssertionKeys"], definitions)
    return {"$schema": DRAFT, **schema, "$defs": dict(sorted(definitions.items()))}


# --- additions to single models -------------------------------------------------------------------------------


def _add_values_read_later(models: Mapping[str, Schema]) -> None:
    """Add schemas for values of type ``Any`` in `keys`: the reader looks at them after the keys."""
    for name, properties in table("config", "schema.yaml").items():
        models[name]["properties"].update(properties)


def _replace_metadata_by_pattern(select: Schema) -> None:
    """Write ``metadata.KEY`` of ``select`` as a pattern of keys."""
    del select["properties"]["metadata."]
    sentence = _key_sentences("SelectKeys")["metadata."]
    select["patternProperties"] = {r"^metadata\..": {"type": "string", "description": sentence}}


def _require_limit(rule: Schema) -> None:
    """Require one of the limits that decide something."""
    rule["anyOf"] = []
    for name, limit in LIMITS.items():
        if limit.decides:
            rule["anyOf"].append({"required": [limit_key(name)]})


def _add_test_options(options: Schema) -> None:
    """Add the keys of ``options`` that are passed on: to the target, to the test, or to evaluators."""
    sentences = dict.fromkeys(TEST_PARAMETERS, "sent to the target, over its `config`")
    sentences.update(dict.fromkeys(keys.STEERING, "steers the test, as in promptfoo"))
    for name, types in _types_by_option().items():
        shown_types = types[:3]
        if len(types) > 3:
            shown_types.append("and others")
        sentences[name] = f"an option of {', '.join(shown_types)}"

    properties = {name: {"description": sentences[name]} for name in sorted(sentences)}
    properties.update(options["properties"])
    options["properties"] = properties
    options["additionalProperties"] = False


def _types_by_option() -> dict[str, list[str]]:
    """Options that a test may set for all of its assertions, with the assertion types that have them."""
    types: dict[str, list[str]] = {}
    for name, evaluator in EVALUATORS:
        for field in _fields(evaluator):
            if field.name not in ("value", "threshold", "config", "test", "context_transform"):
                types.setdefault(field.name, []).append(name)
    return types


# --- every model ----------------------------------------------------------------------------------------------


# Models in which the reader passes over keys that document something, and over a config's own keys.
_MODELS_WITH_IGNORED_KEYS = frozenset(
    {
        "ConfigKeys",
        "TestKeys",
        "AssertionKeys",
        "OptionKeys",
        "ScenarioKeys",
        "ProviderKeys",
        "EvaluateKeys",
        "CommandLineKeys",
    }
)
_IGNORED_KEYS: Schema = {
    r"^(x-|_(?!_)|\.)": {},  # `is_own` in `unknown_keys` says the same
    f"^({'|'.join(sorted(DOCUMENTS))})$": {
        "description": "documents the config, and decides nothing"
    },
}


def _finish_model(name: str, schema: Schema) -> None:
    """Allow all that the reader allows in a model, and give each key its sentence."""
    schema.pop("title", None)
    sentences = _key_sentences(name)
    properties = schema.get("properties", {})
    for key, written in properties.items():
        if key == "threshold":
            value = _threshold_of_model(name)
        else:
            value = _allow_null(_simplify(_allow_quotes(written)))
        if key in ("reask", "ask"):
            value["anyOf"].append({"const": False})  # YAML reads `off` as false
        if key in sentences:
            value = {**value, "description": sentences[key]}
        properties[key] = value

    if name in _MODELS_WITH_IGNORED_KEYS:
        schema["patternProperties"] = dict(_IGNORED_KEYS)
    schema["description"] = _as_markdown(schema.get("description", ""))


def _threshold_of_model(name: str) -> Schema:
    """A threshold. Unlike other keys, a threshold without a value is a mistake."""
    number: Schema = {"type": "number"}
    if name == "TestKeys":
        number.update(minimum=0, maximum=1)
    return {"anyOf": [number, {"type": "string", "pattern": _NUMBER}]}


def _key_sentences(model: str) -> Mapping[str, str]:
    """A sentence for each key of a model. Empty for a model without sentences."""
    sentences: Mapping[str, str] = table("config", "sentences.yaml").get(model, {})
    return sentences


def _as_markdown(text: str) -> str:
    """A docstring as editors show it."""
    return text.replace("``", "`")


# --- from pydantic's schema to what the reader allows ---------------------------------------------------------


def _any_case(word: str) -> str:
    """A pattern for a word in capital or small letters."""
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


_NUMBER = r"^\s*[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_FLAG_WORDS = "true false yes no on off t f y n".split()
_FLAG = rf"^\s*({'|'.join(map(_any_case, _FLAG_WORDS))}|0|1)\s*$"
# Pydantic's names of the ends of a range, and those of JSON Schema.
_RANGE_ENDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
}


def _allow_quotes(schema: Any) -> Any:
    """Allow numbers and flags in quotes, at any depth."""
    if isinstance(schema, list):
        return [_allow_quotes(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema

    value = {key: _allow_quotes(item) for key, item in schema.items()}
    json_type = value.get("type")
    if json_type in ("number", "integer"):
        value.update(type=[json_type, "string"], pattern=_NUMBER)
    elif json_type == "boolean":
        value.update(type=["boolean", "integer", "string"], minimum=0, maximum=1, pattern=_FLAG)
    return value


def _simplify(schema: Any) -> Any:
    """Remove titles, null and defaults of null, and name the ends of ranges as JSON Schema does, at any depth."""
    if isinstance(schema, list):
        return [_simplify(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema

    value = {}
    for key, item in schema.items():
        is_title = key == "title" and isinstance(item, str)  # and not the schema of a key `title`
        if not is_title:
            value[_RANGE_ENDS.get(key, key)] = _simplify(item)

    # `X | None` becomes X.
    options = value.get("anyOf")
    if isinstance(options, list) and len(options) == 2 and NULL in options:
        del value["anyOf"]
        not_null = options[0] if options[1] == NULL else options[1]
        value = {**not_null, **value}

    if "default" in value and value["default"] is None:
        del value["default"]
    return value


def _allow_null(schema: Schema) -> Schema:
    """Allow null, too: a key without a value counts as not written."""
    if schema.keys().isdisjoint(("type", "enum", "const", "anyOf", "$ref")):
        return schema  # it allows everything

    json_types = schema.get("type")
    if json_types is not None and "enum" not in schema and "const" not in schema:
        if isinstance(json_types, str):
            json_types = [json_types]
        return {**schema, "type": [*json_types, "null"]}

    annotations = {}
    conditions = {}
    for name, item in schema.items():
        if name in ("default", "description"):
            annotations[name] = item
        else:
            conditions[name] = item
    options = conditions["anyOf"] if conditions.keys() == {"anyOf"} else [conditions]
    return {**annotations, "anyOf": [*options, NULL]}


# --- assertions by their types --------------------------------------------------------------------------------


def _add_assertion_types(schema: Schema, definitions: Schema) -> None:
    """List the types of assertions, and say for each what its other keys mean.

    ``schema`` is the one of an assertion. What the schemas of types refer to is added to ``definitions``.
    """
    types: dict[type[Evaluator], list[str]] = {}
    for name, evaluator in EVALUATORS:
        types.setdefault(evaluator, []).append(name)

    sentences = {ASSERT_SET: SET_SENTENCE}
    for evaluator, names in types.items():
        sentences.update(dict.fromkeys(names, _first_sentence(evaluator)))

    properties = schema["properties"]
    properties["type"] = _type_schema(sentences)
    # Each type has a sentence about its value, and editors show the first sentence that they find.
    properties["value"] = {}
    properties["$ref"] = {
        "type": "string",
        "description": "`#/assertionTemplates/NAME`: the assertion of that name",
    }
    schema["required"] = []
    schema["anyOf"] = [{"required": ["type"]}, {"required": ["$ref"]}]

    # The members of a set are no sets.
    set_type = {"properties": {"type": {"pattern": f"^(not-)?{ASSERT_SET}$"}}, "required": ["type"]}
    members = {"assert": {"minItems": 1, "items": {"not": set_type}}}
    schema["allOf"] = [_condition_on_type([ASSERT_SET], {"properties": members}, ["assert"])]
    for evaluator, names in types.items():
        then = _evaluator_schema(evaluator, definitions)
        schema["allOf"].append(_condition_on_type(names, then, _required_keys(evaluator)))


def _type_schema(sentences: Mapping[str, str]) -> Schema:
    """The schema of ``type``: a type of ``sentences``, which has a sentence for each, or the opposite of a type."""
    names = sorted(sentences)
    options = [{"const": name, "description": sentences[name]} for name in names]
    opposite = {
        "type": "string",
        # Letters, digits, hyphens and colons: nothing to escape.
        "pattern": f"^not-({'|'.join(names)})$",
        "description": "The opposite of a type.",
    }
    return {
        "description": _key_sentences("AssertionKeys")["type"],
        "anyOf": [*options, opposite],
    }


def _condition_on_type(names: Iterable[str], then: Schema, required: Sequence[str]) -> Schema:
    """A schema that applies to assertions of some types, with ``not-`` or without. They need the ``required`` keys."""
    if required:  # the template that `$ref` names may have them
        then["anyOf"] = [{"required": required}, {"required": ["$ref"]}]
    pattern = f"^(not-)?({'|'.join(names)})$"
    has_type = {"properties": {"type": {"pattern": pattern}}, "required": ["type"]}
    return {"if": has_type, "then": then}


def _first_sentence(evaluator: type[Evaluator]) -> str:
    first_line, _, _ = str(evaluator.__doc__ or "").strip().partition("\n")
    return _as_markdown(first_line)


# --- one type of assertion ------------------------------------------------------------------------------------


def _evaluator_schema(evaluator: type[Evaluator], definitions: Schema) -> Schema:
    """The schema of ``value``, ``threshold`` and ``config`` for an evaluator. Adds to ``definitions`` what it refers to."""
    prefix = f"{evaluator.__name__}."
    whole = TypeAdapter(evaluator).json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    for name, definition in whole.pop("$defs", {}).items():
        definitions[prefix + name] = _simplify(definition)
    options = _simplify(whole.get("properties", {}))
    sentences = _field_sentences(evaluator)

    properties: Schema = {}
    if "value" in options:
        sentence = sentences.get("value", "")
        properties["value"] = _value_schema(options["value"], sentence, definitions)
    else:
        properties["value"] = {"description": "This type takes no value."}
    properties["threshold"] = _threshold_schema(evaluator, options.get("threshold", {}))
    if "config" not in options:
        properties["config"] = _options_schema(options, sentences, evaluator)
    return {"description": _first_sentence(evaluator), "properties": properties}


def _value_schema(value: Schema, sentence: str, definitions: Mapping[str, Schema]) -> Schema:
    """The schema of a value, for the help of editors: it refuses nothing.

    A template may stand for any part of the value, and the reader takes texts in place of lists.
    """
    # Editors offer only keys that are next to `anyOf`, not those inside of it.
    inner_keys = {}
    for option in (value, *value.get("anyOf", ()), *value.get("oneOf", ())):
        name = str(option.get("$ref", "")).rpartition("/")[2]
        properties = definitions.get(name, {}).get("properties", {})
        for key, inner in properties.items():
            inner_keys[key] = {"anyOf": [inner, ANYTHING]}

    schema: Schema = {"description": sentence}
    if inner_keys:
        schema["properties"] = inner_keys
    schema["anyOf"] = [value, ANYTHING]
    return schema


def _threshold_schema(evaluator: type[Evaluator], written: Schema) -> Schema:
    """The range and the default of a threshold. ``written`` is the schema of the evaluator's field."""
    schema: Schema = {}
    if evaluator.scoring.share:
        schema.update(minimum=0, maximum=1)
    default = evaluator.scoring.default
    if default is None:
        default = written.get("default")
    if default is not None:
        schema["default"] = default
    return schema


def _options_schema(
    options: Schema, sentences: Mapping[str, str], evaluator: type[Evaluator]
) -> Schema:
    """The schema of ``config`` with the options of an evaluator."""
    properties: Schema = {}
    for name, option in options.items():
        if name in ("value", "threshold", "context_transform"):
            continue
        properties[name] = {}
        if name in sentences:
            properties[name]["description"] = sentences[name]
        properties[name]["anyOf"] = [option, ANYTHING]

    if any(field.name == "context_transform" for field in _fields(evaluator)):
        sentence = _key_sentences("AssertionKeys")["contextTransform"]
        properties["context_transform"] = {"description": sentence}
    if "strict_mode" in options:
        properties["threshold"] = {"description": "as DeepEval has it"}
        properties["model"] = {"description": "the model that grades, as DeepEval has it"}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _required_keys(evaluator: type[Evaluator]) -> list[str]:
    """Which of ``value`` and ``threshold`` an assertion needs."""
    required = []
    for field in _fields(evaluator):
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        if field.name in ("value", "threshold") and not has_default:
            required.append(field.name)
    return required


def _fields(evaluator: type[Evaluator]) -> Sequence[dataclasses.Field[Any]]:
    return dataclasses.fields(evaluator)  # type: ignore[arg-type]  # every evaluator is a dataclass


def _field_sentences(evaluator: type[Evaluator]) -> dict[str, str]:
    """What an evaluator says about its fields: the texts below them in its class and in its bases."""
    sentences = {}
    for base in reversed(evaluator.__mro__):
        for statement, following in pairwise(_class_body(base)):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
            ):
                sentences[statement.target.id] = str(following.value.value)
    return sentences


def _class_body(cls: type) -> list[ast.stmt]:
    """The statements of a class. Empty if its source is not available."""
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return []
    (statement,) = ast.parse(textwrap.dedent(source)).body
    return statement.body if isinstance(statement, ast.ClassDef) else []
