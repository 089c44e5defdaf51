"""The cache of replies: who may read and write which of its two files, and what came from it.

``trusted`` is written by runs of the default branch and by people on their own machines, and holds replies of targets
and graders. ``proposed`` is written by all other runs on GitHub, and holds answers of targets alone: whoever opens a
pull request may fill it, and no verdict is read from it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.account import CacheReport
from gradegate.asking.stored import SCHEMA, Stored

if TYPE_CHECKING:
    from gradegate.asking.store import Store

TARGET, GRADER = "target", "grader"
DAY = 86_400.0
AHEAD = 300.0  # seconds by which another machine's clock may be; what is later than that would never be too old


@dataclass(eq=False)
class Replies:
    """``trusted``: whether this run is the default branch's own, or a person's. ``max_age`` in seconds.

    With ``applications`` the answers of ``http:`` targets are kept, too.
    """

    folder: Path
    trusted: bool
    max_age: float = 7 * DAY
    applications: bool = False
    problem: str = ""  # why nothing of it may be used
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self._looked_up = self._hits = 0
        self._oldest = self._saved = 0.0
        self._stores: list[Store] = []
        if self.problem:
            return
        from gradegate.asking.store import Store  # SQLite takes megabytes, and few runs have a cache

        self._stores.append(Store(self.folder / f"trusted.v{SCHEMA}.sqlite", writable=self.trusted))
        if not self.trusted:
            self._stores.append(Store(self.folder / f"proposed.v{SCHEMA}.sqlite", writable=True))
        self._stores[-1].forget(time.time() - self.max_age)

    def find(self, key: bytes, role: str) -> Stored | None:
        """The reply to a question, from whoever may have written one."""
        now = time.time()
        found = None
        for store in self._stores if role == TARGET else self._stores[:1]:
            stored = store.find(key)
            if stored is not None and -AHEAD <= now - stored.at <= self.max_age:
                found = stored
                break
        with self._lock:
            self._looked_up += 1
            if found is not None:
                self._hits += 1
                self._oldest = max(self._oldest, now - found.at)
        return found

    def put(self, key: bytes, role: str, stored: Stored) -> None:
        """Keep a reply, where this run may."""
        if self._stores and (role == TARGET or self.trusted):
            self._stores[-1].put(key, stored)

    def save(self, usd: float) -> None:
        """Add what a reply that was found would have cost."""
        with self._lock:
            self._saved += usd

    def report(self) -> CacheReport:
        """What came from the cache so far."""
        with self._lock:
            return CacheReport(self._looked_up, self._hits, self._oldest, self._saved)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why which of its files was not used, or only read."""
        return tuple(filter(None, (self.problem, *(store.problem for store in self._stores))))

    def close(self) -> None:
        """Leave whole files behind."""
        for store in self._stores:
            store.close()
