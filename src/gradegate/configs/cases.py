"""One test with its assertions, as a config or a file of tests writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gradegate.configs import scripts, specs
from gradegate.configs.desk import Desk
from gradegate.configs.keys import AssertionKeys, FlakyKeys, OptionKeys, TestKeys
from gradegate.configs.turns import read_turns
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.files.kinds import is_code
from gradegate.processes.pool import INSTEAD, program
from gradegate.values.suite import NO_OPTIONS, NOTHING, Assertion, Case, CaseOptions, Code, Quarantine, Verbatim

LONGEST = 90  # days of a quarantine


@dataclass(frozen=True)
class CaseReader:
    """Reads tests; what is wrong with them is noted at the desk."""

    desk: Desk

    def case(self, test: Mapping[str, Any], file: str, inline: bool) -> Case | None:
        """A test of a file; ``inline`` when that is the config itself. None when it cannot be read at all."""
        keys = self.desk.check(TestKeys, test, test, file)
        if keys is None:
            return None
        origin = Origin(file, getattr(test, "line", 0))
        given = keys.provider_output
        try:
            at = Origin(file, document.line_of(test, ["provider"]))
            return Case(
                description=keys.description,
                vars=self._vars(keys.vars, origin, inline),
                assertions=tuple(self._assertions(test.get("assert"), file, inline)),
                options=self._options(keys.options, test, file),
                threshold=None if keys.threshold == "none" else keys.threshold,
                scoring=self._scoring(keys.assert_scoring_function, test, file),
                providers=tuple(keys.providers or ()),
                prompts=tuple(keys.prompts or ()),
                target=specs.targets(keys.provider, self.desk.source, at)[0] if keys.provider else None,
                output=given if given is None or isinstance(given, str) else document.to_json(given),
                turns=read_turns(test["turns"], self.desk.source, origin) if test.get("turns") is not None else (),
                metadata=keys.metadata or NOTHING,
                runs=self.desk.runs(keys.runs, Origin(file, document.line_of(test, ["runs"]))),
                quarantine=self._quarantine(keys.flaky, Origin(file, document.line_of(test, ["flaky", "until"]))),
                origin=origin,
            )
        except ConfigError as e:
            self.desk.mistakes += e.mistakes
            return None

    def _quarantine(self, keys: FlakyKeys | None, origin: Origin) -> Quarantine | None:
        if keys is None:
            return None
        days = (keys.until - datetime.now(UTC).date()).days
        if days > LONGEST:
            what = f"`until` is {days} days ahead, but a quarantine lasts at most {LONGEST}"
            raise ConfigError.at(what, origin, "set an earlier date, and fix the test by then")
        return Quarantine(keys.until, days)

    def _scoring(self, written: str, test: Mapping[str, Any], file: str) -> Code:
        origin = Origin(file, document.line_of(test, ["assertScoringFunction"]))
        if written and not written.startswith("file://"):
            raise ConfigError.at("`assertScoringFunction` names no file", origin, "write `file://score.js`")
        return scripts.code(written, self.desk.source, origin)

    def _vars(self, written: Any, origin: Origin, inline: bool) -> Mapping[str, Any]:
        """A mapping, or the mappings of YAML and JSON files in one, which are relative to the file of the test."""
        if isinstance(written, Mapping):
            return dict(written)
        workspace, variables = self.desk.source.workspace, dict[str, Any]()
        folder = self.desk.source.folder if inline else (workspace.root / origin.file).parent
        for reference in [written] if isinstance(written, str) else written:
            if is_code(reference):
                raise ConfigError.at(f"`{reference}` is code, which gradegate does not run", origin, "write the values")
            for path in workspace.glob(reference, folder, origin):
                content = document.read(workspace.read(str(path), folder, origin), workspace.name(path))
                if not isinstance(content, Mapping):
                    raise ConfigError.at(f"`{workspace.name(path)}` holds no variables", origin, "write a mapping into it")
                variables |= content
        return variables

    def _options(self, keys: OptionKeys | None, test: Mapping[str, Any], file: str) -> CaseOptions:
        if keys is None:
            return NO_OPTIONS
        origin = Origin(file, document.line_of(test, ["options", "provider"]))
        return CaseOptions(
            graders=self.desk.graders(keys.provider, origin),
            rubric_prompt=self._rubric_prompt(keys.rubric_prompt, origin),
            settings=dict(keys.model_extra) if keys.model_extra else NOTHING,
            expand_vars=not keys.disable_var_expansion,
            default_assertions=not keys.disable_default_asserts,
            prefix=keys.prefix,
            suffix=keys.suffix,
            repeat=keys.repeat,
            transform=self._code(keys.transform or keys.postprocess, test, file, "transform"),
            transform_vars=self._code(keys.transform_vars, test, file, "transformVars"),
        )

    def _code(self, written: str, test: Mapping[str, Any], file: str, key: str) -> Code:
        """A script of the test's options; empty when it holds a mistake, which is said."""
        try:
            return scripts.code(written, self.desk.source, Origin(file, document.line_of(test, ["options", key])))
        except ConfigError as e:
            self.desk.mistakes += e.mistakes
            return ""

    def _assertions(self, written: Any, file: str, inline: bool) -> Iterator[Assertion]:
        """The assertions of a list; of what is none, and of an item that is no mapping, the check of keys has said so."""
        for item in written if isinstance(written, list) else ():
            if not isinstance(item, Mapping):
                continue
            keys = self.desk.check(AssertionKeys, item, item, file)
            if keys is not None:
                try:
                    yield self._assertion(keys, item, file, inline)
                except ConfigError as e:
                    self.desk.mistakes += e.mistakes

    def _assertion(self, keys: AssertionKeys, item: Mapping[str, Any], file: str, inline: bool) -> Assertion:
        origin, score_only = Origin(file, getattr(item, "line", 0)), keys.threshold == "none"
        if score_only and keys.blocking and "blocking" in keys.model_fields_set:
            what = f"`{keys.type}` has `threshold: none`, so it cannot block"
            raise ConfigError.at(what, origin, "give it a threshold, or leave out `blocking: true`")
        return Assertion(
            type=keys.type,
            value=self._value(keys.value, origin, inline, keys.type),
            threshold=None if keys.threshold == "none" else keys.threshold,
            score_only=score_only,
            weight=keys.weight,
            metric=keys.metric,
            blocking=keys.blocking and not score_only,
            graders=self.desk.graders(keys.provider, Origin(file, document.line_of(item, ["provider"]))),
            rubric_prompt=self._rubric_prompt(keys.rubric_prompt, origin),
            config=keys.config or NOTHING,
            transform=scripts.code(keys.transform, self.desk.source, origin),
            context_transform=scripts.code(keys.context_transform, self.desk.source, origin),
            members=tuple(self._assertions(item.get("assert"), file, inline)),
            confirm=keys.confirm or "",
            second_opinions=self.desk.models(keys.second_opinions, Origin(file, document.line_of(item, ["second-opinions"]))),
            origin=origin,
        )

    def _value(self, value: Any, origin: Origin, inline: bool, kind: str = "") -> Any:
        if isinstance(value, str) and value.startswith("file://"):
            if kind.removeprefix("not-") == "python":
                return program(value, self.desk.source.workspace, self.desk.source.folder, origin, INSTEAD)
            if kind.removeprefix("not-") == "javascript":
                return scripts.code(value, self.desk.source, origin)
        if isinstance(value, list):
            return [self._value(item, origin, inline) for item in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        if is_code(value):
            raise ConfigError.at(f"`{value}` is code, which gradegate does not run", origin, "use another assertion")
        suffix = value.rpartition(".")[2].partition(":")[0]
        if suffix in ("json", "yaml", "yml"):
            content = self.desk.source.workspace.read(value, self.desk.source.folder, origin)
            return document.read(content, value.removeprefix("file://"))
        text = self.desk.source.workspace.text(value, self.desk.source.folder, origin)
        return Verbatim(text.strip()) if inline else text  # as in promptfoo, only external tests fill such text in

    def _rubric_prompt(self, written: Any, origin: Origin) -> Any:
        if isinstance(written, str) and written.startswith("file://"):
            return self.desk.source.workspace.text(written, self.desk.source.folder, origin)
        if isinstance(written, Mapping):
            return {key: self._rubric_prompt(value, origin) for key, value in written.items()}
        if isinstance(written, list):
            return [self._rubric_prompt(value, origin) for value in written]
        return written
