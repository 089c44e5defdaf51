"""What came in place of statements is not a statement; statements in plain text are."""

from functools import partial

import pytest

from gradegate.errors import Unreadable
from gradegate.grading.reading import lists
from gradegate.grading.reading.answer import parse

read = partial(lists.items, key="statements", marked=False)


@pytest.mark.parametrize(
    "reply",
    ["Internal Server Error", "502 Bad Gateway", "<html><body>502 Bad Gateway</body></html>", "Rate limit exceeded.", "Access denied", "upstream connect error or disconnect/reset before headers",
     "This content was blocked.", "[Content filtered]", "Your request has been flagged", "Please provide the answer.", "Sure! Which answer do you mean?", "What should I list?", "Let me think about the statements",
     "無理です。", "拒绝回答", "I refuse", "Me niego a hacerlo.", "Statements:\n(none)", "(empty)", "# Statements", "1.", "- \n- ", "No.", "Yes.", "Keine.", "...", "The answer is a refusal.", "data: [DONE]"],
)  # fmt: skip
def test_a_failure_or_a_refusal_is_no_statement(reply):
    with pytest.raises(Unreadable):
        read(parse(reply))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Lyon is the capital.\nIt is in France.", ("Lyon is the capital.", "It is in France.")),
        ("The statements:\nLyon is the capital.", ("Lyon is the capital.",)),
        ("- The request was blocked by the server.", ("The request was blocked by the server.",)),
        ("パリは首都です。", ("パリは首都です。",)),
        ("1. Please wait for the train, it says.", ("Please wait for the train, it says.",)),
    ],
)
def test_statements_are_read(reply, expected):
    assert read(parse(reply)) == expected
