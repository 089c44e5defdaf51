"""A part that is missing, there twice, cut, changed, or of something else is named, and the outcome is never green."""

import hashlib
import json
import os

import pytest

from gradegate.cli import main as cli
from support.each import each, table
from support.flips import script_replies, suite
from support.runner import commands
from support.shards import PARTS

ASSERTION = {"type": "contains", "value": "case"}
NOTHING_TAKEN = {"limits": {"calls": 12, "usd": None, "seconds": None}, "calls": 0, "usd": 0.0, "used_up": ""}


@pytest.fixture
def asked(sharded):
    """A run of which every shard has its part, and which would be green."""
    run = sharded(suite({"id": "echo"}, 12, ASSERTION))
    run.ask()
    return run


def with_digest(lines):
    """Lines with the footer that belongs to them."""
    text = "".join(line + "\n" for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text + json.dumps({"lines": len(lines), "sha256": digest}) + "\n"


def edit_part(path, change, line=0):
    """Change the object of a line, and sign the file anew."""
    lines = path.read_text().splitlines()[:-1]
    value = json.loads(lines[line])
    change(value)
    path.write_text(with_digest([*lines[:line], json.dumps(value), *lines[line + 1 :]] if line >= 0 else lines))


def merge(run, capsys):
    capsys.readouterr()
    code, results = run.merge()
    return code, results, capsys.readouterr()


def merge_refused(run, capsys, said, path, change, line=0):
    """Merge all parts, an object of one of them changed, which is said; the part is as it was afterwards. Gives what was printed."""
    whole = path.read_bytes()
    edit_part(path, change, line)
    code, results, printed = merge(run, capsys)
    path.write_bytes(whole)
    assert (code, said in results["incomplete"]) == (3, True), results["incomplete"]
    assert len(results["incomplete"]) < 1000
    return printed.out + printed.err


def cut_in_half(text):
    return text[: len(text) // 2]


def without_a_line(text):
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:1], *lines[2:]])


def with_a_word_changed(text):
    return text.replace("case", "cases", 1)


def with_more(text):
    return text + text.splitlines()[-1] + "\n"


@each(
    ("damage", "said"),
    [
        (cut_in_half, "it is cut"),
        (lambda text: "", "it is cut"),
        (lambda text: text[:-1], "it is cut"),
        (lambda text: "\n".join(text.splitlines()[:-1]) + "\n", "it is cut: the last line is not a footer"),
        (without_a_line, "it is cut: it has"),
        (with_a_word_changed, "its digest is another"),
        (with_more, "it is cut: it has"),
        (lambda text: "\0" * 100, "it is cut"),
        (lambda text: "[" * 100_000 + "\n", "it is cut: the last line is not a footer"),
        (lambda text: with_digest(["[" * 100_000]), "line 1: "),
        (lambda text: with_digest([]), "line 1: "),
        (lambda text: with_digest(text.splitlines()[:1]), "it has no lines between the first and the last"),
    ],
)
def test_a_file_that_is_not_whole_is_named_and_its_shard_missing(asked, capsys, damage, said):
    path = asked.part(2)
    whole = path.read_text()
    path.write_text(damage(whole))
    code, results, printed = merge(asked, capsys)
    path.write_text(whole)
    assert (code, results["outcome"]) == (3, "inconclusive")
    assert path.name in results["incomplete"]
    assert said in results["incomplete"]
    assert printed.err == ""
    missing = [case for case in results["cases"] if case["outcome"] == "error"]
    assert missing
    assert len(missing) + sum(case["outcome"] == "pass" for case in results["cases"]) == 12
    assert all(case["undone"] and "shard 2/3" in case["error"] for case in missing)


def test_a_missing_part_is_named(asked, capsys):
    code, results, _ = merge(asked, capsys)
    assert (code, results["outcome"], results["incomplete"]) == (0, "pass", "")
    asked.part(3).unlink()
    code, results, _ = merge(asked, capsys)
    assert (code, results["incomplete"]) == (3, "shard 3/3 is missing")
    assert {case["error"] for case in results["cases"] if case["undone"]} == {"not run: shard 3/3 is missing"}


def test_a_missing_part_without_any_case_is_never_green_either(sharded, capsys):
    run = sharded(suite({"id": "echo"}, 1, ASSERTION), of=3)
    run.ask()
    empty = next(shard for shard in (1, 2, 3) if len(run.part(shard).read_text().splitlines()) == 3)
    run.part(empty).unlink()
    code, results, _ = merge(run, capsys)
    assert (code, results["summary"]["passed"]) == (3, 1)


@each("missing", [1, 2, 3])
def test_re_asks_make_no_run_green_that_lacks_a_part(sharded, llm, missing):
    llm.reply = script_replies(dict.fromkeys(range(9), "F" + "P" * 9))
    run = sharded(suite(llm.spec(), 9))
    run.ask()
    run.part(missing).unlink()
    code, results = run.merge()
    assert (code, results["reask"]["overturned"] > 0, results["incomplete"]) == (3, True, f"shard {missing}/3 is missing")
    for path in run.part(1).parent.iterdir():
        path.unlink()


def test_errors_that_are_ignored_ignore_no_missing_part(sharded, capsys):
    gate = {"errors": {"ignore-up-to": 1}, "rules": [{"name": "r", "min-pass-rate": 0.1}]}
    run = sharded(suite({"id": "echo"}, 12, ASSERTION, gate=gate))
    run.ask()
    run.part(1).unlink()
    assert merge(run, capsys)[0] in (2, 3)


def test_the_same_part_twice_is_named(asked, capsys):
    asked.part(1).with_name("copy.jsonl").write_bytes(asked.part(1).read_bytes())
    code, results, _ = merge(asked, capsys)
    assert (code, results["outcome"]) == (3, "inconclusive")
    assert "shard 1/3 is there twice: copy.jsonl and part-1-of-3-attempt-1.jsonl" in results["incomplete"]


@each(("key", "value", "said"), table(__file__, "headers"))
def test_a_part_of_something_else_is_named(asked, capsys, key, value, said):
    merge_refused(asked, capsys, f"{asked.part(2).name}: {said}", asked.part(2), lambda header: header.update({key: value}))


@each("key", ["version", "run", "commit", "k" * 100_000], ids=["version", "run", "commit", "key"])
def test_what_a_part_says_fills_no_log(asked, capsys, key):
    hostile = "\n::error::v" * 10_000
    printed = merge_refused(asked, capsys, asked.part(2).name, asked.part(2), lambda header: header.update({key: hostile}))
    assert (len(printed) < 3000, commands(printed)) == (True, [])


@each(
    ("change", "said"),
    [
        (lambda it: it.update(place=99), "the answer is none of shard"),
        (lambda it: it.update(repeat=1), "the answer is none of shard"),
        (lambda it: it["answer"].update(key="0" * 64), "the answer belongs to a different question"),
        (lambda it: it["answer"].update(grades=[]), "the answer has 0 grades, and 1 are planned"),
        (lambda it: it["answer"]["grades"][0]["assertion"].update(definition="0" * 64), "a grade belongs to a different assertion"),
        (lambda it: it["answer"].update(outcome="fail"), "the answer contradicts itself"),
        (lambda it: it["answer"]["grades"][0].update(outcome="error"), "the answer contradicts itself"),
        (lambda it: it["answer"].update(error="down"), "the answer contradicts itself"),
        (
            lambda it: (it["answer"].update(error="down"), it["answer"]["grades"][0].update(outcome="error")),
            "the answer contradicts itself",
        ),
        (lambda it: it["answer"].update(error="down", outcome="error"), "the answer contradicts itself"),
        (lambda it: it["answer"].pop("outcome"), "answer.outcome is missing"),
        (lambda it: it["answer"]["grades"][0].update(score=float("nan")), "is no JSON from byte "),
        (lambda it: it["answer"]["usage"].update(cost=float("inf")), "is no JSON from byte "),
    ],
)
def test_an_answer_that_the_plan_does_not_have_is_named(asked, capsys, change, said):
    merge_refused(asked, capsys, said, asked.part(2), change, line=1)


@each(
    ("change", "said"),
    [
        (lambda it: it.update(seconds=float("nan")), "is no JSON from byte "),
        (lambda it: it["usage_without_row"].update(cost=float("inf")), "is no JSON from byte "),
        (lambda it: it["budget"].update(calls="many"), "account.budget.calls must be a whole number, not text"),
        (lambda it: it.update(more=1), "account.more is unknown"),
        (lambda it: it.update(usage_without_row=[{}, {}]), "account.usage_without_row must be a mapping, not a list"),
    ],
)
def test_what_a_shard_took_is_read_strictly(asked, capsys, change, said):
    merge_refused(asked, capsys, f"{asked.part(2).name}: line 6: {said}", asked.part(2), lambda it: change(it["account"]), line=5)


def test_what_decides_is_the_plan_s_whatever_a_part_says_of_it(sharded, capsys):
    run = sharded(suite({"id": "echo"}, 3, {"type": "contains", "value": "nobody says this"}))
    run.ask()
    for shard in (1, 2, 3):
        own = {"weight": 0, "blocking": False, "metric": "other"}
        edit_part(run.part(shard), lambda it: it["answer"]["grades"][0].update(inner=True), line=1)
        edit_part(run.part(shard), lambda it: it["answer"]["grades"][0]["assertion"].update(own), line=1)  # noqa: B023
    code, results, _ = merge(run, capsys)
    assert (code, results["outcome"]) == (1, "blocked")


def test_a_quarantine_lasts_until_a_day(asked, capsys):
    forged = "<img src=x onerror=alert(1)>\x1b[2J"
    path = asked.part(2)
    said = merge_refused(asked, capsys, "grades.0.quarantine", path, lambda it: it["answer"]["grades"][0].update(quarantine=forged), line=1)
    assert "\x1b" not in said


def test_an_answer_too_few_and_one_twice_are_named(asked, capsys):
    path = asked.part(2)
    lines = path.read_text().splitlines()[:-1]
    path.write_text(with_digest([lines[0], *lines[2:]]))
    assert "of the 4 answers of shard 2/3" in merge(asked, capsys)[1]["incomplete"]
    path.write_text(with_digest([lines[0], lines[1], *lines[1:]]))
    assert "line 3: the answer is there twice" in merge(asked, capsys)[1]["incomplete"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), lambda path: path.mkdir()])
def test_what_is_no_plain_file_is_named_and_not_waited_for(asked, capsys, make):
    make(asked.part(1).with_name("other.jsonl"))
    code, results, _ = merge(asked, capsys)
    assert code == 3
    assert "other.jsonl: " in results["incomplete"]


@each("leads_to", ["elsewhere", "."])
def test_no_link_to_a_folder_is_followed(asked, capsys, leads_to):
    parts, elsewhere = asked.part(1).parent, asked.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    whole = asked.part(1).read_bytes()
    (elsewhere / "part.jsonl").write_bytes(whole)
    if leads_to != ".":
        asked.part(1).unlink()
    (parts / "linked").symlink_to(elsewhere if leads_to != "." else leads_to)
    code, results, _ = merge(asked, capsys)
    (parts / "linked").unlink()
    asked.part(1).write_bytes(whole)
    assert code == 3
    assert results["incomplete"].startswith("linked: ")
    assert "there twice" not in results["incomplete"]
    assert [case["error"] == "" for case in results["cases"]].count(False) == (0 if leads_to == "." else 4)


def test_where_no_part_can_be_used_nothing_is_decided(asked, capsys):
    asked.command("merge", PARTS, "c.yaml", "--repeat", "2")
    printed = capsys.readouterr()
    cure = "give the merge the parts of this run, and run a shard again if its part is damaged"
    assert printed.err.count(f"it is of another plan: give shards and merge the same configs and options -> {cure}") == 3
    for path in asked.part(1).parent.iterdir():
        path.unlink()
    assert cli.main(["merge", PARTS, "c.yaml"]) == 2
    assert f"there is no part in `{PARTS}`" in capsys.readouterr().err


def test_of_several_attempts_the_last_one_counts(asked, monkeypatch, capsys):
    asked.part(2).write_text(with_digest(asked.part(2).read_text().splitlines()[:1]))  # its job was cancelled
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "2")
    asked.ask(shards=[2])
    assert asked.part(2, attempt=2).exists()
    assert merge(asked, capsys)[0] == 0


def add_attempt(run, shard, attempt, change, line=1):
    """Another attempt of a shard, with the object of one line changed."""
    path = run.part(shard, attempt=attempt)
    path.write_bytes(run.part(shard).read_bytes())
    edit_part(path, lambda header: header.update(attempt=attempt))
    edit_part(path, change, line)


def test_the_highest_number_of_an_attempt_wins(asked, capsys):
    for attempt in (9, 10, 2):
        add_attempt(asked, 2, attempt, lambda it: it["answer"].update(output=f"case of attempt {attempt}"))  # noqa: B023
    code, results, _ = merge(asked, capsys)
    outputs = {case["output"] for case in results["cases"]}
    assert (code, results["incomplete"]) == (0, "")
    assert [it for it in outputs if "attempt" in it] == ["case of attempt 10"]


def test_a_last_attempt_that_asked_nothing_wins_over_an_earlier_one(asked, capsys):
    add_attempt(asked, 2, 2, lambda header: header.update(unasked="the application is not there"), line=0)
    code, results, _ = merge(asked, capsys)
    assert (code, results["incomplete"]) == (3, "shard 2/3 did not run: the application is not there")


@each(("counts", "of"), [({2: 1, 3: 1}, 3), ({2: 2, 3: 1}, 2), ({2: 1, 3: 3}, 3), ({2: 2, 3: 2}, 3)])
def test_the_number_of_shards_that_most_parts_have_wins_and_else_the_larger(sharded, capsys, counts, of):
    config = suite({"id": "echo"}, 12, ASSERTION)
    for number, count in counts.items():
        run = sharded(config, of=number)
        run.ask(shards=range(1, count + 1))
    _, results, _ = merge(run, capsys)
    for path in run.part(1).parent.iterdir():
        path.unlink()
    other = 5 - of
    wrong = [note["text"] for note in results["notes"] if "and the others are of" in note["text"]]
    assert len(wrong) == counts[other]
    assert all(f"/{other}, and the others are of {of}" in text for text in wrong)


@each(
    ("change", "said"),
    [
        (
            {"version": "0.0.1", "format": 4, "commit": "1" * 40, "plan": "0" * 64},
            "it was written by version 0.0.1 (format 4), and this is",
        ),
        ({"commit": "1" * 40, "run": "7", "plan": "0" * 64}, "it is of commit 1111111, and this is unknown"),
        ({"run": "7", "plan": "0" * 64}, "it is of the workflow run 7, and this is none"),
        ({"plan": "0" * 64, "of": 4}, "it is of another plan"),
    ],
)
def test_of_several_differences_the_first_is_said(asked, capsys, change, said):
    merge_refused(asked, capsys, f"{asked.part(2).name}: {said}", asked.part(2), lambda header: header.update(change))


@each(("count", "more"), [(49, None), (50, None), (51, "1 more problems with the parts"), (52, "2 more problems with the parts")])
def test_fifty_problems_are_said(asked, capsys, count, more):
    folder = asked.part(1).parent / "junk"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.jsonl").write_text("")
    code, results, _ = merge(asked, capsys)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    texts = [note["text"] for note in results["notes"]]
    assert (code, len(texts)) == (3, min(count, 50) + (more is not None))
    assert [text for text in texts if "more problems" in text] == ([more] if more else [])


@each(
    ("missing", "junk", "said"),
    [
        ([1], [], "shard 1/3 is missing"),
        ([1, 3], [], "shard 1/3 is missing, and 1 more problem"),
        ([2], ["a.jsonl"], "a.jsonl: it is cut: the last line is not a footer, and 1 more problem"),
        ([2, 3], ["a.jsonl"], "a.jsonl: it is cut: the last line is not a footer, and 2 more problems"),
    ],
)
def test_the_first_problem_is_said_and_the_others_are_counted(asked, capsys, missing, junk, said):
    kept = {asked.part(number): asked.part(number).read_bytes() for number in missing}
    for path in kept:
        path.unlink()
    for name in junk:
        asked.part(1).with_name(name).write_text("")
    code, results, _ = merge(asked, capsys)
    for path, content in kept.items():
        path.write_bytes(content)
    for name in junk:
        asked.part(1).with_name(name).unlink()
    assert (code, results["incomplete"]) == (3, said)


@each(("most", "code"), [(3, 0), (2, 2)])
def test_a_folder_with_as_many_files_as_may_be_is_read(asked, capsys, monkeypatch, most, code):
    monkeypatch.setattr("gradegate.runner.shards.part_file.MOST_FILES", most)
    capsys.readouterr()
    assert asked.command("merge", PARTS, "c.yaml") == code
    assert (f"has more than {most} files" in capsys.readouterr().err) is (code == 2)


def change_accounts(run, **shards):
    """Change what shards say that they took, by their number."""
    for name, change in shards.items():
        path = run.part(int(name[1:]))
        edit_part(path, lambda it: it["account"].update(change), line=len(path.read_text().splitlines()) - 2)  # noqa: B023


def test_a_run_took_the_longest_shard_and_began_with_the_first(asked, capsys):
    change_accounts(
        asked,
        s1={"seconds": 5.0, "started": "2026-01-02T00:00:02+00:00"},
        s2={"seconds": 7.0, "started": "2026-01-02T00:00:01+00:00"},
        s3={"seconds": 6.0, "started": "2026-01-02T00:00:03+00:00"},
    )
    _, results, _ = merge(asked, capsys)
    assert results["summary"]["seconds"] >= 7.0  # and what the merge took
    assert results["made"]["started"] == "2026-01-02T00:00:01+00:00"


def test_what_shards_took_beside_their_answers_is_in_the_report(asked, capsys):
    beside = {"usage_without_row": {"calls": 2}, "problems": ["the cache: it is full"]}
    change_accounts(asked, s1=beside, s2=beside)
    change_accounts(asked, s3={"budget": {**NOTHING_TAKEN, "used_up": "3 calls"}})
    _, results, _ = merge(asked, capsys)
    assert (results["summary"]["target"]["calls"], results["summary"]["grader"]["calls"]) == (12, 4)
    assert [note["text"] for note in results["notes"]] == ["the cache: it is full"]
    assert results["budget"]["used_up"] == "3 calls of a shard"


@each(
    "amount",
    [{"seconds": -1.0}, {"seconds": 1e300}, *({"budget": {**NOTHING_TAKEN, key: of}} for key in ("calls", "usd") for of in (-1, 10**30))],
)
def test_what_no_shard_can_take_is_named(asked, capsys, amount):
    merge_refused(asked, capsys, "calls, dollars or seconds", asked.part(2), lambda it: it["account"].update(amount), line=5)


def test_the_models_that_parts_name_win_over_those_of_the_plan(asked, capsys):
    hidden = merge(asked, capsys)[1]["hidden"]  # the secrets of the environment the tests run in
    models = [{"name": "named by a part", "host": "", "replies_from": "prompt", "chosen": "", "grades": False}]
    for shard in (1, 2):
        edit_part(asked.part(shard), lambda it: it.update(models=models, hidden=["B", "A"]), line=5)
    _, results, _ = merge(asked, capsys)
    names = [model["name"] for model in results["models"]]
    assert (names, results["hidden"]) == (["named by a part", "echo"], sorted({"A", "B", *hidden}))
    for shard in (1, 2, 3):
        whole = asked.part(shard).read_text().splitlines()[0]
        asked.part(shard).write_text(with_digest([whole, json.dumps({"place": 99})]))
    _, results, _ = merge(asked, capsys)
    assert ([model["name"] for model in results["models"]], results["hidden"]) == (["echo"], [])


def test_the_caches_and_budgets_of_shards_are_added_and_the_oldest_reply_is_the_oldest(asked, capsys):
    day, limits = 86400, {"calls": None, "usd": None, "seconds": None}
    for shard, age, calls, usd in ((1, 2, 4, 0.25), (2, 3, 5, 0.5), (3, 1, 6, 1.0)):
        cache = {"looked_up": 4, "hits": shard, "oldest": age * day, "saved_usd": 0.5}
        budget = {"limits": limits, "calls": calls, "usd": usd, "used_up": ""}
        change_accounts(asked, **{f"s{shard}": {"cache": cache, "budget": budget}})
    _, results, _ = merge(asked, capsys)
    assert (results["budget"]["calls"], results["budget"]["usd"]) == (15, 1.75)
    found = results["cache"]
    assert (found["looked_up"], found["hits"], found["oldest"]) == (12, 6, 3 * day)


@each(
    ("limit", "taken", "used_up"),
    [
        (("--budget", "12 calls"), {"calls": 12}, "the budget of 12 calls is used up"),
        (("--budget", "12 calls"), {"calls": 13}, "the budget of 12 calls is used up"),
        (("--budget", "1.5 usd"), {"usd": 1.5}, "the budget of 1.5 USD is used up"),
        (("--budget", "12 calls, 1.5 usd"), {"calls": 12, "usd": 1.5}, "the budget of 12 calls is used up"),
        (("--budget", "12 calls, 1.5 usd"), {"calls": 9, "usd": 1.5}, "the budget of 1.5 USD is used up"),
    ],
)
def test_the_merge_asks_nothing_where_all_shards_together_used_up_the_budget(sharded, llm, limit, taken, used_up):
    llm.reply = script_replies({3: "F"})
    run = sharded(suite(llm.spec(inputCost=0.000001, outputCost=0.000001), 6), *limit)
    run.ask()
    change_accounts(run, s1={"budget": {**NOTHING_TAKEN, **taken}}, s2={"budget": NOTHING_TAKEN}, s3={"budget": NOTHING_TAKEN})
    asked = len(llm.requests)
    code, results = run.merge()
    reason = results["cases"][3]["grades"][0]["reason"]
    assert (code, f"was not re-asked: {used_up}" in reason, len(llm.requests) - asked) == (3, True, 0), reason


@each(("taken", "code"), [({"calls": 28}, 0), ({"calls": 29}, 3), ({"calls": 9, "used_up": "3 calls"}, 0), ({"usd": 1.4999}, 0)])
def test_the_merge_re_asks_with_what_the_shards_left_of_the_budget(sharded, llm, taken, code):
    llm.reply = script_replies({5: "FPP"})  # two calls
    run = sharded(suite(llm.spec(inputCost=0.000001, outputCost=0.000001), 9), "--budget", "30 calls, 1.5 usd")
    run.ask()
    change_accounts(run, s1={"budget": {**NOTHING_TAKEN, **taken}}, s2={"budget": NOTHING_TAKEN}, s3={"budget": NOTHING_TAKEN})
    found, results = run.merge()
    assert (found, results["budget"]["calls"]) == (code, taken.get("calls", 0) + (2 if code == 0 else 1))


def test_the_merge_asks_nothing_after_the_seconds_of_the_longest_shard(sharded, llm):
    llm.reply = script_replies({3: "F"})
    run = sharded(suite(llm.spec(), 6), "--budget", "600 s")
    run.ask()
    change_accounts(run, s1={"seconds": 600.0}, s2={"seconds": 1.0}, s3={"seconds": 1.0})
    asked = len(llm.requests)
    code, results = run.merge()
    assert (code, len(llm.requests)) == (3, asked)
    assert "was not re-asked: the budget of 600 seconds is used up" in results["cases"][3]["grades"][0]["reason"]


def test_the_merge_asks_nothing_where_a_shard_does_not_know_a_price(sharded, llm):
    llm.reply = script_replies({3: "F"})
    run = sharded(suite(llm.spec(inputCost=0.000001, outputCost=0.000001), 6), "--budget", "1.5 usd", of=1)
    run.ask()
    edit_part(run.part(1), lambda it: it["answer"]["grades"][0]["usage"].update(unpriced=1), line=1)
    asked = len(llm.requests)
    code, results = run.merge()
    assert (code, len(llm.requests)) == (3, asked)
    assert "the price of a reply is unknown" in results["cases"][3]["grades"][0]["reason"]
