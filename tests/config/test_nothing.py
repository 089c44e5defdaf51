"""A key with nothing behind it, or with comments alone, is none: at the top, in tests, assertions, providers and the gate."""

from support.each import each, table
from support.graded import mistakes

EMPTY = table(__file__, "EMPTY")


def test_nothing_is_none(gate):
    ran = gate(EMPTY)
    assert ran.code == 0, ran.err
    assert ran.cases[0]["vars"] == {"q": "hi", "nothing": None}
    assert ran.grades[0]["assertion"]["blocking"] is True


@each(("line", "words"), [("        value: hi", "`contains` has no `value`"), ("      - type: contains", "`type` is missing")])
def test_what_is_needed_is_missing_then(gate, line, words):
    assert words in mistakes(gate(EMPTY.replace(line, line.partition(":")[0] + ":")))


def test_a_mistake_beside_it_is_said_with_its_line(gate):
    said = mistakes(gate(EMPTY.replace("    metadata:\n    provider:", "    threshold: high\n    provider:")))
    assert "`threshold` must be a number" in said
    assert "1 mistake; nothing was asked" in said


@each("key", ["extensions: []", "nunjucksFilters: {}", "redteam: {}", "redteam:"])
def test_an_empty_list_of_what_is_not_done_is_none(gate, key):
    ran = gate(EMPTY + key + "\n")
    assert ran.code == 0, ran.err


def test_an_empty_threshold_is_a_mistake(gate):
    assert "`threshold` is empty" in mistakes(gate(EMPTY.replace("        weight:", "        threshold:")))


def test_what_is_in_it_is_a_mistake(gate):
    assert "`extensions` is not supported" in mistakes(gate(EMPTY + "extensions: [file://hooks.js:before]\n"))
