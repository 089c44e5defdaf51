"""What the user asked for, by command line or Action: the one table of options, an entry for each field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.access.environment import Environment, open_variables
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.options import (
    AMOUNT,
    ASKING,
    FROM_WORKSPACE,
    LINES,
    MAPPING,
    PAIRS,
    PATH,
    PATHS,
    PLANNING,
    RUNNING,
    RUNS,
    SHARD,
    SWITCH,
    TEXT,
    Kind,
    Option,
    choice,
    option,
    options,
    whole,
    worded,
)

if TYPE_CHECKING:
    from gradegate.access.hosts import Host

# What a run does where neither the command line nor a config says otherwise.
CONCURRENCY = 4  # calls in flight; promptfoo's default
TIMEOUT = 300.0  # seconds of one call, with its retries
RETRIES = 4  # of a call that failed
AUTO = "auto"  # in place of a file: the Action finds it
_IN_BASE = "A path inside the repository is read from `base`. `auto` finds what the default branch left (docs/baseline.md)."
_MODELS = (*PLANNING, "calibrate")
_ONE_STEP = "a step of a workflow is one run; a job can run `gradegate {}` itself"
_EVENT = "it is about a pull request, which the command line does not know"
_LOG = "the log of a step holds the whole report, and has no bar"


_KINDED = re.compile(r"([\w-]+)\s*=")  # before the id of a grader, in which an `=` may stand


def graders(written: Iterable[str]) -> Mapping[str, str]:
    """The graders of ``ID`` and ``KIND=ID``, several to a text by commas or lines. Raises ConfigError with every mistake."""
    from gradegate.registry import suggest
    from gradegate.values.suite import KINDS

    found: dict[str, str] = {}
    mistakes = []
    for text in (part.strip() for line in written for part in re.split(r"\n|,(?=\s*[\w-]+\s*=)", line)):
        kinded = _KINDED.match(text)
        kind, provider = (kinded[1], text[kinded.end() :].strip()) if kinded else ("*", text)
        if kind not in (*KINDS, "*"):
            cure = suggest(kind, KINDS) or "the kinds are " + ", ".join(KINDS)
            mistakes.append(Mistake(f"there is no kind of grader `{kind}`", Origin("<--grader>"), cure))
        elif kinded and not provider:
            cure = f"write {kind}=PROVIDER:MODEL"
            mistakes.append(Mistake(f"the grader for {kind} is empty", Origin("<--grader>"), cure))
        elif provider and found.get(kind, provider) != provider:
            what = "two graders serve for any kind" if kind == "*" else f"there are two graders for {kind}"
            cure = "say what for: text=..., embedding=..." if kind == "*" else "name one"
            mistakes.append(Mistake(f"{what}: `{found[kind]}` and `{provider}`", Origin("<--grader>"), cure))
        elif provider:
            found[kind] = provider
    if mistakes:
        raise ConfigError(*mistakes)
    return found


_GRADERS = Kind(gather=graders, tell=lambda value: [it if kind == "*" else f"{kind}={it}" for kind, it in value.items()])


def _hosts(written: Iterable[str]) -> tuple[Host, ...]:
    from gradegate.access.hosts import hosts  # late, so that --version is quick

    return hosts(written)


def _path_pattern(text: str) -> str | None:
    outside = re.match(r"[/!~]|\.\.?(?:/|$)", text) or re.search(r"[\\\[\]{}?]|/\.\.(?:/|$)", text)
    return None if outside else text


_PATTERNS = Kind(_path_pattern, "a path from the root of the repository, with * and ** alone: src/**", gather=tuple)
_HOSTS = Kind(gather=_hosts, tell=lambda value: map(str, value))
_SHOWN = Kind(gather=open_variables, tell=sorted)
_SEEN = Kind(gather=partial(open_variables, option="exec-env"))


@dataclass(frozen=True, slots=True)
class Again:
    """The answers of an earlier run that are asked for again: its file, and of what did not pass the keys, of so many cases."""

    file: Path
    keys: frozenset[bytes]
    of: int


# fmt: off
@dataclass(frozen=True, slots=True)
class Settings:
    """Options of one run; None and empty mean "as the config says". An entry is a field, and a field an option of both doors."""

    configs: tuple[str, ...] = option((), "-c --config CONFIG", PATHS, commands=PLANNING,
        help="eval configs, paths or patterns", otherwise="the promptfooconfig.yaml of the folder")
    cwd: Path = option(Path(), "working-directory", TEXT,
        help="directory of the configs, relative to the workspace", no_flag="the command line runs where it is started")
    outputs: tuple[str, ...] = option((), "-o --output PATH", PATHS, commands=ASKING,
        help="reports to write, their format by suffix: .json, .xml (JUnit), .md, .html, agent.md or .aegis.json; of "
             "`gradegate calibrate` .json",
        written="gradegate-results.json\ngradegate-junit.xml\n")
    graders: Mapping[str, str] = option({}, "-g --grader [KIND=]ID", _GRADERS, commands=_MODELS, told=True,  # by kind, "*" for any
        help="the model that grades, such as openai:chat:MODEL, or one for each kind: text=ID, embedding=ID, "
             "classification=ID, moderation=ID")
    providers: tuple[str, ...] = option((), "-r --provider --providers ID", LINES, commands=PLANNING, told=True,
        help="asks this model or application in place of those of the config; an id, or a label of the config")
    answers: tuple[str, ...] = option((), "--answers FILE", PATHS, commands=(*RUNNING, "validate"), told=True,
        help="grades answers that were made elsewhere, of files or patterns; no target is asked (docs/answers.md)")
    assertions: tuple[str, ...] = option((), "--assert TYPE[(THRESHOLD)][:VALUE]", LINES, commands=PLANNING, told=True,
        help="asserts this of every test, beside what the config asserts")
    variables: Mapping[str, str] = option({}, "--var NAME=VALUE", MAPPING, commands=PLANNING, told=True,
        help="a variable of every test that does not set it")
    filter_pattern: str = option("", "--filter-pattern REGEX", TEXT, commands=PLANNING,
        help="only tests whose description matches")
    filter_first: int | None = option(None, "-n --filter-first-n N", whole(1), commands=PLANNING,
        help="only the first N tests of each config, after the other filters")
    filter_metadata: tuple[tuple[str, str], ...] = option((), "--filter-metadata KEY=TEXT", PAIRS, commands=PLANNING, told=True,
        help="only tests whose metadata holds the text")
    filter_providers: str = option("", "--filter-providers --filter-targets REGEX", TEXT, commands=PLANNING, told=True,
        help="only providers whose id or label matches")
    repeat: int | None = option(None, "--repeat N", whole(1), commands=PLANNING, told=True,
        help="how often every test is asked", otherwise="the config's `evaluateOptions.repeat`, else 1")
    runs: tuple[int, int] | None = option(None, "--runs PASS/OF", RUNS, commands=PLANNING, told=True,  # (2, 3): 2 of 3
        help="how many runs of every case must pass, of how many, such as 2/3; a rule or a test may say otherwise",
        otherwise="what the gate says, else each answer counts")
    confirm: str = option("", "--confirm MODE", choice("off", "grader", "answers"), commands=PLANNING, told=True,
        help="how a failure is asked again before it counts: `grader` (the same answer is graded again), `answers` (a "
             "new answer is asked for) or `off`", otherwise="what the gate says, else grader")
    reask: int = option(1, "--reask N", whole(0), commands=ASKING, told=True,
        help="how often a grader is asked again when its reply holds no verdict")
    asks: int = option(3, "--asks N", whole(1), commands=("calibrate",),
        help="how often each output is graded", no_input=_ONE_STEP.format("calibrate"))
    max_concurrency: int | None = option(None, "-j --max-concurrency N", whole(1), commands=ASKING,
        help="how many calls run at once", otherwise=f"the config's `evaluateOptions.maxConcurrency`, else {CONCURRENCY}")
    timeout: float | None = option(None, "--timeout SECONDS", whole(1), commands=ASKING,
        help="seconds that one call may take, retries included", otherwise=f"the config's, else {TIMEOUT:.0f}")
    retries: int = option(RETRIES, "--retries N", whole(0), commands=ASKING,
        help="how often a call that failed is tried again")
    base: str = option("", "--base DIR", FROM_WORKSPACE, commands=PLANNING,
        help="a checkout of the base commit: reports say how its gate is weakened")
    baseline: str = option("", "--baseline FILE", FROM_WORKSPACE, commands=(*RUNNING, "validate"),
        help="the results.json of the base, to tell new failures from old ones",
        more=_IN_BASE)
    history: str = option("", "--history FILE", FROM_WORKSPACE,
        help="earlier runs of the default branch: by the votes of each case they say when a failure is a break",
        more=_IN_BASE)
    history_out: str = option("", "--history-out FILE", PATH, commands=("run", "merge"),
        help="writes `history` with the votes of this run, in runs of the default branch and on your own machine")
    sentinels: str = option("", "--sentinels FILE", PATH, commands=(*PLANNING, "calibrate"),
        help="labelled outputs that show whether the grader has moved, in place of those of the gate; `gradegate calibrate` "
             "writes them")
    compare: str = option("config", "--compare MODE", choice("config", "base"),
        help="what answers are compared with: `config` (as `gate.compare` says) or `base` (the prompts of that "
             "checkout are asked in the same run)")
    changes: str = option("report", "--changes MODE", choice("report", "block"),
        help="what a gate that is weaker than that of `base` comes to: `report` or `block`; `gate.changes` of a config "
             "can be stricter, not milder")
    cache: str = option("", "--cache DIR", PATH,
        help="keeps replies in this directory, and does not ask for them again",
        more="Keep it with `actions/cache`. Empty keeps nothing.")
    no_cache: bool = option(False, "--no-cache", SWITCH,
        help="asks for everything, as without `cache`",
        no_input="leave it out: nothing is kept unless `cache` names a folder")
    max_age: int = option(7, "--max-age DAYS", whole(0), help="days after which a reply in `cache` is asked for again")
    cache_http: bool = option(False, "--cache-http", SWITCH, help="keeps answers of `http:` applications in `cache`, too")
    max_calls: int | None = option(None, "--max-calls N", whole(1),
        help="sends at most so many requests to models, retries included; what is then missing could not be decided")
    max_usd: float | None = option(None, "--max-usd X", AMOUNT,
        help="asks no more once replies have cost so many US dollars; every price must be known")
    max_seconds: float | None = option(None, "--max-seconds S", AMOUNT, help="asks no more after so many seconds")
    ready: tuple[str, ...] = option((), "--ready 'URL SECONDS'", LINES,
        help="waits until this address answers, such as an application that was just started; 60 seconds where none "
             "are given; not in time is inconclusive")
    shard: tuple[int, int] | None = option(None, "--shard N/M", SHARD, commands=("run",),  # (3, 8): the third of 8
        help="asks one of M parts of the plan, writes what came of it to `parts`, and decides nothing (docs/shards.md)")
    parts: str = option("gradegate-parts", "--parts DIR", PATH, commands=("run",),
        help="directory that a shard writes its part to")
    merge: str = option("", "merge DIR", PATH, commands=("merge",),
        help="directory with the parts of all shards; no model is asked and no key is needed",
        more="This step decides, comments and writes the reports.")
    open: str = option("", "--open FILE", PATH, commands=("run", "merge"),
        help="of a merge: the file to write the failures to that shards are to ask again; nothing is decided then. "
             "With `shard`: the file that names them")
    allowed_env: frozenset[str] = option(frozenset(), "--allowed-env NAME", _SHOWN, commands=_MODELS, told=True,
        help="a variable of the environment that prompts, variables and assertions of a config may show")
    allowed_hosts: tuple[Host, ...] = option((), "--allowed-hosts HOST", _HOSTS, commands=_MODELS, told=True,
        help="keys may go to this host beside their own, and nowhere else: `host`, `host:port` or `https://host`; "
             "private addresses, too, are asked only when they are named")
    allow_exec: bool = option(False, "--allow-exec", SWITCH, commands=_MODELS,
        help="runs code of the repository that the config names (docs/exec.md)",
        more="It runs as a user of its own. Refused where strangers start the workflow.")
    exec_env: frozenset[str] = option(frozenset(), "--exec-env NAME", _SEEN, commands=_MODELS,
        help="a variable of the environment that such code sees")
    python: str = option("", "--python PATH", TEXT, commands=_MODELS,
        help="the interpreter that runs Python code of the repository", otherwise="PROMPTFOO_PYTHON, else python3 of PATH")
    node: str = option("", "--node PATH", TEXT, commands=_MODELS,
        help="the Node.js that runs JavaScript and TypeScript code of the repository: the program, or its folder",
        otherwise="node of PATH")
    env_files: tuple[str, ...] = option((), "--env-file --env-path FILE", LINES, commands=PLANNING,
        help="a .env file with keys, not on GitHub",
        no_input="set the variables by `env:` of the step, from its secrets: a pull request could write the file")
    estimate: bool = option(False, "--estimate", SWITCH,
        help="says what the run would take; makes no call", no_input=_ONE_STEP.format("validate"))
    quiet: bool = option(False, "-q --quiet", SWITCH, help="only the verdict and the reports written", no_input=_LOG)
    verbose: bool = option(False, "-v --verbose", SWITCH, help="every case, and all evidence at full length", no_input=_LOG)
    no_progress_bar: bool = option(False, "--no-progress-bar", SWITCH, help="no bar on a terminal", no_input=_LOG)
    # fmt: on
    # What is no option: what the doors know of the place where they are.
    commit: str = ""  # what is checked out, where it is known
    in_ci: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    listing: bool = False  # only what would be asked of targets is wanted: no model is asked, and nothing is graded
    inputs: bool = False  # whether options are inputs of the Action
    instead: Mapping[Path, bytes] = field(default_factory=dict, repr=False)  # what configs are going to hold, by their real paths
    exec_apart: bool = False  # code of the repository runs as a user of its own, or not at all
    auto: frozenset[str] = frozenset()  # the options whose file the Action is to find
    unfetched: str = ""  # what it did not find, and why
    taken: tuple[int, float] = (0, 0.0)  # calls and US dollars that shards before these took of the budget
    again: Again | None = None

    def at(self, name: str) -> Origin:
        """The place of what an option says, as messages and reports name it."""
        return Origin(worded(f"<--{name}>", self.inputs))

    @property
    def filtered(self) -> bool:
        """Whether a test or a provider may be left out."""
        chosen = (self.filter_pattern, self.filter_metadata, self.filter_first, self.filter_providers)
        return chosen != ("", (), None, "")

    @property
    def asks_targets(self) -> bool:
        """Whether targets are asked; where they are not, what a config names is only a label."""
        return not self.answers and not self.listing

    @property
    def bound(self) -> bool:
        """Whether keys are held to their hosts: always on GitHub, elsewhere when hosts are named."""
        return self.environment.on_github or bool(self.allowed_hosts)

    @property
    def environment(self) -> Environment:
        """The environment as configs may read it."""
        return Environment(self.environ, self.allowed_env, keyless=bool(self.merge))



_POSTS = "the command line posts nothing"
COMMENT_MODES = ("always", "changes", "failures", "off")


# fmt: off
@dataclass(frozen=True, slots=True)
class ActionSettings:
    """What the Action does around a run: inputs that the command line lacks. Without ``token`` nothing is posted."""

    run: Settings
    only_changed: bool = option(False, "only-changed", SWITCH, no_flag=_EVENT,
        help="passes a pull request without a run when it changes no file that the run depends on: prompts, configs, the "
             "files that they name and the workflow; where that cannot be told, everything is run")
    paths: tuple[str, ...] = option((), "paths", _PATTERNS, no_flag=_EVENT,
        help="further files that count as a change with `only-changed`, such as the application's, as paths or patterns "
             "from the root of the repository: `src/**`")
    on_missing_secrets: str = option("fail", "on-missing-secrets", choice("fail", "neutral"), no_flag=_EVENT,
        help="what a run comes to when GitHub gives the pull request no secrets (forks, Dependabot) and a key is missing: "
             "`fail` (exit code 3) or `neutral` (0). The outcome is `not-run` either way")
    approve_label: str = option("", "approve-label", TEXT, no_flag=_EVENT,
        help="label by which a person other than the author approves of a weaker gate; it counts when it was set after "
             "the last push. Empty lets nobody approve")
    token: str = option("", "github-token", TEXT, no_flag=_POSTS, written="${{ github.token }}",
        help="token that posts the comment; the job needs `pull-requests: write`. Empty posts nothing")
    comment: str = option("always", "comment", choice(*COMMENT_MODES), no_flag=_POSTS,
        help="when to post the comment on the pull request: `always`, `changes` (once, and again when outcome or failing "
             "cases changed), `failures` (an existing comment is still updated) or `off`")
    comment_key: str = option("", "comment-key", TEXT, no_flag=_POSTS,
        help="tells the comments of several jobs on one pull request apart; give each job its own")
    image: str = option("default", "image", choice("default", "node"), no_flag="the command line runs where it is installed",
        help="`node`: takes a Node.js out of a second image, Node's own, for JavaScript and TypeScript of the repository "
             "(docs/exec.md); a step with `node` needs none")  # which container/run.sh reads
    summary: bool = option(True, "summary", SWITCH, no_flag=_POSTS, help="writes the summary of the job")
    annotations: bool = option(True, "annotations", SWITCH, no_flag=_POSTS, help="annotates lines of the config")
    # fmt: on
    mistakes: tuple[Mistake, ...] = ()  # of the inputs: nothing may run before they are corrected

    @property
    def neutral(self) -> bool:
        """Whether a run whose keys GitHub withholds is no failure."""
        return self.on_missing_secrets == "neutral"


def _variable(name: str, help: str = "pass a secret", variable: str = "") -> Option:  # noqa: A002
    variable = variable or name.upper().replace("-", "_")
    return Option(name, TEXT, f"becomes {variable}: {help}", variable=variable, no_flag=f"set {variable}")


# Inputs that set a variable of the environment.
VARIABLES = (
    _variable("openai-api-key"),
    _variable("openai-base-url", "any server that speaks the OpenAI API"),
    *(_variable(f"{vendor}-api-key") for vendor in ("anthropic", "azure-openai", "google", "mistral")),
    _variable(
        "cache-secret",
        "a secret of at least 32 characters that signs replies in the cache in place of the keys that asked, for short-lived tokens",
        "GRADEGATE_CACHE_SECRET",
    ),
)
RUN_OPTIONS = options(Settings)
ACTION_OPTIONS = options(ActionSettings)
OPTIONS = (*RUN_OPTIONS, *VARIABLES, *ACTION_OPTIONS)
