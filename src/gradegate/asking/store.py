"""Replies in one SQLite file, which several processes may use. What cannot be read is not there; nothing is guessed."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

SCHEMA = 1  # grows when a key or a column changes its meaning; the name of the file holds it
APPLICATION = 0x67726164  # "grad": the file is ours
PATIENCE = 2.0  # seconds that another process may hold the file
FUTURE = 300.0  # seconds by which another machine's clock may be ahead
_TABLE = (
    "CREATE TABLE replies (key BLOB PRIMARY KEY, at REAL, model TEXT, usage TEXT, kind TEXT, seconds REAL, body BLOB, "
    "proof BLOB)"
)
_COLUMNS = "at, model, usage, kind, seconds, body, proof"


class Stored(NamedTuple):
    """A reply: when it came (seconds since 1970), from which model, what it cost, and as it was sent."""

    at: float
    model: str
    usage: str  # JSON
    kind: str  # its content type
    seconds: float  # that it took
    body: bytes

    def proof(self, key: bytes) -> bytes:
        """Tells a reply that was damaged, or that belongs to another key."""
        text = repr((SCHEMA, key, self.at, self.model, self.usage, self.kind, self.seconds))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass") + self.body).digest()


class Unusable(Exception):
    """The file cannot be used; the message says why."""


class Store:
    """One file. Any number of threads use it; the first failure ends its use, and ``problem`` says why."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.problem = ""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._writable = writable
        try:
            self._connection = self._opened()
        except (Unusable, OSError, sqlite3.Error) as e:
            self._give_up(e)

    def find(self, key: bytes) -> Stored | None:
        """The reply of a key, unless it is damaged."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                row = self._connection.execute(f"SELECT {_COLUMNS} FROM replies WHERE key = ?", (key,)).fetchone()  # noqa: S608  # our own words
                return None if row is None else _checked(key, row)
            except (Unusable, sqlite3.Error) as e:
                self._give_up(e)
                return None

    def put(self, key: bytes, stored: Stored) -> None:
        """Keep a reply; it is in the file when this returns."""
        with self._lock:
            if self._connection is None or not self._writable:
                return
            try:
                row = (key, *stored, stored.proof(key))
                self._connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            except sqlite3.Error as e:  # a full disk, another process: what is there can still be read
                self._writable = False
                self.problem = f"{self.path.name} cannot be written ({e})"

    def forget(self, before: float) -> None:
        """Remove what is older."""
        with self._lock, suppress(sqlite3.Error):  # not needed for what follows
            if self._connection is not None and self._writable:
                self._connection.execute("DELETE FROM replies WHERE at < ?", (before,))

    def close(self) -> None:
        """Leave one whole file behind."""
        with self._lock, suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _give_up(self, why: Exception) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        words = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
        self.problem = f"{self.path.name} is not used ({words})"

    def _opened(self) -> sqlite3.Connection | None:
        if not self._found():
            return None
        writable = self._writable and os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        if self._writable and not writable:
            self.problem = f"{self.path.name} cannot be written, and is only read"
        self._writable = writable
        connection = _connected(self.path, "mode=rw" if writable else "mode=ro&immutable=1")
        try:
            _check(connection, writable)
        except (Unusable, sqlite3.Error):
            connection.close()
            raise
        return connection

    def _found(self) -> bool:
        """Whether there is a file, which is made where it may be written. Raises Unusable for what is no file."""
        if self._writable:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            mode = self.path.lstat().st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(mode):
            raise Unusable("it is a link, or no file")
        return True


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fspath(path.absolute()))}?{mode}"
    return sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


def _check(connection: sqlite3.Connection, writable: bool) -> None:
    """Make the table in an empty file. Raises Unusable for a file that is not ours to the letter."""
    connection.execute("PRAGMA trusted_schema = OFF")
    if writable:
        # Whoever reads does not wait for whoever writes, and what is committed outlives a killed process.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        if not _schema(connection) and not _number(connection, "application_id"):
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    known = _number(connection, "application_id") == APPLICATION and _number(connection, "user_version") == SCHEMA
    if not known or _schema(connection) != [_TABLE]:
        raise Unusable("it is not a cache of gradegate, or one of another version")


def _schema(connection: sqlite3.Connection) -> list[str]:
    return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _checked(key: bytes, row: tuple[object, ...]) -> Stored:
    """Raises Unusable for a row that is not what was put there."""
    *values, proof = row
    kinds = (float, str, str, str, float, bytes)
    if not all(isinstance(value, kind) for value, kind in zip(values, kinds, strict=True)):
        raise Unusable("it is damaged")
    stored = Stored(*values)  # type: ignore[arg-type]  # checked just now
    if stored.proof(key) != proof or stored.at > time.time() + FUTURE:
        raise Unusable("it is damaged")
    return stored
