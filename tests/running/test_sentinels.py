"""Labelled outputs show whether the grader has moved: asked where a rule would be missed, and never a reason to pass."""

import json
import re
from pathlib import Path

import pytest
import yaml

from gradegate import cli
from support.flips import BAD, GOOD, suite
from support.shards import Sharded, timeless

FILE = "labels.jsonl"


def grader(*failing: str, sentinels: str = ""):
    """Fails the answers that hold one of these words, and says P, F or E of the sentinels by number."""

    def reply(path: str, body: dict) -> str:
        said = json.dumps(body["messages"])
        if found := re.findall(r"sentinel (\d+)\b", said):
            return {"P": GOOD, "F": BAD, "E": "I cannot say."}[sentinels[int(found[-1])]]
        return BAD if any(re.search(rf"{word}\b", said) for word in failing) else GOOD

    return reply


def labels(words: str = "P" * 10, **head) -> str:
    """Labelled outputs of the first case, P or F each, after a line with what is given."""
    lines = [{"description": "case 0", "assertion": "llm-rubric", "output": f"sentinel {n}"} for n in range(len(words))]
    labelled = [{**line, "label": "pass" if word == "P" else "fail"} for line, word in zip(lines, words, strict=True)]
    return "".join(json.dumps(line) + "\n" for line in [*([head] if head else []), *labelled])


def config(llm, cases=20, **keys):
    gate = {"noise": 0.05, "rules": [{"name": "facts", "min-pass-rate": 1}], **keys}
    return suite(llm.spec(), cases, gate={"sentinels": FILE, **gate})


def asked(llm) -> int:
    return sum("sentinel" in json.dumps(request[1]["messages"]) for request in llm.requests)


@pytest.mark.parametrize(
    ("said", "code", "sentinels"),
    [
        ("PPPPPPPPPP", 1, {"verdicts": 10, "agree": 10, "p": 1.0, "moved": False}),
        ("PPPPPPPFFF", 1, {"verdicts": 10, "agree": 7, "p": 0.0115036, "moved": False}),
        ("PPPPPPFFFF", 3, {"verdicts": 10, "agree": 6, "p": 0.00102850, "moved": True}),
        ("EEEEEPPPPF", 1, {"verdicts": 5, "agree": 4, "p": 0.226219, "moved": False}),  # an error is no verdict
        ("EEEEEEFFFF", 1, {"verdicts": 4, "agree": 0, "p": None, "moved": False}),
    ],
)
def test_a_missed_rule_is_inconclusive_where_the_grader_moved(llm, gate, said, code, sentinels):
    llm.reply = grader("case 3", sentinels=said)
    ran = gate(config(llm), confirm="", **{FILE: labels()})
    assert ran.code == code
    found = {key: ran.results["sentinels"][key] for key in sentinels}
    assert found == {**sentinels, "p": sentinels["p"] and pytest.approx(sentinels["p"], rel=1e-5)}
    assert asked(llm) == 10
    assert ran.results["summary"]["grader"]["calls"] == len(llm.requests)
    notes = json.dumps(ran.results["notes"])
    assert ("so nobody knows whether one has moved" in notes) is (sentinels["p"] is None)
    if sentinels["moved"]:
        reason = "the grader moved: it agrees with 6 of 10 sentinels, 9.5 expected (p = 0.001): measure it with `gradegate calibrate`"
        assert ran.results["rules"][0]["outcome"] == "error"
        assert reason in ran.results["reason"]
        assert reason in notes
        assert "COULD NOT TELL  case 3" in ran.out  # and neither that it blocks nor that it is within the rules


def test_a_rule_that_is_met_asks_no_sentinel(llm, gate):
    llm.reply = grader(sentinels="F" * 10)
    ran = gate(config(llm), confirm="", **{FILE: labels()})
    assert (ran.code, asked(llm), ran.results["sentinels"]) == (0, 0, None)
    out = gate(None, "--estimate", confirm="").out
    assert "sentinels: 10 calls of graders, where a rule is missed or a history is written" in out


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ("P" * 10, "P" * 6 + "F" * 4, 0),  # it moved, and became strict: what passes, passes
        ("P" * 6 + "F" * 4, "P" * 10, 3),  # it lets failures pass
        ("P" * 9 + "F", "P" * 10, 0),  # one such is within what was measured
    ],
)
def test_a_run_that_writes_a_history_asks_and_a_met_rule_stays_met_unless_the_grader_passes_failures(llm, gate, words, said, code):
    llm.reply = grader(sentinels=said)
    ran = gate(config(llm), "--history-out", "votes.jsonl", confirm="", **{FILE: labels(words)})
    assert (ran.code, asked(llm)) == (code, 10)
    assert ran.results["rules"][0]["outcome"] == ("pass" if code == 0 else "error")


def test_what_code_fails_is_blocked_whatever_the_grader_does(llm, gate):
    llm.reply = grader("case 3", sentinels="F" * 10)
    written = config(llm)
    written["tests"][5]["assert"] = [{"type": "contains", "value": "nothing of it"}]
    ran = gate(written, confirm="", **{FILE: labels()})
    assert (ran.code, ran.results["sentinels"]["moved"]) == (1, True)
    written["gate"]["rules"][0]["min-pass-rate"] = 0.94  # of 21, one may fail
    assert gate(written, confirm="").code == 3


def test_sentinels_are_never_from_the_cache_and_count_in_the_budget(llm, gate):
    llm.reply = grader("case 3", sentinels="F" * 10)
    for _ in range(2):
        llm.requests.clear()
        assert gate(config(llm), "--cache", "kept", confirm="", **{FILE: labels()}).code == 3
        assert asked(llm) == 10
    llm.requests.clear()
    needed = gate(config(llm), confirm="").results["budget"]["calls"]
    for calls, undone in ((needed, False), (needed - 1, True), (needed - 10, True)):  # where the budget ends, none counts
        ran = gate(config(llm), "--max-calls", str(calls), confirm="")
        assert (ran.code, ran.results["budget"]["calls"], ran.results["sentinels"]["undone"]) == (3, calls, undone)
        assert ("the run ended before its sentinels were graded" in ran.out) == undone


@pytest.mark.parametrize(
    ("key", "head", "agreement"),
    [
        ({"file": FILE, "agreement": 0.7}, {"agreement": 0.9}, 0.7),
        (FILE, {"agreement": 0.9}, 0.9),
        (FILE, {}, 0.95),  # 1 - noise
        ({"file": FILE, "agreement": 1}, {}, 0.99),
    ],
)
def test_where_the_agreement_comes_from(llm, gate, key, head, agreement):
    llm.reply = grader("case 3", sentinels="P" * 10)
    ran = gate(config(llm, sentinels=key), confirm="", **{FILE: labels(**head)})
    assert ran.results["sentinels"]["agreement"] == agreement


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (labels("PPPP"), "`labels.jsonl` has 4 labelled outputs -> name 5 to 30"),
        (labels("P" * 31), "labels.jsonl:31: `labels.jsonl` has 31 labelled outputs"),
        (labels().replace("case 0", "nobody"), "labels.jsonl:1: the config has no case `nobody`"),
        (labels().replace("llm-rubric", "contains"), "no model grades this, so it cannot show whether one has moved"),
        ("{", "labels.jsonl:1: "),
    ],
)
def test_a_file_that_cannot_be_used_is_a_mistake_at_its_line(llm, gate, content, said):
    written = config(llm)
    written["tests"][0]["assert"] = [{"type": "contains", "value": "case"}]
    assert said in gate(written, **{FILE: content}).mistakes
    assert llm.requests == []
    written["tests"][1]["asert"] = []
    if "no model" not in said:
        both = gate(written).mistakes
        assert said in both
        assert "asert" in both


def test_the_base_has_the_labels_and_another_file_is_a_change(llm, gate):
    """A pull request cannot make its own block doubtful with other labels."""
    llm.reply = grader("case 3", sentinels="P" * 10)
    written = config(llm)
    base = Path("../base")
    base.mkdir()
    (base / "promptfooconfig.yaml").write_text(yaml.safe_dump(written))
    (base / FILE).write_text(labels())
    ran = gate(written, "--base", "../base", confirm="", **{FILE: labels("F" * 10)})
    assert (ran.code, ran.results["sentinels"]["agree"]) == (1, 10)
    assert [change["text"] for change in ran.results["gate_changes"]] == ["`gate.sentinels` is another, or its file"]
    (base / "promptfooconfig.yaml").write_text(yaml.safe_dump(config(llm, sentinels=None)))
    ran = gate(written, "--base", "../base", confirm="")
    assert (ran.code, ran.results["sentinels"]) == (1, None)
    assert "once they are merged" in json.dumps(ran.results["notes"])


def test_a_merge_knows_what_the_first_shard_asked(llm, gate, tmp_path, capsys):
    llm.reply = grader("case 3", sentinels="F" * 10)
    (tmp_path / FILE).write_text(labels())
    run = Sharded(tmp_path, config(llm))
    code, one = run.one()
    llm.requests.clear()
    run.ask()
    assert asked(llm) == 10
    run.name_open()
    run.ask("--open", "gradegate-parts/open.jsonl")
    merged, results = run.merge()
    assert (code, merged, asked(llm)) == (3, 3, 10)
    assert timeless(results["sentinels"]) == one["sentinels"]


def test_calibrate_writes_a_file_of_them(llm, gate, capsys):
    llm.reply = grader(sentinels=("P" * 9 + "F") * 4)
    gate(config(llm), "--estimate", **{FILE: labels(("P" * 9 + "F") * 4).replace("pass", "pass", 1), "few.jsonl": labels("PPPP")})
    written = config(llm)
    del written["gate"]["sentinels"]
    Path("c.yaml").write_text(yaml.safe_dump(written))
    options = ["--sentinels", "kept.jsonl", "--asks", "1", "--reask", "0"]
    assert cli.main(["calibrate", "c.yaml", FILE, *options]) == 0
    head, *lines = Path("kept.jsonl").read_text().splitlines()
    assert json.loads(head) == {"agreement": 1.0}
    assert len(lines) == 30
    assert {json.loads(line)["label"] for line in lines} == {"pass", "fail"}
    assert cli.main(["calibrate", "c.yaml", "few.jsonl", *options]) == 2
    assert "a model grades 4 labelled outputs, and sentinels are 5 to 30" in capsys.readouterr().err
    assert cli.main(["calibrate", "c.yaml", "kept.jsonl", "--asks", "1"]) == 0  # what was written can be read
    llm.reply = grader("case 3", sentinels=("P" * 9 + "F") * 4)
    ran = gate(written, "--sentinels", "kept.jsonl", confirm="")
    assert (ran.code, ran.results["sentinels"]["verdicts"], ran.results["sentinels"]["agreement"]) == (1, 30, 0.99)
