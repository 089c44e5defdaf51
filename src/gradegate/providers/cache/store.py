"""Replies in one SQLite file, which several processes may use. What cannot be read is not there; nothing is guessed."""

import hmac
import os
import sqlite3
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from gradegate.files.limits import MAX_BODY
from gradegate.files.plain_files import NEW
from gradegate.providers.cache.seals import SCHEMA, StoredReply

APPLICATION = 0x67726164  # "grad": the file is ours
PATIENCE = 2.0  # seconds that another process may hold the file
_TABLE = "CREATE TABLE replies (key BLOB PRIMARY KEY, at REAL, model TEXT, usage TEXT, kind TEXT, seconds REAL, body BLOB, mac BLOB)"
_COLUMNS = "at, model, usage, kind, seconds, body, mac FROM replies"
_FIND = f"SELECT rowid, {_COLUMNS} WHERE key = ?"
_NEXT = f"SELECT key, {_COLUMNS} WHERE rowid > ? ORDER BY rowid LIMIT ?"
_AHEAD = 200  # replies that are read at once where questions come in the order of an earlier run
_AHEAD_BYTES = 1024 * 1024  # of their bodies
_BESIDE = ("-journal", "-shm", "-wal")  # files that SQLite makes of its name
# There one may go through what one may not list
_LOOK = os.O_PATH if sys.platform == "linux" else os.O_RDONLY
_FOLDER = _LOOK | os.O_DIRECTORY | os.O_CLOEXEC
_ROOM = -65_536  # KB of pages that a reader keeps: each is read from the disk once


class Unusable(Exception):
    """The file cannot be used; the message says why."""


class Store:
    """One file. Any number of threads use it; the first failure ends its use, and ``problem`` says why.

    What is found is what the file held when it was opened: one snapshot costs a quarter of a new one at each look.
    A run that asks what an earlier one asked reads ahead, since threads that wait for the file in turn cost as much as all else.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.problem = ""
        self.doubted = 0  # replies that were there, and whose HMAC was not theirs
        self._lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._last = 0  # the row that was read last
        self._ahead: dict[object, tuple[object, ...]] = {}
        try:
            self._open(writable=writable)
        except (Unusable, OSError, sqlite3.Error) as e:
            self._give_up(e)

    def find(self, key: bytes, under: bytes) -> StoredReply | None:
        """The reply of a key, if its HMAC was made with the key ``under``; else it is as if it were not there."""
        try:
            # Without the lock, which one step of the interpreter does not need: threads that once queue for it never cease to.
            row = self._ahead.pop(key, None) or self._read(key)
        except sqlite3.Error as e:
            with self._lock:
                self._give_up(e)
            return None
        if row is None:
            return None
        stored, mac = StoredReply(*row[:-1]), row[-1]  # type: ignore[arg-type]
        with suppress(TypeError):  # bytes where a text should be, or the other way round
            if isinstance(mac, bytes) and hmac.compare_digest(stored.mac(key, under), mac):
                return stored
        with self._lock:
            self.doubted += 1
        return None

    def _read(self, key: bytes) -> tuple[object, ...] | None:
        """The row of a key. Those after it are read, too, where it comes soon after the one before."""
        with self._lock:
            if self._reader is None:
                return None
            if (found := self._reader.execute(_FIND, (key,)).fetchone()) is None:
                return None
            number, *row = found
            follows = self._last < number <= self._last + _AHEAD
            self._last = max(self._last, number)
            if len(self._ahead) > _AHEAD and follows:  # what nobody asked for
                self._ahead = {}
            size = 0
            for following, *later in (
                self._reader.execute(_NEXT, (self._last, _AHEAD)) if follows else ()
            ):
                self._ahead[following] = tuple(later)
                self._last += 1
                size += len(later[-2]) if isinstance(later[-2], bytes | str) else 0
                if size > _AHEAD_BYTES:
                    break
            return tuple(row)

    def put(self, key: bytes, under: bytes, stored: StoredReply) -> None:
        """Keep a reply; it is in the file when this returns."""
        with self._lock:
            if self._writer is None:
                return
            try:
                row = (key, *stored, stored.mac(key, under))
                self._writer.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row
                )
            except (
                sqlite3.Error
            ) as e:  # a full disk, another process: what is there can still be read
                self._writer = None
                self.problem = f"{self.path.name} cannot be written ({e})"

    def forget(self, before: float) -> None:
        """Remove what is older."""
        with self._lock, suppress(sqlite3.Error):  # not needed for what follows
            if self._writer is not None:
                self._writer.execute("DELETE FROM replies WHERE at < ?", (before,))

    def close(self) -> None:
        """Leave one whole file behind."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        for connection in filter(None, (self._reader, self._writer)):
            with suppress(sqlite3.Error):
                connection.close()
        self._reader = self._writer = None
        self._ahead = {}

    def _give_up(self, why: Exception) -> None:
        self._close()
        words = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
        self.problem = f"{self.path.name} is not used ({words})"

    def _open(self, *, writable: bool) -> None:
        """Make the table in an empty file. Raises Unusable for a file that is another's."""
        if not _found(self.path, make=writable):
            return
        if writable and not (
            os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        ):
            self.problem = f"{self.path.name} cannot be written, and is only read"
            writable = False
        if writable:
            self._writer = _connected(self.path, "mode=rw")
            if _schema(self._writer) or _number(self._writer, "application_id"):
                # Before anything is written to a file that may be somebody else's
                _check(self._writer)
            mode = self._writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            # What is committed outlives a killed process
            self._writer.execute("PRAGMA synchronous = NORMAL")
            self._writer.execute("BEGIN IMMEDIATE")
            if not _schema(self._writer) and not _number(self._writer, "application_id"):
                self._writer.execute(_TABLE)
                self._writer.execute(f"PRAGMA application_id = {APPLICATION}")
                self._writer.execute(f"PRAGMA user_version = {SCHEMA}")
            self._writer.execute("COMMIT")
            beside = mode == "wal"  # whether one may read while another writes
        self._reader = _connected(self.path, "mode=rw" if writable else "mode=ro&immutable=1")
        # A row that is larger is none of ours
        self._reader.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * MAX_BODY)
        self._reader.execute("PRAGMA query_only = ON")
        self._reader.execute(f"PRAGMA cache_size = {_ROOM}")
        _check(self._reader)
        if writable and beside:  # else whoever reads would keep whoever writes from it
            self._reader.execute("BEGIN")


def _found(path: Path, *, make: bool) -> bool:
    """Whether there is a file, which is made where it may be. Raises OSError, and Unusable for a link on the way or what is no file."""
    try:
        folder = os.open(path.parent.anchor, _FOLDER)
        for name in path.parent.parts[1:]:  # step by step from the root, and through no link
            above = folder
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=above)
                        _give(name, above)
                folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
            except NotADirectoryError as e:
                raise Unusable(f"`{name}` in its path is a link, or no folder") from e
            finally:
                os.close(above)
    except FileNotFoundError:
        return False
    try:
        if make:
            with suppress(FileExistsError):
                # Which its owner alone may read
                os.close(os.open(path.name, NEW, 0o600, dir_fd=folder))
                _give(path.name, folder)
        modes = [_mode(path.name + suffix, folder) for suffix in ("", *_BESIDE)]
    finally:
        os.close(folder)
    if any(mode and not stat.S_ISREG(mode) for mode in modes):
        raise Unusable("it is a link, or no file")
    return modes[0] != 0


def _give(name: str, folder: int) -> None:
    """In the action's container we are root, and a later step of the job is to save the file: it is whose the folder is."""
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


def _mode(name: str, folder: int) -> int:
    """0 where nothing is."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fspath(path.absolute()))}?{mode}"
    return sqlite3.connect(
        address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )


def _check(connection: sqlite3.Connection) -> None:
    """Raises Unusable for a file that is not ours to the letter."""
    connection.execute("PRAGMA trusted_schema = OFF")
    known = (
        _number(connection, "application_id") == APPLICATION
        and _number(connection, "user_version") == SCHEMA
    )
    if not known or _schema(connection) != [_TABLE]:
        raise Unusable("it is not a cache of gradegate, or one of another version")


def _schema(connection: sqlite3.Connection) -> list[str]:
    return [
        sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    ]


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
