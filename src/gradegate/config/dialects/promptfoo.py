"""promptfoo's config file, with our ``gate``, ``blocking`` and ``turns`` in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.config import cases as templates
from gradegate.config import providers as specs
from gradegate.config import unknown_keys
from gradegate.config.cases import CaseReader
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.keys import CommandLineKeys, ConfigKeys, EvaluateKeys, ScenarioKeys
from gradegate.config.policy import read_derived_metrics, read_policy
from gradegate.config.prompts import read_prompts
from gradegate.config.reader import ConfigReader
from gradegate.config.test_files import load_tests
from gradegate.core.provider_spec import Graders, PromptSpec, ProviderSpec
from gradegate.core.suite import Case, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.security.environment import Environment
from gradegate.structs import JsonObject, inherit_fields, replace

KEYS = "prompts providers targets tests defaultTest scenarios".split()


def recognises(content: Any) -> bool:
    """A mapping with one of promptfoo's main keys."""
    return isinstance(content, dict) and any(key in content for key in KEYS)


def read(source: Source) -> Suite:
    """What could not be read is left out and noted in the suite's mistakes."""
    return _Reader(ConfigReader(source)).suite()


class _Reader:
    """Reads one file. ``_default`` is what ``defaultTest`` gives to every test."""

    def __init__(self, reader: ConfigReader) -> None:
        self.reader = reader
        self._tests_at = CaseReader(reader)
        self._default = Case()

    def suite(self) -> Suite:
        reader = self.reader
        whole, passed = reader.source.content, reader.source.idle
        content = unknown_keys.without_idle_keys(ConfigKeys, whole, reader.file, passed)
        for name, model in (
            ("evaluateOptions", EvaluateKeys),
            ("commandLineOptions", CommandLineKeys),
        ):
            if isinstance(steering := content.get(name), Mapping):
                known = unknown_keys.without_idle_keys(model, steering, reader.file, passed)
                content = {**content, name: known}
        keys = reader.check_keys(ConfigKeys, content, whole, reader.file) or ConfigKeys()
        reader.source = replace(reader.source, env=self._env(keys.env))
        graders = self._read_default()
        evaluate, command_line = keys.evaluate_options, keys.command_line_options
        if command_line.grader:
            graders = reader.read_graders(
                command_line.grader, reader.origin_at("commandLineOptions")
            )
        suite_prompts = tuple(read_prompts(keys.prompts, reader))
        written = keys.targets or keys.providers
        targets = self._providers(written)
        tests = (
            self._merged(case, test)
            for test, case in self._read(keys.tests, reader.file, ["tests"])
        )
        cases = (*tests, *self._scenarios(keys.scenarios))
        if not cases and not reader.mistakes:
            what = "there are no tests, so nothing would be checked"
            reader.say(what, reader.origin_at("tests"), "add `tests:`")
        targetless = None
        if not written and not (cases and all(case.is_recorded for case in cases)):
            cure = "add `providers: [openai:chat:MODEL]`"
            place = reader.origin_at(self._targets_key)
            targetless = Mistake("the config names no provider", place, cure)
        rules = read_policy(keys.gate, reader)
        metrics = tuple(read_derived_metrics(keys.derived_metrics or (), reader))
        reader.notes += templates.template_notes(keys.assertion_templates, reader.file)
        return Suite(
            file=reader.file,
            description=keys.description,
            prompts=suite_prompts
            or (PromptSpec("" if keys.prompts else "{{prompt}}", origin=Origin(reader.file)),),
            targets=targets,
            targetless=targetless,
            cases=cases,
            policy=rules,
            graders=graders,
            env=reader.source.env,
            max_concurrency=command_line.max_concurrency or evaluate.max_concurrency,
            repeat=command_line.repeat or evaluate.repeat,
            derived=metrics,
            timeout=evaluate.timeout_ms / 1000 if evaluate.timeout_ms else None,
            notes=tuple(reader.notes),
            idle=tuple(reader.source.idle),
            mistakes=tuple(reader.mistakes),
        )

    @property
    def _targets_key(self) -> str:
        return "targets" if "targets" in self.reader.source.content else "providers"

    def _env(self, written: Mapping[str, str]) -> Environment:
        """The environment under the config's own literals."""
        env, line = self.reader.source.env, self.reader.origin_at("env")
        with gather_mistakes(self.reader.mistakes):
            return env.with_literals(
                *specs.read_env_block(written, env, line, self.reader.mistakes)
            )
        return env.with_literals(written)

    def _providers(self, written: Any) -> tuple[ProviderSpec, ...]:
        found = []
        with gather_mistakes(self.reader.mistakes):
            for item, line in self.reader.items_with_origins(written or None, self._targets_key):
                found += specs.read_targets(item, self.reader.source, line)
            return tuple(found)
        return ()

    def _read_default(self) -> Graders:
        """Read ``defaultTest``; its grader is kept apart, because ``--grader`` wins over it and not over a test's."""
        source, file = self.reader.source, self.reader.file
        written = source.content.get("defaultTest")
        if isinstance(written, str):
            line = self.reader.origin_at("defaultTest")
            with gather_mistakes(self.reader.mistakes):
                file = source.name(written, line)
                written = document.read(source.read(written, line), file)
        if not isinstance(written, Mapping):
            return {}
        self._default = (
            self._tests_at.case(written, file, inline=file == self.reader.file) or Case()
        )
        if self._default.quarantine:
            what = "`flaky` puts every test in quarantine here"
            cure = "write it on the tests that are flaky"
            self.reader.say(what, document.origin_of(file, written, "flaky"), cure)
        graders = self._default.options.graders
        variables = {**self._default.vars, **source.variables}
        self._default = replace(
            self._default, vars=variables, options=replace(self._default.options, graders={})
        )
        return graders

    def _read(
        self, written: Any, file: str, path: Sequence[str | int], origin: Origin | None = None
    ) -> Iterator[tuple[JsonObject, Case]]:
        """The tests of a list or of the files that it names: as written, and read; ``path`` leads to them in a config."""
        for test, where, inline in self._written(written, file, path, origin):
            if not isinstance(test, Mapping):
                place = document.origin_of(where, test)
                self.reader.say("a test is a mapping", place, "give it `vars` and `assert`")
                continue
            case = self._tests_at.case(test, where, inline)
            if case is not None:
                yield test, case

    def _written(
        self, written: Any, file: str, path: Sequence[str | int], origin: Origin | None
    ) -> Iterator[tuple[Any, str, bool]]:
        for item, line in self.reader.items_with_origins(written, *path):
            config = None
            if isinstance(item, Mapping) and "path" in item and item.keys() <= {"path", "config"}:
                config, item = item.get("config"), str(item["path"])  # noqa: PLW2901 - a function that makes tests
            if not isinstance(item, str):
                yield item, file, file == self.reader.file
                continue
            with gather_mistakes(self.reader.mistakes):
                for test, name in load_tests(item, self.reader.source, origin or line, config):
                    yield test, name, False

    # --- scenarios --------------------------------------------------------------------------------------------

    def _scenarios(self, written: Any) -> Iterator[Case]:
        """Each entry of a scenario's ``config`` with each of its tests; what is in several places is the test's."""
        number = 0
        for scenario, origin in self._scenarios_in(written):
            keys = self.reader.check_keys(ScenarioKeys, scenario, scenario, origin.file)
            if keys is None:
                continue
            entries = [*self._read(keys.config, origin.file, (), origin)]
            tests = (
                [*self._read(keys.tests, origin.file, (), origin)]
                if keys.tests is not None
                else [({}, Case())]
            )
            if not (entries and tests) and not self.reader.mistakes:
                what = "the scenario makes no test, so nothing would be checked"
                self.reader.say(what, origin, "give it entries in `config`, and `tests`")
            for entry, given in entries:
                for test, case in tests:
                    joined = self._merged(case, test, given)
                    joined = replace(
                        joined, origin=case.origin if case.origin.line else given.origin
                    )
                    whole = self._merged(joined, {**entry, **test})
                    yield replace(
                        whole,
                        metadata={"conversationId": f"__scenario_{number}__", **whole.metadata},
                    )
                number += 1

    def _scenarios_in(self, written: Any) -> Iterator[tuple[JsonObject, Origin]]:
        """The scenarios of a list, or of the files that it names, each with its place."""
        source, line = self.reader.source, self.reader.origin_at("scenarios")
        for item, _ in self.reader.items_with_origins(written, "scenarios"):
            documents = [(self.reader.file, item)]
            if isinstance(item, str):
                documents = []
                with gather_mistakes(self.reader.mistakes):
                    paths = source.workspace.glob(item, source.folder, line)
                    contents = [
                        (source.workspace.name(path), source.read(str(path), line))
                        for path in paths
                    ]
                    documents = [
                        (name, document.resolved(content, name)) for name, content in contents
                    ]
            for file, content in documents:
                for scenario in content if isinstance(content, list) else [content]:
                    origin = Origin(file, getattr(scenario, "line", 0) or line.line)
                    if isinstance(scenario, Mapping):
                        yield scenario, origin
                    else:
                        self.reader.say(
                            "a scenario is a mapping", origin, "give it `config` and `tests`"
                        )

    def _merged(self, case: Case, test: JsonObject, entry: Case | None = None) -> Case:
        """A test over the defaults, or over an entry of its scenario: it wins, key by key in vars, options and metadata."""
        base = entry or self._default
        joins = entry is not None or case.options.default_assertions
        return replace(
            inherit_fields(case, base, joined=("vars", "metadata")),
            assertions=(*base.assertions, *case.assertions) if joins else case.assertions,
            options=inherit_fields(case.options, base.options, joined=("settings",)),
            threshold=case.threshold if "threshold" in test else base.threshold,
            origin=case.origin,
        )


DIALECTS.register("promptfoo")(
    Dialect(
        "promptfoo",
        "promptfooconfig.yaml or .json, with gradegate's own `gate` block",
        recognises,
        read,
    )
)
