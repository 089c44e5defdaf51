"""What surrounds a verdict in plain text: objects that are evidence, notes, headings, ticks; and what such things may not be."""

import pytest

from support.readers import read


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        ("letter", 'It shows {"a": 1} as output.\n\n(C)'),
        ("letter", 'It prints\n\n```json\n{"name": "Paris"}\n```\n\nAnswer: C'),
        ("score", 'It shows {"a": 1} as output.\n\nScore: 8/10'),
        ("score", "## Score\n\n8"),
        ("score", "I would rate it 8/10."),
        ("score", "Score: 8 (good)"),
        ("index", 'The first is {"a": 1}.\nThe second is whole.\n\nBest output: 1'),
        ("index", "Output 1 is the best."),
        ("yes", "Therefore, yes."),
        ("yes", "Overall: Y"),
        ("marked", "Lyon is the capital. The context states it. So [Attributed]"),
        ("marked", "Lyon is the capital. [Attributed] ✅"),
        ("marked", "Lyon is the capital. [Not Attributed] ❌"),
    ],
)
def test_a_verdict_is_read_beside_what_surrounds_it(form, reply):
    assert read(form, reply) is not None


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        ("letter", '{"verdict": "D"}\n\n(C)'),
        ("letter", 'It holds {"x": {"category": "D"}}.\n\n(C)'),
        ("letter", '(C)\n{"a": 1}'),
        ("letter", 'It prints {"a": 1}.\n\nC'),
        ("score", '{"score": 2}\nScore: 8'),
        ("score", "## Maximum score\n\n10"),
        ("score", "Score: 8 (no)"),
        ("score", "Score: 8 (wrong)"),
        ("index", '{"best": 2}\n\n1'),
        ("index", "Output 1 is not the best."),
        ("yes", 'It prints {"a": 1}.\n\nY'),
        ("marked", "Lyon is the capital. [Attributed] ❌"),
        ("marked", "Paris ist a b 不 [Attributed]"),
        ("marked", "Paris başkent değil [Attributed]"),
        ("marked", "باريس ليس [Attributed]"),
    ],
)
def test_what_surrounds_a_verdict_may_not_say_another(form, reply):
    assert read(form, reply) is None
