"""Shards and a merge come to what one run comes to, but for times."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.cli import main as cli
from support.compared import comparison_config
from support.earlier import by
from support.fake_llm import serve
from support.flips import BAD, GOOD, flipping, script_replies, scripted_runs, suite, suite_of_runs
from support.shards import Sharded, timeless


def run_both_ways(run):
    code, whole = run.one()
    merged_code, merged = run.run()
    assert timeless(merged) == timeless(whole)
    assert merged_code == code
    assert set(run.codes) == {0}
    return code, merged


@pytest.mark.parametrize("seed", range(4))
def test_the_merge_re_asks_failures_as_one_run_does(sharded, llm, seed):
    llm.reply = flipping(0.06, seed, broken=range(seed % 2))
    code, merged = run_both_ways(sharded(suite(llm.spec(), 50), of=4))
    assert code == seed % 2
    assert merged["reask"]["asked_again"] > 0


@given(
    cases=st.integers(1, 25),
    of=st.integers(1, 9) | st.just(40),
    seed=st.integers(0, 10**6),
    rate=st.sampled_from([0.0, 0.05, 0.1]),
    broken=st.integers(0, 3),
    reask=st.sampled_from(["off", "grader"]),
    repeat=st.integers(1, 2),
    rule=st.sampled_from([None, 0.8, 1.0]),
)
def test_any_partition_gives_the_same_results(tmp_path_factory, cases, of, seed, rate, broken, reask, repeat, rule):
    with serve() as llm, pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("shards")
        patch.chdir(folder)
        llm.reply = flipping(rate, seed, broken=range(broken))
        gate = {} if rule is None else {"gate": {"reask": {"noise": 0.2}, "rules": [{"name": "r", "min-pass-rate": rule}]}}
        config = suite(llm.spec(), cases, **gate)
        run = Sharded(folder, config, of, ("--reask", reask, "--repeat", str(repeat), "-j", "4"))
        run_both_ways(run)


RUN = st.sampled_from(["P", "P", "F", "E", "FP" * 9 + "P", "FPPP", "FPF" + "F" * 20, "FE" * 10])


@given(
    runs=st.lists(st.lists(RUN, min_size=5, max_size=5), min_size=1, max_size=7),
    k_of_n=st.sampled_from([(1, 3), (2, 3), (3, 5), (2, 2)]),
    of=st.integers(1, 4),
    rule=st.sampled_from([None, 0.5, 0.8]),
)
def test_any_partition_makes_the_runs_that_one_run_makes(tmp_path_factory, runs, k_of_n, of, rule):
    with serve() as llm, pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("shards")
        patch.chdir(folder)
        gate = {} if rule is None else {"rules": [{"name": "r", "min-pass-rate": rule}]}
        config = suite_of_runs(llm, len(runs), runs=f"{k_of_n[0]}/{k_of_n[1]}", **gate)
        run = Sharded(folder, config, of, ("-j", "1"))
        llm.reply = scripted_runs(runs)
        code, whole = run.one()
        llm.reply = scripted_runs(runs)
        merged_code, merged = run.run()
        assert (merged_code, timeless(merged)) == (code, timeless(whole))


def test_the_merge_asks_just_the_failures_that_are_open(sharded, llm):
    llm.reply = script_replies({3: "FPP", 8: "FFFFFF"})
    run = sharded(suite(llm.spec(), 20), of=4)
    run.ask()
    assert len(llm.requests) == 20
    assert run.merge()[0] == 1
    again = {json.dumps(body["messages"]).split("case ")[-1][0] for body in llm.bodies[20:]}
    assert again == {"3", "8"}


def test_many_failures_are_not_all_asked_where_noise_cannot_have_made_them(sharded, llm):
    llm.reply = lambda path, body: BAD
    code, merged = run_both_ways(
        sharded(suite(llm.spec(), 120, gate={"reask": {"noise": 0.01}, "rules": [{"name": "r", "min-pass-rate": 1}]}))
    )
    assert (code, merged["reask"]["asked_again"]) == (1, 8 + 50)  # a wave, and those that are asked to their end once the rule is missed


def test_a_grader_noisier_than_it_should_be_is_asked_as_in_one_run(sharded, llm):
    script = dict.fromkeys(range(70), "FP" * 20)
    run = sharded(suite(llm.spec(), 70, gate={"reask": {"noise": 0.01}, "rules": [{"name": "r", "min-pass-rate": 1}]}))
    llm.reply = script_replies(script)
    code, merged = run.run()
    llm.reply = script_replies(script)
    whole_code, whole = run.one()
    assert code == whole_code
    assert timeless(merged) == timeless(whole)


def test_a_merge_needs_no_key_and_asks_nobody(sharded, llm, monkeypatch):
    llm.reply = script_replies({1: "FF"})
    judge = {"id": "openai:chat:fake", "config": {"apiBaseUrl": llm.base, "apiKey": "{{env.JUDGE_API_KEY}}"}}
    run = sharded({**suite(judge, 4), "providers": ["echo", "openai:chat:gpt-5"][:1]}, "--reask", "off")
    monkeypatch.setenv("JUDGE_API_KEY", "sk-a-key-of-the-judge")
    run.ask()
    code, whole = run.one()
    monkeypatch.delenv("JUDGE_API_KEY")
    before = len(llm.requests)
    merged_code, merged = run.merge()
    assert len(llm.requests) == before
    assert (merged_code, timeless(merged)) == (code, timeless(whole))
    assert "JUDGE_API_KEY" in merged["hidden"]
    place = {"host": whole["models"][-1]["host"], "kind": "openai:chat", "path": "/v1/chat/completions"}
    assert merged["keys"] == [{"name": "JUDGE_API_KEY", **place}]


def test_what_is_compared_is_asked_in_one_shard(sharded, llm):
    llm.reply = lambda path, body: "0" if "funniest" in json.dumps(body) else "an answer"
    run_both_ways(sharded(comparison_config(llm), "--reask", "off", of=2))


def test_what_a_shard_compared_is_not_compared_again_beside_a_further_run(sharded, llm):
    def replies():
        made, asks = Counter(), Counter()

        def reply(path, body):
            text = json.dumps(body["messages"])
            if body["model"] == "target":
                made[text] += 1
                return f"{'first' if 'first' in text else 'second'}, run {made[text]}"
            if "funniest" in text:
                return "0"
            run = next((it for it in ("first, run 1", "first, run 2") if it in text), "")
            asks[run] += 1
            return BAD if run == "first, run 1" or (run and asks[run] == 1) else GOOD

        return reply

    config = comparison_config(llm, {"type": "select-best", "value": "choose the funniest"}, {"type": "llm-rubric", "value": "is good"})
    config |= {"providers": [llm.spec("target")], "gate": {"runs": "2/3"}}
    run = sharded(config, "-j", "1", of=2)
    llm.reply = replies()
    code, whole = run.one()
    llm.reply = replies()
    merged_code, merged = run.run()
    assert [case["output"] for case in merged["cases"]][:3] == ["first, run 1", "first, run 2", "first, run 3"]
    assert (merged_code, timeless(merged)) == (code, timeless(whole))


def test_a_conversation_is_had_in_one_shard(sharded, llm):
    llm.reply = lambda path, body: "an answer"
    talk = {
        "prompts": ["{% for said in _conversation %}{{said.output}} {% endfor %}{{q}}"],
        "providers": [llm.spec()],
        "tests": [
            {"vars": {"q": f"question {number}"}, "metadata": {"conversationId": f"c{number % 2}"},
             "assert": [{"type": "contains", "value": "answer"}]}
            for number in range(6)
        ],
    }  # fmt: skip
    run_both_ways(sharded(talk, "--reask", "off", of=4))


def test_a_grader_that_the_merge_re_asks_sees_the_same_conversation(sharded, llm):
    said = iter("PFPP")
    llm.reply = lambda path, body: GOOD if next(said, "P") == "P" else BAD
    talk = {
        "prompts": ["{% for it in _conversation %}{{ it.output }} {% endfor %}{{q}}"],
        "providers": ["echo"],
        "defaultTest": {
            "options": {
                "provider": llm.spec(),
                "rubricPrompt": "Grade {{output}} after {% for it in _conversation %}<{{ it.output }}>{% endfor %} by {{rubric}}",
            },
            "assert": [{"type": "llm-rubric", "value": "is good"}],
        },
        "tests": [{"vars": {"q": q}, "metadata": {"conversationId": "c"}} for q in ("one", "two")],
    }
    run = sharded(talk, of=2)
    code, merged = run.run()
    assert (code, [len(case["grades"][0]["votes"]) for case in merged["cases"]]) == (0, [0, 3])
    assert llm.prompts == ["Grade one after <one> by is good", *["Grade one two after <one><one two> by is good"] * 3]


def test_stored_answers_are_known_to_the_merge_that_re_asks(sharded, llm):
    said = iter("FPPPP")
    llm.reply = lambda path, body: (
        "Paris" if "capital" in json.dumps(body["messages"][-1]) and "Grade" not in json.dumps(body)
        and "rubric" not in json.dumps(body).lower() else (GOOD if next(said, "P") == "P" else BAD)
    )  # fmt: skip
    config = {
        "prompts": ["{{q}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": llm.spec()}},
        "tests": [
            {"vars": {"q": "Oslo"}, "options": {"storeOutputAs": "city"}, "assert": [{"type": "contains", "value": "O"}]},
            {"vars": {"q": "about {{city}}"}, "assert": [{"type": "llm-rubric", "value": "speaks of {{city}}"}]},
        ],
    }
    run = sharded(config, of=2)
    code, merged = run.run()
    assert code == 0
    assert merged["cases"][1]["output"] == "about Oslo"
    assert [vote["outcome"] for vote in merged["cases"][1]["grades"][0]["votes"]] == ["fail", "pass", "pass"]
    assert "Oslo" in json.dumps(llm.bodies[-1])


def test_a_secret_in_an_answer_is_hidden_in_parts_and_not_graded_again_elsewhere(sharded, llm, monkeypatch):
    monkeypatch.setenv("JUDGE_API_KEY", "sk-secret-judge")
    llm.reply = lambda path, body: BAD
    judge = {"id": "openai:chat:fake", "config": {"apiBaseUrl": llm.base, "apiKey": "{{env.JUDGE_API_KEY}}"}}
    config = suite(judge, 1)
    config["tests"][0]["vars"]["q"] = "case 0 says sk-secret-judge"
    run = sharded(config, of=1)
    run.ask()
    assert "sk-secret" not in run.part(1).read_text()
    code, merged = run.merge()
    assert code == 3
    assert "contained a secret" in merged["cases"][0]["grades"][0]["reason"]


def test_a_new_answer_is_graded_where_the_first_one_showed_a_secret(sharded, llm, monkeypatch):
    monkeypatch.setenv("APP_API_KEY", "sk-secret-app")
    said = iter(["sk-secret-app", *["a good answer"] * 9])
    llm.reply = lambda path, body: next(said) if body["model"] == "app" else GOOD if "a good answer" in str(body) else BAD
    app = {"id": "openai:chat:app", "config": {"apiBaseUrl": llm.base, "apiKey": "{{env.APP_API_KEY}}"}}
    run = sharded({**suite(llm.spec("judge"), 1), "providers": [app]}, "--reask", "answers", of=1)
    run.ask()
    assert "sk-secret" not in run.part(1).read_text()
    code, merged = run.merge()
    assert (code, merged["reask"]["overturned"]) == (0, 1)


@pytest.mark.slow
def test_ten_thousand_cases_in_eight_shards_are_those_of_one_run(sharded, llm):
    llm.reply = script_replies({4711: "FPP" * 2})
    rubric, judged = {"type": "llm-rubric", "value": "is good"}, range(0, 10_000, 789)
    config = suite(llm.spec(), 10_000, {"type": "not-contains", "value": "case 99"})
    for number in (*judged, 4711):
        config["tests"][number]["assert"] = [rubric]
    rules = [{"name": "rate", "min-pass-rate": 0.98}, {"name": "judge", "min-pass-rate": 1, "select": {"assertion": "llm-rubric"}}]
    code, merged = run_both_ways(sharded({**config, "gate": {"rules": rules}}, of=8))
    assert (code, merged["summary"]["cases"]["failed"], merged["reask"]["overturned"]) == (0, 111, 1)


def test_options_that_do_not_go_together_are_mistakes(sharded, capsys):
    run = sharded(suite({"id": "echo"}, 2, {"type": "contains", "value": "c"}))
    assert run.command("run", "c.yaml", "--shard", "9/8") == 2
    assert "cannot be used -> write the number of a part and how many there are, such as 3/8" in capsys.readouterr().err
    assert cli.main(["merge", "nowhere", "c.yaml"]) == 2
    assert "is not a folder with parts" in capsys.readouterr().err


def test_a_merge_of_selected_cases_leaves_baseline_and_history(sharded, llm, bare, monkeypatch):
    monkeypatch.setenv("CI_DEFAULT_BRANCH", "main")
    monkeypatch.setenv("CI_COMMIT_BRANCH", "main")
    config = suite(llm.spec(), 6)
    llm.reply = by("m1", flipping(0.0, 1))
    sharded(config, "--baseline", "kept").one()
    before = {path.name: path.read_bytes() for path in (bare / "kept").iterdir()}
    assert sorted(before) == ["history.jsonl", "results.json"]
    selected = sharded(config, "--baseline", "kept", "--filter-first-n", "4")
    _, merged = selected.run()
    assert len(merged["cases"]) == 4
    assert {path.name: path.read_bytes() for path in (bare / "kept").iterdir()} == before
    assert "the options select tests or targets, so baseline and history stay as they are" in [it["text"] for it in merged["notes"]]
    # A merge that is not told of the selection has nothing to decide about.
    code, merged = sharded(config, "--baseline", "kept").merge()
    assert code in (2, 3)
    assert {path.name: path.read_bytes() for path in (bare / "kept").iterdir()} == before


def test_shards_read_the_history_and_the_merge_writes_it(sharded, llm, bare, monkeypatch):
    config = suite(llm.spec(), 6)
    config["tests"][1]["flaky"] = datetime.now(UTC).date().isoformat()
    llm.reply, before = by("m1", flipping(0.0, 1)), sharded(config, "--baseline", "kept")
    monkeypatch.setenv("CI_DEFAULT_BRANCH", "main")
    monkeypatch.setenv("CI_COMMIT_BRANCH", "main")
    for _ in range(12):
        before.one()
    (bare / "kept" / "results.json").unlink()  # this is about votes alone
    file = bare / "kept" / "history.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([lines[0], lines[1].replace('"votes":"P"', '"votes":"PPPF"'), *lines[2:]]))
    found = []
    for in_shards in (False, True):
        llm.reply = by("m1", script_replies({0: "FPPPP", 1: "FFPPFPPPPP", 2: "FF" + "F" * 9, 3: "FEPPP"}))
        run, votes = sharded(config, "--baseline", "kept"), file.read_text()
        code, results = run.run() if in_shards else run.one()
        found.append((code, timeless(results), file.read_text()))
        file.write_text(votes)
        (bare / "kept" / "results.json").unlink()
    assert found[0] == found[1]
    assert (found[0][0], found[0][1]["history"]["used"]) == (1, 6)
    assert [len(json.loads(line)["runs"]) for line in found[1][2].splitlines()] == [13] * 6
