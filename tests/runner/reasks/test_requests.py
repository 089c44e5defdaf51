"""Which runs of a history were asked for the same: the identity of what a target was asked, and of an answer that was recorded."""

import json

import pytest

from support.earlier import by, on_default_branch, records
from support.flips import script_replies, suite


@pytest.fixture
def requests_of(gate, llm):
    """The identities of the requests after each of these runs, of one case."""

    def run(*configs_and_options):
        for config, *options in configs_and_options:
            llm.reply = by("m1", script_replies({}))
            ran = on_default_branch(gate, config, *options)
            assert ran.code == 0, ran.err
        (line,) = records(ran.folder)
        return [run["request"] for run in line["runs"]]

    return run


def config_with_answer(llm, answer):
    config = suite(llm.spec(), 1)
    config["tests"][0]["providerOutput"] = answer
    return config


def test_another_recorded_answer_is_another_request(requests_of, llm):
    first, again, other, asked = requests_of(
        [config_with_answer(llm, "case 0, a")],
        [config_with_answer(llm, "case 0, a")],
        [config_with_answer(llm, "case 0, b")],
        [suite(llm.spec(), 1)],
    )
    assert first == again
    assert len({first, other, asked}) == 3


def test_so_is_an_answer_that_was_made_elsewhere(requests_of, gate, llm):
    config = suite(llm.spec(), 1)
    folder = gate(config).folder
    gate(config, "-o", "cases.jsonl", command="cases", reask="")
    (case,) = map(json.loads, (folder / "cases.jsonl").read_text().splitlines())
    for name in "ab":
        (folder / f"{name}.jsonl").write_text(json.dumps({"id": case["id"], "output": f"case 0, {name}"}))
    a, b = [config, "--answers", "a.jsonl"], [config, "--answers", "b.jsonl"]
    first, again, other = requests_of(a, a, b)
    assert first == again != other
