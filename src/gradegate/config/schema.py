"""The JSON Schema of a config, for editors: made of the keys that are read, and of the graders that there are.

It is milder than the reader, never stricter: what it refuses, the reader refuses, or passes over with a note. Numbers and flags may be in
quotes, as the reader takes them, and a key with nothing behind it is none.
"""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Mapping, Sequence
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
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SET_SENTENCE = "Several assertions that count as one."
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_NUMERIC = r"^\s*[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_FLAG = "^\\s*(" + "|".join(
    "".join(f"[{letter}{letter.upper()}]" for letter in word) for word in "true false yes no on off t f y n".split()
) + "|0|1)\\s*$"  # fmt: skip
_OWN = r"^(x-|_(?!_)|\.)"  # as config/unknown_keys.py has it
_DOCUMENTS = f"^({'|'.join(sorted(DOCUMENTS))})$"
# Where keys that document something, or are somebody's own, are passed over.
_OPEN = "ConfigKeys TestKeys AssertionKeys OptionKeys ScenarioKeys ProviderKeys EvaluateKeys CommandLineKeys".split()
_FOR_PEOPLE = "documents the config, and decides nothing"


def config_schema() -> Schema:
    """The schema of a config file in promptfoo's dialect, with our own keys."""
    schema = keys.ConfigKeys.model_json_schema()
    defs = schema.pop("$defs")
    for model in (
        keys.TestKeys,
        keys.AssertionKeys,
        keys.ProviderKeys,
        keys.DerivedKeys,
        keys.ScenarioKeys,
    ):
        one = model.model_json_schema()
        defs |= {**one.pop("$defs", {}), model.__name__: one}
    _link(schema, defs)
    for name, one in (("ConfigKeys", schema), *defs.items()):
        _finish(name, one)
    defs |= _typed(defs["AssertionKeys"])
    return {"$schema": DRAFT, **schema, "$defs": dict(sorted(defs.items()))}


# --- one model ------------------------------------------------------------------------------------------------


def _link(schema: Schema, defs: Schema) -> None:
    """What stands behind keys whose values the reader looks at later."""
    for name, properties in table("config", "schema.yaml").items():
        model = schema if name == "ConfigKeys" else defs[name]
        model["properties"].update(properties)
    defs["SelectKeys"]["properties"].pop("metadata.")
    defs["SelectKeys"]["patternProperties"] = {
        r"^metadata\..": {"type": "string", "description": _sentences()["SelectKeys"]["metadata."]}
    }
    defs["RuleKeys"]["anyOf"] = [
        {"required": [limit_key(name)]} for name, limit in LIMITS.items() if limit.decides
    ]
    extra = {
        name: {"description": "sent to the target, over its `config`"} for name in TEST_PARAMETERS
    }
    extra |= {name: {"description": "steers the test, as in promptfoo"} for name in keys.STEERING}
    extra |= {
        name: {"description": f"an option of {', '.join(kinds)}"}
        for name, kinds in _shared_options().items()
    }
    defs["OptionKeys"]["properties"] = (
        dict(sorted(extra.items())) | defs["OptionKeys"]["properties"]
    )
    defs["OptionKeys"]["additionalProperties"] = False


def _shared_options() -> Mapping[str, Sequence[str]]:
    """Options of graders that a test may set for all of its assertions, with the types that have them."""
    found: dict[str, list[str]] = {}
    for name, kind in EVALUATORS:
        for item in _fields(kind):
            if item.name not in ("value", "threshold", "config", "test", "context_transform"):
                found.setdefault(item.name, []).append(name)
    return {name: kinds[:3] + ["and others"] * (len(kinds) > 3) for name, kinds in found.items()}


def _finish(name: str, schema: Schema) -> None:
    """Ranges as editors know them, what the reader takes besides, and a sentence for each key."""
    schema.pop("title", None)
    properties = schema.get("properties", {})
    for key, written in properties.items():
        number = (
            {"type": "number", "minimum": 0, "maximum": 1}
            if name == "TestKeys"
            else {"type": "number"}
        )
        limit: Schema = {"anyOf": [number, {"type": "string", "pattern": _NUMERIC}]}
        value = limit if key == "threshold" else _or_nothing(_relaxed(written))
        if key in ("reask", "ask"):
            value["anyOf"].append({"const": False})  # YAML reads `off` as false
        sentence = _sentences().get(name, {}).get(key)
        properties[key] = {**value, "description": sentence} if sentence else value
    if name in _OPEN:
        schema["patternProperties"] = {_OWN: {}, _DOCUMENTS: {"description": _FOR_PEOPLE}}
    schema["description"] = str(schema.get("description", "")).replace("``", "`")


def _relaxed(written: Any, quoted: bool = True) -> Any:
    """A schema without titles, with ranges under their names; ``quoted``: numbers and flags may be in quotes."""
    if isinstance(written, list):
        return [_relaxed(item, quoted) for item in written]
    if not isinstance(written, Mapping):
        return written
    value = {
        _BOUNDS.get(key, key): _relaxed(item, quoted)
        for key, item in written.items()
        if not (key == "title" and isinstance(item, str))
    }
    if (
        isinstance(options := value.get("anyOf"), list)
        and {"type": "null"} in options
        and len(options) == 2
    ):
        (other,) = (item for item in options if item != {"type": "null"})
        value = {**other, **{key: item for key, item in value.items() if key != "anyOf"}}
    if value.get("default", ...) is None:
        del value["default"]
    kind = value.get("type") if quoted else None
    if kind in ("number", "integer"):
        value |= {"type": [kind, "string"], "pattern": _NUMERIC}
    if kind == "boolean":
        value |= {
            "type": ["boolean", "integer", "string"],
            "minimum": 0,
            "maximum": 1,
            "pattern": _FLAG,
        }
    return value


def _or_nothing(value: Schema) -> Schema:
    """With null: a key with nothing behind it is none, but for a threshold."""
    kind = value.get("type")
    if not {"type", "enum", "const", "anyOf", "$ref"} & value.keys():
        return value
    if kind is not None and "enum" not in value and "const" not in value:
        return {**value, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    around = {name: item for name, item in value.items() if name in ("default", "description")}
    inner = {name: item for name, item in value.items() if name not in around}
    options = inner["anyOf"] if inner.keys() == {"anyOf"} else [inner]
    return {**around, "anyOf": [*options, {"type": "null"}]}


# --- assertions by their types ----------------------------------------------------------------------------------


def _typed(schema: Schema) -> Schema:
    """What each type says of ``value``, ``threshold`` and ``config``; gives the definitions that this takes."""
    kinds: dict[type[Evaluator], list[str]] = {}
    for name, kind in EVALUATORS:
        kinds.setdefault(kind, []).append(name)
    firsts = {
        kind: str(kind.__doc__ or "").strip().partition("\n")[0].replace("``", "`")
        for kind in kinds
    }
    sentences = {name: firsts[kind] for kind, names in kinds.items() for name in names} | {
        ASSERT_SET: SET_SENTENCE
    }
    names = sorted(sentences)
    opposite = "|".join(names)  # letters, digits, hyphens, colons: nothing to escape
    schema["properties"]["type"] = {
        "description": _sentences()["AssertionKeys"]["type"],
        "anyOf": [
            *({"const": name, "description": sentences[name]} for name in names),
            {
                "type": "string",
                "pattern": f"^not-({opposite})$",
                "description": "The opposite of a type.",
            },
        ],
    }
    schema["properties"][
        "value"
    ] = {}  # each type has its own sentence, and editors show the first that they find
    schema["properties"]["$ref"] = {
        "type": "string",
        "description": "`#/assertionTemplates/NAME`: the assertion of that name",
    }
    schema["required"] = []
    schema["anyOf"] = [{"required": ["type"]}, {"required": ["$ref"]}]
    defs: Schema = {}
    # A set takes members that are none.
    member = {
        "not": {"properties": {"type": {"pattern": f"^(not-)?{ASSERT_SET}$"}}, "required": ["type"]}
    }
    of_set = {"assert": {"minItems": 1, "items": member}}
    schema["allOf"] = [_case([ASSERT_SET], {"properties": of_set, "required": ["assert"]})]
    for kind, written in kinds.items():
        then, more = _of_kind(kind, sentences[written[0]])
        schema["allOf"].append(_case(written, then))
        defs |= more
    return defs


def _case(names: Sequence[str], then: Schema) -> Schema:
    """What holds for types, with ``not-`` or without; a template may bring what is required."""
    pattern = f"^(not-)?({'|'.join(names)})$"
    types = {"properties": {"type": {"pattern": pattern}}, "required": ["type"]}
    required = then.pop("required", [])
    if required:
        then["anyOf"] = [{"required": required}, {"required": ["$ref"]}]
    return {"if": types, "then": then}


def _of_kind(kind: type[Evaluator], sentence: str) -> tuple[Schema, Schema]:
    """The schema of an assertion of one grader, and the definitions that it takes."""
    whole = TypeAdapter(kind).json_schema(ref_template=f"#/$defs/{kind.__name__}.{{model}}")
    defs = {
        f"{kind.__name__}.{name}": _relaxed(one, quoted=False)
        for name, one in whole.pop("$defs", {}).items()
    }
    options, told = _relaxed(whole.get("properties", {}), quoted=False), sentences_of(kind)
    value = options.pop("value", None)
    default = kind.scoring.default
    then: Schema = {
        "description": sentence,
        "properties": {"value": {"description": "This type takes no value."}},
    }
    if value is not None:
        about = told.get("value", "")
        # Only shown: a template may stand for any of it, and the reader takes texts where lists are meant.
        inside: Schema = {"properties": inner} if (inner := _keys_in(value, defs)) else {}
        then["properties"]["value"] = {"description": about, **inside, "anyOf": [value, ANYTHING]}
    default = options.get("threshold", {}).get("default") if default is None else default
    # A share where its score is one.
    ends = {"minimum": 0, "maximum": 1} if kind.scoring.share else {}
    then["properties"]["threshold"] = ends | ({} if default is None else {"default": default})
    if "config" not in options:
        known = {
            name: {**({"description": told[name]} if name in told else {}), "anyOf": [it, ANYTHING]}
            for name, it in options.items()
        }
        known.pop("threshold", None)
        known.pop("context_transform", None)
        if any(item.name == "context_transform" for item in _fields(kind)):
            known["context_transform"] = {
                "description": _sentences()["AssertionKeys"]["contextTransform"]
            }
        if "strict_mode" in options:
            known |= {
                "threshold": {"description": "as DeepEval has it"},
                "model": {"description": "the model that grades, as DeepEval has it"},
            }
        then["properties"]["config"] = {
            "type": ["object", "null"],
            "properties": known,
            "additionalProperties": False,
        }
    lacking = (
        item.name
        for item in _fields(kind)
        if item.default is item.default_factory is dataclasses.MISSING
    )
    required = [name for name in lacking if name in ("value", "threshold")]
    return {**then, "required": required}, defs


def _keys_in(value: Schema, defs: Mapping[str, Schema]) -> Schema:
    """The keys of a value that may be a mapping: editors offer those alone that stand beside the alternatives."""
    found: Schema = {}
    for one in (value, *value.get("anyOf", ()), *value.get("oneOf", ())):
        named = defs.get(str(one.get("$ref", "")).rpartition("/")[2], {})
        found |= {key: {"anyOf": [it, ANYTHING]} for key, it in named.get("properties", {}).items()}
    return found


def _fields(kind: type[Evaluator]) -> Sequence[dataclasses.Field[Any]]:
    return dataclasses.fields(kind)  # type: ignore[arg-type]  # every grader is one


def _sentences() -> Mapping[str, Mapping[str, str]]:
    """A sentence for each key, by the class of its model."""
    return table("config", "sentences.yaml")  # type: ignore[no-any-return]


def sentences_of(kind: type[Evaluator]) -> Mapping[str, str]:
    """What a grader says of its options: the texts that stand below them in its class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        try:
            (written,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError):  # its source is not there
            continue
        found |= {
            field.target.id: str(text.value.value)
            for field, text in pairwise(written.body if isinstance(written, ast.ClassDef) else ())
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        }
    return found
