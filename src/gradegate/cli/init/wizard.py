"""What ``gradegate init`` does: choose, look, write, and say what comes next; and what workflows do on a pull request (`--from-pr`)."""

import itertools
import json
import os
import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from gradegate.cli.init.choices import (
    ACTION,
    NO_COMMIT,
    PLACEHOLDER,
    TEMPLATES,
    Ask,
    Choices,
    check,
    completed,
    is_address,
    variables_of,
)
from gradegate.config.context import build_context
from gradegate.core.conversation import Reply, Request
from gradegate.core.numbers import format_count
from gradegate.core.options import resolve_option_names
from gradegate.core.settings import AUTO, ActionSettings, Settings, parse_graders
from gradegate.errors import ConfigError, Mistake, Origin, ProviderError, Trouble
from gradegate.files import documents as document
from gradegate.files.git import repository_of
from gradegate.files.plain_files import Place, check_free, create
from gradegate.files.workspace import Workspace
from gradegate.github.action import TARGET_WARNING
from gradegate.github.inputs import settings_from_inputs
from gradegate.planning.checks.rules import notes_without_baseline
from gradegate.planning.plan import grading_models
from gradegate.providers.api.provider import Provider
from gradegate.reports.format.escape import one_line
from gradegate.runner.prepare import Preparation, prepare
from gradegate.runner.run import run_plan
from gradegate.security.environment import STAND_IN
from gradegate.security.hosts import host_at, is_inside
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

# --- what workflows do: which jobs run gradegate, whether they block, what forks get ---------------------------------

USES = re.compile(r"[^/@\s]+/gradegate(?:/container)?@\S+", re.IGNORECASE)
_OPEN = "${{"
_UNCONDITIONAL = re.compile(r"(?:\$\{\{ *)?always\(\)(?: *\}\})?")
_PROPOSED = re.compile(r"github\.(?:sha|ref|head_ref|event\.pull_request\.head)\b")
_DEFAULT = {
    "contents": "read"
}  # the permissions that every repository gives where a workflow asks for none
_MOST = 500  # files
Steps = list[str | int]  # where something is in a workflow


def outlook(root: Path) -> tuple[list[str], list[str]]:
    """What is said of the workflows, a line each, and what keeps them from running. Makes no call and runs no code."""
    lines, problems = list[str](), list[str]()
    for path in sorted((root / ".github" / "workflows").glob("*.y*ml"))[:_MOST]:
        name = path.relative_to(root).as_posix()
        try:
            workflow = document.read(Workspace(root).read(str(path), root, Origin(name)), name)
        except ConfigError as e:
            problems += map(str, e.mistakes)
            continue
        for place, job, step in each_step(workflow):
            uses = str(step.get("uses") or "")
            if USES.fullmatch(uses):
                line = document.line_of(workflow, [*place, "uses"])
                lines.append(f"{name}:{line}, job {place[1]}:")
                facts, wrong = _describe_step(root, workflow, job, step)
                if uses.endswith(f"@{NO_COMMIT}"):
                    cure = "put the commit of a release in place of the zeros"
                    wrong.append(f"`{uses}` is a placeholder -> {cure}")
                lines += [f"  {title:10}{text}" for title, text in facts]
                problems += [f"{name}:{line}: {text}" for text in wrong]
    if not lines and not problems:
        problems.append("no workflow uses gradegate -> `gradegate init` writes one")
    # One line each: what a workflow says may not pass for what is said of it.
    return [" ".join(line.splitlines()) for line in lines], [
        " ".join(problem.splitlines()) for problem in problems
    ]


def each_step(workflow: Any) -> Iterator[tuple[Steps, JsonObject, JsonObject]]:
    """The place of each step of a workflow, its job, and the step itself; what is no mapping is left out."""
    for name, job in mapping_at(workflow, "jobs").items():
        steps = mapping_at(job).get("steps")
        for number, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, Mapping):
                yield ["jobs", name, "steps", number], job, step


def _describe_step(
    root: Path, workflow: Any, job: Any, step: Any
) -> tuple[list[tuple[str, str]], list[str]]:
    """Titles and texts of one step, and its problems."""
    on = workflow.get("on")
    if isinstance(on, str):
        on = [on]
    events = dict.fromkeys(map(str, on)) if isinstance(on, list) else mapping_at(on)
    triggers = []
    for event in events:
        if event.startswith("pull_request"):
            filters = [
                f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
                for key, value in mapping_at(events, event).items()
            ]
            triggers.append(f"on {event} ({'; '.join(filters)})" if filters else f"on {event}")
    if not triggers:
        return [("runs", f"not on a pull request, but on {', '.join(events) or 'nothing'}")], []
    facts = [("runs", " and ".join(triggers))]
    if "pull_request_target" in events:
        facts.append(("", TARGET_WARNING))
    facts += [("only if", str(item["if"])) for item in (job, step) if item.get("if") is not None]
    action, run = step_settings(root, workflow, job, step)
    problems = [resolve_option_names(str(mistake), inputs=True) for mistake in action.mistakes]
    if run is None:
        text = "known only when the workflow runs; see `gradegate validate CONFIG`"
        facts.append(("configs", text))
        return facts, problems
    try:
        prepared = run.prepare()
    except ConfigError as e:
        if action.run.allow_exec:  # on the runner the code has leave, and here it has none
            text = f"not known here, because no code runs: {e.mistakes[0].what}"
            facts.append(("configs", text))
        else:
            problems += [resolve_option_names(str(mistake), inputs=True) for mistake in e.mistakes]
        return facts, problems
    plan = prepared.shown_plan
    text = f"{format_count(plan.answers, 'answer')}, {format_count(plan.assertions, 'assertion')}"
    facts.append(("configs", f"{', '.join(plan.digests)}: {text}"))
    if action.run.baseline:
        facts += [("warning", note.text) for note in notes_without_baseline(prepared.plan.policies)]
    facts += [
        ("note", f"{note.origin}: {note.text}" if note.origin else note.text) for note in plan.notes
    ]
    blocking = sum(rule.blocking for rule in prepared.plan.rules)
    counts = any(
        binding.assertion.counts for job in prepared.plan.jobs for binding in job.assertions
    )
    blocks = f"yes, by {format_count(blocking, 'rule')}: the check fails when one is missed"
    if not (counts and blocking):
        blocks = "no: every rule or every assertion only advises"
    elif obstacles := [*_obstacles(workflow, job, step, events, action.run.baseline == AUTO)]:
        # One that is certain is enough.
        is_certain = any(certain for certain, _ in obstacles)
        reasons = "; ".join(reason for certain, reason in obstacles if certain is is_certain)
        blocks = f"{'no' if is_certain else 'unknown'}: {reasons}"
    forks = "see docs/github-events.md"
    if "pull_request" in events:
        forks = _describe_forks(action, bool(prepared.plan.keys))
    facts += [("blocks", blocks), ("forks", forks)]
    return facts, [*problems, *map(str, unpassed_keys(prepared.plan.missing_keys))]


def _describe_forks(action: ActionSettings, needs_keys: bool) -> str:
    """What becomes of pull requests whose workflow GitHub gives no secrets."""
    if not needs_keys:
        return "run like any other, because no key is needed; no comment, because their token is read-only"
    ends = "fails with exit code 3"
    if action.on_missing_secrets == "neutral":
        ends = "passes (on-missing-secrets: neutral)"
    return f"not run, because GitHub gives them no secrets: the check {ends}; docs/github-forks.md shows a workflow in two stages"


def unpassed_keys(missing: Iterable[str]) -> list[Mistake]:
    """A mistake for each key that a step has to pass on."""
    return [
        Mistake(
            f"the run needs {name}, and the step does not pass it",
            None,
            f"`env: {name}: ${{{{ secrets.{name} }}}}`",
        )
        for name in sorted(missing)
    ]


def _obstacles(
    workflow: Any, job: Any, step: Any, events: JsonObject, is_auto: bool
) -> Iterator[tuple[bool, str]]:
    """Whether something certainly keeps a missed rule from failing the check of a pull request, or may do so, and what it is.

    Without any, the step runs at the pull request's own commit, finds its baseline, and nothing turns its failure into a success.
    """
    if "pull_request_target" in events:
        is_certain = "pull_request" not in events
        yield is_certain, "a run for `pull_request_target` tests the default branch"
    elif "pull_request" not in events:
        yield False, "the event `pull_request` starts no run"
    for name, item in (("job", job), ("step", step)):
        ignored = str(item.get("continue-on-error", False)).lower()
        if ignored != "false":
            yield ignored == "true", f"`continue-on-error` of the {name} lets the check pass"
        condition = item.get("if")
        if condition is None and not item.get("needs"):
            continue
        if not _UNCONDITIONAL.fullmatch(str(condition)):
            yield False, f"the check passes where the {name} is skipped; give it `if: always()`"
    before = itertools.takewhile(lambda other: other is not step, job["steps"])
    if not any(map(_checks_out, map(mapping_at, before))):
        yield False, "no step before checks out the pull request"
    permissions = job.get("permissions", workflow.get("permissions", _DEFAULT))
    if permissions not in ("read-all", "write-all"):
        lacking = [
            f"{scope}: read"
            for scope in (["contents", "actions"] if is_auto else ["contents"])
            if mapping_at(permissions).get(scope) not in ("read", "write")
        ]
        if lacking:
            yield False, f"`permissions` lacks `{'` and `'.join(lacking)}`"
    if is_auto and events.keys().isdisjoint({"push", "schedule"}):
        yield False, "no `push` to the default branch leaves what `baseline: auto` looks for"


def _checks_out(step: JsonObject) -> bool:
    """Whether a step certainly checks out what is proposed, where the configs are looked for."""
    given = mapping_at(step, "with")
    ref = str(given.get("ref") or "github.sha")
    return bool(
        "/checkout@" in str(step.get("uses"))
        and _PROPOSED.search(ref)
        and not (step.get("if") or given.get("path") or given.get("repository"))
    )


class PlannedRun(FrozenStruct):
    """A run as a workflow starts it, planned where somebody else is."""

    settings: Settings
    environ: NamedTexts

    def prepare(self) -> Preparation:
        """The plan, whether its keys are here or not. Raises ConfigError."""
        return prepare(replace(build_context(self.settings, self.environ), keyless=True))


def step_settings(
    root: Path, workflow: Any, job: Any, step: Any
) -> tuple[ActionSettings, PlannedRun | None]:
    """What a step of a workflow gives to the Action, and what of that is planned here: None where only the run names its configs."""
    env = {**_texts(workflow.get("env")), **_texts(job.get("env")), **_texts(step.get("env"))}
    inputs = _texts(step.get("with"))
    # The variables of the process on the runner. A secret is taken to be there; another expression is left out.
    environ = {name: STAND_IN if _OPEN in text else text for name, text in env.items()}
    given = {name: "" if _OPEN in text else text for name, text in inputs.items() if text}
    environ |= {f"INPUT_{name.replace(' ', '_').upper()}": text for name, text in given.items()}
    environ |= runner(root)
    action = settings_from_inputs(environ, root)
    if any(_OPEN in inputs.get(name, "") for name in ("config", "working-directory")):
        return action, None
    run = replace(action.run, base_checkout="", baseline="", shard=None, merge="", allow_exec=False)
    if run.answers:  # of another job are not there yet; whoever gives them, no target is asked
        run = replace(run, answers=(), providers=("echo",))
    return action, PlannedRun(run, environ)


def runner(root: Path) -> dict[str, str]:
    """The variables of a runner at a pull request that decide how a config is read; ``root`` is the repository."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_WORKSPACE": str(root),
    }


def mapping_at(value: Any, *steps: str | int) -> JsonObject:
    """A mapping inside others; an empty one where there is none."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    """A mapping as the runner passes it on: numbers and truth values as texts."""
    return {str(key): "" if text is None else str(text) for key, text in mapping_at(value).items()}


# --- a first gate ----------------------------------------------------------------------------------------------------

CONFIG = "promptfooconfig.yaml"
PAGE = "gradegate-report.html"  # of the workflow
_TEMPLATES = Path(__file__).with_name("templates")
LONGEST = 50  # letters of a folder in the name of its workflow
_LIVE = re.compile(
    r"^( *)# LIVE.*\n.*scripted:.*\n((?:\1# .*\n)+)", re.MULTILINE
)  # what is recorded, and what takes its place
Exchanges = list[tuple[str, str]]  # questions with their replies
_JUDGED = re.compile(
    r"^<([\w-]+) ([0-9a-f]{32})>\n(.*?)\n</\1 \2>$", re.DOTALL | re.MULTILINE
)  # texts in a question of a grader
_COMMENT = re.compile(r"^ *#.*\n", re.MULTILINE)  # of a template, about a gate that asks nobody yet
_SHOWN = 90  # characters of an answer
_THERE = "`gradegate init --only-workflow` writes a workflow for it; else move it away, or name another FOLDER"
_ABOUT = {
    CONFIG: "what is asked, and what blocks",
    "prompt.txt": "what the model is told",
    "recorded/answers.yaml": "the answers of a run that asks no model",
    "recorded/grades.yaml": "the grades of a run that asks no model",
    "answer_cases.py": "has your program answer; put it in there",
}


class Ground(FrozenStruct):
    """Where somebody starts: ``cwd``; ``root``, the repository around it, else ``cwd``; ``folder`` of the config, relative to ``cwd``."""

    cwd: Path
    root: Path
    folder: tuple[str, ...]

    @property
    def below(self) -> str:
        """The folder of the config as a workflow names it: relative to the root, empty for the root itself."""
        return "/".join((*self.cwd.relative_to(self.root).parts, *self.folder))

    @property
    def key(self) -> str:
        """What tells the workflow of this folder from others in the repository: letters, digits and hyphens."""
        words = re.sub(r"[^a-z0-9]+", "-", self.below.lower()).strip("-")
        if (
            not 0 < len(words) <= LONGEST or not self.below.isascii()
        ):  # which cannot be told apart by their letters alone
            words = f"{words[:LONGEST]}-{sha256(self.below.encode()).hexdigest()[:8]}".strip("-")
        return f"evals-{words}" if self.below else "evals"


def ground(cwd: Path, folder: str) -> Ground:
    """Where somebody starts who stands in ``cwd``. Raises ConfigError for a folder that no workflow can name."""
    here = cwd.resolve()
    found = Ground(here, repository_of(here) or here, PurePosixPath(folder).parts)
    below = found.below
    if (
        below != below.strip()  # which the Action would not see
        or not below.isprintable()
        or _OPEN in below
        or ".git" in below.casefold().split("/")
    ):
        what = f"the folder {below!r} cannot stand in a workflow"
        raise ConfigError.at(what, None, "start in a folder with a plain name")
    return found


def files(
    choices: Choices,
    where: Ground,
    keys: tuple[Sequence[str], Sequence[str]],
    local: Sequence[str] = (),
) -> dict[Place, str]:
    """Each place with its text, the workflow last. ``keys`` are the variables that the target and the grader take.

    ``local`` are the addresses on the runner that are asked.
    """
    folder = _TEMPLATES / choices.template
    values = _values(choices, where, keys) | {"READY": _ready(choices, local)}
    texts = {}
    paths = folder.rglob("*.*") if choices.config else ()
    for path in sorted(paths, key=lambda path: (path.name != CONFIG, path)):
        # The suffix of a program keeps tools from taking it for one of ours.
        name = path.relative_to(folder).as_posix().removesuffix(".template")
        text = _fill_in(path, values)
        if choices.live:
            text = _LIVE.sub(lambda found: re.sub("(?m)^( *)# ", r"\1", found[2]), text)
        texts[Place(where.cwd, (*where.folder, *name.split("/")))] = text
    if choices.workflow:
        path = _TEMPLATES / f"workflow-{choices.template}.yml"
        if not path.exists():
            path = _TEMPLATES / "workflow.yml"
        place = Place(where.root, (".github", "workflows", f"{where.key}.yml"))
        texts[place] = _fill_in(path, values)
    return texts


def _values(
    choices: Choices, where: Ground, keys: tuple[Sequence[str], Sequence[str]]
) -> dict[str, str]:
    """What stands in the templates for what."""
    named_keys = (choices.key_of(id_) for id_ in (choices.target, choices.judge))
    target_key, grader_key = (
        f", config: {{ apiKeyEnvar: {name} }}" if name else "" for name in named_keys
    )
    below = where.below
    quoted = _in_quotes(below)
    grader = choices.grader and f"grader: {_in_quotes(choices.grader)}\n          "
    needs = [f"it needs {' and '.join(names)}" if names else "it needs no key" for names in keys]
    when = "; only needed once models are asked" if choices.config and not choices.live else ""
    env = f"env: # secrets of the repository{when}"
    for key in sorted({*keys[0], *keys[1]}):
        env += f"\n          {key}: ${{{{ secrets.{key} }}}}"
    if not any(keys):
        env = "# No key: nobody is asked who takes one. One goes in here as `env: { NAME: ${{ secrets.NAME }} }`."
    return {
        "PROVIDER": choices.target,
        "GRADER": f'{{ id: "{choices.judge}"{grader_key} }}'
        if grader_key
        else f'"{choices.judge}"',
        "ACCESS": target_key,
        "TARGET_NEEDS": needs[0],
        "GRADER_NEEDS": needs[1],
        "ACTION": f"{choices.action} # put the commit of a release here"
        if choices.action == ACTION
        else choices.action,
        "PLACE": below or "this repository",
        "NAME": _in_quotes(f"evals of {below}") if below else "evals",
        "KEY": where.key,
        "FOLDER": below and f"working-directory: {quoted}\n          ",
        "JUDGE": "" if choices.config else grader,  # for a config that is there
        "RUN_IN": below and f"\n        working-directory: {quoted}",
        "ANSWERS": _in_quotes(f"{below}/answers.jsonl") if below else "answers.jsonl",
        "PAGE": _in_quotes(f"{below}/{PAGE}") if below else PAGE,
        "UP": below and "../" * len(below.split("/")),
        "COMMENT_KEY": below and f"\n          comment-key: {where.key}",
        "ENV": env,
    }


def _ready(choices: Choices, local: Sequence[str]) -> str:
    """The input that opens addresses on the runner; a comment as long as recorded answers take their place."""
    if not local:
        return ""
    mark = "# " if choices.config and not choices.live else ""
    lines = [
        "ready: | # an earlier step starts what answers here",
        *(f"  {url} 60" for url in local),
    ]
    return "".join(f"{mark}{line}\n          " for line in lines)


def _in_quotes(text: str) -> str:
    """A text of printable signs in YAML. Written out, since YAML knows no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)


def _fill_in(path: Path, values: dict[str, str]) -> str:
    template = path.read_text(encoding="utf-8")
    return re.sub(r"__([A-Z_]+?)__", lambda found: values[found[1]], template)


def record(
    made: Mapping[Place, str], folder: tuple[str, ...]
) -> tuple[dict[Place, str], list[str]]:
    """The files with the recorded replies, and a line for each model. Raises ConfigError, and ProviderError where a call fails."""
    with TemporaryDirectory() as below:  # so that nothing is left behind where a call fails
        create({Place(Path(below), place.parts): text for place, text in made.items()})
        prepared = prepare(build_context(Settings(cwd=Path(below, *folder)), os.environ))
        job = prepared.plan.jobs[0]
        # The target may be a grader, too, and is recorded apart.
        job = replace(job, target=copy(job.target))
        graders = {id(model): model for model in grading_models(job)}
        answered, *graded = map(_listen, (job.target, *graders.values()))
        plan = replace(prepared.plan, jobs=(job,), policies=(), powers=())
        (row,) = run_plan(plan, prepared.client).rows
    failures = [grade for grade in row.grades if grade.has_error]
    if row.output is None or failures:
        setup = any(grade.setup for grade in failures)
        raise ProviderError(
            prepared.hide(row.error or failures[0].reason),
            Trouble.SETUP if setup else Trouble.MALFORMED,
        )
    write = {
        "answers.yaml": partial(_with_answers, answered),
        "grades.yaml": partial(_with_grades, itertools.chain(*graded)),
    }
    files = {
        place: prepared.hide(write.get(place.parts[-1], str)(text)) for place, text in made.items()
    }
    lines = [f"{job.target.id} answered: {one_line(row.output, _SHOWN)}"] if answered else []
    lines += [
        f"{grade.assertion.type}: {grade.outcome.value}; {one_line(grade.reason, _SHOWN)}"
        for grade in row.grades
    ]
    return files, [*map(prepared.hide, lines)]


def _listen(model: Provider) -> Exchanges:
    """What a model is asked from now on, with its replies; what needs no call is not recorded."""
    exchanges = []
    ask = model.complete

    def complete(request: Request) -> Reply:
        reply = ask(request)
        exchanges.append(("\n".join(message.content for message in request.messages), reply.text))
        return reply

    if model.replies_from == "model":
        model.complete = complete  # type: ignore[method-assign]
    return exchanges


def _with_answers(exchanges: Exchanges, text: str) -> str:
    """With each reply in the entry that the question takes."""
    entries = document.read(text.encode(), "answers.yaml")
    if exchanges:
        text = f"# What was answered when it was recorded. Other entries are examples.\n{_COMMENT.sub('', text)}"
    for question, reply in exchanges:
        example = next((it["reply"] for it in entries if it["when"] in question), "")
        text = text.replace(f"reply: {example}\n", f"reply: {_quoted(reply)}\n", 1)
    return text


def _with_grades(exchanges: Iterable[tuple[str, str]], text: str) -> str:
    """With each reply before the others, to the same question about the same texts: nothing else gets a recorded verdict."""
    _, start, rest = text.partition("- when:")
    about = "# What the grader replied when it was recorded. Other entries are examples: a recorded grader judges nothing else.\n"
    for question, reply in exchanges:
        texts = [f">\n{it[3]}\n</{it[1]} " for it in _JUDGED.finditer(question)]
        parts = [question.partition("\n")[0], *texts] if texts else [question]
        about += f"- when: [{', '.join(map(_quoted, parts))}]\n  reply: {_quoted(reply)}\n"
    return about + start + rest


def _quoted(text: str) -> str:
    return str(
        yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    ).rstrip("\n")


def begin(cwd: Path, choices: Choices, given: Container[str], ask: Ask | None) -> Iterator[str]:
    """Write the files and give what is to be said, a line each. Choices that are not ``given`` are asked for, or take defaults.

    Raises ConfigError, and ProviderError where a model that is asked at once does not reply. Where the config is there already,
    no question is asked.
    """
    if ask and choices.config:
        choices = completed(choices, given, ask)
    check(choices)
    where = ground(cwd, choices.folder)
    if choices.config:
        keys = {
            option: variables_of(id_, option, choices.key_of(id_))
            for option, id_ in choices.asked.items()
        }
        local = [choices.target] if is_address(choices.target) else []
    else:  # it is there already: what it takes on the runner
        settings = Settings(
            cwd=where.cwd.joinpath(*where.folder), graders=parse_graders([choices.grader])
        )
        plan = PlannedRun(settings, {}).prepare().plan
        keys = {"--grader": tuple(sorted(plan.missing_keys))}
        hosts = {model.host: host_at(f"http://{model.host}") for model in plan.models}
        local = [f"http://{name}" for name, host in hosts.items() if host and is_inside(host.name)]
    made = files(choices, where, (keys.get("--provider", ()), keys["--grader"]), local)
    cures = {Place(where.cwd, (*where.folder, CONFIG)): _THERE}
    if choices.live:
        check_free(made, cures)  # before anything is paid for
        made, lines = record(made, where.folder)
        yield from lines
    create(made, cures)
    yield from _list_files(made, where)
    defaults = {
        "template": f"{choices.template} ({TEMPLATES[choices.template]})",
        "provider": choices.target,
        "grader": choices.judge,
    }
    if choices.template == "answers":
        del defaults["provider"]
    taken = [f"--{name} {value}" for name, value in defaults.items() if name not in given]
    if taken and choices.config and not ask:
        yield f"Defaults taken: {', '.join(taken)}"
    yield from _next(choices, where)


def _list_files(made: Iterable[Place], where: Ground) -> Iterator[str]:
    names = {}  # as somebody in the working directory names them
    for place in made:
        up = "../" * len(where.cwd.relative_to(place.root).parts)
        names[place] = up + "/".join(place.parts)
    width = max(map(len, names.values()))
    yield "Written:"
    for place, name in names.items():
        own = "/".join(place.parts[len(where.folder) :])
        yield f"  {name:{width}}  {_ABOUT.get(own, 'what runs on a pull request')}"


def _next(choices: Choices, where: Ground) -> Iterator[str]:
    path = "/".join(where.folder)
    plain = f"./{path}" if path.startswith("-") else path  # which is no option
    folder = f" {shlex.quote(plain)}" if path else ""
    yield "Next:"
    if choices.live:
        yield f"  gradegate run{folder} --provider scripted:recorded/answers.yaml --grader scripted:recorded/grades.yaml  # needs no key"
        yield f"  gradegate run{folder}  # asks the models"
    elif choices.config:
        yield f"  gradegate run{folder}  # passes; answers and grades are recorded, so it takes no key"
    else:
        yield f"  gradegate validate{folder}  # what a run takes"
    yield "  gradegate init --from-pr  # what the workflow will do on a pull request"
    left = []
    if choices.config and not choices.live:
        line = f"  swap the lines marked LIVE in {'/'.join((*where.folder, CONFIG))}"
        if PLACEHOLDER in (choices.target, choices.judge):
            line += ", with a model that you name in place of MODEL"
        left.append(line)
    if choices.workflow and choices.action == ACTION:
        left.append("  put the commit of a release of gradegate into the workflow")
    if left:
        yield from ("Before it judges anything:", *left)
