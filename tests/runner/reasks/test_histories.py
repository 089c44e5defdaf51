"""Votes of earlier runs decide when a failure is a break, through the command."""

import json

from support.earlier import FOLDER, by, earlier, on_default_branch, records
from support.flips import scripted, suite
from support.kept import PULL, event


def pull(gate, llm, config, replies, *arguments, model="m1"):
    """A run that reads the history, and how many grader calls it took."""
    llm.reply, before = by(model, scripted(replies)), len(llm.requests)
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
    assert "2 of 2 asks here, 0 of 12 before" in ran.results["reason"]
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


def test_what_comes_and_goes_is_no_break(gate, llm):
    config = suite(llm.spec(), 3)
    for replies, runs in (({}, 12), ({0: "FFF"}, 1), ({}, 3)):
        earlier(gate, llm, config, runs, replies)
    ran, _ = pull(gate, llm, config, {0: "F" * 20})
    assert (ran.code, ran.grades[0]["outcome"], ran.results["history"]["comes_and_goes"]) == (3, "error", 1)
    assert "it failed here, and also on 20" in ran.results["reason"]
    config["prompts"] = ["Now {{q}}"]  # something else is asked: nothing passed later
    file = gate().folder / FOLDER / "history.jsonl"
    file.write_text(file.read_text().replace('"outcome":"pass"', '"outcome":"open"'))
    assert pull(gate, llm, config, {0: "F" * 20})[0].code == 1


def test_a_pull_request_writes_nothing(gate, llm, monkeypatch, tmp_path):
    config = suite(llm.spec(), 3)
    event(monkeypatch, tmp_path, "push", "refs/heads/main")
    earlier(gate, llm, config, 1)
    event(monkeypatch, tmp_path, *PULL)
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
        llm.reply = by("m1", scripted({}))
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
