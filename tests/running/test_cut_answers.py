"""An answer that was cut at its token limit is graded, and every report says so."""

from support.fake_llm import chat

REPORTS = ("junit.xml", "comment.md", "report.html")


def cut(gate, llm, value):
    llm.reply = lambda path, body: chat("The first ha", finish_reason="length")
    test = {"description": "long", "assert": [{"type": "contains", "value": value}]}
    outputs = [word for name in REPORTS for word in ("-o", name)]
    ran = gate({"prompts": ["a"], "providers": [llm.spec()], "tests": [test]}, *outputs)
    texts = {name: (ran.folder / name).read_text() for name in REPORTS}
    return ran, {**texts, "console": ran.out, "notes": str(ran.results["notes"])}


def test_a_passing_one(gate, llm):
    ran, texts = cut(gate, llm, "first")
    assert ran.code == 0
    assert ran.cases[0]["metadata"]["finish_reason"] == "length"
    assert [name for name, text in texts.items() if "cut at" not in text] == []


def test_a_failing_one(gate, llm):
    ran, texts = cut(gate, llm, "second")
    assert ran.code == 1
    assert [name for name, text in texts.items() if "cut at" not in text] == []


def test_one_that_ended_by_itself_is_not_remarked_on(gate, llm):
    llm.reply = lambda path, body: "first"
    test = {"assert": [{"type": "contains", "value": "first"}]}
    ran = gate({"prompts": ["a"], "providers": [llm.spec()], "tests": [test]})
    assert (ran.code, ran.results["notes"]) == (0, [])
