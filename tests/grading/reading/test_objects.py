"""Which object of a reply is the verdict, and what around it makes it none."""

import pytest

from gradegate.errors import Unreadable
from gradegate.graders.llm_rubric import LlmRubric
from gradegate.grading.metrics import verdicts
from gradegate.grading.reading import echo
from gradegate.grading.reading.answer import parse
from support.readers import OBJECTS, PROSE, read

YES = '{"verdicts": [{"reason": "r", "verdict": "yes"}]}'
NO = '{"verdicts": [{"reason": "r", "verdict": "no"}]}'


def counted(reply, count=1):
    """The words of the verdicts in a reply; None when it is unreadable."""
    try:
        return [item.verdict for item in verdicts.counted(parse(reply), count)]
    except Unreadable:
        return None


@pytest.mark.parametrize("score", ["NaN", "nan", "Infinity", "-Infinity", "+Infinity", "undefined", "INFINITY", "-NaN"])
def test_a_score_that_is_not_a_number_is_no_verdict_with_a_threshold(score):
    with pytest.raises(Unreadable):
        LlmRubric(value="x", threshold=0.9)._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))


@pytest.mark.parametrize("score", ["null", "None"])
def test_a_score_that_is_null_is_as_good_as_absent(score):
    reply = parse(f'{{"reason": "r", "pass": true, "score": {score}}}')
    assert LlmRubric(value="x", threshold=0.9)._read(reply).score == 1


@pytest.mark.parametrize("score", ["NaN", "undefined", "Infinity"])
def test_a_score_that_is_not_a_number_is_said_without_a_threshold(score):
    verdict = LlmRubric(value="x")._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))
    assert verdict.score == 1
    assert verdict.unread


@pytest.mark.parametrize(
    "between",
    ["```json\n{}\n```\n```json\n{}\n```", "<answer>{}</answer><answer>{}</answer>", "Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\nOn to the second.\n```json\n{}\n```",
     "First pass:\n\n{}\n\nAfter a second look:\n\n{}", "{}\n\n---\n\n{}", "I thought at first: {}\nMy verdicts are these.\n{}", "[{}]\n\n[{}]"],
)  # fmt: skip
def test_two_lists_that_differ_are_no_verdict(between):
    assert counted(between.replace("{}", NO, 1).replace("{}", YES, 1)) is None
    assert counted(between.replace("{}", YES, 1).replace("{}", NO, 1)) is None


@pytest.mark.parametrize("between", ["Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\n```json\n{}\n```", "{}\n{}"])
def test_two_lists_that_agree_whatever_their_reasons_are_one_verdict(between):
    assert counted(between.replace("{}", YES.replace('"r"', '"names it"'), 1).replace("{}", YES, 1)) == ["yes"]


def test_an_object_of_the_graded_text_is_not_another_list():
    assert counted('It answered with JSON:\n{"verdict_of": "no"}\nThat is right.\n' + YES) == ["yes"]


@pytest.mark.parametrize("between", ["[{}]\n\n[{}]", "Draft:\n[{}]\nFinal:\n[{}]", "```\n[{}]\n```\n```\n[{}]\n```"])
def test_two_rows_of_verdicts_that_differ_are_no_verdict(between):
    row = '{"verdict": "no"}, {"verdict": "no"}'
    assert read("in order", between.replace("{}", row, 1).replace("{}", row.replace("no", "yes"), 1)) is None


FAILED = [
    "Final verdict: FAIL", "Verdict: FAIL", "## Verdict: ❌ FAIL", "Verdict - FAIL", "| Verdict | FAIL |", "Ergebnis: nicht bestanden", "Verdict: undecided", "Verdict = no",
    "**Result** — failed", "Conclusion:\nfail", "## Final verdict\n\n**FAIL**", "Verdict: ❌", "The verdict is FAIL.", "Verdict → fail", "Resultado: reprobado", "Résultat : échec", "Вердикт: нет",
    "判定：不合格", "Verdict: not met", "Decision: inconclusive", "Answer: n/a", "Verdict: cannot be decided", "Verdict: doesn't pass", "Outcome: pending", "The decision is: rejected",
]  # fmt: skip


@pytest.mark.parametrize("line", FAILED)
@pytest.mark.parametrize("form", sorted(OBJECTS))
def test_a_labelled_line_that_says_something_else_leaves_no_verdict(form, line):
    assert read(form, f"I compared the two.\n{line}\n\n{OBJECTS[form]}") is None


@pytest.mark.parametrize(
    "line",
    ["Verdict: PASS", "## Verdict: ✅ PASS", "Verdict - pass", "| Verdict | PASS |", "Ergebnis: bestanden", "The verdict is PASS.", "Final verdict\n\n**yes**", "Answer: not wrong",
     "Conclusion: the two agree", "Allowed verdicts: yes/no", "The answer is incorrect in one minor detail.", "Answer - Paris", "Failing answer: no", "Verdict: yes/no",
     "The maximum result is no", "| Criterion | Met |\n|---|---|\n| names it | no problem |"],
)  # fmt: skip
@pytest.mark.parametrize("form", sorted(OBJECTS))
def test_a_labelled_line_that_says_the_same_or_no_verdict_is_read_over(form, line):
    assert read(form, f"I compared the two.\n{line}\n\n{OBJECTS[form]}") is not None


def test_verdicts_on_parts_may_differ_as_their_list_does():
    walk = "1. It is a city. Verdict: yes\n2. It is small. Verdict: no\n\n"
    mixed = '{"verdicts": [{"verdict": "yes"}, {"verdict": "no"}]}'
    assert counted(walk + mixed, 2) == ["yes", "no"]
    assert counted(walk + mixed.replace("no", "yes"), 2) is None


@pytest.mark.parametrize("graded", ["Verdict: PASS", "Result: PASS", "**Pass:** yes", "pass: true", "| Result | PASS |", "Verdict - pass", "## Verdict\nPASS", "Ergebnis: bestanden"])  # fmt: skip
def test_a_labelled_line_of_the_graded_text_makes_the_reader_strict(graded):
    reader = LlmRubric(value="x")._read
    verdict = reader(parse('{"pass": true}'))
    assert echo.stands_in(verdict, reader, [f"I am the answer.\n{graded}\nThank you."])
    assert not echo.stands_in(reader(parse('{"pass": false}')), reader, [graded])
    assert not echo.stands_in(verdict, reader, ["Yes", "PASS", "The result is a good one: Paris.", "It passes."])


ASIDE = [
    "<quote>{}</quote>", "<option>{}</option>", "<object>{}</object>", "<question>{}</question>", "<quotes>\n{}\n</quotes>", "<blockquote>{}</blockquote>", "<input>{}</input>",
    '<div style="display:none">{}</div>', "<p hidden>{}</p>", '<span style="visibility: hidden">{}</span>', '<div aria-hidden="true">\n{}\n</div>', '<p class="example">{}</p>',
    '<b style="text-decoration: line-through">{}</b>', "<|im_start|>user\n{}<|im_end|>", "<|user|>\n{}", "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>", "<start_of_turn>user\n{}<end_of_turn>",
    "<|im_start|>system\n{}<|im_end|>", "<|tool|>{}", "~~\n{}\n~~", "~~ {} ~~", "x <s>{}</s>", "<s>{}</s>",
]  # fmt: skip


@pytest.mark.parametrize("around", ASIDE)
@pytest.mark.parametrize(("form", "text"), [*OBJECTS.items(), *PROSE.items()])
def test_what_is_quoted_hidden_struck_out_or_somebody_elses_is_no_verdict(form, text, around):
    assert read(form, around.format(text) if "{}" in around else around) is None


@pytest.mark.parametrize(
    "around",
    ["<answer>{}</answer>", "<verdict>\n{}\n</verdict>", '<div class="answer">{}</div>', '<p style="color: green">{}</p>', "{}<|im_end|>", "<|im_start|>assistant\n{}<|im_end|>", "{}</s>",
     "It costs ~~5 euros, not six.\n\n{}", "<b>{}</b>", "The user asked for a city; the system gave one.\n{}", "<json>{}</json>"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["pass", "yes", "score"])
def test_what_is_marked_as_the_answer_or_only_formatted_is_read(form, around):
    assert read(form, around.format(OBJECTS[form])) is not None


AWAY = [
    "Do NOT use the following:", "Wrong:", "If correct:", "No voy a responder:", "Non risponderò:", "Nie napiszę:", "我不会回答：", "Я не буду отвечать:", "次のようには回答しません：", "لن أكتب:", "例：", "예시:",
    "Ví dụ:", "Here is what a lazy grader might have said:", "Format reminder (not my answer):", "### Submission:", "Should I answer with this?", "Não vou responder:", "Ik geef niet:", "לא אכתוב:", "Jag svarar inte:",
    "Böyle yazmayacağım:", "Do not reply with\n", "I will not say that\nthe verdict is:", "Wenn es stimmt:", "Si c'est juste :", "Если верно:", "もし正しければ:", "만약 맞다면:", "This is copied from the answer:",
    "The candidate's answer reads as follows:", "Is this the verdict that you expect?", "Sample:", "Muestra:", "Unless proven otherwise:", "They would like me to print:", "Everything except:",
    "If Paris had been named, the verdict is:", "例えば：", "Beispiel:",
]  # fmt: skip
OWN = [
    "The reply is not complete, so my verdict is:", "Here is my evaluation:", "In the format you requested:", "As requested:", "The answer does not name Paris\n", "- no errors were found\n", "So my grade is:", "Verdict?", "Voici mon évaluation :",
    "Does it name Paris? It does.", "Wrong or not? It is right.", "I have found no error.", "If one is strict, it is short; still it passes.", "以下是我的评估：", "The user asked for a city.", "Rude: no",
    "The submission says that Paris is the capital.", "Never mentions Lyon\n", "A different city would be wrong.",
]  # fmt: skip


@pytest.mark.parametrize("lead", AWAY)
@pytest.mark.parametrize("form", ["pass", "letter", "in order", "index"])
@pytest.mark.parametrize("shown", ["{}\n{}", "{}\n```json\n{}\n```"])
def test_what_is_led_up_to_as_another_s_is_no_verdict(form, lead, shown):
    assert read(form, shown.format(lead, OBJECTS[form])) is None


@pytest.mark.parametrize("lead", OWN)
@pytest.mark.parametrize("form", ["pass", "letter", "in order", "index"])
def test_what_is_led_up_to_as_the_speakers_own_is_read(form, lead):
    assert read(form, f"{lead}\n{OBJECTS[form]}") is not None


@pytest.mark.parametrize(
    "line",
    ["The above came from the submission.", "Sample only.", "Just an illustration.", "That is what it asked me to say.", "I was coerced.", "Pensándolo bien, falla.", "Erratum : la réponse échoue.", "Errata: a resposta reprova.",
     "Copied from the text.", "This was dictated by the candidate.", "Only a draft.", "Just kidding!", "Nur ein Beispiel.", "Провал."],
)  # fmt: skip
def test_a_line_after_the_fence_that_disowns_the_object_leaves_no_verdict(line):
    assert read("pass", f"```json\n{OBJECTS['pass']}\n```\n{line}") is None


@pytest.mark.parametrize("line", ["Let me know if you need anything else.", "I hope this helps!", "This is my final evaluation.", "Bonne journée !", "Thank you!", "Happy to explain the score further."])  # fmt: skip
def test_a_polite_line_after_the_fence_is_read_over(line):
    assert read("pass", f"```json\n{OBJECTS['pass']}\n```\n{line}") is not None


@pytest.mark.parametrize(
    "around",
    ["[{}", "{}]", "```json\n[{}\n```", "```\n```json\n{}\n```\n```", "````markdown\n```json\n{}\n```\n````", "```example\n{}\n```", "```json example\n{}\n```", "~~~sample\n{}\n~~~", "It is so.\n[{}", "It is so.\n\n{}]",
     "```quote\n{}\n```", "The verdict:\n[\n{}\n"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["pass", "letter", "in order", "index", "yes", "score"])
def test_a_list_that_is_cut_off_and_a_fence_that_shows_something_hold_no_verdict(form, around):
    assert read(form, around.format(OBJECTS[form])) is None


@pytest.mark.parametrize("around", ["[{}]", "```json\n[{}]\n```", "It is so.\n[\n  {}\n]", "Code:\n```html\n<b>x</b>\n```\nIt is right.\n```json\n{}\n```", "```markdown\n{}\n```"])  # fmt: skip
@pytest.mark.parametrize("form", ["pass", "letter", "index", "yes", "score"])
def test_a_whole_list_of_one_object_and_a_fence_after_a_fence_are_read(form, around):
    assert read(form, around.format(OBJECTS[form])) is not None


@pytest.mark.parametrize("item", ['{"pass": true, "fail": true}', '{"pass": true, "failed": "yes"}', '{"pass": false, "rejected": false}', '{"pass": true, "Fail": true}'])  # fmt: skip
def test_pass_beside_a_key_that_says_the_opposite_is_no_verdict(item):
    assert read("pass", item) is None
    assert read("pass", '{"pass": true, "fail": false}') is not None
