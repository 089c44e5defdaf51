"""Properties of every form: what only shows, denies, quotes or begins a verdict is not one, and what gives one is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.readers import OBJECTS, PROSE, READERS, read

FORMS = st.sampled_from(sorted(READERS))
GIVEN = st.one_of(
    st.sampled_from([(form, text) for form, text in OBJECTS.items()]),
    st.sampled_from([(form, text) for form, text in PROSE.items()]),
)
REFUSALS = st.sampled_from(
    ["I cannot grade this.", "Ich kann das nicht bewerten.", "Je ne peux pas évaluer cela.", "No puedo evaluarlo.", "Não posso avaliar isto.",
     "Non posso valutarlo.", "Ik kan dit niet beoordelen.", "Не могу оценить.", "无法评分。", "採点できません。", "평가할 수 없습니다.", "لا أستطيع التقييم"]
)  # fmt: skip
DENIALS = st.sampled_from(
    ["I will not write {}", "It would be wrong to answer {}", "Not {}", "My answer is the opposite of {}", "Anything but {}", "I refuse to say {}",
     "The submission tells me to output {}", "You asked me for {}", "If it had named Paris, I would reply {}", "Example of the format: {}\nNo verdict yet.",
     "A naive grader would say {}. That is mistaken.", "Nie würde ich {} sagen", "Je ne dirais pas {}", "No diría {}", "Я бы не сказал {}", "我不会说 {}", "{} とは言えない"]
)  # fmt: skip
TURNS = st.sampled_from(
    [" ... wait, no.", "\nCorrection: the above is wrong.", "\nActually, I take that back.", "\nNein, das ist falsch.", "\nCorrección: es incorrecto.", "\nОшибка: неверно.",
     "\n更正：错了。", " is not my verdict", "?", " (not really)", "\nI cannot decide.", "\n<think>hmm"]
)  # fmt: skip
HIDDEN = st.sampled_from(
    ["<think>{}</think>", "<thinking>{}", "< think >{}< /think >", "[THINK]{}[/THINK]", "◁think▷{}◁/think▷", "<draft>{}</draft>", "<example>\n{}\n</example>", "<!-- {} -->", "~~{}~~",
     "&lt;think&gt;{}&lt;/think&gt;", "＜think＞{}＜/think＞", "<|channel|>analysis<|message|>{}<|end|>", "<seed:think>{}</seed:think>", "<del>{}</del>", "<my_notes>{}</my_notes>"]
)  # fmt: skip
AROUND = st.sampled_from(["{}", "\ufeff{}", "\u202e{}\u202c", "\u200b{}\u200b", "\xa0{}\xa0", "\r\n\r\n{}\r\n", "\u2028{}\u2028", "```\n{}\n```", "~~~\n{}\n~~~", "<think>let me see</think>{}", "<answer>{}</answer>"])  # fmt: skip
REASONING = st.sampled_from(
    ["It is not wrong, but it is short.\n\n", "Nothing is missing; no error was made.\n\n", "Die Antwort ist nicht falsch.\n\n", "La réponse n'est pas fausse.\n\n", "誤りはありません。\n\n", '<think>no? {"pass": false}</think>\n',
     "1. Tone: fine.\n2. Length: not too long.\n\n"]
)  # fmt: skip


@given(FORMS, REFUSALS, AROUND)
def test_a_refusal_is_no_verdict(form, refusal, around):
    assert read(form, around.format(refusal)) is None


@given(GIVEN, DENIALS)
def test_a_verdict_that_is_denied_or_quoted_is_none(given_verdict, denial):
    form, text = given_verdict
    assert read(form, denial.format(text)) is None


@given(GIVEN, TURNS)
def test_a_verdict_that_is_taken_back_is_none(given_verdict, turn):
    form, text = given_verdict
    assert read(form, text + turn) is None


@given(GIVEN, HIDDEN, st.sampled_from(["", " I cannot decide.", "\nI cannot decide."]))
def test_a_verdict_that_is_set_aside_is_none(given_verdict, hidden, rest):
    form, text = given_verdict
    assert read(form, hidden.format(text) + rest) is None


@given(FORMS, st.data())
def test_an_object_that_is_cut_off_is_no_verdict(form, data):
    text = OBJECTS[form]
    assert read(form, text[: data.draw(st.integers(0, len(text) - 1))]) is None


@given(FORMS, st.sampled_from(['{"x": %s}', '{"result": %s}', "[[%s]]", '{"tool": {"arguments": %s}}']))
def test_a_nested_object_is_no_verdict(form, nest):
    assert read(form, nest % OBJECTS[form]) is None


@pytest.mark.parametrize("form", ["pass", "letter", "yes", "score", "index"])
@pytest.mark.parametrize("key", ["{}", "{} ", "\u200b{}", "{upper}", "{wide}", "{escaped}"])
def test_a_key_twice_with_two_values_is_no_verdict(form, key):
    name = {"pass": "pass", "letter": "category", "yes": "verdict", "score": "score", "index": "index"}[form]
    spelled = key.format(
        name,
        upper=name.upper(),
        wide="".join(chr(ord(c) + 0xFEE0) for c in name),
        escaped=f"\\u{ord(name[0]):04x}{name[1:]}",
    )
    assert read(form, OBJECTS[form][:-1] + f', "{spelled}": "other"}}') is None


@given(GIVEN, AROUND)
def test_a_verdict_is_read_in_its_usual_wrappers(given_verdict, around):
    form, text = given_verdict
    if "<answer>" in around and form in ("marked", "quoted", "in order") and text == PROSE[form]:
        return
    assert read(form, around.format(text)) is not None


@given(
    FORMS,
    REASONING,
    st.sampled_from(["%s", "```json\n%s\n```", "```\n%s\n```\nLet me know if you need anything else."]),
)
def test_an_object_after_reasoning_is_read(form, reasoning, fence):
    assert read(form, reasoning + fence % OBJECTS[form]) is not None


@given(st.sampled_from(["letter", "yes", "score", "index"]), REASONING)
def test_a_last_line_after_reasoning_is_read(form, reasoning):
    assert read(form, reasoning + PROSE[form]) is not None


PIECES = st.lists(
    st.sampled_from(["{", "}", '"', ":", ",", "[", "]", "pass", "true", "false", "score", "1", "<think>", "</think>", "```", "~~", "\n", " ", "yes", "(C)", "\\", "Answer", "<b>", "<!--", "-->", "[Attributed]"])
    | st.text(max_size=4),
    max_size=24,
).map("".join)  # fmt: skip


@given(FORMS, PIECES)
def test_any_reply_is_read_or_refused(form, reply):
    read(form, reply)


@given(PIECES)
def test_nothing_in_a_string_is_taken_for_the_verdict(text):
    import json

    assert read("pass", json.dumps({"reason": text, "pass": False})).passed is False
