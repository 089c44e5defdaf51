"""The cache of replies: what was answered is not asked again, and nothing else is taken for an answer."""

import sqlite3
from pathlib import Path

import pytest

from gradegate.providers.cache.seals import OPEN
from gradegate.providers.cache.store import Store
from support.kept import TRUSTED, config


def age_replies(path: Path, days: float) -> None:
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
    age_replies(ran.folder / "kept" / TRUSTED, days)
    ran, sent = again(config(llm, 2))
    assert (ran.code, sent) == (0, asked)
    if not asked:
        assert f"4 of 4 answers from the cache, the oldest {int(days)} days old" in ran.out
        assert ran.results["cache"]["oldest"] / 86_400 == pytest.approx(days, abs=0.01)
    assert ran.results["notes"] == []


def test_neither_keys_nor_prompts_are_in_the_files(llm, again):
    written = config(llm, 1)
    written["providers"][0]["config"]["apiKey"] = "sk-very-secret-key-of-the-test"
    ran, _ = again(written)
    content = b"".join(path.read_bytes() for path in (ran.folder / "kept").iterdir())
    assert b"hello" in content
    assert b"sk-very-secret" not in content
    assert b"question 0" not in content
    assert (ran.folder / "kept" / TRUSTED).stat().st_mode & 0o777 == 0o600
