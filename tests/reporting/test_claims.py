"""Claims are read from what graders keep as evidence, whatever its shape, and lie beside the sentence they are most like."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.case_view import Holds, claims
from gradegate.values.conversation import Turn
from gradegate.values.result import Outcome
from support import samples
from support.each import each

SHOPS = "The shop opens at ten. It closes at six on Sundays.\nDogs are welcome"


def found(evidence: dict[str, Any], **row: Any) -> list[tuple[str, str, str, str, int]]:
    grade = samples.grade(Outcome.FAIL, "faithfulness", evidence=evidence)
    listed = claims(samples.row("x", Outcome.FAIL, grade, **{"vars": {"context": SHOPS}, **row}), grade)
    return [(it.text, it.holds.value, it.reason, it.near, it.turn) for it in listed]


def test_those_that_do_not_hold_come_first_each_beside_its_sentence() -> None:
    evidence = {
        "claims": [
            {"claim": "The shop opens at ten", "verdict": "yes", "reason": ""},
            {"claim": "It closes at eight on Sundays", "verdict": "no", "reason": "At six."},
            {"claim": "Parking costs nothing", "verdict": "idk", "reason": ""},
        ]
    }
    assert found(evidence) == [
        ("It closes at eight on Sundays", "contradicted", "At six.", "It closes at six on Sundays.", 0),
        ("Parking costs nothing", "not verified", "", "", 0),
        ("The shop opens at ten", "holds", "", "The shop opens at ten.", 0),
    ]


@each(
    ("evidence", "holds"),
    [
        ({"statements": [{"statement": "Dogs are welcome", "supported": True}]}, Holds.YES),
        ({"statements": [{"statement": "Dogs are welcome", "supported": False}]}, Holds.NO),
        ({"sentences": [{"sentence": "Dogs are welcome", "attributed": False}]}, Holds.NO),
        ({"votes": [{"id": 1, "claim": "Dogs are welcome", "outcome": "tie", "first": ["true", "false"]}]}, Holds.UNKNOWN),
        ({"contradicted": [{"turn": 2, "claim": "Dogs are welcome", "reason": "no"}]}, Holds.NO),
        ({"ambiguous": [{"turn": 2, "claim": "Dogs are welcome", "reason": "?"}]}, Holds.UNKNOWN),
    ],
)
def test_the_shapes_of_the_graders(evidence: dict[str, Any], holds: Holds) -> None:
    (claim,) = found(evidence)
    assert (claim[0], claim[1], claim[3]) == ("Dogs are welcome", holds.value, "Dogs are welcome")


def test_a_claim_that_is_told_twice_is_one_with_its_reason() -> None:
    evidence = {
        "votes": [{"id": 1, "claim": "Dogs are welcome", "outcome": "false", "first": ["false"]}],
        "false_details": [{"claim": "Dogs are welcome", "reason": "They are not."}],
    }
    assert found(evidence) == [("Dogs are welcome", "contradicted", "They are not.", "Dogs are welcome", 0)]


def test_truths_of_the_grader_come_before_the_documents() -> None:
    evidence = {"claims": [{"claim": "Dogs may come", "verdict": "yes"}], "truths": ["All dogs may come in"]}
    assert found(evidence)[0][3] == "All dogs may come in"


def test_documents_of_a_conversation_are_sources() -> None:
    turns = (Turn("user", "Dogs?"), Turn("assistant", "Yes.", ("Dogs may come in.",)))
    evidence = {"contradicted": [{"turn": 2, "claim": "Dogs may come", "reason": ""}]}
    assert found(evidence, vars={}, turns=turns) == [("Dogs may come", "contradicted", "", "Dogs may come in.", 2)]


def test_of_hundreds_some_are_kept() -> None:
    evidence = {"claims": [{"claim": f"claim {n}", "verdict": "no"} for n in range(500)]}
    assert len(found(evidence)) == 40


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["claim", "no", "yes", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["claim", "verdict", "truths", "claims", "turn", "reason", "contradicted"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_no_evidence_is_a_defect(value: Any, context: Any) -> None:
    found({"claims": value, "truths": context}, vars={"context": context})
