"""A file of replies gives what was put into it, in whatever order it is asked and however far it reads ahead."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.providers.cache.seals import StoredReply
from gradegate.providers.cache.store import Store


def key(number):
    return number.to_bytes(32, "big")


def reply(number, size=20):
    return StoredReply(1000.0 + number, "m", "{}", "chat", 0.5, str(number).encode() * size)


def filled(folder, count, size=20):
    path = folder / "replies.sqlite"
    writing = Store(path, writable=True)
    for number in range(count):
        writing.put(key(number), b"", reply(number, size))
    writing.close()
    assert not writing.problem
    return path


@given(st.lists(st.integers(0, 39), max_size=80))
def test_any_order_gives_what_was_put(tmp_path_factory, numbers):
    path = filled(tmp_path_factory.mktemp("store"), 30)
    reading = Store(path, writable=False)
    given_ = [reading.find(key(number), b"") for number in numbers]
    reading.close()
    assert given_ == [reply(number) if number < 30 else None for number in numbers]


@pytest.mark.parametrize("size", [1, 100_000])  # a few of the latter are what is read ahead at most
def test_the_order_of_an_earlier_run_reads_many_at_once(tmp_path, monkeypatch, size):
    path = filled(tmp_path, 60, size)
    statements = []

    def connect(*args, **options):
        connection = open_connection(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    open_connection = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    reading = Store(path, writable=False)
    statements.clear()
    for number in range(60):
        assert reading.find(key(number), b"") == reply(number, size)
    assert len(statements) < 30
    assert (len(statements) > 8) == (size > 1)  # about 1 MiB at once


def test_what_was_read_ahead_is_checked_when_it_is_given(tmp_path):
    path = filled(tmp_path, 10)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE replies SET body = ? WHERE key = ?", (b"another", key(5)))
        connection.commit()
    reading = Store(path, writable=False)
    assert [reading.find(key(number), b"") is not None for number in range(10)] == [True] * 5 + [False] + [True] * 4
    assert (reading.doubted, reading.problem) == (1, "")
