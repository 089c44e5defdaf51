"""What a rule cannot see, said by the command before a run, in results.json and in the comment's fold."""

import json
from pathlib import Path

import pytest

from gradegate import cli
from support.flips import scripted, suite

FACTS = {"rules": [{"name": "facts", "min-pass-rate": 0.9}]}


def test_cases_that_fail_on_the_base_take_of_the_slack(llm, gate):
    llm.reply = scripted({0: "F" * 9, 1: "F" * 9})
    written = suite(llm.spec(), 40, gate=FACTS)
    base = gate(written, confirm="")
    assert base.results["rules"][0]["slack"] == 4
    (base.folder / "base.json").write_text((base.folder / "results.json").read_text())
    line = (
        "warning: rule facts: 40 cases at 0.9, 2 fail on the base: 2 more may break (5.0 points) before it blocks. It blocks an unchanged "
        "pull request in less than 0.01% of runs, and notices 1, 2, 3 broken cases in less than 0.01%, 0.30%, 55%"
        "; 2 of 40 cases may break unseen"
    )
    assert line in gate(written, "--baseline", "base.json", "--estimate", confirm="").out.splitlines()
    llm.reply = scripted({})
    ran = gate(written, "--baseline", "base.json", "-o", "comment.md", confirm="")
    found = ran.results["rules"][0]
    assert [found[key] for key in ("cases", "failing_before", "slack")] == [40, 2, 2]
    assert found["three_broken"] == pytest.approx(0.55, abs=0.01)
    assert "<summary>Rules in words, and what it took</summary>" in (comment := (ran.folder / "comment.md").read_text())
    assert "2 of 40 cases may break unseen" in comment
    assert ran.err == f"{line}\n"


@pytest.mark.parametrize(
    ("cases", "keys", "said"),
    [
        (20, {"gate": {"rules": [{"name": "r", "min-pass-rate": 0.8}]}}, "; 1 of 20 cases may break unseen"),
        (5, {"gate": {"confirm": "off"}}, "; noise alone blocks 41% of runs: set `runs`, a rate or `confirm`"),
    ],
)
def test_a_rule_that_blocks_too_often_or_notices_too_little_is_a_warning(llm, gate, capsys, cases, keys, said):
    ran = gate(suite(llm.spec(), cases, **keys), confirm="")
    assert ran.err.startswith("warning: rule ")
    assert ran.err.endswith(f"{said}\n")
    assert cli.main(["validate"]) == 0
    assert ran.err in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([{"name": "r", "min-pass-rate": 1}], (0, 0.0, 1.0)),  # code grades: it never flips
        ([{"name": "r", "max-new-failures": 1}, {"name": "n", "min-pass-rate": 1}], (1, 0.0, 0.0)),
        ([{"name": "r", "min-score": 0.5}], (None, None, None)),
        ([{"name": "r", "min-pass-rate": 0.5, "confidence": 0.9}], (None, None, None)),
        ([{"name": "r", "min-pass-rate": 1, "blocking": False}], (None, None, None)),
        ([{"name": "r", "min-pass-rate": 0.5, "max-new-failures": 0}], (0, 0.0, 1.0)),  # of two keys, the one that leaves less room
    ],
)
def test_figures_by_rule(llm, gate, rules, found):
    ran = gate(suite(llm.spec(), 20, {"type": "contains", "value": "case"}, gate={"rules": rules}), confirm="")
    rule = ran.results["rules"][0]
    assert (rule["slack"], rule["unchanged"], rule["five_points"]) == found


def test_runs_of_a_case_are_one_case(llm, gate):
    out = gate(suite(llm.spec(), 15), "--runs", "2/3", "--estimate", confirm="").out
    assert "rule every case passes: 15 cases: 0 more may break" in out  # and not 45
    assert "noise alone blocks 3.9% of runs" in out  # 3 % of runs fail


def test_earlier_runs_say_how_often_a_case_fails_unchanged(llm, gate):
    llm.reply = scripted({})
    written = suite(llm.spec(), 100)
    gate(written, "--history-out", "../votes.jsonl", confirm="")
    file = Path("../votes.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**it, "runs": it["runs"] * 60}) + "\n" for it in records))
    ran = gate(written, "--history", "../votes.jsonl", confirm="")
    # Each of 100 cases: 0 of 60 asks failed, as in history.json#factor_chances.
    assert ran.results["rules"][0]["unchanged"] == pytest.approx(1 - (1 - 3.23996e-06) ** 100, rel=1e-4)
    assert ran.results["rules"][0]["one_broken"] == pytest.approx(0.888587, rel=1e-5)  # by the lead
