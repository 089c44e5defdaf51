"""Datasets as deepeval 4.3 saves them, as configs and as tests of a config."""

import csv
import io
import json

import pytest

from support.conversations import Script
from support.each import each, table
from support.fake_llm import FakeLlm

# As EvaluationDataset.save_as("json") writes them.
GOLDEN = table(__file__, "GOLDEN")
TURN = {"user_id": None, "retrieval_context": None, "tools_called": None, "mcp_tools_called": None, "metadata": None}
TALK = {
    "scenario": "asks for a refund",
    "turns": [
        {"role": "user", "content": "q1", **TURN},
        {"role": "assistant", "content": "c1", **TURN, "retrieval_context": ["deepeval_source=faq,deepeval_context=D"]},
    ],
    "expected_outcome": "gets it",
    "user_description": None,
    "context": None,
    "name": None,
    "comments": None,
    "additional_metadata": None,
    "custom_column_key_values": None,
}


def as_json(rows: list[dict]) -> str:
    return json.dumps(rows, indent=4)


def as_jsonl(rows: list[dict]) -> str:
    return "\n".join(json.dumps({key: joined(key, value) for key, value in row.items()}) for row in rows)


def as_csv(rows: list[dict]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0])
    for row in rows:
        cells = (joined(key, value) for key, value in row.items())
        writer.writerow([json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in cells])
    return out.getvalue()


def joined(key: str, value):
    return "|".join(value) if key in ("context", "retrieval_context") and value else value


FORMATS = {"json": as_json, "jsonl": as_jsonl, "csv": as_csv}


def run(gate, llm: FakeLlm, kind: str, rows: list[dict], *wanted: str, **replies):
    name = f"goldens.{kind}"
    arguments = [part for one in wanted for part in ("--assert", one)]
    environment = ["-g", "openai:chat:judge"]
    return gate(FORMATS[kind](rows), *arguments, *environment, name=name)


@pytest.fixture(autouse=True)
def key(gate, llm: FakeLlm, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@each("kind", FORMATS)
def test_a_golden_is_a_recorded_answer_with_its_documents(gate, llm: FakeLlm, kind):
    llm.reply = Script(claims=lambda text: ["c1", "c2"], words={"c2": "no"})
    ran = run(gate, llm, kind, [GOLDEN], "faithfulness(0.6)", "contains:Paris")
    assert ran.code == 1, ran.err
    case = ran.cases[0]
    assert (case["description"], case["output"], case["provider"]) == ("capitals", "Paris", "recorded")
    assert case["vars"]["input"] == "What is the {{ capital }}?"
    assert case["vars"]["region"] == "EU"
    assert case["vars"]["retrieval_context"] == ["doc1", "doc2"]
    assert [(g["assertion"], g["outcome"], g["score"]) for g in ran.grades] == [("faithfulness", "fail", 0.5), ("contains", "pass", 1.0)]
    assert "doc1\n\ndoc2" in dict(llm.reply.prompts)["truths"]


@each(("kind", "items"), [("json", ["c|1", "c2"]), ("jsonl", ["c", "1", "c2"])])
def test_lists_are_taken_apart_where_deepeval_joins_them(gate, llm: FakeLlm, kind, items):
    ran = run(gate, llm, kind, [GOLDEN], "contains:Paris")
    assert ran.cases[0]["vars"]["context"] == items


@each("kind", FORMATS)
def test_a_conversation_is_graded_as_it_was_recorded(gate, llm: FakeLlm, kind):
    llm.reply = Script(words={"c1": "no"})
    ran = run(gate, llm, kind, [TALK], "turn-faithfulness")
    assert (ran.code, ran.grades[0]["score"]) == (1, 0.0), ran.err
    assert ran.cases[0]["description"] == "asks for a refund"
    truths = dict(llm.reply.prompts)["truths"]
    assert "\nD\n" in truths


def test_each_row_has_its_line(gate, llm: FakeLlm):
    rows = [{**GOLDEN, "actual_output": text} for text in ("Paris", "Rome\nor so", "Oslo")]
    for kind, lines in (("jsonl", [1, 2, 3]), ("csv", [2, 3, 5])):
        ran = run(gate, llm, kind, rows, "contains:Paris")
        assert [case["source"] for case in ran.cases] == [{"file": f"goldens.{kind}", "line": n} for n in lines]
        assert [case["outcome"] for case in ran.cases] == ["pass", "fail", "fail"]


@each(
    ("row", "said"),
    [
        ({**GOLDEN, "actual_output": None}, "the golden has no `actual_output`"),
        ({**TALK, "turns": None}, "the conversation has a scenario and no turns"),
        ({**TALK, "turns": TALK["turns"][:1]}, "the conversation has no answers"),
        ({**TALK, "turns": [{**TALK["turns"][0], "role": "system"}]}, "`role` "),
    ],
)
def test_a_row_that_cannot_be_graded_is_a_mistake(gate, llm: FakeLlm, row, said):
    assert said in run(gate, llm, "json", [row], "turn-faithfulness").mistakes
    assert llm.requests == []


def test_a_dataset_of_which_nothing_is_asserted_is_a_mistake(gate, llm: FakeLlm):
    assert "no test asserts anything" in run(gate, llm, "json", [GOLDEN]).mistakes


@each("wanted", ["Faithfulness", "faithfulness(high)", "faithfulness(0.5", ""])
def test_what_is_no_assertion_on_the_command_line(gate, llm: FakeLlm, wanted):
    assert "is not an assertion" in run(gate, llm, "json", [GOLDEN], wanted).mistakes


def test_an_unknown_assertion_on_the_command_line(gate, llm: FakeLlm):
    assert 'did you mean "faithfulness"?' in run(gate, llm, "json", [GOLDEN], "faithfullness").mistakes


@each("kind", FORMATS)
def test_a_config_names_a_dataset_as_its_tests_and_asks_for_missing_answers(gate, llm: FakeLlm, kind):
    rows = [{**GOLDEN, "input": "Say Paris", "actual_output": None}, {**GOLDEN, "actual_output": "Rome"}]
    config = {
        "prompts": ["{{input}}"],
        "providers": ["echo"],
        "tests": f"file://data.{kind}",
        "defaultTest": {"assert": [{"type": "contains", "value": "Paris"}]},
        "gate": {"rules": [{"name": "half", "min-pass-rate": 0.5}]},
    }
    ran = gate(config, **{f"data.{kind}": FORMATS[kind](rows)})
    assert (ran.code, [case["output"] for case in ran.cases]) == (0, ["Say Paris", "Rome"]), ran.err


def test_a_csv_of_promptfoo_stays_one(gate):
    table = "input,context,__expected\nhi,a|b,contains:hi\n"
    config = {"prompts": ["{{input}} {{context}}"], "providers": ["echo"], "tests": "file://t.csv"}
    ran = gate(config, **{"t.csv": table})
    assert (ran.code, ran.cases[0]["output"]) == (0, "hi a|b")
