"""What a step must do, whoever starts it: each test runs with the action as a process and again in its container."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from gradegate.github.sticky import Stamp
from support.fake_github import FakeGitHub, Token
from support.fake_llm import FakeLlm
from support.step import CANARY, Launcher, Step

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
LINE = CONFIG.splitlines().index("        value: Paris is the capital of France.")  # of its `- type`, counted from 1
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
    """A step on a checkout with a config, traps, and a key in its inputs."""
    shutil.rmtree(tmp_path / "step", ignore_errors=True)
    made = Step(tmp_path / "step", launcher, github, payload)
    made.write({"evals/promptfooconfig.yaml": CONFIG, **dict.fromkeys(TRAPS, TRAP)})
    made.inputs = {
        "config": "promptfooconfig.yaml",
        "working_directory": "evals",
        "output": "gradegate-results.json\nout/junit.xml\nreport.md\nreport.html\n",
        "openai_api_key": KEY,
        "openai_base_url": llm.base,
        "github_token": "ghs_actions",
        "comment": "always",
        "reask": "1",
        "summary": "true",
        "annotations": "true",
    }
    return made


class Scenarios:
    """Inherit and give the fixture ``action``, a Step made by ``step``."""

    def test_a_pass_is_green_everywhere(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("A")
        left = action.run()
        assert left.code == 0, left.log
        assert left.outputs["outcome"] == "pass"
        assert (left.outputs["exit-code"], left.outputs["planned"], left.outputs["passed"]) == ("0", "2", "2")
        assert (left.outputs["pass-rate"], left.outputs["errored"]) == ("1.0000", "0")
        assert left.outputs["junit-path"] == "evals/out/junit.xml"
        assert left.outputs["results-path"] == "evals/gradegate-results.json"
        suite = ET.parse(action.workspace / left.outputs["junit-path"]).getroot()
        assert len(suite.findall(".//testcase")) == 2
        assert suite.findall(".//failure") + suite.findall(".//error") == []
        assert [c.name for c in left.shown if c.name == "error"] == []
        assert "2 cases: 2 passed" in left.summary
        (comment,) = action.github.comments
        assert left.outputs["comment-url"] == comment["html_url"]
        assert {f"Bearer {KEY}"} == {headers["Authorization"] for _, _, headers in llm.requests}

    def test_a_missed_threshold_blocks_and_says_why_at_the_line(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("D", NASTY)
        left = action.run()
        assert left.code == 1, left.log
        assert left.outputs["outcome"] == "blocked"
        assert (left.outputs["planned"], left.outputs["passed"], left.outputs["failed"]) == ("2", "1", "1")
        suite = ET.parse(action.workspace / left.outputs["junit-path"]).getroot()
        (failure,) = suite.findall(".//failure")
        assert "because of D" in (failure.get("message") or "") + (failure.text or "")
        (mark,) = [c for c in left.shown if c.name == "error"]
        assert mark.properties["file"] == "evals/promptfooconfig.yaml"
        assert mark.properties["line"] == str(LINE)
        assert "because of D" in mark.data
        (comment,) = action.github.comments
        assert "because of D" in comment["body"]
        assert "because of D" in left.summary
        sha = action.payload["pull_request"]["head"]["sha"]
        assert f"/blob/{sha}/evals/promptfooconfig.yaml#L{LINE}" in comment["body"]

    def test_what_the_model_writes_commands_nobody(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("D", NASTY)
        left = action.run()
        assert {c.name for c in left.commands} <= {"error", "warning", "notice", "group", "endgroup"}
        assert left.outputs["outcome"] == "blocked"
        again = action.run()
        assert again.code == 1, again.log
        (comment,) = action.github.comments
        assert comment["body"].startswith(f"{Stamp().marker} ")
        assert comment["body"].count(Stamp().marker) == 1

    def test_the_comment_of_the_first_run_is_updated_by_the_second(self, action: Step, llm: FakeLlm) -> None:
        action.github.add("mona", f"{Stamp().line}\nPASSED")
        llm.reply = answers("D")
        assert action.run().code == 1
        llm.reply = answers("A")
        assert action.run().code == 0
        spoof, ours = action.github.comments
        assert spoof["body"] == f"{Stamp().line}\nPASSED"
        assert ours["user"]["login"] == "github-actions[bot]"
        assert "because of D" not in ours["body"]
        assert len(action.github.asked("PATCH")) == 1

    def test_a_key_that_the_model_server_refuses_is_never_green(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = lambda path, body: (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
        left = action.run()
        assert left.code in {2, 3}, left.log
        assert left.outputs["outcome"] == "inconclusive"
        assert (left.outputs["passed"], left.outputs["failed"], left.outputs["errored"]) == ("0", "0", "2")
        assert left.outputs["pass-rate"] == ""
        suite = ET.parse(action.workspace / left.outputs["junit-path"]).getroot()
        assert len(suite.findall(".//error")) == 2
        assert suite.findall(".//failure") == []

    def test_a_grader_without_a_verdict_is_inconclusive(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = lambda path, body: "Paris" if body["model"] == "candidate" else "I am not sure"
        left = action.run()
        assert left.code == 3, left.log
        assert (left.outputs["outcome"], left.outputs["errored"]) == ("inconclusive", "2")

    def test_a_fork_keeps_its_verdict_without_a_comment(self, action: Step, llm: FakeLlm) -> None:
        action.github.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
        action.payload["pull_request"]["head"]["repo"]["full_name"] = "mona/hello"
        for letter, code in (("A", 0), ("D", 1)):
            llm.reply = answers(letter)
            left = action.run()
            assert left.code == code, left.log
            assert left.outputs["comment-url"] == ""
            assert any("comes from a fork" in c.data for c in left.shown if c.name == "warning")
            assert left.summary
        assert action.github.comments == []

    def test_a_github_that_is_down_changes_no_verdict(self, action: Step, llm: FakeLlm) -> None:
        action.github.trouble("GET", 403, "API rate limit exceeded", headers={"Retry-After": "3600"}, times=99)
        llm.reply = answers("A")
        left = action.run()
        assert left.code == 0, left.log
        assert any("rate limit" in c.data for c in left.shown if c.name == "warning")

    def test_mistakes_stop_before_the_first_call_and_mark_their_lines(self, action: Step, llm: FakeLlm) -> None:
        path = action.workspace / "evals" / "promptfooconfig.yaml"
        path.write_text(CONFIG.replace("type: factuality", "type: factualty"))
        left = action.run()
        assert left.code == 2, left.log
        assert llm.requests == []
        assert (left.outputs["outcome"], left.outputs["exit-code"]) == ("mistake", "2")
        (mark,) = [c for c in left.shown if c.name == "error"]
        assert mark.properties == {"file": "evals/promptfooconfig.yaml", "line": str(LINE)}
        assert 'did you mean "factuality"?' in mark.data
        (comment,) = action.github.comments
        assert "factualty" in comment["body"]

    def test_a_merge_group_is_decided_without_a_comment(self, action: Step, llm: FakeLlm) -> None:
        action.event = "merge_group"
        action.payload = {"merge_group": {"head_sha": "a" * 40, "base_sha": "b" * 40}}
        llm.reply = answers("D")
        left = action.run()
        assert left.code == 1, left.log
        assert action.github.seen == []
        assert "is not about a pull request" in left.log

    def test_a_weaker_gate_is_blocked_until_somebody_else_labels_the_head(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("A")
        weaker = CONFIG.replace("value: Paris is", "blocking: false\n        value: Paris is")
        action.payload["pull_request"]["updated_at"] = "2026-03-01T12:00:00Z"
        head = action.payload["pull_request"]["head"]["sha"]
        action.write({".base/evals/promptfooconfig.yaml": CONFIG, "evals/promptfooconfig.yaml": weaker, ".git/HEAD": head})
        action.inputs |= {"base": ".base", "changes": "block", "approve_label": "gate-approved"}
        action.github.happened("labeled", "2026-03-01T11:59:59Z", label="gate-approved")
        left = action.run()
        assert (left.code, left.outputs["outcome"]) == (1, "blocked"), left.log
        (comment,) = action.github.comments
        assert comment["body"].splitlines()[5:7] == ["> [!WARNING]", "> **This pull request weakens its own gate in 1 place**"]
        assert "was set before the head was pushed" in comment["body"]
        (mark,) = [c for c in left.shown if c.name == "warning"]
        assert mark.properties["line"] == str(LINE)
        assert "`factuality` of `France`: no longer blocks" in mark.data
        action.github.happened("labeled", "2026-03-01T12:00:01Z", label="gate-approved")
        left = action.run()
        assert (left.code, left.outputs["outcome"]) == (0, "pass"), left.log
        assert "approved by the label" in action.github.comments[0]["body"]

    def test_a_base_that_is_the_same_is_not_spoken_of(self, action: Step, llm: FakeLlm) -> None:
        llm.reply = answers("A")
        action.write({".base/evals/promptfooconfig.yaml": CONFIG})
        left = action.run(base=".base", changes="block", approve_label="gate-approved")
        assert (left.code, left.outputs["outcome"]) == (0, "pass"), left.log
        assert "own gate" not in left.log + left.summary
        assert not [seen for seen in action.github.seen if "timeline" in seen.path]

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
