"""Changes promptfoo configs and workflows so that gradegate does the same, and collects what people have to do by hand."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.cli.init.choices import ACTION, ACTION_COMMENT
from gradegate.cli.init.workflows import (
    USES_GRADEGATE,
    PlannedRun,
    WorkflowStep,
    YamlPath,
    iterate_steps,
    keys_to_pass,
    mapping_at,
    read_step_settings,
    runner_variables,
)
from gradegate.cli.migration.eval_command import CONCURRENCY, IS_EVAL, read_eval_command
from gradegate.config.load import config_paths
from gradegate.core.settings import ActionSettings, Settings
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files.edits import CommentedText, Edits
from gradegate.files.workspace import Workspace
from gradegate.github.action import TARGET_WARNING
from gradegate.github.promptfoo_inputs import (
    PROMPTFOO_VARIABLES,
    GateEntry,
    concurrency_cure,
    migrate_inputs,
)
from gradegate.planning.binding.default_graders import choose_default_graders, pin_of
from gradegate.planning.plan import Plan
from gradegate.security.environment import STAND_IN
from gradegate.structs import FrozenStruct, JsonObject, Struct, field_names, replace

_PROMPTFOO_ACTION = re.compile(r"promptfoo/promptfoo-action@\S+", re.IGNORECASE)
_PASS_RATE_VARIABLE = "PROMPTFOO_PASS_RATE_THRESHOLD"  # in per cent, as the input
_PASS_RATE_INPUT = "fail-on-threshold"
_INPUTS = {"min-pass-rate": _PASS_RATE_INPUT, "runs": "repeat-min-pass"}  # by the key of the gate
_EVERY_CASE = GateEntry("min-pass-rate", 1.0)  # what a config without a gate requires


class _OriginalRun(NamedTuple):
    """A run of a step or of a person, and the place in a file that describes it."""

    run: PlannedRun
    origin: Origin


class _GraderChoice(FrozenStruct):
    """A grader to name in a config, and how to pin the default; empty texts if neither is needed."""

    grader: str = ""
    pin: str = ""


class Migration(Struct):
    """The files of a repository with their changes, and notes on what people should know or do by hand.

    First ``read_workflow`` is called for each workflow, then ``add_config`` for each config that the user names, then ``finish``.
    """

    root: Path
    grader: str = ""  # of --grader
    files: dict[Path, Edits] = {}
    notes: list[Mistake] = []
    _runs: list[_OriginalRun] = []

    # By config, from the steps that run it. A step without an entry for the gate has None.
    _graders: dict[Path, Mapping[str, str]] = {}
    _gate_entries: dict[Path, dict[GateEntry | None, Origin]] = {}

    def open_file(self, path: Path) -> Edits:
        """A file with its changes so far. Raises ConfigError if it lies outside of the repository."""
        workspace = Workspace(self.root)
        place = workspace.locate(path.name, path.parent, Origin(path.name))
        if place not in self.files:
            name = workspace.name(place)
            self.files[place] = Edits(workspace.read(path.name, path.parent, Origin(name)), name)
        return self.files[place]

    # --- workflows

    def read_workflow(self, path: Path, change: bool) -> None:
        """Read the steps that run evals, and ``change`` those that run promptfoo. Raises ConfigError for an unreadable file."""
        edits = self.open_file(path)
        for step in iterate_steps(edits.values):
            gate_entry = None
            if change and _PROMPTFOO_ACTION.fullmatch(step.uses):
                gate_entry = self._change_action_step(edits, step)
            elif change and IS_EVAL.search(str(step.step.get("run") or "")):
                if not self._change_command_step(edits, step):
                    continue
            elif not USES_GRADEGATE.fullmatch(step.uses):
                continue
            self._read_step(edits, step, gate_entry, change)

    def _change_action_step(self, edits: Edits, step: WorkflowStep) -> GateEntry | None:
        """Change a step that uses promptfoo's action. Returns the entry that the gate of its config needs."""
        inputs = mapping_at(step.step, "with")
        changes = migrate_inputs(inputs)
        for key, what, cure in changes.remarks:
            self._note(what, edits.origin([*step.path, "with", key]), cure)

        dropped: list[str] = []
        added: dict[str, Any] = {"uses": CommentedText(ACTION, ACTION_COMMENT)}
        if changes.put or inputs.keys() - changes.drop:
            edits.change([*step.path, "with"], changes.drop, changes.put, changes.rename)
        elif inputs:
            dropped = ["with"]
        if changes.env and mapping_at(step.step, "env"):
            edits.change([*step.path, "env"], put=changes.env)
        elif changes.env:
            added["env"] = changes.env
        edits.change(step.path, dropped, added)
        return changes.gate

    def _change_command_step(self, edits: Edits, step: WorkflowStep) -> bool:
        """Change a step that runs `promptfoo eval`, if a step of the Action can do the same. Returns whether it can."""
        command = read_eval_command(step.step["run"])
        inputs = command.values
        origin = edits.origin([*step.path, "run"])

        concurrency = inputs.pop(CONCURRENCY, None)
        if concurrency:
            cure = concurrency_cure(str(concurrency))
            self._note(f"`-j {concurrency}` is left out", origin, cure)

        workflow_defaults = mapping_at(step.workflow, "defaults", "run")
        job_defaults = mapping_at(step.job, "defaults", "run")
        for level in (workflow_defaults, job_defaults, step.step):
            if level.get("working-directory"):
                inputs["working-directory"] = level["working-directory"]

        if command.obstacle:
            shown_inputs = ""
            if inputs:
                lines = [f"{name}: {value}" for name, value in inputs.items()]
                shown_inputs = f" ({', '.join(lines)})"
            cure = f"write `uses: {ACTION}`, with its options as inputs{shown_inputs}; the exit code is the verdict"
            self._note(f"a step that runs promptfoo stays: {command.obstacle}", origin, cure)
            return False

        added: dict[str, Any] = {"uses": CommentedText(ACTION, ACTION_COMMENT)}
        if inputs:
            added["with"] = inputs
        edits.change(step.path, {"shell", "working-directory"}, added, {"run": "uses"})
        self._note_readers(edits, step, str(inputs.get("output", "")).split())
        return True

    def _note_readers(self, edits: Edits, step: WorkflowStep, outputs: Sequence[str]) -> None:
        """Note the later steps of the job that read a file which ``step`` writes, one of ``outputs``."""
        cure = "remove it where it decides: the step of the gate fails by itself"
        for later_step in iterate_steps(edits.values):
            if later_step.job_name != step.job_name or later_step.path <= step.path:
                continue
            script = str(later_step.step.get("run") or "")
            for output in outputs:
                if Path(output).name in script:
                    what = f"this step reads {output}, which has another form now (docs/results.schema.json)"
                    self._note(what, edits.origin([*later_step.path, "run"]), cure)

    def _read_step(
        self, edits: Edits, step: WorkflowStep, gate_entry: GateEntry | None, change: bool
    ) -> None:
        """Remember what a step of the Action runs, and note what is wrong with it if it may be changed.

        A step that was changed also gets what it needs around it. ``gate_entry`` is what the gate of its config needs.
        """
        step = _changed_step(edits, step)
        origin = edits.origin(step.path)
        settings = read_step_settings(self.root, step)
        run = settings.run
        configs: set[Path] = set()
        if run is not None:
            configs = _find_configs(run)
            for path in configs:
                self._gate_entries.setdefault(path, {}).setdefault(gate_entry, origin)
                if run.settings.graders:
                    self._graders[path] = run.settings.graders
        if not change:
            return

        if run is not None:
            self._runs.append(_OriginalRun(run, origin))
        for level in ([], step.path[:2], step.path):
            self._note_variables(edits, [*level, "env"])
        self._note_mistakes(settings.action.mistakes, origin)
        original_steps = edits.values["jobs"][step.path[1]]["steps"]
        if step.step == original_steps[step.path[3]]:
            return

        if gate_entry and not configs:
            self._note_gate_entry(gate_entry, origin)
        self._allow_comments(edits, step, settings.action)
        if "pull_request_target" in str(step.workflow.get("on")):
            self._note(TARGET_WARNING, edits.origin(["on"]), "write `pull_request`")
        if run is None:
            cure = "give `grader: ID` if an assertion of theirs asks a model"
            self._note("the configs are known only when the workflow runs", origin, cure)

    def _allow_comments(self, edits: Edits, step: WorkflowStep, action: ActionSettings) -> None:
        """Let the job post its comment, if its permissions are listed."""
        path: YamlPath = ["permissions"]
        if "permissions" in step.job:
            path = [*step.path[:2], "permissions"]
        permissions = mapping_at(edits.wanted, *path)
        if not permissions or action.comment == "off":
            return
        if "pull-requests" not in permissions:
            edits.change(path, put={"pull-requests": "write"})
        elif permissions["pull-requests"] != "write":
            what = "the job may not write to pull requests, so no comment is posted"
            cure = "write `pull-requests: write` into `permissions`, or `comment: off` into `with`"
            self._note(what, edits.origin(path), cure)

    # --- configs

    def add_config(self, path: Path) -> None:
        """Plan a config that no changed step runs."""
        config = path.resolve()
        for original in self._runs:
            if config in _find_configs(original.run):
                return

        graders = self._graders.get(config, {})
        settings = Settings(configs=(str(path),), cwd=path.parent, graders=graders)
        environ = {**os.environ, **runner_variables(self.root)}
        origin = Origin(Workspace(self.root).name(path))
        self._runs.append(_OriginalRun(PlannedRun(settings, environ), origin))

    def finish(self) -> str:
        """Change the configs of all runs, and plan the runs with these changes. Returns a line on what `validate` says."""
        configs: dict[Path, None] = {}  # an ordered set
        for original in self._runs:
            configs.update(dict.fromkeys(_find_configs(original.run)))
        for path in configs:
            edits = self._open_config(path)
            if edits is not None:
                self._rename_keys(edits)
            self._write_gate(path)
        for original in self._runs:
            for path in _find_configs(original.run):
                run_of_config = _with_settings(original.run, configs=(str(path),))
                self._write_grader(path, run_of_config, original.origin)
        return self._validate()

    def _validate(self) -> str:
        """Plan the runs with the changes, and note their mistakes. Returns a line; empty without a run."""
        key_names: set[str] = set()
        has_mistakes = False
        for original in self._runs:
            try:
                plan = self._with_changes(original.run).prepare().plan
            except ConfigError as e:
                self._note_mistakes(e.mistakes, original.origin)
                has_mistakes = True
                continue
            key_names.update(key.name for key in plan.keys)
            is_of_step = original.run.settings.inputs
            if is_of_step:  # which has to pass the keys on
                self._note_mistakes(keys_to_pass(plan.missing_keys), original.origin)
        if has_mistakes:
            return "`gradegate validate` finds mistakes, which are listed above"
        if not self._runs:
            return ""
        unset = [name for name in sorted(key_names) if not os.environ.get(name)]
        if unset:
            return f"`gradegate validate` passes once you set {' and '.join(unset)}"
        return "`gradegate validate` passes"

    def _with_changes(self, run: PlannedRun) -> PlannedRun:
        """The run with its configs as they are going to be."""
        texts = {}
        for path, edits in self.files.items():
            with suppress(ConfigError):  # noted when the files are shown
                texts[path] = edits.result().encode()
        return _with_settings(run, file_overrides=texts)

    def _open_config(self, path: Path) -> Edits | None:
        """A config that can be changed. None if it cannot be read, or is no mapping, which its plan reports."""
        with gather_mistakes(self.notes):
            edits = self.open_file(path)
            return edits if isinstance(edits.values, Mapping) else None
        return None

    def _rename_keys(self, edits: Edits) -> None:
        """Rename keys of assertions that promptfoo ignores."""
        for path, assertion in list(_iterate_assertions(edits.wanted)):
            evaluator = EVALUATORS.find(str(assertion.get("type")).removeprefix("not-"))
            value = assertion.get("value")
            is_threshold = type(value) in (int, float) and "threshold" not in assertion
            if evaluator and is_threshold and "value" not in field_names(evaluator):
                edits.change(path, rename={"value": "threshold"})
                what = f"`value: {value}` of `{assertion['type']}` becomes its `threshold`"
                cure = "promptfoo ignores this `value`; check that you want it"
                self._note(what, edits.origin([*path, "value"]), cure)

    # --- the grader of a config

    def _write_grader(self, path: Path, run: PlannedRun, origin: Origin) -> None:
        """Name a grader in a config without one, so that every run of it has the same."""
        choice = self._choose_grader(run)
        edits = self._open_config(path)
        if not choice.grader or edits is None:
            if choice.pin:
                what = (
                    "no grader is named, so the key that the job has chooses one, as in promptfoo"
                )
                self._note(what, origin, f"{choice.pin}, or give `--grader ID` here")
            return

        provider = {"provider": choice.grader}
        default_test = edits.wanted.get("defaultTest", {})
        options = mapping_at(default_test, "options")
        if not isinstance(default_test, Mapping) or "provider" in options:
            what = f"`defaultTest` names no grader for texts, and {choice.grader} cannot be added"
            cure = f"write `options: {{provider: {{text: {choice.grader}}}}}` there"
            self._note(what, edits.origin(["defaultTest"]), cure)
        elif options:
            edits.change(["defaultTest", "options"], put=provider)
        elif "defaultTest" in edits.wanted:
            edits.change(["defaultTest"], put={"options": provider})
        else:
            edits.change([], put={"defaultTest": {"options": provider}})

    def _choose_grader(self, run: PlannedRun) -> _GraderChoice:
        """Choose the grader of ``--grader``, else the default of a vendor for which the run has a key.

        Chooses none if the run names a grader, or needs none.
        """
        if run.settings.graders:
            return _GraderChoice()
        run = self._with_changes(run)
        try:
            plan = run.prepare().plan
        except ConfigError as e:
            if self.grader and self._has_fewer_mistakes_with_grader(run, len(e.mistakes)):
                return _GraderChoice(self.grader)
            return _GraderChoice()

        pin = _find_pin(plan)
        if not pin:
            return _GraderChoice()
        if self.grader:
            return _GraderChoice(self.grader, pin)

        environ = dict(run.environ)
        for job in plan.jobs:
            environ.update(dict.fromkeys(job.target.keys, STAND_IN))
        vendor = choose_default_graders(environ)
        if not vendor.key:
            return _GraderChoice(pin=pin)
        return _GraderChoice(vendor.models["text"], pin)

    def _has_fewer_mistakes_with_grader(self, run: PlannedRun, mistakes_before: int) -> bool:
        """Whether a plan has fewer mistakes with the grader of ``--grader``."""
        mistakes: list[Mistake] = []
        with gather_mistakes(mistakes):
            _with_settings(run, graders={"*": self.grader}).prepare()
        return len(mistakes) < mistakes_before

    # --- the gate of a config

    def _write_gate(self, path: Path) -> None:
        """Write the strictest requirement of a config's `env` and its steps into its gate. Notes the others."""
        edits = self._open_config(path)
        entry_of_env = None
        if edits is not None:
            entry_of_env = _gate_entry_of_env(edits)
        entries_of_steps = self._gate_entries.get(path, {})
        strictest = _choose_gate_entry(entry_of_env, entries_of_steps)

        can_write = edits is not None and "gate" not in edits.wanted
        needs_gate = entry_of_env is not None or strictest != _EVERY_CASE
        if edits is not None and can_write and needs_gate:
            edits.change([], put={"gate": {strictest.key: strictest.value}})

        for entry, origin in entries_of_steps.items():
            is_written = can_write and entry == strictest
            if entry is not None and not is_written:
                self._note_gate_entry(entry, origin)
        if edits is not None:
            self._note_variables(edits, ["env"])

    # --- notes

    def _note(self, what: str, origin: Origin, cure: str) -> None:
        self.notes.append(Mistake(what, origin, cure))

    def _note_mistakes(self, mistakes: Iterable[Mistake], origin: Origin) -> None:
        """Note the mistakes of a run. ``origin`` is the place of those without one."""
        for mistake in mistakes:
            self.notes.append(replace(mistake, origin=mistake.origin or origin))

    def _note_gate_entry(self, entry: GateEntry, origin: Origin) -> None:
        """Note a requirement of a step that is not written into the gate of its config."""
        shown = entry.value if isinstance(entry.value, str) else f"{entry.value:.10g}"
        cure = f"write `gate: {{{entry.key}: {shown}}}` into the config"
        what = f"`{_INPUTS[entry.key]}` is left out: its config has a gate or is not known here, or its `env` or another step is stricter"
        self._note(what, origin, cure)

    def _note_variables(self, edits: Edits, path: YamlPath) -> None:
        """Note the variables of an `env` that decide in promptfoo only."""
        entry = _gate_entry_of_env(edits)
        gate = mapping_at(edits.wanted, "gate")
        is_in_gate = entry is not None and entry in gate.items()
        for name in sorted(mapping_at(edits.wanted, *path).keys() & PROMPTFOO_VARIABLES.keys()):
            if name == _PASS_RATE_VARIABLE and is_in_gate:
                continue
            origin = edits.origin([*path, name])
            self._note(f"`{name}` decides nothing here", origin, PROMPTFOO_VARIABLES[name])


def _changed_step(edits: Edits, step: WorkflowStep) -> WorkflowStep:
    """The step as it is after all changes so far."""
    workflow = edits.wanted
    job = workflow["jobs"][step.path[1]]
    return WorkflowStep(workflow, job, job["steps"][step.path[3]], step.path)


def _find_pin(plan: Plan) -> str:
    """Find how to pin the first grader that a key chooses. Empty if no key chooses one."""
    for model in plan.models:
        pin = pin_of(model.chosen)
        if pin:
            return pin
    return ""


def _choose_gate_entry(
    entry_of_env: GateEntry | None, entries_of_steps: Iterable[GateEntry | None]
) -> GateEntry:
    """Choose the strictest of several pass rates. Other entries cannot be compared: if they differ, every case must pass.

    A step without an entry (None) requires the same as the config's `env`.
    """
    entry_by_default = entry_of_env or _EVERY_CASE
    entries = {entry or entry_by_default for entry in entries_of_steps}
    if entry_of_env is not None or not entries:
        entries.add(entry_by_default)

    are_pass_rates = all(entry.key == _EVERY_CASE.key for entry in entries)
    if are_pass_rates or len(entries) == 1:
        return max(entries)
    return _EVERY_CASE


def _gate_entry_of_env(edits: Edits) -> GateEntry | None:
    """The pass rate that a config's `env` requires."""
    pass_rate = mapping_at(edits.wanted, "env").get(_PASS_RATE_VARIABLE)
    return migrate_inputs({_PASS_RATE_INPUT: pass_rate}).gate


def _iterate_assertions(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[YamlPath, JsonObject]]:
    """Yield every assertion below a value, with its path."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if key == "assert" and isinstance(item, list):
            for number, assertion in enumerate(item):
                if isinstance(assertion, Mapping):
                    yield [*path, key, number], assertion
        yield from _iterate_assertions(item, (*path, key))


def _find_configs(run: PlannedRun) -> set[Path]:
    """Find the config files of a run. An empty set if a path is wrong."""
    with suppress(ConfigError):  # which the plan reports
        return {path.resolve() for path in config_paths(run.settings)}
    return set()


def _with_settings(run: PlannedRun, **settings: Any) -> PlannedRun:
    return replace(run, settings=replace(run.settings, **settings))
