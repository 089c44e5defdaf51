"""What the user asked for: command line or action inputs, and the environment, as one frozen value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gradegate.access.environment import Environment, is_runners
from gradegate.errors import ConfigError, Mistake, Origin

if TYPE_CHECKING:
    from gradegate.access.hosts import Host

T = TypeVar("T")
# What a run does where neither the command line nor a config says otherwise.
CONCURRENCY = 4  # calls in flight; promptfoo's default
TIMEOUT = 300.0  # seconds of one call, with its retries
RETRIES = 4  # of a call that failed
ASKS = 3  # times that `calibrate` has each output graded
REASK = 1  # times that an unreadable grader is asked again
MAX_AGE = 7  # days of a reply in the cache
PARTS = "gradegate-parts"  # where a shard writes its part
COMMENT_MODES = ("always", "failures", "off")
CHANGE_MODES = ("report", "block")
CONFIRM_MODES = ("off", "grader", "answers")
COMPARE_MODES = ("config", "base")  # as the config says, or always with the base
# Inputs of the action that set an environment variable.
KEYS = {
    "openai-api-key": "OPENAI_API_KEY",
    "openai-base-url": "OPENAI_BASE_URL",
    "anthropic-api-key": "ANTHROPIC_API_KEY",
    "azure-openai-api-key": "AZURE_OPENAI_API_KEY",
    "google-api-key": "GOOGLE_API_KEY",
    "mistral-api-key": "MISTRAL_API_KEY",
}
# The runner takes two inputs for every container action, and warns of neither (actions/runner, ActionRunner).
NO_ARGUMENTS = "the image has one entry point and takes no arguments; remove it"


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


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """What the action does around a run. ``token`` may be empty: then nothing is posted."""

    run: Settings
    token: str = field(default="", repr=False)
    comment: str = "always"
    comment_key: str = ""  # tells the comments of several jobs on one pull request apart
    summary: bool = True
    annotations: bool = True
    approve_label: str = ""  # on the pull request, approves of changes to its gate
    mistakes: tuple[Mistake, ...] = ()  # of the inputs: nothing may run before they are corrected


def from_inputs(environ: Mapping[str, str], cwd: Path, elsewhere: Mapping[str, str] | None = None) -> ActionSettings:
    """Read ``INPUT_*`` as the runner spells them; a mistaken one has its default, and stands in ``mistakes``.

    The runner upper-cases a name, turns spaces into underscores and keeps hyphens: ``INPUT_MAX-CONCURRENCY``
    (actions/runner, ContainerActionHandler). ``elsewhere`` has cures for inputs of another action.
    """
    inputs = _Inputs(environ)
    run = Settings(
        configs=inputs.lines("config"),
        outputs=inputs.lines("output"),
        graders=inputs.read("grader", graders, {}),
        providers=inputs.lines("provider"),
        max_concurrency=inputs.number("max-concurrency", least=1),
        repeat=inputs.number("repeat", least=1),
        filters=Filters(pattern=inputs.text("filter-pattern")),
        reask=REASK if (asked := inputs.number("reask", least=0)) is None else asked,
        timeout=inputs.number("timeout", least=1),
        base=str(cwd / base) if (base := inputs.text("base")) else "",
        confirm=inputs.choice("confirm", CONFIRM_MODES, default=""),
        baseline=str(cwd / baseline) if (baseline := inputs.text("baseline")) else "",
        compare=inputs.choice("compare", COMPARE_MODES).removeprefix(COMPARE_MODES[0]),
        changes=inputs.choice("changes", CHANGE_MODES),
        cache=inputs.text("cache"),
        max_age=MAX_AGE if (days := inputs.number("max-age", least=0)) is None else days,
        cache_http=inputs.switch("cache-http"),
        max_calls=inputs.number("max-calls", least=1),
        max_usd=inputs.amount("max-usd"),
        max_seconds=inputs.amount("max-seconds"),
        cwd=inputs.folder("working-directory", cwd),
        answers=inputs.lines("answers"),
        in_ci=True,
        allowed_hosts=inputs.read("allowed-hosts", hosts, ()),
        allowed_env=inputs.read("allowed-env", open_variables, frozenset()),
        environ=_with_keys(environ, inputs),
        allow_exec=inputs.switch("allow-exec"),
        exec_env=inputs.read("exec-env", partial(open_variables, option="exec-env"), frozenset()),
        exec_apart=True,
        shard=inputs.shard("shard"),
        parts=inputs.text("parts") or PARTS,
        merge=inputs.text("merge"),
        open=inputs.text("open"),
    )
    settings = ActionSettings(
        run,
        token=inputs.text("github-token"),
        comment=inputs.choice("comment", COMMENT_MODES),
        comment_key=inputs.text("comment-key"),
        summary=inputs.flag("summary"),
        annotations=inputs.flag("annotations"),
        approve_label=inputs.text("approve-label"),
    )
    return replace(
        settings, mistakes=(*inputs.mistakes, *inputs.unknown(elsewhere or {}), *_without_base(settings, environ))
    )


def _without_base(settings: ActionSettings, environ: Mapping[str, str]) -> Iterator[Mistake]:
    """A gate that is to be compared, at a pull request, and with nothing: an empty `base` may be a slip of the workflow."""
    if settings.run.base or not environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request"):
        return
    for name, given in (("changes", settings.run.changes == "block"), ("approve-label", bool(settings.approve_label))):
        if given:
            yield Mistake(
                f"the input `{name}` is given and `base` is empty", None, "give `base`: docs/github.md says how"
            )


def _with_keys(environ: Mapping[str, str], inputs: _Inputs) -> dict[str, str]:
    keys = {variable: inputs.text(name) for name, variable in KEYS.items()}
    return {**environ, **{variable: value for variable, value in keys.items() if value}}


class _Inputs:
    """The inputs, each of which exists because the code asks for it: there is no second list."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._asked: dict[str, str] = {}  # inputs by the variables that may hold them
        self.mistakes: list[Mistake] = []

    def text(self, name: str) -> str:
        spelled = f"INPUT_{name.upper()}"
        self._asked[spelled] = name
        text = self._environ.get(spelled, "").strip()
        if "${{" not in text:
            return text
        cure = "GitHub fills in expressions in workflow files alone; pass the value itself"
        self.mistakes.append(Mistake(f"the input `{name}` holds an expression that nobody filled in", None, cure))
        return ""

    def unknown(self, elsewhere: Mapping[str, str]) -> list[Mistake]:
        """A mistake for each input that no code asked for: the runner lets them all pass, and warns of some."""
        from gradegate.registry import suggest

        asked = sorted(set(self._asked.values()))
        mistakes = []
        for variable in sorted(filter(self._is_unknown, self._environ)):
            name = variable.removeprefix("INPUT_").lower()
            near = suggest(name, asked) or f"remove it from `with` (or {variable} from `env`); docs/action.md has all"
            known = elsewhere.get(name.replace("_", "-"))
            cure = NO_ARGUMENTS if name in ("args", "entrypoint") else known or near
            mistakes.append(Mistake(f"there is no input `{name}`", None, cure))
        return mistakes

    def _is_unknown(self, variable: str) -> bool:
        return variable.startswith("INPUT_") and variable not in self._asked

    def lines(self, name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.text(name).splitlines() if line.strip())

    def read(self, name: str, parse: Callable[[list[str]], T], otherwise: T) -> T:
        """What ``parse`` makes of the input; what it raises is noted."""
        try:
            return parse([self.text(name)])
        except ConfigError as e:
            self.mistakes += e.mistakes
            return otherwise

    def number(self, name: str, least: int) -> int | None:
        text = self.text(name)
        if not text:
            return None
        if (number := whole_number(text, least)) is not None:
            return number
        self._mistake(name, text, f"give a whole number from {least}")
        return None

    def amount(self, name: str) -> float | None:
        text = self.text(name)
        number = amount(text)
        if text and number is None:
            self._mistake(name, text, "give a number above 0, such as 2 or 0.5")
        return number

    def shard(self, name: str) -> tuple[int, int] | None:
        text = self.text(name)
        found = shard(text)
        if text and found is None:
            self._mistake(name, text, SHARD)
        return found

    def flag(self, name: str) -> bool:
        return self.choice(name, ("true", "false")) == "true"

    def switch(self, name: str) -> bool:
        """A flag that is off unless somebody sets it."""
        return self.choice(name, ("false", "true")) == "true"

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of the choices, by default the first."""
        default = choices[0] if default is None else default
        text = self.text(name).lower()
        if text and text not in choices:
            self._mistake(name, text, "give one of " + ", ".join(choices))
            return default
        return text or default

    def folder(self, name: str, cwd: Path) -> Path:
        """A folder of the workspace, where links on the way to it lead too."""
        text = self.text(name)
        root = Path(self._environ.get("GITHUB_WORKSPACE") or cwd)
        if not (cwd / text).resolve().is_relative_to(root.resolve()):
            self._mistake(name, text, "give a folder inside the workspace")
        return cwd / text

    def _mistake(self, name: str, text: str, cure: str) -> None:
        self.mistakes.append(Mistake(f"the input `{name}` is {text!r}", None, cure))
