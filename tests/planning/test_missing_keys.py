"""A key that is missing is a value: the plan is made all the same, and nobody is asked without it."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gradegate.config.context import build_context
from gradegate.core.policy import Limits
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.http.credentials import FixedKey
from gradegate.http.guard import Guard
from gradegate.runner.prepare import Preparation, prepare
from gradegate.runner.run import run_plan
from gradegate.security.environment import STAND_IN
from gradegate.structs import replace
from support.each import each

TEST = {"vars": {"q": "x"}, "assert": [{"type": "contains", "value": "x"}]}


def planned(
    folder: Path, config: object, environ: dict[str, str] | None = None, *, keyless: bool = False, **options: object
) -> Preparation:
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    settings = replace(Settings(cwd=folder), **options)
    return prepare(replace(build_context(settings, environ or {}), keyless=keyless))


def config(*providers: object, **more: object) -> dict[str, object]:
    return {"prompts": ["{{q}}"], "providers": [*providers], "tests": [TEST], **more}


KEYED = {"id": "openai:chat:m", "config": {"apiBaseUrl": "https://gw.example/v1", "apiKey": "{{env.APP_KEY}}"}}


def test_it_is_told_with_all_other_mistakes(tmp_path):
    tests = [{**TEST, "assert": [{"type": "contians", "value": "x"}]}]
    with pytest.raises(ConfigError) as raised:
        planned(tmp_path, config("openai:chat:m", KEYED, "anthropic:messages:m", tests=tests))
    said = str(raised.value)
    assert [name in said for name in ("OPENAI_API_KEY", "APP_KEY", "ANTHROPIC_API_KEY", "contians")] == [True] * 4
    assert raised.value.missing == frozenset()  # a key is not all that is wrong
    assert STAND_IN not in said


def test_a_plan_without_keys_names_them(tmp_path):
    grader = {"defaultTest": {"options": {"provider": "mistral:m"}}}
    tests = [{**TEST, "assert": [{"type": "llm-rubric", "value": "x"}]}]
    plan = planned(tmp_path, config("openai:chat:m", KEYED, tests=tests, **grader), keyless=True).plan
    assert plan.missing_keys == {"OPENAI_API_KEY", "APP_KEY", "MISTRAL_API_KEY"}
    assert {use.name for use in plan.keys} == plan.missing_keys
    assert planned(tmp_path, config(KEYED), {"APP_KEY": "sk-0123456789"}, keyless=True).plan.missing_keys == frozenset()


def test_where_the_stand_in_cannot_be_used_the_keys_are_what_is_wrong(tmp_path):
    web = {"id": "http", "config": {"url": "{{env.APP_URL}}", "body": {"q": "{{prompt}}"}}}
    with pytest.raises(ConfigError) as raised:
        planned(tmp_path, config(web), keyless=True)
    assert raised.value.missing == {"APP_URL"}


def test_nobody_is_asked_without_a_key(tmp_path, llm):
    keyed = {**llm.spec(), "config": {**llm.spec()["config"], "apiKey": "{{env.APP_KEY}}"}}
    prepared = planned(tmp_path, config(keyed), keyless=True)
    (row,) = run_plan(prepared.plan, prepared.client).rows
    assert (row.output, llm.requests) == (None, [])
    assert "no APP_KEY" in row.error
    with pytest.raises(ProviderError, match="its key is missing") as raised:  # and if anybody tried
        prepared.client.send("POST", llm.base + "/chat/completions", headers={}, credential=FixedKey(STAND_IN))
    assert (raised.value.trouble, llm.requests) == (Trouble.WITHHELD, [])


def test_no_text_can_name_the_stand_in():
    """A model that could would keep its answers from being graded."""
    command = [sys.executable, "-c", "from gradegate.security.environment import STAND_IN; print(STAND_IN)"]
    others = {subprocess.check_output(command, text=True) for _ in range(2)}
    assert len({STAND_IN, *others}) == 3


@each("text", [STAND_IN, base64.b64encode(f"user:{STAND_IN}".encode()).decode(), f"a{STAND_IN}b"])
def test_no_request_with_the_stand_in_leaves(text):
    guard, url = Guard(), "https://api.example/v1"
    for request in (("POST", f"{url}?k={text}", {}, None), ("POST", url, {"X-Key": text}, None), ("POST", url, {}, text.encode())):
        with pytest.raises(ProviderError, match="its key is missing"):
            guard.check_request(*request)
    with pytest.raises(ProviderError, match="its key is missing"):
        guard.check_credential("POST", url, {}, {"Authorization": text})


SHOWS = "{{ env.OPENAI_API_KEY }}"


@each(
    "more",
    [
        {"prompts": [f"{{{{q}}}} {SHOWS}"]},
        {"tests": [{**TEST, "vars": {"q": SHOWS}}]},
        {"tests": [{**TEST, "assert": [{"type": "contains", "value": SHOWS}]}]},
        {"tests": [{**TEST, "options": {"rubricPrompt": SHOWS}}]},
    ],
)
@each("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": "sk-0123456789abcdef"}])
def test_a_vendors_key_in_a_text_is_a_mistake_whether_it_is_set_or_not(tmp_path, more, environ):
    with pytest.raises(ConfigError, match="shows the environment's OPENAI_API_KEY, allowed only in a provider's config"):
        planned(tmp_path, config("echo", **more), environ)
    with pytest.raises(ConfigError, match="a vendor's key is never allowed in a text"):
        planned(tmp_path, config("echo", **more), environ, allowed_env=frozenset({"OPENAI_API_KEY"}))


def test_another_variable_that_nobody_set_may_be_named(tmp_path):
    assert planned(tmp_path, config("echo", prompts=["{{q}} {{ env.TOWN }}"])).plan.jobs
    with pytest.raises(ConfigError, match="the prompt shows the environment's APP_KEY"):  # which a provider takes
        planned(tmp_path, config(KEYED, prompts=["{{q}} {{ env.APP_KEY }}"]), keyless=True)


def test_without_keys_only_what_no_key_would_cure_is_wrong(tmp_path):
    named = {"id": "openai:chat:{{env.MODEL}}", "config": {"temperature": "{{env.HEAT}}"}}
    limits = Limits(usd=5)
    with pytest.raises(ConfigError) as raised:
        planned(tmp_path, config(named), keyless=True, budget=limits)
    assert raised.value.missing == {"MODEL", "HEAT"}  # what is no number may be one on the runner
    with pytest.raises(ConfigError) as raised:
        planned(tmp_path, config(named, "opnai:m"), keyless=True, budget=limits)
    assert [mistake.what for mistake in raised.value.mistakes] == ["no such provider `opnai:m`"]
