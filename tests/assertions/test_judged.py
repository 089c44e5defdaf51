"""What metrics make of what a scripted judge says, through the command: the scenes of test_judged.yaml."""

from collections import Counter
from typing import Any

import pytest

from support.conversations import Replies, between, config, make_numbered_verdicts, make_verdicts, turns
from support.each import each, table

METRICS = table(__file__, "METRICS")


def merged(*parts: dict) -> dict:
    """Later parts win; what the assertion has, what the judge says and what is expected is merged key by key."""
    whole: dict[str, Any] = {"with": {}, "judge": {}, "expect": {}}
    for part in parts:
        whole |= {key: {**whole[key], **value} if key in ("with", "judge", "expect") else value for key, value in part.items()}
    return whole


def variants(kind: str):
    metric = table(__file__, kind)
    for name, scene in metric["scenes"].items():
        for number, variant in enumerate(scene.get("variants", [{}])):
            yield f"{kind}: {name} ({number})", kind, merged(metric["base"], scene, variant)


def unreadable(kind: str):
    base = table(__file__, kind)["base"]
    for prompt, replies in base["errors"].items():
        yield from ((f"{kind}: {reply!r}", kind, merged(base, {"judge": {prompt: reply}})) for reply in replies)


def says(written: Any) -> Any:
    """A reply, or a function of the prompt that gives one."""
    if not isinstance(written, dict) or not written.keys() & {"judged", "numbered", "by"}:
        return written
    if "judged" in written:
        return make_verdicts(*written["judged"].split())
    if "numbered" in written:
        return make_numbered_verdicts(*written["numbered"].split())

    def by_part(user: str) -> Any:
        part = between(user, written["by"])
        held = [reply for text, reply in written.get("holds", {}).items() if text in part]
        ends = [reply for text, reply in written.get("ends", {}).items() if part.endswith(text)]
        return says([*held, *ends, written.get("else")][0])

    return by_part


def case_of(kind: str, scene: dict) -> dict:
    """A test of a config."""
    asserted = {key: value for key, value in scene["with"].items() if value is not None}
    made = {key: scene[key] for key in ("vars", "options") if key in scene}
    if scene.get("turns"):
        talk = scene["turns"]
        made["turns"] = talk if isinstance(talk[0], dict) else turns(*((*exchange, "")[:3] for exchange in talk))
    else:
        made["providerOutput"] = scene.get("output", "a")
    return {**made, "assert": [{"type": kind, **asserted}]}


def run(gate, llm, scene: dict, *kinds: str):
    llm.reply = Replies(**{name: says(written) for name, written in scene["judge"].items()})
    return gate({**config(llm, *(case_of(kind, scene) for kind in kinds)), **scene.get("config", {})})


@each(("name", "kind", "scene"), [row for kind in METRICS for row in variants(kind)])
def test_a_scene_comes_out_as_it_is_written(gate, llm, name, kind, scene):
    expect = scene["expect"]
    ran = run(gate, llm, scene, kind)
    if "mistake" in expect:
        assert expect["mistake"] in ran.mistakes
        return
    (grade,) = ran.grades
    for key in expect.keys() & {"outcome", "reason", "turns", "threshold"}:
        assert grade[key] == expect[key], key
    if "score" in expect:
        assert grade["score"] == pytest.approx(expect["score"], abs=1e-6)
    assert [text for text in expect.get("said", ()) if text not in grade["reason"]] == [], grade["reason"]
    assert {key: grade["evidence"][key] for key in expect.get("evidence", ())} == expect.get("evidence", {})
    assert {key: len(grade["evidence"][key]) for key in expect.get("counts", ())} == expect.get("counts", {})
    asked = Counter(prompt for prompt, _ in llm.reply.prompts)
    assert {prompt: asked[prompt] for prompt in expect.get("asked", ())} == expect.get("asked", {})
    assert "calls" not in expect or len(llm.requests) == expect["calls"]
    last = dict(llm.reply.prompts)
    assert [text for prompt, texts in expect.get("shown", {}).items() for text in texts if text not in last[prompt]] == []
    assert [text for prompt, texts in expect.get("hidden", {}).items() for text in texts if text in last[prompt]] == []
    for text, most in expect.get("most", {}).items():
        assert max(user.count(text) for _, user in llm.reply.prompts) == most


@each(("name", "kind", "scene"), [row for kind in METRICS for row in unreadable(kind)])
def test_what_is_no_verdict_is_an_error_of_the_assertion_and_of_its_opposite(gate, llm, name, kind, scene):
    ran = run(gate, llm, scene, kind, f"not-{kind}")
    assert [grade["outcome"] for grade in ran.grades] == ["error", "error"]
