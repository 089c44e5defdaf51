import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gradegate.files.limits import RUN_CPU_SECONDS, WORKER_MEMORY
from gradegate.sandbox.evaluate import CpuCharge, LimitExceeded, TaskRefused, end_worker, evaluate, reset_accounts
from support import tasks
from support.each import table
from support.patience import PATIENCE
from support.processes import start_process

TESTS = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("value", [1, -0.5, math.inf, None, True, "é😀\ud800\0", [], {"a": [{"b": []}]}, 10**300])
def test_plain_data_comes_back_as_it_went(value):
    assert evaluate("support.tasks:echo", value) == value


def test_what_a_task_refuses_is_said_in_its_words():
    with pytest.raises(TaskRefused, match="not so"):
        evaluate("support.tasks:refuse", "not so")


@pytest.mark.parametrize(("task", "why"), table(__file__, "what_exceeds_a_limit_is_said_and_the_next_is_answered"))
def test_what_exceeds_a_limit_is_said_and_the_next_is_answered(task, why):
    with pytest.raises(LimitExceeded, match=why):
        evaluate(f"support.tasks:{task}")
    assert evaluate("support.tasks:echo", 1) == 1


def test_what_is_too_large_or_too_deep_is_not_sent():
    with pytest.raises(LimitExceeded, match="more than 16 MiB"):
        evaluate("support.tasks:echo", "a" * (17 << 20))
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LimitExceeded, match="nested too deeply"):
        evaluate("support.tasks:echo", deep)


def test_the_worker_has_no_environment_and_no_folder_of_ours(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    end_worker()
    around = evaluate("support.tasks:around")
    assert set(around["environ"]) <= {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LC_CTYPE"}  # Python sets the last itself
    assert around["pid"] != os.getpid()
    assert around["folder"] == "/"
    assert b"sk-secret" not in Path(f"/proc/{around['pid']}/environ").read_bytes()


def test_the_kernel_keeps_the_limit_of_memory():
    pid = evaluate("support.tasks:around")["pid"]
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert f"Max address space         {WORKER_MEMORY}" in limits


def test_fifty_threads_get_their_own_answers():
    answers: dict[int, list[int]] = {}

    def ask(number):
        answers[number] = [evaluate("support.tasks:echo", number) for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [number] * 20 for number in range(50)}


def test_a_worker_that_was_killed_is_replaced():
    first = evaluate("support.tasks:around")["pid"]
    os.kill(first, signal.SIGKILL)
    with pytest.raises(LimitExceeded, match="ended the process"):
        evaluate("support.tasks:echo", 1)
    assert evaluate("support.tasks:around")["pid"] != first


def test_an_answer_that_was_interrupted_is_not_taken_for_the_next():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    evaluate("support.tasks:echo", 0)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            evaluate("support.tasks:burn", 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert evaluate("support.tasks:echo", 2) == 2


def test_a_worker_that_does_not_start_is_said_and_not_tried_for_ever(monkeypatch):
    end_worker()
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    with pytest.raises(LimitExceeded, match="does not start"):
        evaluate("support.tasks:echo", 1)
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(LimitExceeded, match="does not start"):
        evaluate("support.tasks:echo", 1)
    monkeypatch.undo()
    assert evaluate("support.tasks:echo", 1) == 1


def test_all_of_a_run_together_have_a_limit():
    for _ in range(4 * int(RUN_CPU_SECONDS)):
        try:
            evaluate("support.tasks:burn", 1.1)
        except LimitExceeded as e:
            if "together" in str(e):  # a busy machine may end one by its wall clock before
                break
    else:
        pytest.fail("there was no limit")
    with pytest.raises(LimitExceeded, match="together"):
        evaluate("support.tasks:echo", 1)
    with pytest.raises(LimitExceeded, match="together"), CpuCharge():
        pytest.fail("evaluated all the same")
    reset_accounts()
    assert evaluate("support.tasks:echo", 1) == 1


def test_what_is_evaluated_here_counts_too():
    with CpuCharge():
        tasks.burn(RUN_CPU_SECONDS + 0.1)
    with pytest.raises(LimitExceeded, match="together"):
        evaluate("support.tasks:echo", 1)


PARENT = """
from gradegate.sandbox.evaluate import evaluate
import threading
print(evaluate("support.tasks:around")["pid"], flush=True)
if {busy}:
    threading.Thread(target=evaluate, args=("support.tasks:spin",)).start()
import time
time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_does_not_outlive_its_parent(busy):
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", PARENT.format(busy=busy)]
    with start_process(command, stdout=subprocess.PIPE, text=True, env=environ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        time.sleep(0.3)
    until = time.monotonic() + PATIENCE
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(pid)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
