"""What the log and the page say of a run that went wrong is what happened."""

import threading

from support.fake_llm import chat


def config(llm, count: int) -> dict:
    tests = [{"vars": {"x": str(number)}, "assert": [{"type": "llm-rubric", "value": "is fine"}]} for number in range(count)]
    options = {"options": {"provider": llm.spec("judge")}}
    return {"prompts": ["{{x}}"], "providers": [llm.spec()], "defaultTest": options, "tests": tests}


def test_a_model_that_refused_every_key_was_called(gate, llm):
    for refusing, target, grader in (("fake", "3 unanswered", "not called"), ("judge", "3 calls, ", "3 unanswered")):
        llm.reply = lambda path, body, refusing=refusing: (401, {"error": "no"}) if body["model"] == refusing else chat("ok")
        ran = gate(config(llm, 3))
        line = next(line for line in ran.out.splitlines() if line.startswith("target: "))
        assert line.startswith(f"target: {target}"), line
        assert f"grader: {grader}; " in line, line


def test_a_run_that_is_stopped_does_not_say_that_all_passed(gate, llm):
    """By a budget or a signal, before five failures are asked again: they are open, and no share of the cases that passed."""
    seen: list[str] = []
    lock = threading.Lock()

    def reply(path: str, body: dict):
        if body["model"] == "fake":
            return body["messages"][-1]["content"] + "!"
        text = "".join(message["content"] for message in body["messages"])
        failing = any(f"{number}!" in text for number in range(30, 35))
        with lock:
            seen.append(text)
        return f'{{"reason": "x", "pass": {"false" if failing else "true"}, "score": {0 if failing else 1}}}'

    llm.reply = reply
    ran = gate(config(llm, 35), "--max-calls", "70", "-j", "1", confirm="grader")
    assert (ran.code, len(seen)) == (3, 35)
    assert "30 of 35 passed, 5 could not be decided" in ran.out
    assert "100%" not in ran.out
