"""Tests in quarantine: flaking is forgiven and said, a break is not."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from support.earlier import HISTORY, by, earlier
from support.flips import scripted, suite


def day(ahead: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=ahead)).isoformat()


def quarantined(llm, ahead=30, cases=3, number=0, **keys):
    config = suite(llm.spec(), cases, **keys)
    config["tests"][number]["flaky"] = {"report": True, "until": day(ahead)}
    return config


def run(gate, llm, config, replies, *arguments):
    llm.reply, before = by("m1", scripted(replies)), len(llm.requests)
    ran = gate(config, *arguments, confirm="")
    return ran, len(llm.requests) - before


def notes(ran) -> str:
    return json.dumps(ran.results["notes"])


def test_a_failure_only_advises_until_the_day_is_over(gate, llm):
    ran, asked = run(gate, llm, quarantined(llm), {0: "FFF"}, "-o", "page.md", "-o", "junit.xml")
    assert (ran.code, ran.results["outcome"], asked) == (0, "advisory", 3)
    grade = ran.grades[0]
    assert (grade["outcome"], grade["quarantine"], ran.cases[0]["outcome"]) == ("fail", day(30), "fail")
    for text in (notes(ran), ran.out, *((ran.folder / name).read_text() for name in ("page.md", "junit.xml"))):
        assert f"in quarantine until {day(30)}, so failures of these tests only advise: `case 0`" in text.replace("\\", "")
    assert "it ends in 7 days" in notes(run(gate, llm, quarantined(llm, 7), {})[0])
    assert "it ends" not in notes(run(gate, llm, quarantined(llm, 8), {})[0])
    assert run(gate, llm, quarantined(llm, 0), {0: "FFF"})[0].code == 0
    ran, asked = run(gate, llm, quarantined(llm, -1), {0: "FFF"})
    assert (ran.code, asked) == (1, 5)
    assert f"the quarantine ended on {day(-1)}" in notes(ran)


def test_another_case_still_blocks_and_another_error_still_counts(gate, llm):
    assert run(gate, llm, quarantined(llm), {0: "FFF", 1: "FFF"})[0].code == 1
    ran, _ = run(gate, llm, quarantined(llm), {0: "E"})
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    config = quarantined(llm)
    config["tests"][0]["assert"] = [{"type": "contains", "value": "case"}, {"type": "llm-rubric", "value": "is kind"}]
    ran, _ = run(gate, llm, config, {0: "FE"})  # one of its verdicts is a failure, the other could not be read
    assert sorted(grade["outcome"] for grade in ran.cases[0]["grades"]) == ["error", "fail", "pass"]
    assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")
    config["tests"][0]["threshold"] = 0.8
    assert run(gate, llm, config, {0: "FE"})[0].code == 3  # the failure is forgiven, the error is not


@pytest.mark.parametrize(
    ("replies", "code", "verdict"),
    [("FF", 0, "fail"), ("FPP", 0, "pass"), ("FPE", 3, "error"), ("EFP", 3, "error"), ("EE", 3, "error"), ("FEF", 3, "fail")],
)
def test_of_several_runs_the_case_is_forgiven(gate, llm, replies, code, verdict):
    ran, _ = run(gate, llm, quarantined(llm, gate={"runs": {"of": 3, "pass": 2}}), {0: replies}, "-j", "1")
    assert (ran.code, ran.cases[0]["verdict"]) == (code, verdict)
    assert run(gate, llm, suite(llm.spec(), 3, gate={"runs": {"of": 3, "pass": 2}}), {0: "FFFFFFFF"})[0].code == 1


def flaking(gate, llm, config):
    """A history in which 36 of 60 asks of case 0 fail."""
    earlier(gate, llm, config, 12)
    path = gate().folder / HISTORY
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first.replace('"votes":"P"', '"votes":"FFFPP"'), *others]))


@pytest.mark.parametrize(("replies", "code", "outcome"), [("FP" * 10, 0, "pass"), ("FFFFP" * 4, 0, "error"), ("FEE", 3, "error")])
def test_a_history_forgives_flaking(gate, llm, replies, code, outcome):
    config = suite(llm.spec(), 3)
    flaking(gate, llm, config)
    ran, _ = run(gate, llm, config, {0: replies}, "--history", HISTORY)
    assert (ran.code, ran.grades[0]["outcome"]) == (0 if outcome == "pass" else 3, outcome)
    ran, _ = run(gate, llm, quarantined(llm), {0: replies}, "--history", HISTORY)
    assert (ran.code, ran.grades[0]["outcome"]) == (code, outcome)
    assert "case 0: llm-rubric: flaky: 36 of 60 asks fail on the default branch" in ran.out


def test_a_break_is_not_forgiven(gate, llm):
    config = suite(llm.spec(), 1)
    earlier(gate, llm, config, 1, {0: "FPP"})
    earlier(gate, llm, config, 15)
    ran, _ = run(gate, llm, quarantined(llm, cases=1), {0: "F" * 20}, "--history", HISTORY)
    past = ran.grades[0]["history"]
    assert (ran.code, past["flaky"], past["fails"], past["bayes_factor"] > 200) == (1, True, 1, True)


def test_what_is_not_flaky_counts_and_its_quarantine_is_named(gate, llm):
    earlier(gate, llm, suite(llm.spec(), 3), 12)
    ran, _ = run(gate, llm, quarantined(llm), {0: "FF"}, "--history", HISTORY)
    assert ran.code == 1
    assert "counts all the same, since it is not flaky: 0 of 12 asks failed on the default branch: remove the quarantine" in notes(ran)


def test_a_threshold_of_the_test_is_forgiven_as_a_whole(gate, llm):
    config = quarantined(llm)
    config["tests"][0] |= {"threshold": 0.9, "assert": [{"type": "llm-rubric", "value": "is kind"}]}
    assert run(gate, llm, config, {0: "FP"})[0].code == 0


def test_mistakes_stand_at_their_lines(gate, llm):
    ran, _ = run(gate, llm, quarantined(llm, 91), {})
    assert "`until` is 91 days ahead, and a quarantine lasts at most 90" in ran.mistakes
    for written in ({"report": False, "until": day(1)}, {"report": True}, {"report": True, "until": "soon"}, {"report": True, "until": 1}):
        config = suite(llm.spec(), 1)
        config["tests"][0]["flaky"] = written
        assert "promptfooconfig.yaml:" in run(gate, llm, config, {})[0].mistakes
    config = suite(llm.spec(), 1)
    config["defaultTest"]["flaky"] = {"report": True, "until": day(1)}
    assert "puts every test in quarantine" in run(gate, llm, config, {})[0].mistakes


def test_a_quarantine_weakens_the_gate(gate, llm, tmp_path):
    import yaml

    base = tmp_path.parent / f"{tmp_path.name}-base"
    base.mkdir()

    def changes(before, now):
        (base / "promptfooconfig.yaml").write_text(yaml.safe_dump(before))
        (tmp_path / ".git").mkdir(exist_ok=True)
        ran, _ = run(gate, llm, now, {}, "--base", str(base))
        return [(change["kind"], change["text"]) for change in ran.results["gate_changes"]]

    plain = suite(llm.spec(), 3)
    assert changes(plain, quarantined(llm, 9)) == [("weaker", f"`case 0`: in quarantine until {day(9)}, where it was not in one")]
    assert changes(quarantined(llm, 8), quarantined(llm, 9)) == [
        ("weaker", f"`case 0`: in quarantine until {day(9)}, where it was until {day(8)}")
    ]
    assert changes(quarantined(llm, 9), quarantined(llm, 8)) == changes(quarantined(llm, 9), plain) == []
