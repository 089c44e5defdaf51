"""A part that is missing, there twice, cut, changed, or of something else is named, and the outcome is never green."""

import hashlib
import json
import os

import pytest

from gradegate.cli import main as cli
from support.each import each, table
from support.flips import GOOD, suite
from support.runner import commands
from support.shards import OPEN, PARTS

ASSERTION = {"type": "contains", "value": "case"}


@pytest.fixture
def asked(sharded):
    """A run of which every shard has its part, and which would be green."""
    run = sharded(suite({"id": "echo"}, 12, ASSERTION))
    run.ask()
    return run


def signed(lines):
    """Lines with the footer that belongs to them."""
    text = "".join(line + "\n" for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text + json.dumps({"lines": len(lines), "sha256": digest}) + "\n"


def edited(path, change, line=0):
    """Change the object of a line, and sign the file anew."""
    lines = path.read_text().splitlines()[:-1]
    value = json.loads(lines[line])
    change(value)
    path.write_text(signed([*lines[:line], json.dumps(value), *lines[line + 1 :]] if line >= 0 else lines))


def merge(run, capsys):
    capsys.readouterr()
    code, results = run.merge()
    return code, results, capsys.readouterr()


def refused(run, capsys, said, path, change, line=0):
    """Merge all parts, an object of one of them changed, which is said; the part is as it was afterwards. Gives what was printed."""
    whole = path.read_bytes()
    edited(path, change, line)
    code, results, printed = merge(run, capsys)
    path.write_bytes(whole)
    assert (code, said in results["incomplete"]) == (3, True), results["incomplete"]
    assert len(results["incomplete"]) < 1000
    return printed.out + printed.err


def cut(text):
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
        (cut, "it is cut"),
        (lambda text: "", "it is cut"),
        (lambda text: text[:-1], "it is cut"),
        (lambda text: "\n".join(text.splitlines()[:-1]) + "\n", "it is cut: the last line is not a footer"),
        (without_a_line, "it is cut: it has"),
        (with_a_word_changed, "its digest is another"),
        (with_more, "it is cut: it has"),
        (lambda text: "\0" * 100, "it is cut"),
        (lambda text: "[" * 100_000 + "\n", "it is cut: the last line is not a footer"),
        (lambda text: signed(["[" * 100_000]), "line 1: "),
        (lambda text: signed([]), "line 1: "),
        (lambda text: signed(text.splitlines()[:1]), "it has no lines between the first and the last"),
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
    assert "shard 1/3 is there twice: copy.jsonl and part-1-of-3-round-1-attempt-1.jsonl" in results["incomplete"]


@each(("key", "value", "said"), table(__file__, "headers"))
def test_a_part_of_something_else_is_named(asked, capsys, key, value, said):
    refused(asked, capsys, f"{asked.part(2).name}: {said}", asked.part(2), lambda header: header.update({key: value}))


@each("key", ["version", "run", "commit", "k" * 100_000], ids=["version", "run", "commit", "key"])
def test_what_a_part_says_fills_no_log(asked, capsys, key):
    hostile = "\n::error::v" * 10_000
    printed = refused(asked, capsys, asked.part(2).name, asked.part(2), lambda header: header.update({key: hostile}))
    assert (len(printed) < 3000, commands(printed)) == (True, [])


@each(
    ("change", "said"),
    [
        (lambda it: it.update(place=99), "the answer is none of shard"),
        (lambda it: it.update(repeat=1), "the answer is none of shard"),
        (lambda it: it["answer"].update(key="0" * 64), "the answer belongs to a different question"),
        (lambda it: it["answer"].update(grades=[]), "the answer has 0 grades, and 1 are planned"),
        (lambda it: it["answer"]["grades"][0].update(definition="0" * 64), "a grade belongs to a different assertion"),
        (lambda it: it["answer"].update(outcome="fail"), "the answer contradicts itself"),
        (lambda it: it["answer"]["grades"][0].update(outcome="error"), "the answer contradicts itself"),
        (lambda it: it["answer"].update(error="down"), "the answer contradicts itself"),
        (lambda it: it["answer"].pop("output"), "is missing"),
        (lambda it: it["answer"]["grades"][0].update(score=float("nan")), "must be a finite number"),
        (lambda it: it["answer"]["usage"].update(known_usd=float("inf")), "must be a finite number"),
    ],
)
def test_an_answer_that_the_plan_does_not_have_is_named(asked, capsys, change, said):
    refused(asked, capsys, said, asked.part(2), change, line=1)


@each(
    "change",
    [
        lambda it: it.update(seconds=float("nan")),
        lambda it: it["lost"][0].update(cost=float("inf")),
        lambda it: it["budget"].update(calls="many"),
        lambda it: it.update(more=1),
        lambda it: it.update(lost=[]),
    ],
)
def test_what_a_shard_took_is_read_strictly(asked, capsys, change):
    refused(asked, capsys, f"{asked.part(2).name}: line 6: account.", asked.part(2), lambda it: change(it["account"]), line=5)


def test_what_decides_is_the_plan_s_whatever_a_part_says_of_it(sharded, capsys):
    run = sharded(suite({"id": "echo"}, 3, {"type": "contains", "value": "nobody says this"}))
    run.ask()
    for shard in (1, 2, 3):
        own = {"weight": 0, "blocking": False, "metric": "other", "inner": True}
        edited(run.part(shard), lambda it: it["answer"]["grades"][0].update(own), line=1)  # noqa: B023
    code, results, _ = merge(run, capsys)
    assert (code, results["outcome"]) == (1, "blocked")


def test_an_answer_too_few_and_one_twice_are_named(asked, capsys):
    path = asked.part(2)
    lines = path.read_text().splitlines()[:-1]
    path.write_text(signed([lines[0], *lines[2:]]))
    assert "of the 4 answers of shard 2/3" in merge(asked, capsys)[1]["incomplete"]
    path.write_text(signed([lines[0], lines[1], *lines[1:]]))
    assert "line 3: the answer is there twice" in merge(asked, capsys)[1]["incomplete"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), lambda path: path.mkdir()])
def test_what_is_no_plain_file_is_named_and_not_waited_for(asked, capsys, make):
    make(asked.part(1).with_name("other.jsonl"))
    code, results, _ = merge(asked, capsys)
    assert code == 3
    assert "other.jsonl: " in results["incomplete"]


def test_where_no_part_can_be_used_nothing_is_decided(asked, capsys):
    asked.command("merge", PARTS, "c.yaml", "--repeat", "2")
    printed = capsys.readouterr()
    assert printed.err.count("it is of another plan: give shards and merge the same configs and options") == 3
    for path in asked.part(1).parent.iterdir():
        path.unlink()
    assert cli.main(["merge", PARTS, "c.yaml"]) == 2
    assert f"there is no part in `{PARTS}`" in capsys.readouterr().err


def test_of_several_attempts_the_last_one_counts(asked, monkeypatch, capsys):
    asked.part(2).write_text(signed(asked.part(2).read_text().splitlines()[:1]))  # its job was cancelled
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "2")
    asked.ask(shards=[2])
    assert asked.part(2, attempt=2).exists()
    assert merge(asked, capsys)[0] == 0


# --- the second round -----------------------------------------------------------------------------------------


@pytest.fixture
def again(sharded, llm):
    """A run with two rounds, that would be green."""
    seen = set()

    def reply(path, body):
        text = json.dumps(body["messages"])
        fails = "case 4" in text and not seen
        seen.update([True] if fails else ())
        return '{"pass": false, "score": 0.1, "reason": "bad"}' if fails else GOOD

    llm.reply = reply
    run = sharded(suite(llm.spec(), 9))
    run.ask()
    assert len(run.name_open()) == 1
    run.ask("--open", OPEN)
    return run


def test_a_part_of_the_second_round_that_is_missing_is_named(again, capsys):
    assert merge(again, capsys)[0] == 0
    again.part(1, 2).unlink()
    code, results, _ = merge(again, capsys)
    assert (code, results["incomplete"]) == (3, "shard 1/3 is missing (round 2)")


def test_asks_of_a_shard_that_answered_anew_are_named(again, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "2")
    again.ask(shards=[2])
    code, results, _ = merge(again, capsys)
    assert code == 3
    assert "its failures belong to other parts than these: run its round again" in results["incomplete"]


@each(
    ("change", "said"),
    [
        (lambda it: it.update(place=77), "it re-asks a case that failed in no part"),
        (lambda it: it.update(place=1), "it re-asks a case that failed in no part"),
        (lambda it: it.update(asks={"9": it["asks"]["0"]}), "it re-asks a case that failed in no part"),
        (lambda it: it["asks"]["0"][0].update(key="0" * 64), "a grade belongs to a different assertion than in the plan"),
        (lambda it: it.update(kind="other"), "must be 'again' or 'base'"),
    ],
)
def test_asks_of_another_answer_are_named(again, capsys, change, said):
    refused(again, capsys, said, again.part(1, 2), change, line=1)


def test_asks_that_two_parts_have_are_named(again, capsys):
    lines, other = again.part(1, 2).read_text().splitlines(), again.part(3, 2)
    own = other.read_text().splitlines()
    other.write_text(signed([own[0], lines[1], own[1]]))
    code, results, _ = merge(again, capsys)
    assert code == 3
    assert "it re-asks a case that another part re-asked" in results["incomplete"]


def test_a_part_of_a_round_that_nobody_asked_for_is_never_green(asked, capsys):
    edited(asked.part(2), lambda header: header.update(round=99))
    code, results, _ = merge(asked, capsys)
    assert code == 3
    assert len(results["notes"]) == 51


def unasked(run, capsys, change, line):
    """What a shard says that is given a changed file of open failures."""
    path = run.folder / OPEN
    whole = path.read_bytes()
    edited(path, change, line)
    capsys.readouterr()
    assert run.command("run", "c.yaml", "--shard", "1/3", "--open", OPEN) == 2
    path.write_bytes(whole)
    return capsys.readouterr().err


@each(("key", "value", "said"), table(__file__, "open"))
def test_open_failures_of_something_else_are_not_asked(again, capsys, key, value, said):
    assert said in unasked(again, capsys, lambda header: header.update({key: value}), 0)


@each("change", [lambda it: it.update(place=99), lambda it: it.update(open=[7]), lambda it: it["answer"].update(key="0" * 64)])
def test_open_failures_that_the_plan_does_not_have_are_a_mistake(again, capsys, change):
    assert "cannot be used" in unasked(again, capsys, change, 1)
