CONFIG = """\
prompts: ["{{q}}"]
providers: [the telephone bot]
defaultTest: {assert: [{type: contains, value: open}]}
tests: [vars: {q: When are you open?}, vars: {q: Are you there?}]
"""


def graded(gate, *lines):
    return gate(CONFIG, "--answers", "calls.jsonl", **{"calls.jsonl": "\n".join(lines)})


def test_a_call_is_joined_by_what_was_asked(gate):
    first = '{"asked": "When are you open?", "said": "We open at nine."}'
    ran = graded(gate, '{"asked": "Are you there?", "said": null}', first)
    assert [case["outcome"] for case in ran.cases] == ["pass", "error"]


def test_a_line_without_a_question_is_a_mistake(gate):
    ran = graded(gate, '{"asked": 7, "said": "x"}')
    assert ran.code == 2
    assert "calls.jsonl:1: `asked` is no text -> write what the caller asked" in ran.err
