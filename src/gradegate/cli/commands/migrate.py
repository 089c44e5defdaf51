"""``gradegate migrate``: what a promptfoo config or a workflow that runs promptfoo lacks here, as a diff."""

import argparse
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path
from typing import Any

from msgspec import Struct

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.cli.init.choices import ACTION
from gradegate.cli.init.wizard import (
    USES,
    PlannedRun,
    Steps,
    each_step,
    mapping_at,
    runner,
    step_settings,
    unpassed_keys,
)
from gradegate.cli.output import here, say
from gradegate.cli.parser import of_promptfoo
from gradegate.config.load import DEFAULT_CONFIGS, config_paths
from gradegate.core.numbers import format_count
from gradegate.core.options import SWITCH
from gradegate.core.settings import RUN_OPTIONS, Settings
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files.edits import Edits, Remarked
from gradegate.files.git import repository_of
from gradegate.files.plain_files import Place, replacing
from gradegate.files.workspace import Workspace
from gradegate.gate.exit_codes import PASS
from gradegate.github.action import TARGET_WARNING
from gradegate.github.inputs import PROMPTFOO_VARIABLES, concurrency_cure, migrate_inputs
from gradegate.planning.binding.default_graders import choose_default_graders, pin_of
from gradegate.security.environment import STAND_IN
from gradegate.structs import JsonObject, field_names, replace

IS_EVAL = re.compile(r"\bpromptfoo(?:@[\w.^~-]+)?\s+eval(?:uate)?\b")
# One command without a variable, a pipe or a second command; `${{ }}` is filled in before a shell sees it.
_PLAIN = re.compile(r"""(?:[\w\s@./:=,+%^~"'*-]|\$\{\{[\w.-]+\}\})+""")
_BEFORE = re.compile(r"(?:(?:npx|bunx|pnpm dlx|pnpm exec|yarn dlx|yarn)\s+(?:(?:-y|--yes)\s+)?)?")
_PROMPTFOO = re.compile(r"promptfoo/promptfoo-action@\S+", re.IGNORECASE)
_SHARE = "PROMPTFOO_PASS_RATE_THRESHOLD"  # per cent, as is the input of the same meaning
_SHARE_INPUT = "fail-on-threshold"
_INPUTS = {
    "min-pass-rate": _SHARE_INPUT,
    "runs": "repeat-min-pass",
}  # by the key of the gate
Gate = tuple[str, float | str]  # a key of the gate with its value
_ALL: Gate = ("min-pass-rate", 1.0)  # what a config without a gate asks for
ABOUT = "show as a diff what promptfoo configs and workflows need; makes no call"
CONCURRENCY = "max-concurrency"


def inputs(run: str) -> tuple[dict[str, Any], str]:
    """The inputs that the options of the command come to, and why a step with them would not do the same; empty if it would."""
    text = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", r"${{\1}}", re.sub(r"\\\r?\n", " ", run.strip()))
    command = IS_EVAL.search(text)
    if command is None:
        return {}, "it runs no `promptfoo eval`"
    before, arguments, why = text[: command.start()], text[command.end() :], ""
    if not _BEFORE.fullmatch(before) or "\n" in text or not _PLAIN.fullmatch(text):
        why = "it does more than that one command, or its shell changes it"
        arguments = re.split(r"[|&;<>\n]", arguments)[0]
    try:
        words = shlex.split(arguments)
    except ValueError:
        return {}, "its quotes do not close"
    options: dict[str, list[str]] = {}
    while words:
        flag, equals, value = words.pop(0).partition("=")
        option = next((option for option in RUN_OPTIONS if flag in option.flags), None)
        without_effect = [count for names, count, _ in of_promptfoo("no_effect") if flag in names]
        if without_effect:
            del words[: 0 if equals else without_effect[0]]
        elif option is None or (
            option.no_input
            and option.kind is not SWITCH
            and option.name != CONCURRENCY  # which goes into the config
        ):
            reason = option.no_input if option else "not known"
            for names, _, cure in of_promptfoo("refused"):
                if flag in names:
                    reason = cure
            return {}, why or f"`{flag}`: {reason}"
        elif option.kind is not SWITCH:
            values = options.setdefault(option.name, [])
            if equals:
                values.append(value)
            elif option.field != "configs":
                values += words[:1]
                del words[:1]
            else:
                while words and not words[0].startswith("-"):
                    values.append(words.pop(0))
        elif not option.no_input:
            options[option.name] = ["true"]
    given = {}
    for name, values in options.items():
        text = "\n".join(values).replace("${{", "${{ ").replace("}}", " }}")
        given[name] = int(text) if text.isdecimal() else text
    return given, why


class Migration(Struct):
    """Files below ``root`` with their changes. ``left`` is what is to be known or done by hand, each with its place."""

    root: Path
    grader: str = ""
    files: dict[Path, Edits] = {}
    left: list[Mistake] = []
    _runs: list[tuple[PlannedRun, Origin]] = []  # what steps and people run, planned at the end
    _graders: dict[Path, Mapping[str, str]] = {}  # by config, what a step that runs it says
    _gates: dict[Path, dict[Gate | None, Origin]] = {}  # what the steps that run a config want

    def open_file(self, path: Path) -> Edits:
        """A file that may be changed; one that lies outside is none. Raises ConfigError."""
        workspace = Workspace(self.root)
        place = workspace.locate(path.name, path.parent, Origin(path.name))
        if place not in self.files:
            name = workspace.name(place)
            self.files[place] = Edits(workspace.read(path.name, path.parent, Origin(name)), name)
        return self.files[place]

    def workflow(self, path: Path, change: bool) -> None:
        """Each step that runs promptfoo, if it is to be changed. Raises ConfigError for a file that cannot be read."""
        edits = self.open_file(path)
        for place, _, step in each_step(edits.values):
            uses = str(step.get("uses") or "")
            wanted = None
            if change and _PROMPTFOO.fullmatch(uses):
                wanted = self._change_uses(edits, place, step)
            elif change and IS_EVAL.search(str(step.get("run") or "")):
                if not self._change_run(edits, place, step):
                    continue
            elif not USES.fullmatch(uses):
                continue
            self._judge(edits, place, wanted, change)

    def _change_uses(self, edits: Edits, place: Steps, step: JsonObject) -> Gate | None:
        """Change a step that uses promptfoo's action, and give what its config needs in its gate."""
        given = mapping_at(step, "with")
        changes = migrate_inputs(given)
        for key, what, cure in changes.remarks:
            self._tell(what, edits.origin([*place, "with", key]), cure)
        drop: list[str] = []
        put: dict[str, Any] = {"uses": Remarked(ACTION)}
        if changes.put or given.keys() - changes.drop:
            edits.change([*place, "with"], changes.drop, changes.put, changes.rename)
        elif given:
            drop = ["with"]
        if changes.env and mapping_at(step, "env"):
            edits.change([*place, "env"], put=changes.env)
        elif changes.env:
            put["env"] = changes.env
        edits.change(place, drop, put)
        return changes.gate

    def _change_run(self, edits: Edits, place: Steps, step: JsonObject) -> bool:
        """Change a step that runs the command, if one that uses the Action does the same."""
        given, why = inputs(step["run"])
        origin = edits.origin([*place, "run"])
        if concurrency := given.pop(CONCURRENCY, None):
            cure = concurrency_cure(str(concurrency))
            self._tell(f"`-j {concurrency}` is left out", origin, cure)
        for shell in (
            mapping_at(edits.values, "defaults", "run"),
            mapping_at(edits.values, *place[:2], "defaults", "run"),
            step,
        ):
            if shell.get("working-directory"):
                given["working-directory"] = shell["working-directory"]
        if why:
            shown = ", ".join(f"{name}: {value}" for name, value in given.items())
            cure = f"write `uses: {ACTION}`, with its options as inputs{f' ({shown})' if shown else ''}; the exit code is the verdict"
            self._tell(f"a step that runs promptfoo stays: {why}", origin, cure)
            return False
        put: dict[str, Any] = {"uses": Remarked(ACTION)}
        if given:
            put["with"] = given
        edits.change(place, {"shell", "working-directory"}, put, {"run": "uses"})
        for later_place, _, later in each_step(edits.values):
            if later_place[1] != place[1] or later_place <= place:
                continue
            for name in given.get("output", "").split():
                if Path(name).name in str(later.get("run") or ""):
                    what = f"this step reads {name}, which has another form now (docs/results.schema.json)"
                    cure = "remove it where it decides: the step of the gate fails by itself"
                    self._tell(what, edits.origin([*later_place, "run"]), cure)
        return True

    def _judge(self, edits: Edits, place: Steps, wanted: Gate | None, change: bool) -> None:
        """What a step of the Action needs around it: rights, who grades, and a gate."""
        workflow, job, origin = edits.wanted, edits.wanted["jobs"][place[1]], edits.origin(place)
        step = job["steps"][place[3]]
        action, run = step_settings(self.root, workflow, job, step)
        paths = _configs(run) if run else set()
        for path in paths:
            self._gates.setdefault(path, {}).setdefault(wanted, origin)
            if run and run.settings.graders:
                self._graders[path] = run.settings.graders
        if not change:
            return
        if run:
            self._runs.append((run, origin))
        for level in ([], place[:2], place):
            self._tell_variables(edits, [*level, "env"])
        self._tell_mistakes(action.mistakes, origin)
        if step == edits.values["jobs"][place[1]]["steps"][place[3]]:
            return
        if wanted and not paths:
            self._tell_gate(wanted, origin)
        where = [*place[:2], "permissions"] if "permissions" in job else ["permissions"]
        rights = mapping_at(edits.wanted, *where)
        if rights and action.comment != "off" and "pull-requests" not in rights:
            edits.change(where, put={"pull-requests": "write"})
        elif rights and action.comment != "off" and rights["pull-requests"] != "write":
            what = "the job may not write to pull requests, so no comment is posted"
            cure = "write `pull-requests: write` into `permissions`, or `comment: off` into `with`"
            self._tell(what, edits.origin(where), cure)
        if "pull_request_target" in str(workflow.get("on")):
            self._tell(TARGET_WARNING, edits.origin(["on"]), "write `pull_request`")
        if run is None:
            cure = "give `grader: ID` if an assertion of theirs asks a model"
            self._tell("the configs are known only when the workflow runs", origin, cure)

    def _tell_variables(self, edits: Edits, place: Steps) -> None:
        """Say which variables at a place decide in promptfoo, and not here."""
        decides = PROMPTFOO_VARIABLES.keys() & mapping_at(edits.wanted, *place).keys()
        share = _share(edits)
        if share and share in mapping_at(edits.wanted, "gate").items():
            decides -= {_SHARE}
        for name in sorted(decides):
            where = edits.origin([*place, name])
            self._tell(f"`{name}` decides nothing here", where, PROMPTFOO_VARIABLES[name])

    def config(self, path: Path) -> None:
        """A config that no step runs, or none that is changed."""
        place = path.resolve()
        if any(place in _configs(run) for run, _ in self._runs):
            return
        graders = self._graders.get(place, {})
        settings = Settings(configs=(str(path),), cwd=path.parent, graders=graders)
        run = PlannedRun(settings, {**os.environ, **runner(self.root)})
        self._runs.append((run, Origin(Workspace(self.root).name(path))))

    def finish(self) -> str:
        """Change the configs of all runs, and plan these with the changes. Gives what `validate` will say."""
        for path in dict.fromkeys(path for run, _ in self._runs for path in _configs(run)):
            if edits := self._config(path):
                self._change_keys(edits)
            self._write_gate(path)
        for run, origin in self._runs:
            for path in _configs(run):
                self._write_grader(path, _with(run, configs=(str(path),)), origin)
        keys = set[str]()
        unplanned = False
        for run, origin in self._runs:
            try:
                plan = self._with_changes(run).prepare().plan
            except ConfigError as e:
                self._tell_mistakes(e.mistakes, origin)
                unplanned = True
                continue
            keys.update(use.name for use in plan.keys)
            if run.settings.inputs:  # of a step, which has to pass the keys on
                self._tell_mistakes(unpassed_keys(plan.missing_keys), origin)
        if unplanned:
            return "`gradegate validate` finds mistakes, which are listed above"
        absent = sorted(name for name in keys if not os.environ.get(name))
        once = f" once you set {' and '.join(absent)}" if absent else ""
        return f"`gradegate validate` passes{once}" if self._runs else ""

    def _with_changes(self, run: PlannedRun) -> PlannedRun:
        """The run with its configs as they are going to be."""
        texts = {}
        for path, edits in self.files.items():
            with suppress(ConfigError):  # which is told when the files are shown
                texts[path] = edits.result().encode()
        return _with(run, file_overrides=texts)

    def _write_grader(self, path: Path, run: PlannedRun, origin: Origin) -> None:
        """Name the grader in a config that names none, so that every run of it has the same."""
        grader, default = self._grader(run)
        edits = self._config(path)
        if not grader or edits is None:
            if default:
                what = (
                    "no grader is named, so the key that the job has chooses one, as in promptfoo"
                )
                self._tell(what, origin, f"{default}, or give `--grader ID` here")
            return
        default_test = edits.wanted.get("defaultTest", {})
        options = mapping_at(default_test, "options")
        new = {"provider": grader}
        if not isinstance(default_test, Mapping) or "provider" in options:
            what = f"`defaultTest` names no grader for texts, and {grader} cannot be added"
            cure = f"write `options: {{provider: {{text: {grader}}}}}` there"
            self._tell(what, edits.origin(["defaultTest"]), cure)
        elif options:
            edits.change(["defaultTest", "options"], put=new)
        elif "defaultTest" in edits.wanted:
            edits.change(["defaultTest"], put={"options": new})
        else:
            edits.change([], put={"defaultTest": {"options": new}})

    def _grader(self, run: PlannedRun) -> tuple[str, str]:
        """The grader to name, and how to pin the default; empty texts if the run needs neither.

        The grader is that of ``--grader``, else the default of a vendor for which the run has a key.
        """
        if run.settings.graders:
            return "", ""
        run = self._with_changes(run)
        try:
            plan = run.prepare().plan
        except ConfigError as e:
            if not self.grader:
                return "", ""
            mistakes: list[Mistake] = []
            with gather_mistakes(mistakes):
                _with(run, graders={"*": self.grader}).prepare()
            mends = len(mistakes) < len(e.mistakes)
            return self.grader if mends else "", ""
        default = next(filter(None, (pin_of(model.chosen) for model in plan.models)), "")
        if not default or self.grader:
            return self.grader if default else "", default
        keys = {name for job in plan.jobs for name in job.target.keys}
        vendor = choose_default_graders({**run.environ, **dict.fromkeys(keys, STAND_IN)})
        return vendor.models["text"] if vendor.key else "", default

    def _config(self, path: Path) -> Edits | None:
        """The config as it may be changed; None if it is no mapping, which the plan says, or cannot be read."""
        with gather_mistakes(self.left):
            edits = self.open_file(path)
            return edits if isinstance(edits.values, Mapping) else None
        return None

    def _change_keys(self, edits: Edits) -> None:
        """Rename what promptfoo ignores."""
        for place, assertion in list(_assertions(edits.wanted)):
            kind = EVALUATORS.find(str(assertion.get("type")).removeprefix("not-"))
            value = assertion.get("value")
            is_number = type(value) in (int, float)
            if (
                kind
                and is_number
                and "value" not in field_names(kind)
                and "threshold" not in assertion
            ):
                edits.change(place, rename={"value": "threshold"})
                what = f"`value: {value}` of `{assertion['type']}` becomes its `threshold`"
                cure = "promptfoo ignores this `value`; check that you want it"
                self._tell(what, edits.origin([*place, "value"]), cure)

    def _write_gate(self, path: Path) -> None:
        """Write the strictest of what the `env` and the steps of a config want into its gate; what is left out is told."""
        steps = self._gates.get(path, {})
        config = self._config(path)
        share = _share(config) if config else None
        wanted = {gate or share or _ALL for gate in steps or [None]}
        if share:
            wanted.add(share)
        comparable = len(wanted) == 1 or all(key == _ALL[0] for key, _ in wanted)
        strictest = max(wanted) if comparable else _ALL
        writable = config is not None and "gate" not in config.wanted
        if config and writable and (share or strictest != _ALL):
            config.change([], put={"gate": dict([strictest])})
        for gate, origin in steps.items():
            if gate and not (writable and gate == strictest):
                self._tell_gate(gate, origin)
        if config:
            self._tell_variables(config, ["env"])

    def _tell(self, what: str, origin: Origin, cure: str) -> None:
        self.left.append(Mistake(what, origin, cure))

    def _tell_gate(self, gate: Gate, origin: Origin) -> None:
        """Say what could not be written into the gate of a config."""
        key, value = gate
        shown = value if isinstance(value, str) else f"{value:.10g}"
        cure = f"write `gate: {{{key}: {shown}}}` into the config"
        what = f"`{_INPUTS[key]}` is left out: its config has a gate or is not known here, or its `env` or another step is stricter"
        self._tell(what, origin, cure)

    def _tell_mistakes(self, mistakes: Iterable[Mistake], origin: Origin) -> None:
        """Mistakes of a run; ``origin`` is the place of those without one."""
        self.left += [replace(it, origin=it.origin or origin) for it in mistakes]


def _share(config: Edits) -> Gate | None:
    """What the `env` of a config asks for."""
    return migrate_inputs({_SHARE_INPUT: mapping_at(config.wanted, "env").get(_SHARE)}).gate


def _assertions(
    value: Any, place: tuple[str | int, ...] = ()
) -> Iterator[tuple[Steps, JsonObject]]:
    """Everything that stands in a list `assert`."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, item in value.items() if isinstance(value, Mapping) else ():
        if key == "assert" and isinstance(item, list):
            for number, assertion in enumerate(item):
                if isinstance(assertion, Mapping):
                    yield [*place, key, number], assertion
        yield from _assertions(item, (*place, key))


def _configs(run: PlannedRun) -> set[Path]:
    with suppress(ConfigError):  # which the plan says
        return {path.resolve() for path in config_paths(run.settings)}
    return set()


def _with(run: PlannedRun, **options: Any) -> PlannedRun:
    return replace(run, settings=replace(run.settings, **options))


def add(parser: argparse.ArgumentParser) -> None:
    about = "configs, and workflows that run promptfoo; default is the config of the folder and all such workflows of the repository"
    parser.add_argument("file", nargs="*", help=about)
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the changes; without this option they are only shown",
    )
    parser.add_argument(
        "--grader",
        metavar="ID",
        default="",
        help="the model that grades, if a config names none; default is the one that the run's key chooses",
    )


def run(args: argparse.Namespace) -> int:
    cwd = here().resolve()
    migration = Migration(repository_of(cwd) or cwd, args.grader)
    default = [cwd / name for name in DEFAULT_CONFIGS if (cwd / name).is_file()][:1]
    named = [cwd / name for name in args.file]
    mistakes: list[Mistake] = []
    workflows = {
        path.resolve(): not named
        for path in sorted((migration.root / ".github" / "workflows").glob("*.y*ml"))
    }
    for path in named:
        with gather_mistakes(mistakes):
            if "jobs" in (migration.open_file(path).values or ()):
                workflows[path.resolve()] = True
    if mistakes:
        raise ConfigError(*dict.fromkeys(mistakes))
    for path, change in workflows.items():
        try:
            migration.workflow(path, change)
        except ConfigError as e:  # of a file that nobody named
            with suppress(OSError):
                if path.is_relative_to(migration.root) and b"promptfoo" in path.read_bytes():
                    migration.left += e.mistakes
    for path in named or default:
        if path.resolve() not in workflows:
            migration.config(path)
    validity = migration.finish()
    return _report(migration, args.write, validity)


def _report(migration: Migration, write: bool, validity: str) -> int:
    """Show the changes, or make them, and what is left. Raises ConfigError for a file that cannot be written."""
    texts = {}
    for edits in migration.files.values():
        with gather_mistakes(migration.left):
            text = edits.result()
            if text != edits.mark + edits.text:
                texts[edits.file] = text
                _show_difference(edits, text)
    if write:
        _write(migration.root, texts)
    if left := dict.fromkeys(migration.left):
        say("Notes, and what you need to change by hand:")
        for mistake in sorted(left, key=_place):
            say(f"  {mistake}")
    names = ", ".join(texts)
    if texts:
        say(f"written: {names}" if write else f"nothing was written; --write changes {names}")
    else:
        say(f"{format_count(len(migration.files), 'file')} read, nothing to change automatically")
    if validity:
        say(validity)
    return PASS


def _show_difference(edits: Edits, text: str) -> None:
    """Print how a file changes."""
    old = (edits.mark + edits.text).splitlines(keepends=True)
    new = text.splitlines(keepends=True)
    for line in unified_diff(old, new, f"a/{edits.file}", f"b/{edits.file}"):
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file"
        say(line.removesuffix("\n").removesuffix("\r") + end)


def _place(mistake: Mistake) -> tuple[str, int]:
    return (mistake.origin.file, mistake.origin.line) if mistake.origin else ("", 0)


def _write(root: Path, texts: Mapping[str, str]) -> None:
    """Write each file whole or not at all, and none if one may only be read. Raises ConfigError."""
    modes = {name: stat.S_IMODE((root / name).stat().st_mode) for name in texts}
    mistakes = [
        Mistake("the file may only be read", Origin(name), "allow writing it")
        for name, mode in modes.items()
        if not mode & stat.S_IWUSR
    ]
    if mistakes:
        raise ConfigError(*mistakes)
    for name, text in texts.items():
        try:
            with replacing(Place(root, tuple(name.split("/")))) as file:
                os.fchmod(file.fileno(), modes[name])
                file.write(text)
        except OSError as e:
            what = f"it could not be written: {e.strerror or e}"
            raise ConfigError.at(what, Origin(name), "start again") from e
