"""The cache of replies: which of its files a run may use, and how old a reply may be."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.core.numbers import format_count
from gradegate.core.usage import CacheReport
from gradegate.http.exchange import HttpRequest
from gradegate.providers.cache.seals import OPEN, SCHEMA, Seals, StoredReply

if TYPE_CHECKING:
    from gradegate.providers.cache.store import Store


MAX_AGE = 7 * 86_400.0  # seconds after which a reply is no longer used
AHEAD = 300.0  # seconds by which another machine's clock may be ahead; a later reply would never be too old
_FILE = "{}.v{}.sqlite"


@dataclass(eq=False)
class ReplyCache:
    """The replies of earlier runs, and what came from them.

    The file ``trusted`` is written by runs of the default branch and by people on their own machines. The file ``proposed`` is
    written by all other runs on GitHub: whoever opens a pull request may fill it. A reply is believed from either file if its HMAC
    proves that it was written with the credential of the request. The reply to a request without such a credential is believed
    from ``trusted`` only.
    """

    folder: Path
    trusted: bool  # this run is the default branch's own, or a person's
    seals: Seals
    problem: str = ""  # why nothing of it may be used
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self._lookups = self._hits = self._unkept = 0
        self._oldest = self._saved = 0.0
        self._stores: list[Store] = []
        if self.problem:
            return
        # SQLite takes megabytes, and few runs have a cache
        from gradegate.providers.cache.store import Store

        names = ("trusted",) if self.trusted else ("trusted", "proposed")
        for name in names:
            path = self.folder / _FILE.format(name, SCHEMA)
            self._stores.append(Store(path, writable=name == names[-1]))
        self._stores[-1].remove_older(time.time() - MAX_AGE)

    def keys_of(self, request: HttpRequest, role: str) -> tuple[tuple[str, ...], bytes]:
        """What identifies a request apart from its body, and the key of the HMAC that its replies carry."""
        return self.seals.identify(request, role)

    def find(self, key: bytes, seal_key: bytes) -> StoredReply | None:
        """The reply to a request from a file that is believed; None if there is none that is young enough."""
        now = time.time()
        reply = None
        for store in self._stores[:1] if seal_key == OPEN else self._stores:
            reply = store.find(key, seal_key)
            if reply is not None and -AHEAD <= now - reply.at <= MAX_AGE:
                break
            reply = None
        with self._lock:
            self._lookups += 1
            if reply is not None:
                self._hits += 1
                self._oldest = max(self._oldest, now - reply.at)
        return reply

    def put(self, key: bytes, seal_key: bytes, stored: StoredReply) -> None:
        """Keep a reply if a later run would believe it."""
        if seal_key == OPEN and not self.trusted:
            with self._lock:
                self._unkept += 1
        elif self._stores:
            self._stores[-1].put(key, seal_key, stored)

    def add_saving(self, usd: float) -> None:
        """Add what a reply that was found would have cost."""
        with self._lock:
            self._saved += usd

    def report(self) -> CacheReport:
        """What came from the cache so far."""
        with self._lock:
            return CacheReport(self._lookups, self._hits, self._oldest, self._saved)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a file was not used, or only read, and which replies were not believed or not kept."""
        reasons = [self.problem, *(store.problem for store in self._stores)]
        problems = [reason for reason in reasons if reason]
        if self._stores:
            old_files = self._old_files()
            if old_files:
                problems.append(
                    f"{' and '.join(old_files)} of an earlier version of gradegate: not read; remove what you no longer need"
                )

        doubted = sum(store.doubted for store in self._stores)
        if doubted:
            why = "written with another credential, or changed; where credentials change often, GRADEGATE_CACHE_SECRET keeps answers longer"
            count = format_count(doubted, "kept answer")
            problems.append(f"{count} not believed, and asked for: {why}")
        if self._unkept:
            why = "a later run could not tell who wrote them; with GRADEGATE_CACHE_SECRET it would not ask for them again"
            count = format_count(self._unkept, "answer")
            problems.append(f"{count} not kept, which came without a credential that lasts: {why}")
        return tuple(problems)

    def _old_files(self) -> list[str]:
        """The names of the files that earlier versions left."""
        names = []
        for kind in ("trusted", "proposed"):
            names += [_FILE.format(kind, version) for version in range(1, SCHEMA)]
        return [name for name in names if (self.folder / name).is_file()]

    def close(self) -> None:
        """Leave whole files behind."""
        for store in self._stores:
            store.close()
