"""When a schema goes with a question, what the second question says, and how it is counted."""

import pytest

from gradegate.assertions import closedqa, context_recall, llm_rubric
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.judge import Judge, JudgeUsage
from gradegate.assertions.judge.rubric import Rubric
from gradegate.assertions.llm_rubric import LlmRubric
from gradegate.core.conversation import Message
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.usage import Readings
from gradegate.errors import NoVerdict
from support.graded import Script, config
from support.readers import Says

RUBRIC = Form(llm_rubric.SCHEMA, LlmRubric(value="v").read)
OBJECT = '{"reason": "r", "pass": true, "score": 1}'
OWN = Rubric({"": (Message("user", "Grade it with {tone: ...}. {{ output }}"),)})


def ask(provider, form=RUBRIC, **more):
    return Judge({"text": provider}, **more).ask("llm-rubric", form, output="an answer", rubric="v")


def test_which_questions_carry_the_schema():
    rows = (
        ("requested", RUBRIC, Rubric(), [True, True]),
        ("requested", RUBRIC, OWN, [False, True]),
        ("enforced", RUBRIC, OWN, [True, True]),
        ("enforced", closedqa.FORM, OWN, [True, True]),  # whatever form the prompt asks for
        ("requested", closedqa.FORM, OWN, [False, True]),
        ("none", closedqa.FORM, OWN, [False, True]),
        ("none", closedqa.FORM, Rubric(), [True, True]),  # the provider leaves it out
    )
    sent = []
    for structured, form, own, _ in rows:
        provider = Says("hm", structured=structured)
        with pytest.raises(NoVerdict):
            ask(provider, form, rubric=own)
        sent.append([request.schema == form.schema for request in provider.requests])
    assert sent == [expected for *_, expected in rows]


def test_the_second_question_says_what_was_wrong_and_states_the_form_literally():
    provider = Says('{"pass": true, "final_verdict": "FAIL"}', OBJECT, structured="requested")
    assert ask(provider).passed is True
    *_, replied, again = provider.requests[1].messages
    assert replied == Message("assistant", '{"pass": true, "final_verdict": "FAIL"}')
    assert again.content == (
        "That reply cannot be used: its object has the key `final_verdict`, which was not asked for. Reply with the JSON object alone,"
        " with the keys `reason`, `pass`, `score`; its first character is { and its last is }"
    )


def test_an_endpoint_that_does_not_keep_to_the_schema_is_named_with_the_cure():
    cure = r"the judge at judge\.example ignores the schema: set `structured: requested` on the grader"
    with pytest.raises(NoVerdict, match=cure):
        ask(Says(f"```\n{OBJECT}\n```", f"{OBJECT}!", structured="enforced"))
    with pytest.raises(NoVerdict, match=cure):
        ask(Says("Y", "Y", structured="enforced"), closedqa.FORM, rubric=OWN)
    for own in (Rubric(), OWN):
        with pytest.raises(NoVerdict) as raised:
            ask(Says("x", "x", structured="requested"), closedqa.FORM, rubric=own)
        assert "ignores the schema" not in str(raised.value)
    nothing = '{"verdicts": []}'  # of the schema, and no verdict
    with pytest.raises(NoVerdict, match="there is no verdict with the id 1") as raised:
        ask(Says(nothing, nothing, structured="enforced"), context_recall.sentences_form(["x"], is_our_prompt=True))
    assert "ignores the schema" not in str(raised.value)
    assert ask(Says("no", OBJECT, structured="enforced")).passed is True


def test_keys_that_the_users_prompt_or_form_asks_for_are_neutral():
    replied = '{"pass": true, "tone": "kind"}'
    assert ask(Says(replied, structured="requested"), rubric=OWN, grader_retries=0).passed is True
    with pytest.raises(NoVerdict, match="the key `tone`, which was not asked for"):
        ask(Says(replied, structured="requested"), grader_retries=0)
    own_form = Says(replied, structured="requested")
    own_form.spec = ProviderSpec("x", config={"response_format": {"json_schema": {"properties": {"tone": {}}}}})
    assert ask(own_form, grader_retries=0).passed is True
    program = Says('{"pass": true, "namedScores": {"tone": 1}}', structured="none")
    program.names_model = False
    assert ask(program, grader_retries=0).passed is True


def test_how_replies_were_read_is_counted():
    account = JudgeUsage()
    rows = (
        (Says(OBJECT, structured="enforced"), RUBRIC),
        (Says(OBJECT, structured="requested"), RUBRIC),
        (Says(f"Fine.\n\n{OBJECT}", structured="requested"), RUBRIC),
        (Says("Y", structured="requested"), closedqa.FORM),
        (Says("hm", "N", structured="requested"), closedqa.FORM),
    )
    for provider, form in rows:
        ask(provider, form, account=account)
    assert account.total.readings == Readings(1, 1, 1, 2, 0, asked_again=1, unreadable=1)
    assert Readings(1, 2, 3, 4, 5, 6, 7) + Readings(*[1] * 7) == Readings(2, 3, 4, 5, 6, 7, 8)


def test_the_counts_reach_results_and_the_summary(gate, llm):
    llm.reply = Script("hm", f"Fine.\n\n{OBJECT}")
    ran = gate(config(llm, {"type": "llm-rubric", "value": "v"}), "--grader-retries", "1", "-o", "summary.md")
    expected = {"constrained": 0, "alone": 0, "apart": 1, "last_line": 0, "lines": 0, "asked_again": 1, "unreadable": 1}
    assert ran.results["summary"]["grader"]["readings"] == expected
    assert ran.results["summary"]["target"]["readings"] == dict.fromkeys(expected, 0)
    assert "Replies of graders: 1 apart, 1 asked again, 1 unreadable." in (ran.folder / "summary.md").read_text()
