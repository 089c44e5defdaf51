"""Which answer of the base stands for which, and what each grade is beside it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gradegate.base.pairing import age, beside, pair, remarks, report, status
from gradegate.results.earlier_run import Baseline
from gradegate.values.result import Asserted, Counterpart, Grade, Outcome, Row
from support.each import each, table

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def grade(outcome, base=None, definition="d"):
    return Grade(Asserted("contains", key="k", definition=definition), outcome, base=base and Counterpart(base, base))


def answer(key="a", outcome=P, definition="d", name=""):
    return replace(row(outcome, key, definition), description=name or key, grades=(grade(outcome, definition=definition),), output="x")


def row(outcome=P, key="a", definition="d"):
    return Row("s", "c", "p", "l", "", {}, outcome, grades=(grade(outcome),), key=key, definition=definition)


@each(
    ("head", "base", "again", "settled", "expected"),
    [
        (P, None, None, True, "ok"),
        (P, P, None, True, "ok"),
        (P, E, None, True, "ok"),
        (P, F, None, True, "fixed"),
        (F, F, None, False, "pre-existing"),
        (F, F, None, True, "pre-existing"),
        (F, None, None, True, "new-failure"),
        (F, E, None, True, "new-failure"),
        (F, None, None, False, ""),
        (F, P, None, False, ""),
        (F, P, None, True, ""),  # confirmed, and the base's answer was not graded again
        (F, P, P, True, "new-failure"),
        (F, P, F, True, "unsteady"),
        (F, P, E, True, "undecided"),
        (E, P, None, True, "undecided"),
        (E, F, None, True, "undecided"),
        (E, None, None, True, "undecided"),
    ],
)
def test_each_pair_of_verdicts_has_its_status(head, base, again, settled, expected):
    assert status(grade(head, base), again, settled) == expected


def test_equal_keys_pair_in_the_order_in_which_they_appear():
    base = Baseline((answer("a", name="1"), answer("b", name="2"), answer("a", name="3"), answer("c", name="4")))
    pairs, removed = pair(["a", "a", "b", "a", "x"], base)
    assert [found and found.description for found in pairs] == ["1", "3", "2", None, None]
    assert removed == ("4",)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_every_answer_of_the_base_is_paired_or_removed(keys, base):
    answers = tuple(answer(key, name=str(number)) for number, key in enumerate(base))
    pairs, removed = pair(keys, Baseline(answers))
    assert sorted([found.description for found in pairs if found] + list(removed)) == sorted(map(str, range(len(base))))
    assert all(found is None or found.key == key for key, found in zip(keys, pairs, strict=True))


def test_what_is_defined_otherwise_is_not_compared():
    assert beside(row(F), answer(outcome=P)).grades[0].base == Counterpart(P, P)
    other = beside(row(F, definition="e"), answer(outcome=P))
    assert other.base is None
    changed = replace(row(F), grades=(grade(F, definition="e"),))
    assert beside(changed, answer(outcome=P)).grades[0].base is None
    assert beside(row(F), None) == row(F)


def test_the_report_counts_cases():
    rows = [
        replace(row(F), grades=(replace(grade(F, P), status="new-failure"),), base=P),
        replace(row(F), grades=(replace(grade(F, F), status="pre-existing"),), base=F),
        replace(row(P), grades=(replace(grade(P, F), status="fixed"),), base=F),
        replace(row(P), grades=(replace(grade(P), status="ok"),)),
    ]
    base = Baseline((), "abc", (NOW - timedelta(days=3)).isoformat())
    found = report(rows, [answer(), answer(), answer(), None], ("gone",), base, NOW)
    counts = (found.compared, found.new_failures, found.pre_existing, found.fixed, found.unsteady, found.new)
    assert counts == (3, 1, 1, 1, 0, 1)
    assert (found.commit, found.age_days, found.removed) == ("abc", 3, ("gone",))


@each(("started", "days"), table(__file__, "an_age_is_of_whole_days_or_unknown"))
def test_an_age_is_of_whole_days_or_unknown(started, days):
    assert age(started, NOW) == days


def test_what_makes_a_baseline_doubtful_is_said():
    good = Baseline((), "abcdef123", NOW.isoformat(), ("gpt",), "grader")
    assert list(remarks(good, NOW, "abcdef123", ["gpt"])) == []
    assert list(remarks(good, NOW, "", ["gpt"])) == []
    said = list(remarks(Baseline((), "", "", ("a", "b"), ""), NOW, "abcdef123", ["b", "c"]))
    assert said == [
        "the baseline does not say when it was made",
        "the baseline is from commit unknown, but the base is at abcdef1",
        "the baseline was made with other models: `a` there, `c` here",
        "the baseline was made without re-asks: a failure in it may be noise, and may hide a new failure",
    ]
    old = replace(good, started=(NOW - timedelta(days=15)).isoformat())
    assert list(remarks(old, NOW, "", ["gpt"])) == ["the baseline is 15 days old"]
