"""What ``gradegate migrate`` changes in promptfoo configs and in workflows that run promptfoo, and what it leaves to people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.commands import promptfoo_command
from gradegate.commands.choices import ACTION, PLACEHOLDER
from gradegate.commands.outlook import USES, planned, runner, step_settings
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.edits import Edits, Remarked
from gradegate.files.workspace import Workspace
from gradegate.github.promptfoo_inputs import VARIABLES, Moved, moved
from gradegate.grading.grader import GRADERS
from gradegate.planning.grader_options import option_names
from gradegate.planning.load import config_paths, load
from gradegate.values.settings import ActionSettings, Settings

_PROMPTFOO = re.compile(r"promptfoo/promptfoo-action@\S+", re.IGNORECASE)
_GRADER = "promptfoo takes a grader by the key that is there, and gradegate takes none by itself"
_SHARE = "write `gate: {{rules: [{{name: most pass, min-pass-rate: {:.10g}}}]}}` into the config"


@dataclass
class Migration:
    """Files below ``root`` with their changes. ``left`` is what is to be known or done by hand, each with its place."""

    root: Path
    grader: str = ""
    files: dict[Path, Edits] = field(default_factory=dict)
    left: list[Mistake] = field(default_factory=list)
    _graded: set[Path] = field(default_factory=set)  # configs whose step of a workflow says who grades

    def opened(self, path: Path) -> Edits:
        """A file that may be changed; one that lies outside is none. Raises ConfigError."""
        workspace = Workspace(self.root)
        place = workspace.locate(path.name, path.parent, Origin(path.name))
        if place not in self.files:
            name = workspace.name(place)
            self.files[place] = Edits(workspace.read(path.name, path.parent, Origin(name)), name)
        return self.files[place]

    def workflow(self, path: Path, change: bool) -> None:
        """Each step that runs promptfoo, if it is to be changed. Raises ConfigError for a file that cannot be read."""
        edits = self.opened(path)
        for name, job, number, step in _steps(edits.values):
            place: list[str | int] = ["jobs", name, "steps", number]
            uses, command = str(step.get("uses") or ""), str(step.get("run") or "")
            run = step_settings(self.root, edits.values, job, step)[1] if USES.fullmatch(uses) else None
            self._graded |= _configs(run) if run and run.graders else set()
            is_action = change and _PROMPTFOO.fullmatch(uses) is not None
            if is_action:
                self._uses(edits, place, step)
            if is_action or (change and promptfoo_command.IS_EVAL.search(command) and self._run(edits, place, job, step)):
                self._around(edits, place)
                self._judged(edits, place)

    def _uses(self, edits: Edits, place: list[str | int], step: Mapping[str, Any]) -> None:
        """A step that uses promptfoo's action."""
        given = step["with"] if isinstance(step.get("with"), Mapping) else {}
        changes = moved(given)
        self.left += [Mistake(what, edits.origin([*place, "with", key]), cure) for key, what, cure in changes.left]
        whole = bool(given) and changes.drop >= given.keys() and not changes.put
        if given and not whole:
            edits.change([*place, "with"], changes.drop, changes.put, changes.rename)
        env = step["env"] if isinstance(step.get("env"), Mapping) else {}
        new = {name: value for name, value in changes.env.items() if name not in env}
        if env and new:
            edits.change([*place, "env"], put=new)
        edits.change(place, ["with"] if whole else (), {"uses": Remarked(ACTION), **({"env": new} if new and not env else {})})
        if changes.share is not None:
            self._gate(edits, place, changes)

    def _gate(self, edits: Edits, place: list[str | int], changes: Moved) -> None:
        """The share of cases that have to pass, in each config of the step."""
        gate = {"rules": [{"name": "most pass", "min-pass-rate": changes.share}]}
        paths: list[Path | None] = [*sorted(_configs(self._settings(edits, place)[1]))]
        for path in paths or [None]:
            config = self._config(path) if path else None
            if config is not None and config.wanted.get("gate") == gate:
                continue
            if config is None or "gate" in config.wanted:
                what = "`fail-on-threshold` is left out, and its config is not known here, or has a gate of its own"
                self.left.append(Mistake(what, edits.origin([*place, "with"]), _SHARE.format(changes.share)))
            else:
                config.change([], put={"gate": gate})

    def _run(self, edits: Edits, place: list[str | int], job: Mapping[str, Any], step: Mapping[str, Any]) -> bool:
        """A step that runs the command: whether one that uses the Action does the same."""
        given, why = promptfoo_command.inputs(step["run"])
        shells = (_at(edits.values, "defaults", "run"), _at(job, "defaults", "run"), step)
        folder = [str(it["working-directory"]) for it in shells if it.get("working-directory")]
        given |= {"working-directory": folder[-1]} if folder else {}
        if why:
            shown = ", ".join(f"{name}: {value}" for name, value in given.items())
            cure = f"write `uses: {ACTION}`, with its options as inputs{f' ({shown})' if shown else ''}; the exit code is the verdict"
            self.left.append(Mistake(f"a step that runs promptfoo stays: {why}", edits.origin([*place, "run"]), cure))
            return False
        edits.change(
            place, {"shell", "working-directory"}, {"uses": Remarked(ACTION), **({"with": given} if given else {})}, {"run": "uses"}
        )
        for number, later in enumerate(job["steps"]):
            read = [name for name in given.get("output", "").split() if Path(name).name in str(_at({"": later}, "").get("run") or "")]
            if read and number > int(place[-1]):
                what = f"this step reads {read[0]}, which has another form now (docs/results.schema.json)"
                cure = "remove it where it decides: the step of the gate fails by itself"
                self.left.append(Mistake(what, edits.origin([*place[:-1], number, "run"]), cure))
        return True

    def _around(self, edits: Edits, place: list[str | int]) -> None:
        """The permission that the comment needs, and variables that decided."""
        workflow, job, step = edits.wanted, edits.wanted["jobs"][place[1]], _step(edits, place)
        where = [*place[:2], "permissions"] if "permissions" in job else ["permissions"]
        rights = (job if "permissions" in job else workflow).get("permissions")
        if isinstance(rights, Mapping) and _at(step, "with").get("comment") != "off" and rights.get("pull-requests") != "write":
            if "pull-requests" in rights or not rights:
                what = "the job may not write to pull requests, so no comment is posted"
                self.left.append(
                    Mistake(what, edits.origin(where), "write `pull-requests: write` into `permissions`, or `comment: off` into `with`")
                )
            else:
                edits.change(where, put={"pull-requests": "write"})
        for level, above in (([], workflow), (place[:2], job), (place, step)):
            for name in VARIABLES.keys() & _at(above, "env").keys():
                self.left.append(Mistake(f"`{name}` decides nothing here", edits.origin([*level, "env", name]), VARIABLES[name]))

    def _judged(self, edits: Edits, place: list[str | int]) -> None:
        """Who grades, and what is wrong with the configs of the step."""
        step, origin = _step(edits, place), edits.origin(place)
        action, run = self._settings(edits, place)
        self.left += [replace(mistake, origin=mistake.origin or origin) for mistake in action.mistakes]
        if run is None:
            what = "which configs are read is only known when it runs"
            self.left.append(Mistake(what, origin, "give `grader: ID` if an assertion of theirs asks a model"))
            return
        for path in _configs(run):
            self._config(path)
            self._graded.add(path)
        if new := self._grader(run, origin):
            given = _at(step, "with")
            edits.change([*place, "with"] if given else place, put={"grader": new} if given else {"with": {"grader": new}})

    def _settings(self, edits: Edits, place: list[str | int]) -> tuple[ActionSettings, Settings | None]:
        return step_settings(self.root, edits.wanted, edits.wanted["jobs"][place[1]], _step(edits, place))

    def _changed(self, run: Settings) -> Settings:
        """The run, with configs as they are going to be."""
        texts = {}
        for path, edits in self.files.items():
            with suppress(ConfigError):  # which is told when the files are shown
                texts[path] = edits.result().encode()
        return replace(run, instead=texts)

    def _grader(self, run: Settings, origin: Origin) -> str:
        """The model that is to be named, if one has to be. It is the one that answers where that is one model, as `init` has it."""
        run = self._changed(run)
        before = _mistakes(run)
        new = self.grader or _answering(run) or PLACEHOLDER
        if run.graders or not before:
            self.left += before
            return ""
        text, after = (_mistakes(replace(run, graders={kind: new})) for kind in ("text", "*"))
        if all(it in text for it in before) and len(after) >= len(before):  # a grader mends nothing
            self.left += before
            return ""
        self.left += after
        if not self.grader:
            why = "put a model for MODEL" if new == PLACEHOLDER else "it is the model that answers; another one is a better judge of it"
            self.left.append(Mistake(f"`{new}` is to grade: {_GRADER}", origin, why))
        return new

    def config(self, path: Path) -> None:
        """A config: its own keys, and the grader where no step of a workflow names one. Raises ConfigError."""
        edits = self._config(path)
        if edits is None or path.resolve() in self._graded:
            return
        run = Settings(configs=(str(path),), cwd=path.parent, environ=runner(self.root))
        if new := self._grader(run, edits.origin([])):
            default = edits.wanted.get("defaultTest")
            options = _at(default, "options")
            if isinstance(default, Mapping) and options:
                edits.change(["defaultTest", "options"], put={"provider": new})
            elif isinstance(default, Mapping):
                edits.change(["defaultTest"], put={"options": {"provider": new}})
            elif default is None:
                edits.change([], put={"defaultTest": {"options": {"provider": new}}})
            else:
                self.left.append(
                    Mistake(
                        "`defaultTest` is in a file of its own",
                        edits.origin(["defaultTest"]),
                        f"write `options: {{provider: {new}}}` there",
                    )
                )

    def _config(self, path: Path) -> Edits | None:
        """The config with its keys changed; None for one that is no mapping or cannot be read, which the plan says."""
        known = path.resolve() in self.files
        try:
            edits = self.opened(path)
        except ConfigError as e:
            self.left += e.mistakes
            return None
        if isinstance(edits.values, Mapping) and not known:
            for place, assertion in _assertions(edits.values):
                kind = GRADERS.find(str(assertion.get("type")).removeprefix("not-"))
                value = assertion.get("value")
                if kind and type(value) in (int, float) and "value" not in option_names(kind) and "threshold" not in assertion:
                    edits.change(place, rename={"value": "threshold"})
                    what = f"`value: {value}` of `{assertion['type']}` is its `threshold` now"
                    self.left.append(
                        Mistake(what, edits.origin([*place, "value"]), "promptfoo passes that `value` over; check that it is meant")
                    )
        return edits if isinstance(edits.values, Mapping) else None


def _steps(workflow: Any) -> Iterator[tuple[str, Mapping[str, Any], int, Mapping[str, Any]]]:
    """The name of each job, the job, and its steps by number."""
    for name, job in _at(workflow, "jobs").items():
        steps = job.get("steps") if isinstance(job, Mapping) else None
        for number, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, Mapping):
                yield name, job, number, step


def _step(edits: Edits, place: list[str | int]) -> Any:
    return edits.wanted["jobs"][place[1]]["steps"][place[3]]


def _at(value: Any, *keys: str) -> Mapping[str, Any]:
    """A mapping inside others; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _assertions(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[list[str | int], Mapping[str, Any]]]:
    """Everything that stands in a list `assert`."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key == "assert" and isinstance(item, list):
            yield from (([*place, key, number], one) for number, one in enumerate(item) if isinstance(one, Mapping))
        yield from _assertions(item, (*place, key))


def _configs(run: Settings | None) -> set[Path]:
    try:
        return {path.resolve() for path in config_paths(run)} if run else set()
    except ConfigError:  # which the plan says
        return set()


def _mistakes(run: Settings) -> tuple[Mistake, ...]:
    """What is wrong with a run."""
    try:
        planned(run)
    except ConfigError as e:
        return e.mistakes
    return ()


def _answering(run: Settings) -> str:
    """The one model that answers in all configs, if it is one."""
    try:
        ids = {spec.id for located in load(run) for spec in located.suite.targets}
    except ConfigError:
        return ""
    parts = split_id(only := ids.pop()) if len(ids) == 1 else None
    return only if parts and getattr(PROVIDERS.find(parts[0]), "names_model", True) else ""
