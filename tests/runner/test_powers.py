"""What a rule cannot see, said by the command before a run, in results.json and in the comment."""

import json
from pathlib import Path

import pytest

from support.earlier import FOLDER, on_default_branch
from support.flips import script_replies, suite


def test_earlier_runs_say_how_often_a_case_fails_unchanged(llm, gate):
    llm.reply = script_replies({})
    written = suite(llm.spec(), 100, gate={"rules": [{"name": "all", "min-pass-rate": 1}]})
    on_default_branch(gate, written)
    file = Path(FOLDER, "history.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**it, "runs": it["runs"] * 60}) + "\n" for it in records))
    ran = gate(written, "--baseline", FOLDER, reask="")
    # Each of 100 cases: 0 of 60 asks failed, as in history.json#factor_chances.
    assert ran.results["rules"][0]["unchanged"] == pytest.approx(1 - (1 - 3.23996e-06) ** 100, rel=1e-4)
    assert ran.results["rules"][0]["one_broken"] == pytest.approx(0.888587, rel=1e-5)  # by the lead
