"""Votes of earlier runs decide when a failure is a break, through the command."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.earlier import FOLDER, by, earlier, on_default_branch, records, remember
from support.flips import case_in, script_replies, suite
from support.kept import PULL, event

VECTORS = json.loads((Path(__file__).parents[2] / "conformance" / "history.json").read_text())


def pull(gate, llm, config, replies, *arguments, model="m1"):
    """A run that reads the history, and how many grader calls it took."""
    llm.reply, before = by(model, script_replies(replies)), len(llm.requests)
    ran = gate(config, "--baseline", FOLDER, *arguments, reask="")
    return ran, len(llm.requests) - before


def test_a_history_takes_the_place_of_the_lead(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 9)
    ran, asked = pull(gate, llm, config, {0: "FFF"})
    assert (ran.code, asked, ran.results["history"]["used"]) == (1, 5, 0)  # nine votes are too few: L = 3
    earlier(gate, llm, config, 3)
    ran, asked = pull(gate, llm, config, {0: "FF", 1: "FPP"})
    assert (ran.code, asked) == (1, 6)
    failed, overturned, passed = (grade["history"] for grade in ran.grades)
    assert (failed["fails"], failed["passes"], failed["model"], failed["flaky"]) == (0, 12, "m1", False)
    assert failed["bayes_factor"] > 600 > overturned["bayes_factor"] < 0.5 > passed["bayes_factor"]
    head = ran.results["history"]
    assert (head["file"], head["grades"], head["used"], head["flaky"], head["comes_and_goes"]) == ("kept/history.jsonl", 3, 3, 0, 0)
    assert "2 of 2 asks, 0 of 12 before" in ran.out
    ran, asked = pull(gate, llm, config, {0: "FFF"}, model="m2")  # another model begins anew
    assert (ran.code, asked, ran.grades[0]["history"]) == (1, 5, None)


def test_the_file_holds_votes_and_no_texts(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1, {0: "FFF", 1: "FEPP"})
    lines = records(gate().folder)
    assert [(line["v"], line["name"]) for line in lines] == [(1, f"case {number} / llm-rubric") for number in range(3)]
    runs = [run for line in lines for run in line["runs"]]
    assert [(run["votes"], run["outcome"], run["model"]) for run in runs] == [
        ("FFF", "fail", "m1"),
        ("FEPP", "pass", "m1"),
        ("P", "pass", "m1"),
    ]
    assert len({run["request"] for run in runs}) == 3
    assert not {"good", "bad"} & set(json.dumps(lines).split('"'))


def test_a_run_with_errors_leaves_nothing(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    before = records(gate().folder)
    earlier(gate, llm, config, 1, {2: "E"})
    on_default_branch(gate, config, "--select", "description=case 0")
    on_default_branch(gate, config, "--budget", "2 calls")
    assert records(gate().folder) == before


def test_another_value_begins_anew_and_another_prompt_does_not(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 12)
    ran, _ = pull(gate, llm, {**config, "prompts": ["Answer: {{q}}"]}, {})
    assert ran.results["history"]["used"] == 3
    ran, _ = pull(gate, llm, suite(llm.spec(), 3, {"type": "llm-rubric", "value": "is kind"}), {})
    assert ran.results["history"]["grades"] == 0
    ran, _ = pull(gate, llm, suite(llm.spec("other"), 3), {})
    assert ran.results["history"]["grades"] == 0


TURNS = [*"PPPPPPPPPP", "FFF", "P", "FFF", "P", "P"]
WHERE = "it failed here, and also on 2026-10-11 and 2026-10-13"


def test_a_failure_that_came_and_went_twice_is_no_break(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    remember(gate().folder, {0: TURNS})
    ran, _ = pull(gate, llm, config, {0: "F" * 20})
    assert (ran.code, ran.grades[0]["outcome"], ran.results["history"]["comes_and_goes"]) == (3, "error", 1)
    assert f"{WHERE} without a change" in ran.results["reason"]
    remember(gate().folder, {0: TURNS[:13] + ["P"] * 30})  # two of 43 runs
    assert pull(gate, llm, config, {0: "F" * 20})[0].code == 1


def test_one_failure_on_the_default_branch_does_not_take_a_case_out_of_the_gate(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    for votes in ([*"PPPPPPPPPP", "FFF", "P", "P"], ["P"] * 10 + ["FFF"] + ["P"] * 20):
        remember(gate().folder, {0: votes})
        ran, _ = pull(gate, llm, config, {0: "F" * 20})
        assert (ran.code, ran.grades[0]["outcome"], ran.results["history"]["comes_and_goes"]) == (1, "fail", 0), votes


def test_an_answer_that_is_asked_for_is_not_known_to_be_without_a_change(gate, llm):
    def live(replies):
        judge = script_replies(replies)
        return lambda path, body: f"case {case_in(body)}" if body["model"] == "target" else judge(path, body)

    config = {**suite(llm.spec(), 2), "providers": [llm.spec("target")]}
    llm.reply = by("m1", live({}))
    folder = on_default_branch(gate, config).folder
    remember(folder, {0: TURNS})
    llm.reply = by("m1", live({0: "F" * 20}))
    ran = gate(config, "--baseline", FOLDER, reask="")
    assert ran.code == 3
    assert f"{WHERE}, and passed later with the same request; set `runs` or `reask: answers`" in ran.results["reason"]
    assert "without a change" not in ran.out


def test_another_recorded_answer_is_a_change(gate, llm):
    requests = set()
    for answer in ("case 0 one", "case 0 two", "case 0 one"):
        config = suite(llm.spec(), 1)
        config["tests"][0]["providerOutput"] = answer
        earlier(gate, llm, config, 1)
        requests.add(records(gate().folder)[0]["runs"][-1]["request"])
    assert len(requests) == 2


def test_a_case_that_is_broken_on_the_default_branch_is_decided_as_without_a_history(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    remember(gate().folder, {0: ["FFFP"] * 15})
    ran, asked = pull(gate, llm, config, {0: "FFPFF"})
    past = ran.grades[0]["history"]
    assert (ran.code, asked) == (1, 7)
    assert (past["fails"], past["passes"], past["broken"], past["flaky"], past["bayes_factor"]) == (45, 15, True, False, None)
    assert (ran.results["history"]["used"], ran.results["history"]["broken"]) == (0, 1)
    assert "case 0: llm-rubric: broken on the default branch: 45 of 60 asks failed there" in ran.out


def test_an_overturned_failure_has_more_passes_than_failures_or_a_history_of_few(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    for votes, replies, asks in ((["FFPPP"] * 4, "FPP", 5), (["FFPP"] * 3 + ["P"] * 8, "FP", 4)):
        remember(gate().folder, {0: votes})
        ran, asked = pull(gate, llm, config, {0: replies})
        assert (ran.code, ran.grades[0]["outcome"], asked) == (0, "pass", asks), votes


def test_an_undecided_case_does_not_keep_the_default_branch_from_leaving_its_votes(gate, llm):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    folder = gate().folder
    remember(folder, {0: ["FFPP"] * 15})
    llm.reply = by("m1", script_replies({0: "FFFFP" * 4}))
    ran = on_default_branch(gate, config)
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert [len(line["runs"]) for line in records(folder)] == [16, 2, 2]
    assert (folder / FOLDER / "results.json").exists()
    llm.reply = by("m1", script_replies({0: "FEE", 1: "FPP"}))
    assert on_default_branch(gate, config).code == 3  # a verdict is missing
    assert [len(line["runs"]) for line in records(folder)] == [16, 2, 2]


def test_a_pull_request_writes_nothing(gate, llm, monkeypatch, tmp_path):
    config = suite(llm.spec(), 3)
    event(monkeypatch, tmp_path, "push", "refs/heads/main", llm=llm)
    earlier(gate, llm, config, 1)
    event(monkeypatch, tmp_path, *PULL, llm=llm)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    ran, _ = pull(gate, llm, config, {0: "FFF"})
    assert ran.code == 2
    assert "a pull request could have written the baseline `kept`" in ran.err
    outside = tmp_path.parent / f"{tmp_path.name}-kept"
    (tmp_path / FOLDER).rename(outside)
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    ran = gate(config, "--baseline", str(outside), reask="")
    assert (ran.code, ran.results["history"]["grades"]) == (1, 3)
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == before


def test_a_damaged_file_is_no_history(gate, llm):
    config = suite(llm.spec(), 1)
    earlier(gate, llm, config, 12)
    path = gate().folder / FOLDER / "history.jsonl"
    whole = path.read_text()
    for text in (
        whole.replace('"v":1', '"v":2'),
        whole[:-9],
        whole * 2,
        whole.replace('"votes":"P"', '"votes":"P!"'),
        whole.replace('"outcome"', '"out"'),
        "[]\n",
    ):
        path.write_text(text)
        ran, asked = pull(gate, llm, config, {0: "FFF"})
        assert (ran.code, asked, ran.results["history"]["grades"]) == (1, 3, 0)
        assert "cannot be used" in json.dumps(ran.results["notes"])
    path.unlink()
    assert pull(gate, llm, config, {})[0].code == 0


def test_kept_replies_are_no_votes(gate, llm):
    for _ in range(3):
        llm.reply = by("m1", script_replies({}))
        on_default_branch(gate, suite(llm.spec(), 1), "--cache", "replies")
    assert [run["votes"] for run in records(gate().folder)[0]["runs"]] == ["P"]


def test_equal_grades_have_histories_of_their_own(gate, llm):
    config = suite(llm.spec(), 1)
    config["prompts"] = ["A {{q}}", "B {{q}}"]
    earlier(gate, llm, config, 12)
    assert [len(line["runs"]) for line in records(gate().folder)] == [12, 12]


def test_an_estimate_counts_on_as_many_asks_as_a_history_allows(gate, llm):
    config = suite(llm.spec(), 3)
    assert "at most 24 (of 3 grades)" in gate(config, command="validate", reask="").out
    earlier(gate, llm, config, 10)
    assert "at most 57 (of 3 grades)" in gate(config, "--baseline", FOLDER, command="validate", reask="").out


def config_with_rule(llm, **rule):
    config = suite(llm.spec(), 3)
    config["gate"] = {"rules": [{"name": "all", "min-pass-rate": 1}, {"name": "steady", **rule}]}
    return config


def test_a_rule_allows_so_many_flaky_cases(gate, llm):
    earlier(gate, llm, config_with_rule(llm, **{"max-flaky": 3}), 1)
    remember(gate().folder, {0: ["FPP"] * 4, 1: ["FFFP"] * 15, 2: ["P"] * 20})
    what = "2 cases are flaky or broken on the default branch"
    ran, _ = pull(gate, llm, config_with_rule(llm, **{"max-flaky": 1}), {})
    assert (ran.code, ran.results["reason"]) == (1, f"steady: {what}, at most 1 allowed: `case 0`, `case 1`")
    ran, _ = pull(gate, llm, config_with_rule(llm, **{"max-flaky": 2}), {})
    assert (ran.code, ran.results["outcome"]) == (0, "pass")
    assert what in ran.results["reason"]
    assert ran.results["rules"][1]["rule"]["max_flaky"] == 2
    advises, _ = pull(gate, llm, config_with_rule(llm, **{"max-flaky": 1, "blocking": False}), {})
    assert (advises.code, advises.results["outcome"]) == (0, "advisory")
    config = config_with_rule(llm, **{"max-flaky": 1})
    config["tests"][0]["flaky"] = (datetime.now(UTC).date() + timedelta(30)).isoformat()
    assert pull(gate, llm, config, {})[0].code == 0  # one of them is in quarantine
    selected, _ = pull(gate, llm, config_with_rule(llm, **{"max-flaky": 0, "select": {"description": "case 2"}}), {})
    assert selected.code == 0


def spread_votes(fails: int, passes: int) -> list[str]:
    """So many votes in runs of up to four, with the failures spread evenly."""
    votes, total = "", fails + passes
    for number in range(total):
        votes += "F" if (number + 1) * fails // total > number * fails // total else "P"
    return [votes[start : start + 4] for start in range(0, total, 4)]


def test_the_cases_that_a_limit_of_flaky_cases_counts(gate, llm):
    """Each case has its failed and passed votes, and may be in quarantine."""
    until = (datetime.now(UTC).date() + timedelta(30)).isoformat()
    for vector in VECTORS["max_flaky"]:
        if vector["cases"] is None:
            ran, _ = pull(gate, llm, config_with_rule(llm, **{"max-flaky": vector["max_flaky"]}), {})
            assert (vector["outcome"], ran.code, ran.results["rules"][1]["outcome"]) == ("error", 3, "error")
            continue
        config = suite(llm.spec(), len(vector["cases"]))
        config["gate"] = {"rules": [{"name": "steady", "max-flaky": vector["max_flaky"]}]}
        for test, (_, _, quarantined) in zip(config["tests"], vector["cases"], strict=True):
            test.update({"flaky": until} if quarantined else {})
        earlier(gate, llm, config, 1)
        remember(gate().folder, {number: spread_votes(fails, passes) for number, (fails, passes, _) in enumerate(vector["cases"])})
        ran, _ = pull(gate, llm, config, {})
        (rule,) = ran.results["rules"]
        counted = vector["counted"]
        said = f"{counted} case{' is' if counted == 1 else 's are'} flaky or broken" if counted else "no case is flaky or broken"
        assert rule["outcome"] == {"met": "pass", "missed": "fail"}[vector["outcome"]], vector
        assert rule["reason"].startswith(said), vector
        (gate().folder / FOLDER / "history.jsonl").unlink()


def test_a_rule_about_flaky_cases_alone_has_a_history(gate, llm):
    config = config_with_rule(llm, **{"max-flaky": 0})
    del config["gate"]["rules"][0]
    earlier(gate, llm, {**config, "gate": {"max-flaky": 3}}, 1)
    assert pull(gate, llm, config, {})[0].code == 0
    remember(gate().folder, {0: ["FPP"] * 4})
    assert pull(gate, llm, config, {})[0].code == 1


def test_a_history_that_knows_none_of_the_rules_cases_is_no_history_for_it(gate, llm):
    config = config_with_rule(llm, **{"max-flaky": 0})
    earlier(gate, llm, {**config, "gate": {"max-flaky": 3}}, 1)
    assert pull(gate, llm, config, {})[0].code == 0
    selects_one = config_with_rule(llm, **{"max-flaky": 0, "select": {"description": "new 2"}})
    for number in (2, 1, 0):
        for changed in (config, selects_one):
            changed["tests"][number]["description"] = f"new {number}"
        ran, _ = pull(gate, llm, selects_one, {})
        assert (ran.code, ran.results["reason"]) == (3, "steady: there is no history that shows which cases are flaky")
        assert pull(gate, llm, config, {})[0].code == (0 if number else 3)
    rule = on_default_branch(gate, config).results["rules"][1]
    assert (rule["outcome"], rule["reason"]) == (None, "the default branch has no history of its cases yet")


def test_a_rule_about_flaky_cases_without_a_history_is_inconclusive(gate, llm):
    config = config_with_rule(llm, **{"max-flaky": 1})
    llm.reply = by("m1", script_replies({}))
    for arguments in ([], ["--baseline", FOLDER]):
        ran = gate(config, *arguments, reask="")
        assert (ran.code, ran.results["reason"]) == (3, "steady: there is no history that shows which cases are flaky")
