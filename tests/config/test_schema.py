"""The JSON Schema of a config says something of every key and type, and agrees with the reader: what it refuses, the reader refuses."""

import copy
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config import keys
from gradegate.config.context import build_context
from gradegate.config.schema import config_schema
from gradegate.core.policy import LIMITS, limit_key
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files import documents as document
from gradegate.files.documents import table as shipped
from gradegate.runner.prepare import prepare
from support import doc_blocks, side_by_side
from support.each import each, table

SCHEMA = config_schema()
SENTENCES = shipped("config", "sentences.yaml")
CHECK = Draft202012Validator(SCHEMA)
PASSED_OVER = "has no meaning here"
SLIPS = table(__file__, "SLIPS")


@cache
def faults(text: str) -> tuple[str, ...]:
    """What the schema says of a config, as its YAML is read here."""
    return tuple(error.message for error in CHECK.iter_errors(document.read(text.encode(), "c.yaml")))


def read(folder: Path, config: str, *name: str) -> tuple[bool, str]:
    """Whether the reader takes a config, and what it says of it."""
    file = name[0] if name else "promptfooconfig.yaml"
    if not name:
        (folder / file).write_text(config)
    environ: dict[str, str] = {"GRADEGATE_SCRATCH": "1"}
    while True:
        try:
            found = prepare(build_context(Settings(cwd=folder, configs=(file,), allow_exec=True), environ))
        except ConfigError as e:
            if not e.missing - environ.keys():
                return False, str(e)
            environ |= dict.fromkeys(e.missing, "a-value")
        else:
            return True, "\n".join(note.text for note in found.plan.notes)


def is_config(block: doc_blocks.Block) -> bool:
    read = block.data if block.language in ("yaml", "yml") and not block.name else None
    return read is not None and doc_blocks.as_workflow(read) is None


def shown() -> dict[str, str]:
    """The configs that pages show, made whole."""
    found = {}
    for page in set(doc_blocks.PAGES) - {doc_blocks.DOCS / "design.md"}:  # which shows no config
        for block in doc_blocks.blocks(page):
            if is_config(block):
                found[str(block)] = yaml.safe_dump(doc_blocks.as_config(block.data), sort_keys=False)
    return found


SHOWN = shown()
SHOWN |= {path.parent.name: path.read_text() for path in (doc_blocks.ROOT / "examples").glob("*/promptfooconfig.yaml")}


@each("name", SHOWN)
def test_what_a_page_shows_and_an_example_have_no_mark(name):
    assert faults(SHOWN[name]) == ()


@each("path", sorted(side_by_side.CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_marked_in_a_config_of_promptfoo_is_a_mistake_or_passed_over(path):
    marks = faults(path.read_text())
    if marks:
        taken, said = read(side_by_side.CONFIGS, "", path.name)
        assert not taken or PASSED_OVER in said, marks


def slips(config: Any) -> Iterator[tuple[str, Any]]:
    """The config with one thing wrong: a key misspelt, a scalar that became something else."""
    for path in paths(config):
        for words, values in SLIPS.items():
            for value in values:
                yield f"{path}: {words}", changed(config, path, value)
        if isinstance(path[-1], str):
            yield f"{path}: misspelt", renamed(config, path, path[-1][:1] + path[-1])
            yield f"{path}: in capitals", renamed(config, path, path[-1].upper())


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*before, key)
        if key not in ("vars", "metadata"):
            yield from paths(item, (*before, key))


def changed(config: Any, path: tuple[Any, ...], value: Any) -> Any:
    new = copy.deepcopy(config)
    at(new, path)[path[-1]] = value
    return new


def renamed(config: Any, path: tuple[Any, ...], name: str) -> Any:
    new = copy.deepcopy(config)
    around = at(new, path)
    around[name] = around.pop(path[-1])
    return new


def at(config: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        config = config[step]
    return config


WHOLE = table(__file__, "WHOLE")  # fmt: skip


def test_the_config_with_all_keys_is_right(tmp_path):
    text = yaml.safe_dump(WHOLE, sort_keys=False)
    assert faults(text) == ()
    taken, said = read(tmp_path, text)
    assert taken, said


@pytest.mark.slow
@each("part", range(8))
def test_what_the_schema_refuses_the_reader_refuses(tmp_path, part):
    refused = 0
    for number, (what, config) in enumerate(slips(WHOLE)):
        text = yaml.safe_dump(config, sort_keys=False)
        if number % 8 == part and (marks := faults(text)):
            refused += 1
            taken, said = read(tmp_path, text)
            assert not taken or PASSED_OVER in said, (what, marks)
    assert refused > 60


@each("text", table(__file__, "what_is_marked"))
def test_what_is_marked(tmp_path, text):
    assert faults(text), text
    taken, said = read(tmp_path, "prompts: [x]\nproviders: [echo]\n" + text)
    assert not taken, said


@each("text", table(__file__, "what_is_not_marked"))
def test_what_is_not_marked(text):
    assert faults(text) == ()


def test_every_key_has_a_sentence_and_every_sentence_a_key():
    models = {name: model for name, model in vars(keys).items() if name in SENTENCES}
    for name, sentences in SENTENCES.items():
        properties = (SCHEMA if name == "ConfigKeys" else SCHEMA["$defs"][name])["properties"]
        assert set(sentences) - {"metadata."} <= set(properties), name  # which is a pattern
        named = keys.key_names(models[name]) - ({"value"} if name == "AssertionKeys" else set())
        if name in ("GateKeys", "RuleKeys"):  # a limit of a rule has its sentence where it is declared
            named -= set(map(limit_key, LIMITS))
        assert named == set(sentences), name
        assert [key for key, it in properties.items() if not it.get("description") and key != "value"] == [], name
    assert {name for name in SCHEMA["$defs"] if name.endswith("Keys")} <= set(SENTENCES)


@each("name", EVALUATORS.names())
def test_every_type_says_what_it_asserts_and_what_its_value_means(name):
    asserted = SCHEMA["$defs"]["AssertionKeys"]
    (about,) = [it for it in asserted["properties"]["type"]["anyOf"] if it.get("const") == name]
    assert about["description"].endswith(".")
    kind = EVALUATORS.find(name)
    (then,) = [it["then"] for it in asserted["allOf"] if re.fullmatch(it["if"]["properties"]["type"]["pattern"], name)]
    value = then["properties"]["value"]
    if any(item.name == "value" for item in dataclasses.fields(kind)):
        assert value["description"].endswith("."), name
        assert value["description"] != "This type takes no value."
        assert "anyOf" in value
    else:
        assert value == {"description": "This type takes no value."}


def test_no_range_is_written_as_no_editor_reads_it():
    written = json.dumps(SCHEMA)
    assert not [key for key in ("ge", "le", "gt", "lt") if f'"{key}":' in written]
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.slow
def test_the_schema_is_the_same_bytes_whatever_the_hashes(tmp_path):
    command = [sys.executable, "-m", "gradegate", "schema", "config"]
    environs = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "12")
    assert len({subprocess.run(command, env=environ, capture_output=True, check=True).stdout for environ in environs}) == 1
