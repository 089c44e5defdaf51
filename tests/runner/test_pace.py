"""Cost and latency beside the base in a run that is merged; test_pace.yaml has the scenes of a single run."""

import json

from support.fake_llm import chat
from support.shards import Sharded, timeless


def config(llm, word, *rules, **gate):
    return {
        "prompts": [{"raw": word + " {{n}}", "label": "p"}],
        "providers": [llm.spec("app", inputCost=0, outputCost=0.001)],
        "tests": [{"vars": {"n": n}, "assert": [{"type": "contains", "value": "ok"}]} for n in range(6)],
        "gate": {"rules": [*rules, {"name": "all", "min-pass-rate": 1}], **gate},
    }


def test_shards_merge_to_the_same(gate, llm, tmp_path):
    llm.reply = lambda path, body: {**chat("ok"), "usage": {"prompt_tokens": 0, "completion_tokens": 30 if "new" in str(body) else 10}}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.yaml").write_text(json.dumps(config(llm, "old")))
    run = Sharded(
        tmp_path, config(llm, "new", {"name": "pace", "max-cost-increase": 0.2}), 3, ("--base-checkout", "other", "--baseline", "live")
    )
    code, whole = run.one()
    run.ask()
    merged_code, merged = run.merge()
    assert (code, merged_code) == (1, 1)
    assert timeless(merged["rules"] + merged["cases"]) == timeless(whole["rules"] + whole["cases"])
