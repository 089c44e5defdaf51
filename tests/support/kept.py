"""A config whose replies are kept, and the runs that find them again."""

from typing import Any

from gradegate.asking.stored import SCHEMA
from support.fake_llm import FakeLlm

RUBRIC = {"type": "llm-rubric", "value": "is polite"}
TRUSTED = f"trusted.v{SCHEMA}.sqlite"
PASS = '{"pass": true, "score": 1, "reason": "polite"}'


def passing(path: str, body: dict) -> str:
    return PASS if body["model"] == "judge" else "hello"


def config(llm: FakeLlm, count: int = 10, **more: Any) -> dict:
    return {
        "prompts": ["{{x}}"],
        "providers": [llm.spec(cost=0.001)],
        "defaultTest": {"options": {"provider": llm.spec("judge", cost=0.001)}},
        "tests": [{"vars": {"x": f"question {number}"}, "assert": [RUBRIC]} for number in range(count)],
        **more,
    }
