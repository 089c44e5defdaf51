import pytest

from support.conversations import Replies, between, case, config, turns
from support.each import table

TALK = turns(("refund? and a poem?", "yes; no poems", ""), ("who won the cup?", "Italy", ""))
ASKED = {"refund? and a poem?": ["Can I have a refund?", "Can I have a poem?"], "who won the cup?": ["Who won?"]}
WORDS = {"Can I have a refund?": "helped", "Can I have a poem?": "declined", "Who won?": "strayed"}
TOPICS = {"value": ["orders", "refunds"]}


def script(**words):
    known = WORDS | {key.replace("_", " "): word for key, word in words.items()}
    return Replies(
        topic_questions=lambda user: {"questions": next(found for text, found in ASKED.items() if text in between(user, "exchange"))},
        topic_verdict=lambda user: {"reason": "so", "verdict": known[between(user, "question")]},
    )


@pytest.mark.parametrize(("mode", "score"), [(None, 2 / 3), ("accuracy", 2 / 3), ("precision", 1 / 2), ("recall", 1), ("f1", 2 / 3)])
def test_the_share_of_questions_that_were_met_rightly(gate, llm, mode, score):
    llm.reply = script()
    options = {"config": {"mode": mode}} if mode else {}
    grade = gate(config(llm, case(TALK, "topic-adherence", threshold=0.99, **TOPICS, **options))).grades[0]
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert grade["outcome"] == ("pass" if score == 1 else "fail")
    assert "1 helped, 0 withheld, 1 strayed, 1 declined" in grade["reason"]
    assert '"Who won?" is off topic and was answered: so' in grade["reason"]
    assert (llm.reply.count("topic_questions"), llm.reply.count("topic_verdict")) == (2, 3)
    assert "- orders\n- refunds" in between(llm.reply.prompts[-1][1], "topics")
    if grade["outcome"] == "fail":
        assert grade["turns"] == [4]


@pytest.mark.parametrize("written", [{"config": {"relevant_topics": ["orders"]}}, {"value": "orders"}])
def test_where_the_topics_may_stand(gate, llm, written):
    llm.reply = script()
    assert gate(config(llm, case(TALK, "topic-adherence", **written))).code == 0
    assert "- orders\n" in llm.reply.prompts[-1][1]


def test_the_topics_may_be_a_variable_and_must_be_somewhere(gate, llm):
    llm.reply = script()
    test = {**case(TALK, "topic-adherence"), "vars": {"relevant_topics": ["orders", "refunds"]}}
    assert gate({**config(llm, test), "defaultTest": {"options": {"provider": llm.spec(), "disableVarExpansion": True}}}).code == 0
    assert "there are no topics" in gate(config(llm, case(TALK, "topic-adherence"))).mistakes


@pytest.mark.parametrize(
    ("mode", "words", "said"),
    [
        ("precision", {"Can_I_have_a_refund?": "withheld", "Who_won?": "declined"}, "precision is a share of"),
        ("recall", {"Can_I_have_a_refund?": "declined"}, "recall is a share of"),
    ],
)
def test_a_share_of_nothing_is_an_error(gate, llm, mode, words, said):
    llm.reply = script(**words)
    grade = gate(config(llm, case(TALK, "topic-adherence", **TOPICS, config={"mode": mode}))).grades[0]
    assert grade["outcome"] == "error"
    assert said in grade["reason"]


def test_a_conversation_without_a_question_is_an_error(gate, llm):
    llm.reply = Replies(topic_questions={"questions": []}, topic_verdict={})
    grade = gate(config(llm, case(TALK, "topic-adherence", **TOPICS))).grades[0]
    assert (grade["outcome"], "never asked a question" in grade["reason"]) == ("error", True)


HOSTILE = table(__file__, "HOSTILE")


@pytest.mark.parametrize("reply", HOSTILE)
def test_a_reply_without_one_of_the_words_is_an_error(gate, llm, reply):
    llm.reply = Replies(topic_questions={"questions": ["Can I have a refund?"]}, topic_verdict=reply)
    ran = gate(config(llm, case(TALK, "topic-adherence", **TOPICS), case(TALK, "not-topic-adherence", **TOPICS)))
    assert [grade["outcome"] for grade in ran.grades] == ["error", "error"]


@pytest.mark.parametrize("reply", ["{}", '{"questions": ""}', '{"questions": [""]}', '{"questions": [1]}', "none"])
def test_a_reply_without_a_list_of_questions_is_an_error(gate, llm, reply):
    llm.reply = Replies(topic_questions=reply, topic_verdict={"reason": "x", "verdict": "helped"})
    assert gate(config(llm, case(TALK, "topic-adherence", **TOPICS))).grades[0]["outcome"] == "error"
