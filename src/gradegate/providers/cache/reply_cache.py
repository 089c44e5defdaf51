"""The replies that a run finds again: which may be used, how old they may be, and where they are kept."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.core.numbers import format_count
from gradegate.core.usage import CacheReport
from gradegate.http.exchange import HttpRequest
from gradegate.providers.cache.seals import OPEN, SCHEMA, Seals, Stored

if TYPE_CHECKING:
    from gradegate.providers.cache.store import Store


MAX_AGE = 7 * 86_400.0  # seconds after which a reply is no longer used
AHEAD = 300.0  # seconds by which another machine's clock may be; what is later than that would never be too old
_FILE = "{}.v{}.sqlite"


@dataclass(eq=False)
class Replies:
    """The cache of replies: who may read and write which of its two files, and what came from it.

    ``trusted`` is written by runs of the default branch and by people on their own machines, ``proposed`` by all other runs on
    GitHub: whoever opens a pull request may fill it. A reply whose HMAC proves that it was written with the credential that asks is
    believed from either. One to a request without such a credential is believed from ``trusted`` alone.
    """

    folder: Path
    trusted: bool  # this run is the default branch's own, or a person's
    seals: Seals
    problem: str = ""  # why nothing of it may be used
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self._looked_up = self._hits = self._lost = 0
        self._oldest = self._saved = 0.0
        self._stores: list[Store] = []
        if self.problem:
            return
        from gradegate.providers.cache.store import (
            Store,
        )  # SQLite takes megabytes, and few runs have a cache

        names = ("trusted",) if self.trusted else ("trusted", "proposed")
        self._stores += [
            Store(self.folder / _FILE.format(name, SCHEMA), writable=name == names[-1])
            for name in names
        ]
        self._stores[-1].forget(time.time() - MAX_AGE)

    def keys_of(self, request: HttpRequest, role: str) -> tuple[tuple[str, ...], bytes]:
        """What identifies a request apart from its body, and the key of the HMAC that its replies carry."""
        return self.seals.of(request, role)

    def find(self, key: bytes, under: bytes) -> Stored | None:
        """The reply to a question, from whoever can have written one."""
        now = time.time()
        stored = (
            store.find(key, under)
            for store in (self._stores[:1] if under == OPEN else self._stores)
        )
        found = next(
            (it for it in stored if it is not None and -AHEAD <= now - it.at <= MAX_AGE), None
        )
        with self._lock:
            self._looked_up += 1
            if found is not None:
                self._hits += 1
                self._oldest = max(self._oldest, now - found.at)
        return found

    def put(self, key: bytes, under: bytes, stored: Stored) -> None:
        """Keep a reply, where a later run would believe it."""
        if under == OPEN and not self.trusted:
            with self._lock:
                self._lost += 1
        elif self._stores:
            self._stores[-1].put(key, under, stored)

    def add_saving(self, usd: float) -> None:
        """Add what a reply that was found would have cost."""
        with self._lock:
            self._saved += usd

    def report(self) -> CacheReport:
        """What came from the cache so far."""
        with self._lock:
            return CacheReport(self._looked_up, self._hits, self._oldest, self._saved)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why which of its files was not used, or only read, and which replies were not believed or not kept."""
        problems = [it for it in (self.problem, *(store.problem for store in self._stores)) if it]
        old = [
            _FILE.format(name, version)
            for name in ("trusted", "proposed")
            for version in range(1, SCHEMA)
        ]
        if self._stores and (there := [name for name in old if (self.folder / name).is_file()]):
            problems.append(
                f"{' and '.join(there)} of an earlier version of gradegate: not read; remove what you no longer need"
            )
        if doubted := sum(store.doubted for store in self._stores):
            why = "written with another credential, or changed; where credentials change often, GRADEGATE_CACHE_SECRET keeps answers longer"
            problems.append(
                f"{format_count(doubted, 'kept answer')} not believed, and asked for: {why}"
            )
        if self._lost:
            why = "a later run could not tell who wrote them; with GRADEGATE_CACHE_SECRET it would not ask for them again"
            problems.append(
                f"{format_count(self._lost, 'answer')} not kept, which came without a credential that lasts: {why}"
            )
        return tuple(problems)

    def close(self) -> None:
        """Leave whole files behind."""
        for store in self._stores:
            store.close()
