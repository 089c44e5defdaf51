"""Replies in one SQLite file, which several processes may use. What cannot be read counts as absent."""

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

APPLICATION = 0x67726164  # "grad": the id of our files
PATIENCE = 2.0  # seconds to wait for another process
_TABLE = "CREATE TABLE replies (key BLOB PRIMARY KEY, at REAL, model TEXT, usage TEXT, kind TEXT, seconds REAL, body BLOB, mac BLOB)"
_COLUMNS = "at, model, usage, kind, seconds, body, mac FROM replies"
_FIND = f"SELECT rowid, {_COLUMNS} WHERE key = ?"
_NEXT = f"SELECT key, {_COLUMNS} WHERE rowid > ? ORDER BY rowid LIMIT ?"
_AHEAD = 200  # replies that are read at once if requests come in the order of an earlier run
_AHEAD_BYTES = 1024 * 1024  # of their bodies
_SQLITE_SUFFIXES = ("-journal", "-shm", "-wal")  # of the files that SQLite makes
# With O_PATH a folder that may not be listed may be passed through
_ACCESS = os.O_PATH if sys.platform == "linux" else os.O_RDONLY
_FOLDER = _ACCESS | os.O_DIRECTORY | os.O_CLOEXEC
_CACHE_SIZE = -65_536  # KB of pages that a reader keeps: each is read from the disk once
_Row = tuple[object, ...]


class Unusable(Exception):
    """The file cannot be used; the message says why."""


class Store:
    """One file. Any number of threads use it; the first failure ends its use, and ``problem`` says why.

    It shows what the file contained when it was opened: one snapshot costs a quarter of a new one at each look.
    A run that asks what an earlier one asked reads ahead: if threads waited for the file in turn, that would cost as much as all else.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.problem = ""
        self.doubted = 0  # replies with a wrong HMAC
        self._lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._last = 0  # number of the row that was read last
        self._ahead: dict[object, _Row] = {}  # rows by key
        try:
            self._open(writable=writable)
        except (Unusable, OSError, sqlite3.Error) as e:
            self._give_up(e)

    def find(self, key: bytes, seal_key: bytes) -> StoredReply | None:
        """The reply of a key if its HMAC was made with ``seal_key``; else it counts as absent."""
        try:
            # Without the lock, which one step of the interpreter does not need: threads that once queue for it never cease to.
            row = self._ahead.pop(key, None) or self._read(key)
        except sqlite3.Error as e:
            with self._lock:
                self._give_up(e)
            return None
        if row is None:
            return None

        reply = StoredReply(*row[:-1])  # type: ignore[arg-type]
        mac = row[-1]
        with suppress(TypeError):  # bytes where a text should be, or the other way round
            if isinstance(mac, bytes) and hmac.compare_digest(reply.sign(key, seal_key), mac):
                return reply
        with self._lock:
            self.doubted += 1
        return None

    def _read(self, key: bytes) -> _Row | None:
        """The row of a key. If it follows soon after the row before, the next ones are read, too."""
        with self._lock:
            if self._reader is None:
                return None
            numbered_row = self._reader.execute(_FIND, (key,)).fetchone()
            if numbered_row is None:
                return None
            number, *row = numbered_row
            follows = self._last < number <= self._last + _AHEAD
            self._last = max(self._last, number)
            if follows:
                self._read_ahead(self._reader)
            return tuple(row)

    def _read_ahead(self, reader: sqlite3.Connection) -> None:
        """Read the rows after the last one, up to a number of rows and of bytes."""
        if len(self._ahead) > _AHEAD:  # rows that nobody asked for
            self._ahead = {}
        size = 0
        for key, *row in reader.execute(_NEXT, (self._last, _AHEAD)):
            self._ahead[key] = tuple(row)
            self._last += 1
            body = row[-2]
            if isinstance(body, bytes | str):
                size += len(body)
            if size > _AHEAD_BYTES:
                break

    def put(self, key: bytes, seal_key: bytes, stored: StoredReply) -> None:
        """Keep a reply; it is in the file when this returns."""
        with self._lock:
            if self._writer is None:
                return
            row = (key, *stored, stored.sign(key, seal_key))
            try:
                self._writer.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row
                )
            except sqlite3.Error as e:
                # A full disk, or another process: the replies of the file can still be read.
                self._writer = None
                self.problem = f"{self.path.name} cannot be written ({e})"

    def remove_older(self, oldest: float) -> None:
        """Remove the replies from before a time, in seconds since 1970."""
        with self._lock, suppress(sqlite3.Error):  # not needed for what follows
            if self._writer is not None:
                self._writer.execute("DELETE FROM replies WHERE at < ?", (oldest,))

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

    def _give_up(self, error: Exception) -> None:
        self._close()
        reason = str(error)
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        self.problem = f"{self.path.name} is not used ({reason})"

    def _open(self, *, writable: bool) -> None:
        """Open the file, and make its table if it is empty. Raises Unusable for a file of another program."""
        if not _file_exists(self.path, make=writable):
            return
        if writable and not (
            os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        ):
            self.problem = f"{self.path.name} cannot be written, and is only read"
            writable = False

        has_log = writable and self._open_writer()
        self._reader = _connect(self.path, "mode=rw" if writable else "mode=ro&immutable=1")
        # We write no row that is larger
        self._reader.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * MAX_BODY)
        self._reader.execute("PRAGMA query_only = ON")
        self._reader.execute(f"PRAGMA cache_size = {_CACHE_SIZE}")
        _check_file(self._reader)
        if has_log:  # without a log, the reader would keep the writer from the file
            self._reader.execute("BEGIN")

    def _open_writer(self) -> bool:
        """Open the file for writing. Returns whether it has a log, so it can be read while it is written."""
        writer = self._writer = _connect(self.path, "mode=rw")
        if not _is_empty(writer):
            # Before anything is written to a file that may be somebody else's
            _check_file(writer)
        mode = writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        # What is committed outlives a killed process
        writer.execute("PRAGMA synchronous = NORMAL")
        writer.execute("BEGIN IMMEDIATE")
        if _is_empty(writer):
            writer.execute(_TABLE)
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {SCHEMA}")
        writer.execute("COMMIT")
        return bool(mode == "wal")


def _file_exists(path: Path, *, make: bool) -> bool:
    """Whether there is a file; with ``make`` it is made.

    Raises OSError, and Unusable for a link on the way or anything that is no file.
    """
    try:
        folder = _open_folder(path.parent, make=make)
    except FileNotFoundError:
        return False
    try:
        if make:
            with suppress(FileExistsError):
                # Only its owner may read it
                os.close(os.open(path.name, NEW, 0o600, dir_fd=folder))
                _give_to_owner(path.name, folder)
        modes = [_mode(path.name + suffix, folder) for suffix in ("", *_SQLITE_SUFFIXES)]
    finally:
        os.close(folder)
    if any(mode and not stat.S_ISREG(mode) for mode in modes):
        raise Unusable("it is a link, or no file")
    return modes[0] != 0


def _open_folder(path: Path, *, make: bool) -> int:
    """The descriptor of a folder, opened step by step from the root and through no link; with ``make`` it is made.

    Raises OSError, and Unusable for a link on the way or anything that is no folder.
    """
    folder = os.open(path.anchor, _FOLDER)
    for name in path.parts[1:]:
        parent = folder
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=parent)
                    _give_to_owner(name, parent)
            folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
        except NotADirectoryError as e:
            raise Unusable(f"`{name}` in its path is a link, or no folder") from e
        finally:
            os.close(parent)
    return folder


def _give_to_owner(name: str, folder: int) -> None:
    """Give a file to the owner of its folder: the action's container runs as root, and a later step of the job saves the file."""
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


def _mode(name: str, folder: int) -> int:
    """The mode of a file; 0 if nothing is there."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(os.fspath(path.absolute()))}?{mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )


def _check_file(connection: sqlite3.Connection) -> None:
    """Raises Unusable for a file that is not exactly as we make it."""
    connection.execute("PRAGMA trusted_schema = OFF")
    if (
        _pragma(connection, "application_id") != APPLICATION
        or _pragma(connection, "user_version") != SCHEMA
        or _table_definitions(connection) != [_TABLE]
    ):
        raise Unusable("it is not a cache of gradegate, or one of another version")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not _table_definitions(connection) and not _pragma(connection, "application_id")


def _table_definitions(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return [sql for (sql,) in rows]


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
