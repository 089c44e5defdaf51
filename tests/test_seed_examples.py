"""The examples of the documents that gradegate was made from run as they are printed, with models at the vendors' own addresses.

Whoever answers writes back what it is asked; whoever grades is content, and keeps to the schema of the request to the letter.
"""

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from support.clouds import Answer, Seen, clouds, trust
from support.each import each
from support.fake_llm import chat
from support.vendors import claude, embeddings

HERE = Path(__file__).parent
PAGES = yaml.safe_load((HERE / "test_seed_examples.yaml").read_text())
EXAMPLES = [(page, name) for page, examples in PAGES.items() for name in examples]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_API_KEY")
# What a fragment leaves out.
TEST = {"vars": {"state": "California"}, "assert": [{"type": "factuality", "value": "Sacramento is the capital of California"}]}
BESIDE: Mapping[str, Any] = {"prompts": ["What is the capital of {{state}}?"], "providers": ["echo"], "tests": [TEST]}
CONTEXT, CONCISE = re.compile(r"(?m)^<context .*\n(.*)$"), re.compile(r"<output (\d) .*\n.*very concise")
# Models that are older than schemas, which their endpoint then refuses: https://platform.openai.com/docs/guides/structured-outputs
OLD = ("json_schema", "json_object")
UNSUPPORTED = {"gpt-4": OLD, "gpt-4-deployment": OLD, "gpt-3.5-turbo": ("json_schema",)}
UNDER = "tests:\n  - vars: {state: California}\n    "


def whole(example: Mapping[str, Any]) -> str:
    """The text of a file with the printed lines as they are, and around them what they leave out."""
    if "python" in example:
        names: dict[str, Any] = {}
        exec(example["python"], names)
        return json.dumps(names["payload"])  # as the printed program does before it sends it
    if "file" in example:
        return (HERE / "seeds" / example["file"]).read_text()
    text = example.get("printed", "")
    if under := example.get("under", UNDER if text.startswith("assert:") else ""):
        text = under + textwrap.indent(text, " " * len(under.rpartition("\n")[2])).lstrip()
    given = yaml.safe_load(text) or {}
    beside = {key: value for key, value in {**BESIDE, **example.get("beside", {})}.items() if key not in given}
    return text + (yaml.safe_dump(beside, sort_keys=False) if beside else "")


def content(schema: Mapping[str, Any], asked: str) -> Any:
    """A reply of this schema by a grader that finds everything right."""
    if schema["type"] == "object":
        own = {"evades": False, "sentences": CONTEXT.findall(asked), "index": max(map(int, CONCISE.findall(asked)), default=0)}
        return {name: own[name] if name in own else content(part, asked) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        item, numbers = content(schema["items"], asked), schema["items"].get("properties", {}).get("id", {}).get("enum")
        return [{**item, "id": number} for number in numbers] if numbers else [item] * schema.get("minItems", 1)
    return schema["enum"][0] if "enum" in schema else {"boolean": True, "number": 1, "string": "as it should be"}[schema["type"]]


class Models:
    """The models of all vendors. ``reply`` is what one writes where no schema is enforced."""

    def __init__(self, reply: str) -> None:
        self.reply, self.refused = reply, {}

    def __call__(self, seen: Seen) -> Answer:
        body = seen.body
        if "/embeddings" in seen.path:
            return embeddings(*([1.0, 0.0] for _ in body["input"]))
        asked, kind = body["messages"][-1]["content"], body.get("response_format", {}).get("type", "text")
        if kind in UNSUPPORTED.get(body["model"], ()):
            self.refused = body["response_format"].get("json_schema") or self.refused
            return 400, {"error": {"message": f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."}}
        at_claude = "output_config" in body
        form = body["output_config"]["format"] if at_claude else body.get("response_format", {}).get("json_schema") or self.refused
        text = self.reply or (json.dumps(content(form["schema"], asked)) if form else asked)
        return claude({"type": "text", "text": text}) if at_claude else chat(text)


@each("page, name", EXAMPLES)
def test_an_example_runs_as_it_is_printed(page, name, gate, tmp_path, monkeypatch):
    example = PAGES[page][name]
    with clouds(Models(example.get("reply", ""))) as (fake, port):
        settings = {**dict.fromkeys(KEYS, "a-value"), "HTTPS_PROXY": f"http://127.0.0.1:{port}", "REQUESTS_CA_BUNDLE": trust(tmp_path)}
        if "reply" in example:
            settings["OPENAI_BASE_URL"] = "https://gateway.example.com/v1"
        for key in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(key, raising=False)
        for key, value in settings.items():
            monkeypatch.setenv(key, value)
        _, command, *words = example.get("run", "gradegate run").split()
        ran = gate(whole(example), *words, "-o", "results.json", command=command, reask="", **example.get("files", {}))
    assert ran.code == example.get("code", 0), ran.out + ran.err
    assert {grade["outcome"] for grade in ran.grades} == ({"pass", "fail"} if ran.code else {"pass"}), ran.out
    assert set(example.get("asked", ())) <= {seen.body["model"] for seen in fake.seen}
