"""Each time that a grader is asked the same, it is another request: no answer to an earlier one can serve."""

import json

from support.flips import suite


def test_no_two_asks_of_a_grade_are_one_request_and_no_later_one_is_answered_by_a_cache(gate, llm, tmp_path) -> None:
    llm.reply = lambda path, body: json.dumps({"reason": "r", "pass": False, "score": 0})
    config = suite(llm.spec(), 1, gate={"reask": {"noise": 0.1}})
    cached = ("--cache", str(tmp_path / "kept"))
    asked = []
    for _ in range(2):
        llm.requests.clear()
        ran = gate(config, *cached, reask="")
        assert ran.code == 1
        asked.append([json.dumps(body, sort_keys=True) for body in llm.bodies])
    first, again = asked
    assert len(first) == len(set(first)) == ran.results["reask"]["asks"] > 2
    assert set(again) == set(first[1:])  # the first ask alone is the kept one
