"""What a cache holds must have been written by somebody who held the key: planted, edited, copied and foreign rows are asked for."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gradegate.providers.cache.seals import OPEN, StoredReply
from support.kept import KEY, PASS, PROPOSED, PULL, TRUSTED, config, config_with_key, environment, event, passing

BAD = '{"pass": false, "score": 0, "reason": "rude"}'
Rows = list[tuple]  # key, at, model, usage, kind, seconds, body, mac


@pytest.fixture
def pull(llm, again, monkeypatch, tmp_path):
    """A run of a pull request with the key of the workflow."""
    environment(monkeypatch, llm)
    event(monkeypatch, tmp_path, *PULL)
    return again


def rows(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute("SELECT * FROM replies ORDER BY rowid"))


def write(path: Path, changed: Rows) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM replies")
        connection.executemany("INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", changed)


def test_a_second_push_asks_nothing(llm, pull):
    assert pull(config_with_key(llm))[1] == 4
    ran, asked = pull(config_with_key(llm))
    assert (ran.code, asked) == (0, 0)
    assert "4 of 4 answers from the cache" in ran.out
    assert ran.results["notes"] == []
    assert not (ran.folder / "kept" / TRUSTED).exists()


def test_a_second_push_with_a_case_that_fails_asks_again_and_nothing_else(llm, pull):
    llm.reply = lambda path, body: "hello" if body["model"] == "fake" else BAD if "question 0" in str(body["messages"]) else PASS
    written = config_with_key(llm, 3)
    for test in written["tests"]:
        test["assert"] = [{"type": "llm-rubric", "value": f"is polite to {test['vars']['x']}"}]
    ran, asked = pull(written, "--reask", "grader")
    assert (ran.code, asked) == (1, 6 + 2)  # F, and F F
    ran, asked = pull(written, "--reask", "grader")
    assert (ran.code, asked) == (1, 2)


def edited(place: int, value: object) -> Callable[[Rows], Rows]:
    return lambda found: [(*row[:place], value, *row[place + 1 :]) for row in found]


def answering(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"choices": [choice], "usage": {}}).encode()


def planted(found: Rows) -> Rows:
    """Rows with HMACs that anybody can make."""
    made = [(row[0], StoredReply(*row[1:6], answering(PASS))) for row in found]
    return [(key, *stored, stored.sign(key, OPEN)) for key, stored in made]


CHANGES: dict[str, Callable[[Rows], Rows]] = {
    "the time is later": lambda found: [(row[0], row[1] + 1, *row[2:]) for row in found],
    "another model": edited(2, "other"),
    "another cost": edited(3, '{"tokens": 1, "usd": 0.0}'),
    "another type of content": edited(4, "text/plain"),
    "another duration": edited(5, 9.0),
    "another reply": edited(6, answering(PASS)),
    "a text for the reply": edited(6, answering(PASS).decode()),
    "bytes for the model": edited(2, b"fake"),
    "without an HMAC": edited(7, None),
    "an empty HMAC": edited(7, b""),
    "a text for the HMAC": edited(7, "0" * 32),
    "an HMAC without a key": planted,
    "copied to other requests": lambda found: [(row[0], *other[1:]) for row, other in zip(found, [*found[1:], found[0]], strict=True)],
}


@pytest.mark.parametrize("name", [PROPOSED, TRUSTED])
def test_what_was_changed_is_asked_for(llm, pull, tmp_path, name):
    pull(config_with_key(llm), "-j", "1")
    kept = tmp_path / "kept" / PROPOSED
    before = rows(kept)
    if name == TRUSTED:
        (tmp_path / "kept" / TRUSTED).write_bytes(kept.read_bytes())
    found = {}
    for what, change in CHANGES.items():
        write(kept, [])
        write(tmp_path / "kept" / name, change(before))
        ran, asked = pull(config_with_key(llm), "-j", "1")
        told = [note["text"] for note in ran.results["notes"]]
        found[what] = asked, ran.code, any("4 kept answers not believed" in text for text in told)
    assert found == dict.fromkeys(CHANGES, (4, 0, True))
    write(kept, [])
    write(tmp_path / "kept" / name, before)
    assert pull(config_with_key(llm), "-j", "1")[1] == 0


def test_a_reply_of_another_host_is_not_believed(llm, pull, tmp_path, monkeypatch):
    """Not even under the key of the question here: its HMAC is of the host that gave it."""
    pull(config_with_key(llm), "-j", "1")
    kept = tmp_path / "kept" / PROPOSED
    here = rows(kept)
    write(kept, [])
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base.replace("127.0.0.1", "localhost"))
    assert pull(config_with_key(llm), "-j", "1")[1] == 4
    there = rows(kept)
    for copied in (here, [(row[0], *other[1:]) for row, other in zip(there, here, strict=True)]):
        write(kept, copied)
        assert pull(config_with_key(llm), "-j", "1")[1] == 4


@pytest.mark.parametrize("name", [PROPOSED, TRUSTED])
def test_another_credential_begins_anew(llm, pull, tmp_path, monkeypatch, name):
    environment(monkeypatch, llm, "sk-of-somebody-else-0123456789")
    pull(config_with_key(llm))
    (tmp_path / "kept" / PROPOSED).rename(tmp_path / "kept" / name)
    environment(monkeypatch, llm)
    ran, asked = pull(config_with_key(llm))
    assert asked == 4
    assert "4 kept answers not believed" in json.dumps(ran.results["notes"])
    assert pull(config_with_key(llm))[1] == 0


def test_the_default_branch_and_your_own_machine_believe_no_other_row_either(llm, again, tmp_path, monkeypatch):
    environment(monkeypatch, llm)
    again(config_with_key(llm), "-j", "1")
    kept = tmp_path / "kept" / TRUSTED
    write(kept, planted(rows(kept)))
    assert again(config_with_key(llm), "-j", "1")[1] == 4
    assert again(config_with_key(llm), "-j", "1")[1] == 0
    event(monkeypatch, tmp_path, "push", "refs/heads/main")
    assert again(config_with_key(llm))[1] == 0
    write(kept, planted(rows(kept)))
    assert again(config_with_key(llm))[1] == 4


@pytest.mark.parametrize("secret", ["", "s" * 32])
def test_no_reply_stands_for_one_that_was_asked_for_with_something_more(llm, pull, monkeypatch, secret):
    """What a first push adds to a request, such as another's key that a gateway would rather take, is another question."""
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", secret)
    monkeypatch.setenv("GATEWAY_TOKEN", "gateway-token-0123456789")
    found = {}
    for name, more in {
        "a secret header": {"headers": {"X-Virtual-Key": "of-somebody-else-0123456789"}},
        "a variable": {"headers": {"X-Virtual-Key": "{{env.GATEWAY_TOKEN}}"}},
        "words beside the key": {"headers": {"X-Auth-Token": "{{env.GATEWAY_TOKEN}}, always PASS"}},
        "a key of the config": {"apiKey": "of-somebody-else-0123456789"},
    }.items():
        written = config_with_key(llm)
        written["defaultTest"]["options"]["provider"]["config"].update(more)
        pull(written, "--allowed-hosts", "127.0.0.1", cache=name)
        found[name] = pull(config_with_key(llm), "--allowed-hosts", "127.0.0.1", cache=name)[1]
    assert found == dict.fromkeys(found, 2)  # the verdicts


# --- short-lived credentials, and the workflow's own secret ------------------------------------------------------


def test_without_a_credential_that_lasts_a_pull_request_reads_the_default_branch_alone(llm, again, tmp_path, monkeypatch):
    """Short keys, and tokens that end with the job: a later run could not know whose they were."""
    written = {"none": config(llm, 2), "short": config_with_key(llm), "passing": config_with_key(llm)}
    for spec in (written["passing"]["providers"][0], written["passing"]["defaultTest"]["options"]["provider"]):
        spec["config"]["apiKeyEnvar"] = "GOOGLE_OAUTH_ACCESS_TOKEN"
    environment(monkeypatch, llm, "k" * 19)
    found = {}
    for name, given in written.items():
        asked = []
        for job, start in enumerate([PULL, PULL, ("push", "refs/heads/main"), PULL]):
            event(monkeypatch, tmp_path, *start)
            monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", f"ya29.{job}" + "t" * 40)  # each job has its own
            ran, calls = again(given, "--allowed-hosts", "127.0.0.1", cache=name)
            asked.append((calls, "4 answers not kept" in json.dumps(ran.results["notes"])))
        found[name] = asked
    assert list(found.values()) == [[(4, True), (4, True), (4, False), (0, False)]] * 3


def test_the_secret_of_the_workflow_wins(llm, again, tmp_path, monkeypatch):
    event(monkeypatch, tmp_path, *PULL)
    environment(monkeypatch, llm)
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", "s" * 32)
    assert again(config_with_key(llm))[1] == 4
    environment(monkeypatch, llm, "sk-another-key-of-the-workflow")
    ran, asked = again(config_with_key(llm))
    assert (asked, ran.results["notes"]) == (0, [])
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", "t" * 32)
    assert again(config_with_key(llm))[1] == 4
    monkeypatch.delenv("GRADEGATE_CACHE_SECRET")
    assert again(config_with_key(llm))[1] == 4
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", "s" * 32)
    assert again(config(llm, 2), cache="keyless")[1] == 4
    assert again(config(llm, 2), cache="keyless")[1] == 0


@pytest.mark.parametrize(("length", "code"), [(31, 2), (1, 2), (32, 0), (0, 0)])
def test_a_secret_that_could_be_found_by_trying_is_a_mistake(llm, again, monkeypatch, length, code):
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", "Zq" * (length // 2) + "Z" * (length % 2))
    ran, asked = again(config(llm, 1))
    assert (ran.code, asked) == (code, 0 if code else 2)
    if code:
        assert f"GRADEGATE_CACHE_SECRET has {length} character" in ran.err
        assert "ZqZq" not in ran.err + ran.out


def test_the_secret_is_read_by_no_config_and_stands_nowhere(llm, again, monkeypatch):
    secret = "cache-canary-0123456789-0123456789"
    monkeypatch.setenv("GRADEGATE_CACHE_SECRET", secret)
    llm.reply = lambda path, body: passing(path, body) if body["model"] == "judge" else f"the secret is {secret}"
    ran, _ = again(config(llm, 1), "-o", "page.md", "-o", "results.json", "-v")
    shown = ran.out + ran.err + (ran.folder / "page.md").read_text() + (ran.folder / "results.json").read_text()
    assert "the secret is" in shown
    assert secret not in shown
    written = config(llm, 1)
    written["providers"][0]["config"]["headers"] = {"X-A": "{{env.GRADEGATE_CACHE_SECRET}}"}
    before = len(llm.requests)
    ran, _ = again(written)
    assert ran.code == 2
    assert len(llm.requests) == before
    assert again(config(llm, 1), "--allowed-env", "GRADEGATE_CACHE_SECRET")[0].code == 2


# --- links, and files of an earlier version ----------------------------------------------------------------------


@pytest.mark.parametrize("link", ["kept", "above", f"kept/{PROPOSED}", f"kept/{TRUSTED}", f"kept/{PROPOSED}-wal"])
def test_no_link_is_followed_in_the_path(llm, pull, tmp_path, link):
    path = "above/kept" if link == "above" else "kept"
    pull(config_with_key(llm), cache=path)
    place = tmp_path / link
    target = tmp_path / "elsewhere"
    if place.exists():
        place.rename(target)
    else:
        target.write_bytes(b"precious")
    place.symlink_to(target)
    before = target.read_bytes() if target.is_file() else b""
    ran, asked = pull(config_with_key(llm), cache=path)
    assert (ran.code, asked) == (0, 0 if link.endswith(TRUSTED) else 4)  # the other file is whole
    assert "a link, or no f" in json.dumps(ran.results["notes"])
    assert before == (target.read_bytes() if target.is_file() else b"")


def test_no_folder_is_made_behind_a_link(llm, pull, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "kept").symlink_to("elsewhere")
    assert pull(config_with_key(llm), cache="kept/deeper")[1] == 4
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_of_an_earlier_version_is_not_read_and_said(llm, pull, tmp_path):
    pull(config_with_key(llm))
    (tmp_path / "kept" / PROPOSED).rename(tmp_path / "kept" / "proposed.v1.sqlite")
    ran, asked = pull(config_with_key(llm))
    assert asked == 4
    assert "proposed.v1.sqlite of an earlier version of gradegate: not read" in json.dumps(ran.results["notes"])


def test_no_key_is_in_the_files(llm, pull, tmp_path):
    pull(config_with_key(llm))
    content = b"".join(path.read_bytes() for path in (tmp_path / "kept").iterdir())
    assert b"hello" in content
    assert KEY.encode() not in content
