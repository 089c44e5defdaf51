"""The wiring: from settings to a decision, and from a decision to its reports."""

from __future__ import annotations

import gc
import glob
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradegate.asking.http import Client
from gradegate.configs import testfiles
from gradegate.configs.dialect import DIALECTS, Source
from gradegate.deciding.changes import compare
from gradegate.deciding.gate import decide
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import document
from gradegate.files.workspace import Workspace
from gradegate.planning import added
from gradegate.planning.plan import Located, Plan, Wishes, plan
from gradegate.reporting.redact import Hide, conceal, redactor
from gradegate.reporting.report import REPORTS, Document, Links, Report
from gradegate.result import Decision
from gradegate.running.run import Watch, run
from gradegate.settings import SECRET_NAME, SHORTEST_SECRET, Settings
from gradegate.suite import Note, ProviderSpec

DEFAULT_CONFIGS = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json", "gradegate.yaml")
DEFAULT_TIMEOUT = 300.0


@dataclass(frozen=True)
class Prepared:
    """A plan with the client that its providers ask through."""

    plan: Plan
    client: Client
    secrets: tuple[str, ...]


def prepare(settings: Settings) -> Prepared:
    """Read, plan and check everything; no call is made. Raises ConfigError with every mistake."""
    located = [_compared(one, settings) for one in _read_all(settings)]
    wanted = max([settings.max_concurrency or 0, *(one.suite.max_concurrency or 0 for one in located), 4])
    client = build_client(settings, located, wanted)
    wishes = Wishes(settings.grader, settings.repeat, settings.max_concurrency, settings.filter_pattern)
    return Prepared(plan(located, wishes, client), client, _secrets(settings, located))


def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
    """Run the plan and decide."""
    gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
    gc.enable()
    result = run(prepared.plan, prepared.client, reask, watch)
    return decide(conceal(result, build_redactor(prepared)), prepared.plan.policies)


def build_client(settings: Settings, located: Sequence[Located], slots: int) -> Client:
    """One client for all providers; its time-out is the command line's, else the longest of the configs'."""
    configured = max((one.suite.timeout or 0.0 for one in located), default=0.0)
    timeout = settings.timeout or configured or DEFAULT_TIMEOUT
    return Client(timeout=timeout, retries=settings.retries, slots=slots, environ=settings.environ)


def _compared(head: Located, settings: Settings) -> Located:
    """The suite with the ways in which it checks less than the base does, where there is a base."""
    if not settings.base:
        return head
    root = settings.cwd / settings.base
    if not root.is_dir():
        raise ConfigError.at(f"the base `{settings.base}` is no directory", None, "check the base commit out there")
    try:
        base = _read(
            root / head.suite.file, replace(settings, environ={**settings.environ, "GITHUB_WORKSPACE": str(root)})
        )
    except ConfigError as e:
        why = Note(
            f"not compared with the base, where it cannot be read: {e.mistakes[0].what}", Origin(head.suite.file)
        )
        return replace(head, suite=replace(head.suite, notes=(*head.suite.notes, why)))
    found = compare(base.suite, head.suite)
    notes = tuple(Note(f"this pull request checks less: {note.text}", note.origin) for note in found)
    changes = "block" if "block" in (base.suite.policy.changes, head.suite.policy.changes) else "report"
    policy = replace(head.suite.policy, weakened=found, changes=changes)
    return replace(head, suite=replace(head.suite, policy=policy, notes=(*head.suite.notes, *notes)))


# --- reading configs ------------------------------------------------------------------------------------------


def _read_all(settings: Settings) -> Iterable[Located]:
    found, errors = [], []
    for path in config_paths(settings):
        try:
            found.append(added.added(_read(path, settings), settings.assertions))
        except ConfigError as e:
            errors.append(e)
    if errors:
        raise ConfigError.join(errors)
    return found


def config_paths(settings: Settings) -> list[Path]:
    """The config files that were named, patterns expanded, or the one in the working directory."""
    if not settings.configs:
        for name in DEFAULT_CONFIGS:
            if (settings.cwd / name).is_file():
                return [settings.cwd / name]
        raise ConfigError.at("there is no promptfooconfig.yaml here", None, "name the config: gradegate run CONFIG")
    paths: list[Path] = []
    mistakes = []
    for written in settings.configs:
        whole = str(settings.cwd / written)
        patterned = any(character in written for character in "*?[")
        matches = sorted(glob.glob(whole, recursive=True)) if patterned else [whole]  # noqa: PTH207  # may be absolute
        files = [Path(match) for match in matches if Path(match).is_file()]
        if not files:
            mistakes.append(Mistake(f"the config `{written}` does not exist", None, "correct the path"))
        paths += [path for path in files if path not in paths]
    if mistakes:
        raise ConfigError(*mistakes)
    return paths


def _read(path: Path, settings: Settings) -> Located:
    workspace = Workspace.around(path, settings.cwd, settings.environ)
    origin = Origin(workspace.name(path))
    raw, name = workspace.read(str(path.absolute()), path.parent, origin), workspace.name(path)
    content = testfiles.table(raw, name) if path.suffix in testfiles.TABLES else document.read(raw, name)
    for dialect in DIALECTS.one_by_one():
        if dialect.recognises(content):
            suite = dialect.read(Source(path.absolute(), content, workspace, settings.environ))
            return Located(suite, workspace, path.absolute().parent)
    known = "; ".join(dialect.summary for _, dialect in DIALECTS)
    raise ConfigError.at("the file is no eval config that gradegate knows", origin, f"it reads: {known}")


def _secrets(settings: Settings, located: Iterable[Located]) -> tuple[str, ...]:
    """Values that no report may show: secrets of the environment, and keys written into a config."""
    found = set(settings.secrets)
    for one in located:
        specs = [*one.suite.targets, *one.suite.graders.values()]
        specs += [g for case in one.suite.cases for a in case.assertions for g in a.graders.values()]
        specs += [g for case in one.suite.cases for g in case.options.graders.values()]
        found.update(value for spec in specs for value in _keys(spec, settings) if len(value) >= SHORTEST_SECRET)
    return tuple(found)


def _keys(spec: ProviderSpec, settings: Settings) -> Iterator[str]:
    named = {**spec.config, **spec.env, **(spec.config.get("headers") or {})}
    for name, value in named.items():
        if name == "apiKeyEnvar":
            yield settings.environ.get(str(value), "")
        elif SECRET_NAME.search(name) or name.lower() in ("authorization", "cookie"):
            yield str(value)


# --- reports --------------------------------------------------------------------------------------------------


def render(name: str, decision: Decision, links: Links, hide: Hide) -> Document:
    """The report of that name, secrets hidden."""
    report = REPORTS.find(name)
    assert report is not None, name
    return _hidden(report.render(decision, links), hide)


def check_outputs(outputs: Iterable[str]) -> dict[str, Report]:
    """The report for each path that -o names, by the longest suffix. Raises ConfigError."""
    found, mistakes = {}, []
    for path in outputs:
        report = next(filter(None, map(_report, _suffixes(path))), None)
        if report is None:
            cure = "end it with " + ", ".join(sorted({report.suffix for _, report in REPORTS if report.suffix}))
            mistakes.append(Mistake(f"no report is written as `{path}`", None, cure))
        else:
            found[path] = report
    if mistakes:
        raise ConfigError(*mistakes)
    return found


def _suffixes(path: str) -> Iterator[str]:
    """``.aegis.json``, then ``.json``: the longest that is a report's decides."""
    name = path.rpartition("/")[2]
    return (name[position:] for position, character in enumerate(name) if character == ".")


def _report(suffix: str) -> Report | None:
    return next((report for report in REPORTS.mentioning(suffix) if report.suffix == suffix), None)


def write_reports(outputs: dict[str, Report], cwd: Path, decision: Decision, links: Links, hide: Hide) -> list[str]:
    """Write the files; gives what could not be written, which never changes the verdict."""
    failures = []
    for path, report in outputs.items():
        try:
            target = cwd / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.writelines(_hidden(report.render(decision, links), hide).parts)
        except OSError as e:
            failures.append(f"{path} could not be written: {e.strerror or e}")
    return failures


def _hidden(found: Document, hide: Hide) -> Document:
    return Document(found.sink, (hide(part) for part in found.parts))


def build_redactor(prepared: Prepared) -> Hide:
    """Hides the secrets of a run in text."""
    return redactor(prepared.secrets)


def say(text: str) -> None:
    """Print a line and let it be seen at once."""
    print(text, flush=True, file=sys.stdout)
