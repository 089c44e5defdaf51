"""Files of a cache that are damaged, foreign, locked or not to be had: a note, and everything is asked."""

import json
import resource
import signal
import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.interrupts import finish_run, start_run, wait_for_requests
from support.kept import TRUSTED, config, passing
from support.patience import PATIENCE


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT)")


def hidden_trigger(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM replies; END")


def of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")


def flipped(path: Path) -> None:
    """Turns every verdict and answer around, as somebody would who knows SQLite and not the HMAC of a row."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET body = replace(CAST(body AS TEXT), 'polite', 'planted')")


def shuffled(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT key FROM replies").fetchall()
        for number, (key,) in enumerate(rows):
            connection.execute("UPDATE replies SET key = ? WHERE key = ?", (b"%d" % number, key))
        for number, (key,) in enumerate(reversed(rows)):
            connection.execute("UPDATE replies SET key = ? WHERE key = ?", (key, b"%d" % number))


def huge(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET body = zeroblob(40000000)")


DAMAGE = {
    "huge": huge,
    "no database": lambda path: path.write_bytes(b"hello" * 1000),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "zeros inside": lambda path: path.write_bytes(path.read_bytes()[:4096] + bytes(len(path.read_bytes()) - 4096)),
    "foreign": lambda path: (path.unlink(), foreign(path)),
    "trigger": hidden_trigger,
    "version": of_another_version,
    "flipped": flipped,
    "shuffled": shuffled,
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link": lambda path: (path.rename(path.parent / "other"), path.symlink_to("other")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_cache_is_ignored_with_a_note(llm, again, damage):
    ran, _ = again(config(llm, 3))
    DAMAGE[damage](ran.folder / "kept" / TRUSTED)
    llm.reply = lambda path, body: '{"pass": true, "reason": "asked"}' if body["model"] == "judge" else "hello"
    ran, asked = again(config(llm, 3))
    assert (ran.code, asked) == (0, 6)
    assert {grade["reason"] for grade in ran.grades} == {"asked"}
    notes = [note["text"] for note in ran.results["notes"]]
    if damage != "empty":  # an empty file is a new cache
        said = "6 kept answers not believed" if damage in ("flipped", "shuffled") else f"{TRUSTED} is not used"
        assert any(said in note for note in notes), notes


def test_a_cache_that_another_process_holds_does_not_hold_the_run(llm, again):
    ran, _ = again(config(llm, 3))
    with sqlite3.connect(ran.folder / "kept" / TRUSTED, isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        ran, asked = again(config(llm, 3))
    assert ran.code == 0
    assert asked in (0, 6)  # read beside the other, or not used
    assert ran.results["notes"]


def test_a_folder_that_cannot_be_made_is_said(llm, again):
    (Path.cwd() / "kept").write_text("a file")
    ran, asked = again(config(llm, 3))
    assert (ran.code, asked) == (0, 6)
    assert "is not used" in json.dumps(ran.results["notes"])


# --- several processes, and one that is killed ----------------------------------------------------------------


CACHED = ("--cache", "kept", "--reask", "off")


def test_after_a_kill_only_what_is_missing_is_asked(llm, tmp_path):
    llm.reply, llm.latency = passing, 0.02
    with start_run(tmp_path, config(llm, 60), *CACHED, "-j", "4"):
        wait_for_requests(llm, 50)
    while llm.in_flight:
        time.sleep(0.01)
    first = len(llm.requests)
    assert 50 <= first < 120
    out = finish_run(tmp_path, config(llm, 60), *CACHED, "-j", "4")
    again = len(llm.requests) - first
    assert 120 - first <= again <= 120 - first + 4  # four were in flight
    assert f"{120 - again} of 120 answers from the cache".encode() in out


def test_two_processes_use_one_cache(llm, tmp_path):
    llm.reply = passing
    with ExitStack() as processes:
        both = []
        for name, first in (("a", 0), ("b", 20)):
            (tmp_path / name).mkdir()
            half = config(llm, 40)
            half["tests"] = half["tests"][first : first + 20]
            both.append(processes.enter_context(start_run(tmp_path / name, half, *CACHED, "--cache", "../kept")))
        for process in both:
            out, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, out
            assert b"note: the cache" not in out
    assert len(llm.requests) == 80
    finish_run(tmp_path, config(llm, 40), *CACHED)
    assert len(llm.requests) == 80


@pytest.mark.parametrize("size", ["4096", "20000"])
def test_a_full_disk_costs_a_note(llm, again, tmp_path, size, monkeypatch):
    """A limit on the size of files stands for the disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(signal, "SIGXFSZ", signal.SIGXFSZ)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), limits[1]))
    try:
        ran, asked = again(config(llm, 30), "-o", "/dev/null.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert (ran.code, asked) == (3, 60)  # the report is missing, too
    assert "note: the cache: trusted" in ran.out
