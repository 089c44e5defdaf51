"""The kinds of snippets that people write, over several answers: the engine gives what Node gave when it was recorded."""

import json
import math
import shutil

import pytest
import record_snippets

from gradegate.sandbox.evaluate import reset_accounts
from gradegate.templating import script
from gradegate.templating.script import ScriptError

ASKED = record_snippets.snippets()
RECORDED = json.loads((record_snippets.FOLDER / "recorded.json").read_text("utf-8"))


def run_snippet(code, output):
    try:
        returned = script.assertion_script(code).call(output, record_snippets.CONTEXT)
    except ScriptError as e:
        words = str(e)
        if "is not declared" in words:  # which is said before it runs
            return {"throws": "ReferenceError"}
        return {"throws": words.partition("throws ")[2].partition(":")[0]} if "throws" in words else {"none": words}
    if returned.type == "undefined":
        return {"none": "undefined"}
    if isinstance(returned.value, float) and not math.isfinite(returned.value):
        return {"number": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(returned.value)]}
    return {"value": returned.value}


def test_there_are_as_many_as_were_promised():
    assert len({code for code, _ in ASKED}) >= 240
    assert len(ASKED) == len(RECORDED)


@pytest.mark.parametrize("first", range(0, len(ASKED), 100))
def test_the_engine_gives_what_node_gives(first):
    reset_accounts()
    pairs = zip(ASKED[first : first + 100], RECORDED[first:], strict=False)
    wrong = [(asked, expected, got) for asked, expected in pairs if (got := run_snippet(*asked)) != expected]
    assert wrong == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_the_record_is_what_node_gives_now():
    assert record_snippets.in_node() == RECORDED
