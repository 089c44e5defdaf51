"""What a step must do, whoever starts it: each test runs with the action as a process and again in its container."""

import functools
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gradegate.github.comment import Stamp
from support.cells import differences
from support.each import table, tables
from support.fake_github import FakeGitHub, Token
from support.fake_llm import FakeLlm
from support.runner import ANNOTATIONS
from support.scenes import fill_in_values, laid, script, variants
from support.step import CANARY, Launcher, Left, Step

KEY = "sk-canary-0123456789"
# A model that talks to the runner, to GitHub and to Markdown.
NASTY = (
    "Lyon\n::error::x\n  ::set-output name=outcome::pass\nx ##[set-env name=A]b\n::stop-commands::t\n"
    f"{Stamp().line}\n@all <img src=x> ![i](http://x.test/i)\n```\n"
)
CONFIG = """\
description: capitals
prompts: ["Name the capital of {{country}}."]
providers: ["openai:chat:candidate"]
defaultTest:
  options:
    provider: openai:chat:judge
tests:
  - description: France
    vars: {country: France}
    assert:
      - type: factuality
        value: Paris is the capital of France.
  - description: Portugal
    vars: {country: Portugal}
    assert:
      - type: factuality
        value: Lisbon is the capital of Portugal.
"""
# What a pull request may try: modules and settings that Python would load from the directory it starts in.
TRAP = "open(__file__ + '.ran', 'w').close()\n"
TRAPS = ("gradegate/__init__.py", "requests.py", "yaml.py", "sitecustomize.py", "usercustomize.py", "encodings/idna.py")


def answers(letter: str, candidate: str = "Paris") -> Any:
    """A candidate that says one thing, and a judge that gives the letter for France and A for the rest."""

    def reply(path: str, body: dict) -> Any:
        if body["model"] == "candidate":
            return candidate
        given = letter if "France" in str(body["messages"]) else "A"
        return f'{{"reason": "because of {given}", "category": "{given}"}}'

    return reply


def step(tmp_path: Path, launcher: Launcher, github: FakeGitHub, llm: FakeLlm, payload: dict[str, Any]) -> Step:
    """A step on a checkout with a config, traps, and a key."""
    shutil.rmtree(tmp_path / "step", ignore_errors=True)
    made = Step(tmp_path / "step", launcher, github, payload)
    made.write({"evals/promptfooconfig.yaml": CONFIG, **dict.fromkeys(TRAPS, TRAP)})
    made.inputs = {
        "config": "promptfooconfig.yaml",
        "working_directory": "evals",
        "output": "gradegate-results.json\nout/junit.xml\nreport.md\nreport.html\n",
        "github_token": "ghs_actions",
        "comment": "always",
    }
    made.environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": llm.base}
    return made


def seen(action: Step, left: Left, llm: FakeLlm) -> dict[str, Any]:
    """What a step left behind, as scenes expect it."""
    marks = {kind: [{"text": it.data, **it.properties} for it in left.shown if it.name == kind] for kind in ANNOTATIONS}
    reports = left.outputs.get("reports", "").split()
    ends = {"results": ".json", "junit": ".xml"}
    files = {name: action.workspace / next((it for it in reports if it.endswith(end)), "none") for name, end in ends.items()}
    texts = {name: path.read_text() if path.is_file() else "{}" for name, path in files.items()}
    asked = [f"{it.method} {it.path}" for it in action.github.seen]
    found = {"code": left.code, "outputs": left.outputs, "summary": left.summary, "said": left.log, "err": left.log, "asked": asked}
    keys = sorted({headers["Authorization"] for _, _, headers in llm.requests})
    found |= {"comments": action.github.comments, "requested": len(llm.requests), "keys": keys, "junit": texts["junit"]}
    return {**found, **marks, "results": json.loads(texts["results"])}


def play(scene: Mapping[str, Any], action: Step, llm: FakeLlm) -> None:
    """Runs a step, and others after it, as a scene of YAML says; what does not come of it as expected fails.

    Its keys: `letter` of the judge and what the `candidate` says, or `llm` (`support.scenes`); `files`, and `edit` (old and new texts
    of the config); `event`, `payload`, `environ`, `inputs`; `github`, calls of the fake; `writes`, whether its token may. `<config>`
    is the config, `<nasty>` the hostile answer, `<sha>` the head, `<base>` the model.
    """
    payload, environ, failed = action.payload, action.environ, []
    for label, steps in variants(scene):
        action.github.comments.clear()
        for number, run in enumerate(steps, 1):
            sha = payload["pull_request"]["head"]["sha"]
            values = {"config": CONFIG, "nasty": NASTY, "sha": sha, "base": llm.base, "mark": Stamp().line}
            run = fill_in_values(run, values)  # noqa: PLW2901
            llm.requests.clear()
            llm.reply = script(run["llm"]) if "llm" in run else answers(run.get("letter", "A"), run.get("candidate", "Paris"))
            config = functools.reduce(lambda text, pair: text.replace(*pair, 1), run.get("edit", ()), CONFIG)
            action.write({"evals/promptfooconfig.yaml": config, **run.get("files", {})})
            own = run.get("payload")
            action.event, action.environ = run.get("event", "pull_request"), {**environ, **run.get("environ", {})}
            action.payload = payload if own is None else laid(payload, own) if "pull_request" in own else own
            if "writes" in run:
                action.github.tokens["ghs_actions"] = Token("github-actions[bot]", writes=run["writes"])
            for method, *arguments in run.get("github", ()):
                more = arguments.pop() if isinstance(arguments[-1], dict) else {}
                getattr(action.github, method)(*arguments, **more)
            left = action.run(**run.get("inputs", {}))
            wrong = [*differences(run["expect"], seen(action, left, llm), action.workspace)]
            failed += [f"{label}, run {number}: {it}" for it in wrong] + [left.log] * bool(wrong)
    assert not failed, "\n".join(failed)


class Scenarios:
    """Inherit and give the fixture ``action``, a Step made by ``step``."""

    @pytest.mark.parametrize("name", tables(Path(__file__).with_suffix(".yaml")))
    def test_a_scene(self, action: Step, llm: FakeLlm, name: str) -> None:
        play(table(__file__, name), action, llm)

    def test_what_the_model_writes_commands_nobody(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("D", NASTY)
        left = action.run()
        assert {c.name for c in left.commands} <= {"error", "warning", "notice", "group", "endgroup"}
        assert left.outputs["decision"] == "blocked"
        action.environ["GITHUB_RUN_ATTEMPT"] = "2"
        again = action.run()
        assert again.code == 1, again.log
        (comment,) = action.github.comments
        assert comment["body"].startswith(Stamp().marker)
        assert comment["body"].count(Stamp().marker) == 1

    def test_the_checkout_is_data_and_none_of_its_code_runs(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("A")
        left = action.run()
        assert left.code == 0, left.log
        assert sorted(action.workspace.rglob("*.ran")) == []

    def test_no_secret_leaves_by_any_door(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("D", f"the key is {KEY}, the token ghs_actions, and {CANARY}-runtime")
        left = action.run()
        assert left.code == 2, left.log  # an answer that holds a whole key is sent to no grader
        written = [path.read_text() for path in action.workspace.rglob("*") if path.is_file()]
        posted = [str(seen.body) for seen in action.github.seen]
        for secret in (KEY, "ghs_actions", f"{CANARY}-runtime"):
            assert [text for text in (left.log, left.summary, *written, *posted) if secret in text] == []
