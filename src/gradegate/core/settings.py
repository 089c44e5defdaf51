"""The options of a run, of the command line and of the Action: one table, with a field for each option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.core.option_kinds import (
    BUDGET,
    EXEC_VARIABLES,
    GRADERS,
    HOSTS,
    PATH_PATTERNS,
    SELECT,
    SHOWN_VARIABLES,
)
from gradegate.core.options import (
    ASKING,
    FROM_WORKSPACE,
    LINES,
    MAPPING,
    PAIRS,
    PATH,
    PATHS,
    PLANNING,
    RUNNING,
    SHARD,
    SWITCH,
    TEXT,
    choice,
    option,
    options_of,
    resolve_option_names,
    whole,
)
from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.errors import Mistake, Origin

if TYPE_CHECKING:
    from gradegate.security.hosts import Host

# What a run does where neither the command line nor a config says otherwise.
CONCURRENCY = 50  # calls in flight to one host under one key, at most
TIMEOUT = 300.0  # seconds of one call, with its retries
RETRIES = 4  # of a call that failed
LAST_RUN = ".gradegate/last.json"  # of the working directory: its last run
AUTO = "auto"  # in place of the folder of `baseline`: the Action finds what the default branch left
LIVE = "live"  # in its place, too: the same run also asks the prompts of the base checkout
_MODELS = (*PLANNING, "calibrate")
_ONE_STEP = "a step of a workflow is one run; a job can run `gradegate {}` itself"
_IN_CONFIG = "write {} in the config, where a review sees it"
_EVENT = "it is about a pull request, and the command line knows none"
_LOG = "the log of a step always has the whole report, and no progress bar"
_POSTS = "the command line posts nothing"


@dataclass(frozen=True, slots=True)
class Rerun:
    """The failures of an earlier run, which this run asks again."""

    file: Path  # with the results of the earlier run
    keys: frozenset[bytes]  # of its answers that did not pass
    of: int  # how many cases it had


# fmt: off
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Settings:
    """The options of one run, and what the command line and the Action know of the place where it runs.

    None and an empty value mean that the config decides.
    """

    configs: tuple[str, ...] = option((), "-c --config CONFIG", PATHS, commands=PLANNING,
        help="eval configs, as paths or patterns such as evals/*.yaml", otherwise="promptfooconfig.yaml in the working directory")
    cwd: Path = option(Path(), "working-directory", TEXT,
        help="directory that contains the configs, relative to the workspace", no_flag="the command line runs where it is started")
    outputs: tuple[str, ...] = option((), "-o --output PATH", PATHS, commands=ASKING,
        help="reports to write; the suffix chooses the format: .json, .xml (JUnit), .md, .html, agent.md, badge.json or .aegis.json; "
             "`gradegate calibrate` writes only .json", written="gradegate-results.json\ngradegate-junit.xml\n")
    graders: Mapping[str, str] = option({}, "-g --grader [KIND=]ID", GRADERS, commands=_MODELS, in_rerun=True,  # by kind, "*" for any
        help="the model that grades, such as openai:chat:MODEL, or one model for each kind: text=ID, embedding=ID, "
             "classification=ID, moderation=ID")
    providers: tuple[str, ...] = option((), "-r --provider --providers ID", LINES, commands=PLANNING, in_rerun=True,
        help="tests this model or application instead of those in the config; an id such as openai:chat:MODEL, or a label from the config",
        no_input=_IN_CONFIG.format("it under `providers`"))
    answers: tuple[str, ...] = option((), "--answers FILE", PATHS, commands=(*RUNNING, "validate"), in_rerun=True,
        help="grades recorded answers from these files or patterns; no target is asked (docs/answers.md)")
    assertions: tuple[str, ...] = option((), "--assert TYPE[(THRESHOLD)][:VALUE]", LINES, commands=PLANNING, in_rerun=True,
        help="adds this assertion to every test, such as contains:refund",
        no_input=_IN_CONFIG.format("it under `assert` of a test or of `defaultTest`"))
    variables: Mapping[str, str] = option({}, "--var NAME=VALUE", MAPPING, commands=PLANNING, in_rerun=True,
        help="sets a variable in every test that does not set it",
        no_input=_IN_CONFIG.format("it under `vars` of a test or of `defaultTest`"))
    select: tuple[tuple[str, str], ...] = option((), "--select KEY=GLOB", SELECT, commands=PLANNING, in_rerun=True, harmless=True,
        help="runs only tests that match: `metadata.KEY=GLOB`, `description=GLOB`, `provider=GLOB` (id or label), `first=N`; "
             "different keys must all match, the same key again is an alternative, and `first` is applied last")
    filter_pattern: str = option("", "--filter-pattern REGEX", TEXT, commands=PLANNING,
        help="runs only tests with a description that matches this pattern",
        no_input="give `select: description=*TEXT*`")
    filter_first: int | None = option(None, "-n --filter-first-n N", whole(1), commands=PLANNING,
        help="runs only the first N tests of each config, after the other filters",
        no_input="give `select: first=N`")
    filter_metadata: tuple[tuple[str, str], ...] = option((), "--filter-metadata KEY=TEXT", PAIRS, commands=PLANNING, in_rerun=True, harmless=True,
        help="runs only tests with this text under this metadata key, such as topic=refunds",
        no_input="give `select: metadata.KEY=*TEXT*`")
    filter_providers: str = option("", "--filter-providers --filter-targets REGEX", TEXT, commands=PLANNING, in_rerun=True, harmless=True,
        help="runs only providers with an id or label that matches this pattern",
        no_input="give `select: provider=*TEXT*`")
    repeat: int | None = option(None, "--repeat N", whole(1), commands=PLANNING, in_rerun=True, harmless=True,
        help="runs every test N times", otherwise="the config's `evaluateOptions.repeat`, else 1",
        no_input=_IN_CONFIG.format("`evaluateOptions: {repeat: N}`"))
    reask: str = option("", "--reask MODE", choice("grader", "answers", "off"), commands=PLANNING, in_rerun=True, harmless=True,
        help="how a failure is re-asked before it counts: `grader` grades the same answer again, `answers` asks the target "
             "for a new answer, `off` counts the first failure", otherwise="`gate.reask` of the config, else grader",
        no_input="write `reask` into the `gate` block, such as `reask: off`; a grader without a verdict is asked once more")
    grader_retries: int = option(1, "--grader-retries N", whole(0), commands=ASKING, in_rerun=True, harmless=True,
        help="how often a grader is asked again when its reply contains no verdict",
        no_input="remove it: a grader without a verdict is asked once more")
    asks: int = option(3, "--asks N", whole(1), commands=("calibrate",),
        help="how often each labelled output is graded", no_input=_ONE_STEP.format("calibrate"))
    max_concurrency: int | None = option(None, "-j --max-concurrency N", whole(1), commands=ASKING,
        help="how many calls to one host may run at the same time, from the start on", otherwise=f"the config's `evaluateOptions.maxConcurrency`, else {CONCURRENCY}, found step by step for hosts of your own",
        no_input=_IN_CONFIG.format("`evaluateOptions: {maxConcurrency: N}`"))
    timeout: float | None = option(None, "--timeout SECONDS", whole(1), commands=ASKING,
        help="time limit for one call in seconds, including its retries", otherwise=f"the config's limit, else {TIMEOUT:.0f}",
        no_input=_IN_CONFIG.format("`evaluateOptions: {timeoutMs: N}`, in milliseconds,"))
    base_checkout: str = option("", "--base-checkout DIR", FROM_WORKSPACE, commands=PLANNING,
        help="a checkout of the base commit; reports say where the pull request weakens its gate")
    baseline: str = option("", "--baseline DIR", FROM_WORKSPACE, commands=(*RUNNING, "validate"),
        help="a folder with the results and votes of earlier runs, which tell new failures from known ones; a run of the default "
             "branch writes it anew. `live` asks the prompts of `base-checkout` in the same run instead",
        more="`auto` finds what the last run of the default branch left (docs/compare.md).")
    write_labels: str = option("", "--write-labels FILE", PATH, commands=("calibrate",),
        help="writes the labelled outputs and the measured agreement to this file, for `labels` of the gate",
        no_input=_ONE_STEP.format("calibrate"))
    weakening: str = option("report", "--weakening MODE", choice("report", "block"),
        help="what happens when the pull request weakens the gate of `base-checkout`: `report` or `block`; `gate.weakening` of the "
             "pull request or of the base can make this stricter, but not milder")
    cache: str = option("", "--cache DIR", PATH, help="keeps replies in this directory and uses them instead of new calls",
        more="Keep the directory with `actions/cache`. An empty value keeps nothing.")
    no_cache: bool = option(False, "--no-cache", SWITCH, help="ignores `cache` and calls every model",
        no_input="leave it out: replies are kept only if `cache` names a folder")
    budget: Limits = option(NO_LIMITS, "--budget LIMITS", BUDGET, commands=(*RUNNING, "validate"),
        help="the calls, dollars and seconds that a run may use, such as '2000 calls, 5 usd, 900 s', or one or two of them; cases "
             "beyond a limit are errors. A call is a request to a model, retries included; for `usd`, every price must be known",
        more="If the config has a budget, too, the lower limit holds.")
    ready: tuple[str, ...] = option((), "--ready 'URL SECONDS'", LINES, commands=(*RUNNING, "validate"),
        help="waits until an application answers at this address, such as 'http://localhost:8000/health 90' (default: 60 "
             "seconds); the run is inconclusive if it does not. On GitHub, an address on this machine or in a private network is "
             "called only if this or `allowed-hosts` names its host and port")
    shard: tuple[int, int] | None = option(None, "--shard N/M", SHARD, commands=("run",),  # (3, 8): the third of 8
        help="runs part N of M of the plan, such as 3/8, writes its answers to `gradegate-parts`, and decides nothing (docs/shards.md)")
    merge: str = option("", "merge DIR", PATH, commands=("merge",),
        help="directory with the parts of all shards; only failures are re-asked, with the keys of this job",
        more="This step decides, comments and writes the reports.")
    allowed_env: frozenset[str] = option(frozenset(), "--allowed-env NAME", SHOWN_VARIABLES, commands=_MODELS, in_rerun=True,
        help="an environment variable that prompts, variables and assertions of a config may show")
    allowed_hosts: tuple[Host, ...] = option((), "--allowed-hosts HOST", HOSTS, commands=_MODELS, in_rerun=True,
        help="a further host that keys may go to, as `host`, `host:port` or `https://host`; an address in a private network, and on "
             "GitHub also on this machine, needs this entry or `ready`")
    allow_exec: bool = option(False, "--allow-exec", SWITCH, commands=_MODELS,
        help="allows the config to run code of the repository (docs/code.md)",
        more="The code runs as a separate user. Not allowed in workflows that strangers can start.")
    exec_env: frozenset[str] = option(frozenset(), "--exec-env NAME", EXEC_VARIABLES, commands=_MODELS,
        help="an environment variable that code of the repository sees")
    python: str = option("", "--python PATH", TEXT, commands=_MODELS,
        help="the interpreter that runs Python code of the repository", otherwise="PROMPTFOO_PYTHON, else python3 of PATH",
        no_input="set PROMPTFOO_PYTHON by `env:` of the step or of the workflow")
    node: str = option("", "--node PATH", TEXT, commands=_MODELS,
        help="the Node.js that runs JavaScript and TypeScript code of the repository, as a program or its folder", otherwise="node of PATH",
        more="`official` takes the program of Node's own image (docs/code.md).")
    env_files: tuple[str, ...] = option((), "--env-file --env-path FILE", LINES, commands=PLANNING,
        help="a .env file with keys; not allowed on GitHub",
        no_input="set the variables by `env:` of the step, from its secrets: a pull request could write the file")
    failed: str = option("", "--failed [RESULTS]", PATH, commands=("run",),
        help="asks again only the cases that failed or have errors in the last run, or in its results.json, a part of the gate",
        otherwise=LAST_RUN, no_input="a step decides about the whole gate")
    quiet: bool = option(False, "-q --quiet", SWITCH, help="prints only the verdict and the names of written reports", no_input=_LOG)
    verbose: bool = option(False, "-v --verbose", SWITCH, help="prints every case, and all evidence in full", no_input=_LOG)
    no_progress_bar: bool = option(False, "--no-progress-bar", SWITCH, help="shows no progress bar on a terminal", no_input=_LOG)
    # fmt: on
    # Not options: what the command line and the Action know of the place where they run
    in_ci: bool = False
    is_listing: bool = False  # only what would be asked of targets is wanted: no model is asked, and nothing is graded
    inputs: bool = False  # whether options are inputs of the Action
    file_overrides: Mapping[Path, bytes] = field(default_factory=dict, repr=False)  # what configs are going to hold, by their real paths
    separate_exec_user: bool = False  # code of the repository runs as a user of its own, or not at all
    fetched_baseline: Path | None = None  # the folder into which the Action put what it found for `auto` and `live`
    why_no_baseline: str = ""  # why it found nothing
    baseline_output: Path | None = None  # the folder in which the Action wants what this run leaves for later ones
    rerun: Rerun | None = None
    default_grader_key: str = ""  # the variable that chose the default grader in the shards of a merge

    def origin_of(self, name: str) -> Origin:
        """The origin of the value of an option, as messages and reports name it."""
        return Origin(resolve_option_names(f"<--{name}>", self.inputs))

    @property
    def asks_targets(self) -> bool:
        """Whether targets are asked. Otherwise the names in a config are only labels."""
        return not self.answers and not self.is_listing

    @property
    def seeks_baseline(self) -> bool:
        """Whether the Action has to find what the default branch left."""
        return self.baseline in (AUTO, LIVE)


# fmt: off
@dataclass(frozen=True, slots=True)
class ActionSettings:
    """What the Action does around a run: inputs that the command line lacks. Without ``token`` nothing is posted."""

    run: Settings
    when: str = option("always", "when", choice("always", "changed"), no_flag=_EVENT,
        help="`changed` skips the run, and passes, if the pull request changes no file that the run depends on: prompts, configs, "
             "the files that they name and the workflow; if this is not certain, everything runs")
    paths: tuple[str, ...] = option((), "paths", PATH_PATTERNS, no_flag=_EVENT,
        help="further files that count as a change with `when: changed`, such as those of the application; paths or patterns "
             "from the root of the repository, such as `src/**`")
    on_missing_secrets: str = option("fail", "on-missing-secrets", choice("fail", "neutral"), no_flag=_EVENT,
        help="exit code when GitHub gives the pull request no secrets (forks, Dependabot) and the run needs a key: `fail` "
             "(3) or `neutral` (0); the outcome is `not-run` in both cases")
    approve_label: str = option("", "approve-label", TEXT, no_flag=_EVENT,
        help="label with which a person other than the author approves a weaker gate; it counts only if it was set after "
             "the last push. It implies `weakening: block`. Without it, nobody can approve")
    token: str = option("", "github-token", TEXT, no_flag=_POSTS, written="${{ github.token }}",
        help="token that posts the comment; the job needs `pull-requests: write`. An empty value posts nothing")
    comment: str = option("always", "comment", choice("always", "changes", "failures", "off"), no_flag=_POSTS,
        help="when to post the comment on the pull request: `always`, `changes` (once, then only when the outcome or the failing "
             "cases change), `failures` (only after a failure; an existing comment is still updated) or `off`")
    comment_key: str = option("", "comment-key", TEXT, no_flag=_POSTS,
        help="name of the gate in its comment and its artifact; without one, the job with its matrix and its configs are told apart")
    # fmt: on
    mistakes: tuple[Mistake, ...] = ()  # of the inputs: nothing may run before they are corrected


RUN_OPTIONS = options_of(Settings)
ACTION_OPTIONS = options_of(ActionSettings)
OPTIONS = (*RUN_OPTIONS, *ACTION_OPTIONS)
