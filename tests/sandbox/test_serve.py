"""The worker adds limits to what it is asked for, and nothing else: the same task gives the same here."""

import json
from pathlib import Path

import pytest
import record_snippets

from gradegate.sandbox.evaluate import LimitExceeded, TaskRefused, evaluate, reset_accounts
from gradegate.sandbox.sandbox_worker import answer_request
from support.each import each, table

NUNJUCKS = Path(__file__).parent.parent / "templating" / "nunjucks"
VARIABLES = json.loads((NUNJUCKS / "variables.json").read_text())
TEMPLATES = [source for source, _ in json.loads((NUNJUCKS / "expected.json").read_text())]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS = [
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "number", "minimum": 2}}},
    {"$schema": DRAFT, "$defs": {"x": {"type": "array", "items": {"format": "email"}}}, "$ref": "#/$defs/x"},
    {"type": 5},
    {"$ref": "http://127.0.0.1:9/x"},
    {"$ref": "#"},
    True,
]
VALUES = [{"a": 1}, {"a": 2}, {}, [], ["a@b.example"], "x", None, {"a": [1.5, "é😀"]}]
PATTERNS = ["a+", r"(?i)^é", "[", "(?<year>\\d{4})", "(a)|b", "\\"]


def answer_here(task, *arguments):
    said = json.loads(answer_request(json.dumps([task, arguments]).encode()))
    assert said.pop("seconds") >= 0
    return said


def answer_in_worker(task, *arguments):
    reset_accounts()
    try:
        return {"value": evaluate(task, *arguments)}
    except TaskRefused as e:
        return {"refused": str(e)}
    except LimitExceeded as e:
        return {"exceeded": str(e)}


@each("source", TEMPLATES)
def test_templates(source):
    for task, arguments in (("fill_template", (source, VARIABLES, [])), ("template_names", (source,))):
        asked = (f"gradegate.templating.nunjucks:{task}", *arguments)
        assert answer_here(*asked) == answer_in_worker(*asked)


@pytest.mark.parametrize("schema", [json.dumps(schema) for schema in SCHEMAS])
def test_schemas(schema):
    wrong = ("gradegate.templating.json_schema:find_fault", schema)
    assert answer_here(*wrong) == answer_in_worker(*wrong)
    for value in VALUES:
        asked = ("gradegate.templating.json_schema:find_problem", schema, value)
        assert answer_here(*asked) == answer_in_worker(*asked)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern):
    for texts in (["1999 Aab é"], ["a", "é"]):
        asked = ("gradegate.templating.regex:find_python", pattern, *texts)
        assert answer_here(*asked) == answer_in_worker(*asked)


@each(("code", "output"), record_snippets.snippets()[::20])
def test_scripts(code, output):
    given = json.dumps([output, record_snippets.CONTEXT])
    for task, arguments in (
        ("run_body", (f"return ({code}\n)", ["output", "context"], "f", given)),
        ("check_body", (code, ["output", "context"])),
    ):
        asked = (f"gradegate.templating.quickjs_worker:{task}", *arguments)
        assert answer_here(*asked) == answer_in_worker(*asked)


@pytest.mark.parametrize(("task", "said"), table(__file__, "what_goes_wrong_is_said"))
def test_what_goes_wrong_is_said(task, said):
    arguments = ["not so"] if task.endswith("refuse") else []
    assert answer_here(task, *arguments) == said
