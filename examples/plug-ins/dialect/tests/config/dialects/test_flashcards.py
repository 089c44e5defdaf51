from support.graded import mistakes

CARDS = """\
ask: echo
flashcards:
  Is Paris the capital of France?: Paris
  "Is {{ 6 * 7 }} a number?": London
"""


def test_each_card_is_a_case_at_its_line(gate):
    ran = gate(CARDS)
    assert [(case["outcome"], case["output"]) for case in ran.cases] == [
        ("pass", "Is Paris the capital of France?"),
        ("fail", "Is {{ 6 * 7 }} a number?"),
    ]
    assert [grade["assertion"]["origin"]["line"] for grade in ran.grades] == [3, 4]
    assert ran.code == 1


def test_a_card_without_a_text_is_a_mistake_beside_all_others(gate):
    text = mistakes(gate(CARDS.replace("Paris\n", "7\n").replace("London", "[a]")))
    assert "promptfooconfig.yaml:3: the card `Is Paris the capital of France?` has no text" in text
    assert "promptfooconfig.yaml:4: " in text
