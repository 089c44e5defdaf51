import threading
import time

import pytest

from gradegate.http.crew import MAX_THREADS, Crew, gather_results
from support.patience import PATIENCE


def test_results_stand_in_order_however_many_there_are():
    count = 3 * MAX_THREADS
    assert gather_results([lambda n=n: n for n in range(count)]) == list(range(count))


def test_no_more_threads_than_the_limit():
    lock, busy, peak = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal busy, peak
        with lock:
            busy += 1
            peak = max(peak, busy)
        time.sleep(0.01)
        with lock:
            busy -= 1

    gather_results([work] * (2 * MAX_THREADS))
    assert 2 <= peak <= MAX_THREADS


def test_items_that_wait_hold_back_none_with_another_key():
    quick_are_done = threading.Semaphore(0)
    done: list[str] = []

    def work(item: str) -> None:
        if item == "slow":
            assert quick_are_done.acquire(timeout=PATIENCE)
        done.append(item)
        if done.count("quick") == 5:
            quick_are_done.release(10)

    crew = Crew(work, ["slow"] * 10 + ["quick"] * 5, 2, lambda item: item)
    assert crew.threads_needed == 4
    for _ in range(crew.threads_needed):
        crew.start()
    crew.join()
    assert sorted(done) == ["quick"] * 5 + ["slow"] * 10


def test_every_task_runs_and_the_first_error_in_order_is_raised():
    done = []

    def failing_task(what: str):
        def work() -> None:
            done.append(what)
            raise ValueError(what)

        return work

    with pytest.raises(ValueError, match="first"):
        gather_results([lambda: done.append("ok"), failing_task("first"), failing_task("second"), lambda: done.append("ok")])
    assert sorted(done) == ["first", "ok", "ok", "second"]


def test_its_threads_are_traced_as_those_of_threading_are():
    traced: set[int] = set()
    barrier = threading.Barrier(2)

    def work() -> int:
        barrier.wait(PATIENCE)
        return threading.get_ident()

    before = threading.gettrace()
    threading.settrace(lambda *_: traced.add(threading.get_ident()))
    try:
        threads = gather_results([work, work])
    finally:
        threading.settrace(before)
    assert traced >= {*threads} - {threading.get_ident()}  # a server of another test may begin one, too
