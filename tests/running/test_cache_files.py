"""Files of a cache that are damaged, foreign, locked or not to be had: a note, and everything is asked."""

import json
import sqlite3
from pathlib import Path

import pytest

from support.kept import TRUSTED, config


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
    """Turns every verdict and answer around, as somebody would who knows SQLite and not the proof."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET body = replace(CAST(body AS TEXT), 'polite', 'planted')")


def shuffled(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT key FROM replies").fetchall()
        for number, (key,) in enumerate(rows):
            connection.execute("UPDATE replies SET key = ? WHERE key = ?", (b"%d" % number, key))
        for number, (key,) in enumerate(reversed(rows)):
            connection.execute("UPDATE replies SET key = ? WHERE key = ?", (key, b"%d" % number))


DAMAGE = {
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
        assert any(TRUSTED in note and "is not used" in note for note in notes), notes


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
