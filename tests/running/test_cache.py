"""The cache of replies: what was answered is not asked again, and nothing else is taken for an answer."""

import sqlite3
from pathlib import Path

import pytest

from gradegate.replies.seals import OPEN
from gradegate.replies.store import Store
from support.each import table
from support.fake_llm import chat
from support.kept import PASS, RUBRIC, TRUSTED, config, passing


@pytest.mark.parametrize("at_once", ["1", "50"])
def test_a_second_run_asks_nothing_and_says_so(llm, again, at_once):
    first, asked = again(config(llm), "-j", at_once)
    assert (first.code, asked) == (0, 20)
    assert "0 of 20 answers from the cache" in first.out
    second, asked = again(config(llm), "-j", at_once)
    assert (second.code, asked) == (0, 0)
    assert "20 of 20 answers from the cache, the oldest less than an hour old, 1.2 USD saved" in second.out
    assert second.results["cache"] == {"answers": 20, "from_cache": 20, "oldest_days": 0.0, "saved_usd": pytest.approx(1.2)}
    assert [c["output"] for c in second.cases] == [c["output"] for c in first.cases]
    assert second.results["summary"]["cost_usd"] == 0
    assert second.results["summary"]["target"]["cached"] == 10
    assert second.results["budget"]["saved_usd"] == pytest.approx(1.2)


def test_one_prompt_of_ten_changed_asks_a_tenth(llm, again):
    prompts = [f"prompt {number}: {{{{x}}}}" for number in range(10)]
    again(config(llm, 5, prompts=prompts))
    prompts[3] += " please"
    _, asked = again(config(llm, 5, prompts=prompts))
    assert asked == 10


def test_added_and_removed_cases_and_assertions_leave_the_others(llm, again):
    written = config(llm)
    again(written)
    written["tests"].insert(0, {"vars": {"x": "new"}, "assert": [RUBRIC]})
    del written["tests"][4]
    written["tests"][7]["assert"].insert(0, {"type": "llm-rubric", "value": "is short"})
    written["tests"][8]["description"] = "renamed"
    _, asked = again(written)
    assert asked == 3


def test_no_reply_stands_for_two_asks(llm, again):
    """Equal cases, repeats, equal assertions and a grader that asks thrice each have replies of their own."""
    same = {"vars": {"x": "same"}, "assert": [RUBRIC, RUBRIC]}
    written = config(llm, tests=[same, same], evaluateOptions={"repeat": 3})
    _, asked = again(written)
    assert asked == 6 * 3
    numbers = iter(range(100))
    llm.reply = lambda path, body: passing(path, body) if body["model"] == "judge" else f"other {next(numbers)}"
    ran, asked = again(written)
    assert asked == 0
    assert {case["output"] for case in ran.cases} == {"hello"}


def test_each_equal_case_finds_its_own_answer_again(llm, again):
    numbers = iter(range(100))
    written = config(llm, tests=[{"vars": {"x": "same"}, "assert": [RUBRIC]}] * 8)
    llm.reply = lambda path, body: passing(path, body) if body["model"] == "judge" else f"answer {next(numbers)}"
    first, _ = again(written, "-j", "8")
    second, asked = again(written, "-j", "3")
    assert asked == 0
    assert [case["output"] for case in first.cases] == [case["output"] for case in second.cases]


def test_questions_of_one_grader_are_kept_apart(llm, again):
    numbers = iter(range(100))

    def reply(path, body):
        if path.endswith("/embeddings"):
            rows = [{"index": i, "embedding": [1.0, float(i)]} for i in range(len(body["input"]))]
            return {"data": rows, "usage": {"prompt_tokens": 1}}
        return f"What is {next(numbers)}?" if body["model"] == "judge" else "hello"

    embedder = {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base, "apiKey": "k"}}
    options = {"options": {"provider": {"text": llm.spec("judge"), "embedding": embedder}}}
    written = config(llm, 1, defaultTest=options)
    written["tests"][0]["assert"] = [{"type": "answer-relevance", "threshold": 0.1}]
    llm.reply = reply
    first, asked = again(written)
    assert asked == 5
    second, asked = again(written)
    assert asked == 0
    assert first.grades[0]["score"] == second.grades[0]["score"]


@pytest.mark.parametrize(
    "reply",
    [
        *table(__file__, "what_is_no_verdict_is_asked_for_again"),
        (500, {"error": "down"}),
        (200, {"error": "down"}),
        (400, {"error": {"code": "content_filter", "message": "no"}}),
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
    ],
)
def test_what_is_no_verdict_is_asked_for_again(llm, again, reply):
    llm.reply = lambda path, body: reply if body["model"] == "judge" else "hello"
    _, asked = again(config(llm, 3))
    assert asked == 6
    llm.reply = passing
    ran, asked = again(config(llm, 3))
    assert (ran.code, asked) == (0, 3)


@pytest.mark.parametrize("reply", table(__file__, "what_is_no_answer_is_asked_for_again"))
def test_what_is_no_answer_is_asked_for_again(llm, again, reply):
    llm.reply = lambda path, body: PASS if body["model"] == "judge" else reply
    again(config(llm, 1))
    llm.reply = passing
    before = len([body for body in llm.bodies if body["model"] == "fake"])
    again(config(llm, 1))
    assert len([body for body in llm.bodies if body["model"] == "fake"]) == before + 1


def test_a_reply_that_was_asked_for_again_is_not_kept(llm, again):
    llm.reply = lambda path, body: (PASS if len(body["messages"]) > 3 else "hm") if body["model"] == "judge" else "hello"
    ran, asked = again(config(llm, 1), "--reask", "1")
    assert (ran.code, asked) == (0, 3)
    _, asked = again(config(llm, 1), "--reask", "1")
    assert asked == 2


def test_a_failing_verdict_is_kept_like_a_passing_one(llm, again):
    llm.reply = lambda path, body: '{"pass": false, "score": 0, "reason": "rude"}' if body["model"] == "judge" else "x"
    again(config(llm, 1))
    llm.reply = passing
    ran, asked = again(config(llm, 1), "--max-calls", "100")
    assert ran.grades[0]["reason"] == "rude" or asked > 0  # asking again may overturn it, and does so with the model


def test_another_key_header_host_or_model_is_another_question(llm, again):
    written = config(llm, 1)
    again(written)
    written["providers"][0]["config"]["apiKey"] = "another"  # of the config: whoever writes it could have it answered by anybody
    assert again(written)[1] == 1
    written["providers"][0]["config"]["headers"] = {"X-Variant": "b"}
    assert again(written)[1] == 2  # one more setting: its answers, and their grades
    written["defaultTest"]["options"]["provider"]["config"]["headers"] = {"X-Auth-Token": "mine"}
    assert again(written)[1] == 1
    assert again(written)[1] == 0
    written["providers"][0]["id"] = "openai:chat:other"
    assert again(written)[1] == 2  # another target: its answers, and their grades
    written["defaultTest"]["options"]["provider"]["config"]["apiBaseUrl"] = llm.base.replace("127.0.0.1", "localhost")
    assert again(written)[1] == 1


def test_applications_are_asked_each_time_unless_that_is_allowed(llm, again):
    written = config(llm, 2, providers=[{"id": f"http://127.0.0.1:{llm.port}/app", "config": {"body": {"q": "{{prompt}}"}}}])
    llm.reply = lambda path, body: {"output": "hello"} if path == "/app" else PASS
    assert again(written)[1] == 4
    assert again(written)[1] == 2
    assert again(written, "--cache-http")[1] == 2
    assert again(written, "--cache-http")[1] == 0


def test_no_cache_and_age(llm, again):
    again(config(llm, 2))
    assert again(config(llm, 2), "--no-cache")[1] == 4
    assert again(config(llm, 2), "--max-age", "0")[1] == 4
    _, asked = again(config(llm, 2))
    assert asked == 0


def moved(path: Path, days: float) -> None:
    """Put every reply of a cache so many days back."""
    with sqlite3.connect(path) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM replies")]
    store = Store(path, writable=True)
    for key in keys:
        stored = store.find(key, OPEN)
        store.put(key, OPEN, stored._replace(at=stored.at - days * 86_400))
    store.close()


@pytest.mark.parametrize(("days", "asked"), [(3.5, 0), (6.9, 0), (7.1, 4), (-0.5, 4)])
def test_how_old_replies_are_is_said_and_those_that_are_too_old_are_asked_for(llm, again, days, asked):
    ran, _ = again(config(llm, 2))
    moved(ran.folder / "kept" / TRUSTED, days)
    ran, sent = again(config(llm, 2))
    assert (ran.code, sent) == (0, asked)
    if not asked:
        assert f"4 of 4 answers from the cache, the oldest {int(days)} days old" in ran.out
        assert ran.results["cache"]["oldest_days"] == pytest.approx(days, abs=0.01)
        assert again(config(llm, 2), "--max-age", str(int(days)))[1] == 4
    assert ran.results["notes"] == []


@pytest.mark.parametrize("report", ["page.md", "page.html", "junit.xml", "results.json"])
def test_every_report_says_what_came_from_the_cache(llm, again, report):
    again(config(llm, 2))
    ran, _ = again(config(llm, 2), "-o", report, "--max-calls", "9")
    text = (ran.folder / report).read_text()
    if report == "results.json":
        assert '"from_cache":4' in text
        assert '"saved_calls":4' in text
    else:
        assert "4 of 4 answers from the cache, the oldest less than an hour old, 0.24 USD saved" in text
        assert "udget: 0 of 9 calls" in text


def test_latency_and_cost_are_those_of_the_answer_when_it_was_given(llm, again):
    llm.latency = 0.15
    limits = [{"type": "latency", "threshold": 100}, {"type": "cost", "threshold": 0.01}]
    written = config(llm, 1)
    written["tests"][0]["assert"] = limits
    first, _ = again(written)
    llm.latency = 0
    second, asked = again(written)
    assert asked == 0
    assert [g["outcome"] for g in first.grades] == [g["outcome"] for g in second.grades] == ["fail", "fail"]
    assert second.cases[0]["cost_usd"] == 0


def test_neither_keys_nor_prompts_are_in_the_files(llm, again):
    written = config(llm, 1)
    written["providers"][0]["config"]["apiKey"] = "sk-very-secret-key-of-the-test"
    ran, _ = again(written)
    content = b"".join(path.read_bytes() for path in (ran.folder / "kept").iterdir())
    assert b"hello" in content
    assert b"sk-very-secret" not in content
    assert b"question 0" not in content
    assert (ran.folder / "kept" / TRUSTED).stat().st_mode & 0o777 == 0o600


def test_a_failure_is_asked_again_afresh(llm, again):
    """The first ask is known; those that follow are not, and are sent each time."""
    bad, good = '{"pass": false, "score": 0, "reason": "rude"}', PASS
    llm.reply = lambda path, body: "hello" if body["model"] == "fake" else bad
    again(config(llm, 3))
    llm.reply = lambda path, body: good
    ran, asked = again(config(llm, 3), "--confirm", "grader")
    assert asked == 6  # P P for each of three: F P P passes
    assert (ran.code, ran.results["confirm"]["overturned"]) == (0, 3)
    ran, asked = again(config(llm, 3), "--confirm", "grader")
    assert asked == 6


def test_a_model_that_names_itself_strangely_is_kept_like_any_other(llm, again):
    """A vendor's reply may hold half of a sign, which no database takes for a text."""
    half = {**chat("hello"), "model": "\ud800"}
    llm.reply = lambda path, body: PASS if body["model"] == "judge" else half
    ran, asked = again(config(llm, 1))
    assert (ran.code, asked) == (0, 2)
    assert again(config(llm, 1))[1] == 0
