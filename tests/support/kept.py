"""A config whose replies are kept, and the runs that find them again."""

import json
from pathlib import Path
from typing import Any

import pytest

from gradegate.providers.cache.seals import SCHEMA
from support.fake_llm import FakeLlm

RUBRIC = {"type": "llm-rubric", "value": "is polite"}
TRUSTED = f"trusted.v{SCHEMA}.sqlite"
PROPOSED = f"proposed.v{SCHEMA}.sqlite"
PULL = ("pull_request", "refs/pull/7/merge")
KEY = "sk-the-key-of-the-workflow-0123456789"
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


def config_with_key(llm: FakeLlm, count: int = 2, **more: Any) -> dict:
    """The same, asked with the key and at the address of the environment (``environment``)."""
    specs = {model: {"id": f"openai:chat:{model}", "config": {"cost": 0.001}} for model in ("fake", "judge")}
    options = {"options": {"provider": specs["judge"]}}
    return {**config(llm, count), "providers": [specs["fake"]], "defaultTest": options, **more}


def environment(patch: pytest.MonkeyPatch, llm: FakeLlm, key: str = KEY) -> None:
    """What the workflow sets."""
    patch.setenv("OPENAI_API_KEY", key)
    patch.setenv("OPENAI_BASE_URL", llm.base)


def event(patch: pytest.MonkeyPatch, folder: Path, name: str, ref: str, default: str = "main", llm: FakeLlm | None = None) -> None:
    """A run on GitHub that this started; the workflow names the address of ``llm``, which opens its port and holds no key."""
    payload = folder.parent / "event.json"
    payload.write_text(json.dumps({"repository": {"default_branch": default, "full_name": "o/r"}}))
    patch.setenv("GITHUB_ACTIONS", "true")
    patch.setenv("GITHUB_EVENT_NAME", name)
    patch.setenv("GITHUB_REF", ref)
    patch.setenv("GITHUB_EVENT_PATH", str(payload))
    if llm is not None:
        patch.setenv("OPENAI_BASE_URL", llm.base)
