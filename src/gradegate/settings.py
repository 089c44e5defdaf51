"""What the user asked for, by command line or action, with the environment, as one frozen value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.access.environment import Environment, is_runners
from gradegate.errors import ConfigError, Mistake, Origin

if TYPE_CHECKING:
    from gradegate.access.hosts import Host

# What a run does where neither the command line nor a config says otherwise.
CONCURRENCY = 4  # calls in flight; promptfoo's default
TIMEOUT = 300.0  # seconds of one call, with its retries
RETRIES = 4  # of a call that failed
ASKS = 3  # times that `calibrate` has each output graded
REASK = 1  # times that an unreadable grader is asked again
MAX_AGE = 7  # days of a reply in the cache
PARTS = "gradegate-parts"  # where a shard writes its part
CHANGE_MODES = ("report", "block")
CONFIRM_MODES = ("off", "grader", "answers")
COMPARE_MODES = ("config", "base")  # as the config says, or always with the base


def whole_number(text: str, least: int) -> int | None:
    """A whole number as people write it, None for any other text and below ``least``."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    return number if number >= max(least, 0) else None


def amount(text: str) -> float | None:
    """A number above 0 as people write it, such as 2 or 0.5; None for any other text."""
    plain = re.fullmatch(r"\d{1,12}(\.\d{1,12})?|\.\d{1,12}", text, re.ASCII)
    return float(text) or None if plain else None


SHARD = "give its number and how many there are, such as 3/8"


def shard(text: str) -> tuple[int, int] | None:
    """``3/8`` as the third of eight, at most 999; None for any other text."""
    found = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text, re.ASCII)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    return (number, of) if 1 <= number <= of else None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which tests and providers of the configs are run; what is empty keeps all."""

    pattern: str = ""  # matches the description
    metadata: tuple[tuple[str, str], ...] = ()  # keys with what their values hold
    first: int | None = None  # tests of each config, after the other filters
    providers: str = ""  # matches id or label

    @property
    def on(self) -> bool:
        """Whether a test or a provider may be left out."""
        return self != Filters()


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of one run; None and empty mean "as the config says"."""

    configs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    graders: Mapping[str, str] = field(default_factory=dict)  # ids by kind; "*" serves for any kind
    providers: tuple[str, ...] = ()  # asked in place of the targets of the configs
    max_concurrency: int | None = None
    repeat: int | None = None
    filters: Filters = Filters()
    variables: Mapping[str, str] = field(default_factory=dict)  # of each test that does not set them itself
    assertions: tuple[str, ...] = ()  # asserted of every test, beside what the configs assert
    reask: int = REASK
    timeout: float | None = None
    retries: int = RETRIES
    base: str = ""  # folder with a checkout of what the pull request is compared with
    confirm: str = ""  # how failures are asked again, in place of what the gate says
    baseline: str = ""  # a results.json of the base, which the run is compared with
    compare: str = ""  # "base": what the base asks is asked in the same run, and compared with
    changes: str = "report"  # what differences to it come to, or "block"; a config may be stricter
    cache: str = ""  # folder with replies of earlier runs; empty: none
    max_age: int = MAX_AGE  # days after which a reply is asked for again
    cache_http: bool = False  # also answers of `http:` applications
    max_calls: int | None = None  # what the run may take; a config may set lower limits
    max_usd: float | None = None
    max_seconds: float | None = None
    commit: str = ""  # what is checked out, where it is known
    cwd: Path = Path()
    in_ci: bool = False
    allowed_hosts: tuple[Host, ...] = ()  # where keys may go beside their own hosts
    allowed_env: frozenset[str] = frozenset()  # variables that any text of a config may show
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    answers: tuple[str, ...] = ()  # files with answers made elsewhere, or patterns of them: no target is asked
    ready: tuple[str, ...] = ()  # addresses that must answer before the run begins, each with seconds
    listing: bool = False  # only what would be asked of targets is wanted: no model is asked, and nothing is graded
    allow_exec: bool = False  # code of the repository may run
    exec_env: frozenset[str] = frozenset()  # variables of the environment that it sees
    exec_apart: bool = False  # as a user of its own, or not at all
    python: str = ""  # the interpreter that runs it, where a config names none
    shard: tuple[int, int] | None = (
        None  # (3, 8): the third of eight parts of the plan is asked, and nothing is decided
    )
    parts: str = PARTS  # the folder for what a shard found
    merge: str = ""  # the folder with the parts of all shards: no model is asked, and no key is needed
    open: str = ""  # the file with failures that shards ask again, or that a merge is to name
    taken: tuple[int, float] = (0, 0.0)  # calls and US dollars that shards before these took of the budget

    @property
    def asks_targets(self) -> bool:
        """Whether targets are asked; where they are not, what a config names is only a label."""
        return not self.answers and not self.listing

    @property
    def bound(self) -> bool:
        """Whether keys are held to their hosts: always on GitHub, elsewhere when hosts are named."""
        return self.environ.get("GITHUB_ACTIONS") == "true" or bool(self.allowed_hosts)

    @property
    def environment(self) -> Environment:
        """The environment as configs may read it."""
        return Environment(self.environ, self.allowed_env, keyless=bool(self.merge))


def hosts(written: Iterable[str]) -> tuple[Host, ...]:
    """The hosts of ``allowed-hosts``. Raises ConfigError with every one that is none."""
    from gradegate.access.hosts import allowed  # late, so that --version is quick

    named = {text: allowed(text) for text in _words(written)}
    cure = "write host, host:port or https://host, each host by its whole name"
    wrong = [Mistake(f"`{text}` in `allowed-hosts` is not a host", None, cure) for text in named if not named[text]]
    if wrong:
        raise ConfigError(*wrong)
    return tuple(host for host in named.values() if host)


_KINDED = re.compile(r"([\w-]+)\s*=")  # before the id of a grader, in which an `=` may stand


def graders(written: Iterable[str]) -> Mapping[str, str]:
    """The graders of ``ID`` and ``KIND=ID``, several to a text by commas or lines. Raises ConfigError with every mistake."""
    from gradegate.registry import suggest
    from gradegate.suite import KINDS

    found: dict[str, str] = {}
    mistakes = []
    for text in (part.strip() for line in written for part in re.split(r"\n|,(?=\s*[\w-]+\s*=)", line)):
        kinded = _KINDED.match(text)
        kind, provider = (kinded[1], text[kinded.end() :].strip()) if kinded else ("*", text)
        if kind not in (*KINDS, "*"):
            cure = suggest(kind, KINDS) or "the kinds are " + ", ".join(KINDS)
            mistakes.append(Mistake(f"there is no kind of grader `{kind}`", Origin("--grader"), cure))
        elif kinded and not provider:
            cure = f"write {kind}=PROVIDER:MODEL"
            mistakes.append(Mistake(f"the grader for {kind} is empty", Origin("--grader"), cure))
        elif provider and found.get(kind, provider) != provider:
            what = "two graders serve for any kind" if kind == "*" else f"there are two graders for {kind}"
            cure = "say what for: text=..., embedding=..." if kind == "*" else "name one"
            mistakes.append(Mistake(f"{what}: `{found[kind]}` and `{provider}`", Origin("--grader"), cure))
        elif provider:
            found[kind] = provider
    if mistakes:
        raise ConfigError(*mistakes)
    return found


def open_variables(written: Iterable[str], option: str = "allowed-env") -> frozenset[str]:
    """The names of ``allowed-env``, or of another. Raises ConfigError for the runner's own and for what is not a name."""
    names = _words(written)
    wrong = [
        Mistake(f"`{name}` in `{option}` is {'the runner’s own' if is_runners(name) else 'not the name of a variable'}")
        for name in names
        if is_runners(name) or not re.fullmatch(r"[A-Za-z_]\w*", name)
    ]
    if wrong:
        raise ConfigError(*wrong)
    return frozenset(names)


def _words(written: Iterable[str]) -> list[str]:
    return [word for text in written for word in re.split(r"[\s,]+", text) if word]
