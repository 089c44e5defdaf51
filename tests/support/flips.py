"""A judge that flips at a known rate: what it says depends on the request alone, whatever the threads do."""

import hashlib
import json
import re
from collections import Counter

GOOD, BAD = '{"pass": true, "score": 0.9, "reason": "good"}', '{"pass": false, "score": 0.2, "reason": "bad"}'
CASE = re.compile(r"case (\d+)\b")


def case_in(body: dict) -> int:
    """The number of the case that a request is about."""
    return int(CASE.findall(json.dumps(body["messages"]))[-1])


def suite(judge: dict, cases: int, assertion: dict | None = None, **keys) -> dict:
    """A config of so many cases, each an echoed ``case N`` with one assertion."""
    wanted = assertion or {"type": "llm-rubric", "value": "is good"}
    tests = [{"description": f"case {number}", "vars": {"q": f"case {number}"}} for number in range(cases)]
    return {
        "prompts": ["{{q}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": judge}, "assert": [wanted]},
        "tests": tests,
        **keys,
    }


def flipping(rate: float, seed: int, broken=()):
    """Replies of a judge that says the wrong thing of this share of requests."""

    def reply(path: str, body: dict) -> str:
        drawn = hashlib.sha256(f"{seed}{json.dumps(body['messages'])}".encode()).digest()
        flips = int.from_bytes(drawn[:8], "big") < rate * 2**64
        return GOOD if (case_in(body) not in broken) != flips else BAD

    return reply


def script_replies(replies: dict[int, str]):
    """Replies by case, an ask after the other: ``P`` passes, ``F`` fails, ``E`` says nothing; other cases pass."""
    left = {number: iter(said) for number, said in replies.items()}

    def reply(path: str, body: dict):
        said = next(left[number]) if (number := case_in(body)) in left else "P"
        return {"P": GOOD, "F": BAD, "E": "I cannot say."}[said]

    return reply


RUN = re.compile(r"case (\d+), run (\d+)")


def scripted_runs(cases: list[list[str]]):
    """A target that numbers its answers, and a judge that says of each run what is written, an ask after the other, the last again."""
    made, asks = [0] * len(cases), Counter()

    def reply(path: str, body: dict):
        text = json.dumps(body["messages"])
        if body["model"] == "target":
            case = int(CASE.findall(text)[-1])
            made[case] += 1
            return f"case {case}, run {made[case]}"
        case, run = map(int, RUN.findall(text)[-1])
        asks[case, run] += 1
        said = cases[case][run - 1]
        return {"P": GOOD, "F": BAD, "E": "I cannot say."}[said[min(asks[case, run], len(said)) - 1]]

    return reply


def suite_of_runs(llm, cases: int, **gate) -> dict:
    """A config of so many cases, with a target and a judge of their own."""
    return {
        "prompts": ["{{q}}"],
        "providers": [llm.spec("target")],
        "defaultTest": {"options": {"provider": llm.spec("judge")}, "assert": [{"type": "llm-rubric", "value": "is good"}]},
        "tests": [{"description": f"case {number}", "vars": {"q": f"case {number}"}} for number in range(cases)],
        "gate": gate,
    }
