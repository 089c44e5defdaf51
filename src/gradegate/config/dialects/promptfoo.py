"""promptfoo's config file, with gradegate's own keys in it, such as ``gate``, ``blocking`` and ``turns``."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradegate.config.cases import CaseReader, template_notes
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.keys import CommandLineKeys, ConfigKeys, EvaluateKeys, ScenarioKeys
from gradegate.config.policy import read_derived_metrics, read_policy
from gradegate.config.prompts import read_prompts
from gradegate.config.providers import read_env_block, read_targets
from gradegate.config.reader import ConfigReader
from gradegate.config.test_files import load_tests
from gradegate.config.unknown_keys import without_idle_keys
from gradegate.core.provider_spec import Graders, PromptSpec, ProviderSpec
from gradegate.core.suite import Case, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.references import read_with_references
from gradegate.security.environment import Environment
from gradegate.structs import JsonObject, inherit_fields, replace

KEYS = ("prompts", "providers", "targets", "tests", "defaultTest", "scenarios")


def recognises(content: Any) -> bool:
    """A mapping with one of promptfoo's main keys."""
    return isinstance(content, dict) and any(key in content for key in KEYS)


def read(source: Source) -> Suite:
    """Read a config. What cannot be read is left out and noted in the suite's mistakes."""
    return _SuiteReader(ConfigReader(source)).read_suite()


class _Test(NamedTuple):
    """A test as it is written, and the case that it was read into."""

    written: JsonObject
    case: Case


class _SuiteReader:
    """Reads one config. ``default`` is the case of ``defaultTest``, without its graders."""

    def __init__(self, reader: ConfigReader) -> None:
        self.reader = reader
        self.default = Case()

    def read_suite(self) -> Suite:
        reader = self.reader
        keys = self._check_config()
        reader.source = replace(reader.source, env=self._read_env(keys.env))

        graders = self._read_default_test()
        evaluate = keys.evaluate_options
        command_line = keys.command_line_options
        if command_line.grader:
            origin = reader.origin_at("commandLineOptions")
            graders = reader.read_graders(command_line.grader, origin)

        prompts = tuple(read_prompts(keys.prompts, reader))
        if not prompts:
            text = "" if keys.prompts else "{{prompt}}"
            prompts = (PromptSpec(text, origin=Origin(reader.file)),)

        targets_key = "targets" if "targets" in reader.source.content else "providers"
        written_targets = keys.targets or keys.providers
        targets = self._read_targets(written_targets, targets_key)

        tests = self._read_tests(keys.tests, reader.file, "tests")
        cases = [self._with_defaults(test, self.default) for test in tests]
        cases += self._read_scenarios(keys.scenarios)
        if not cases and not reader.mistakes:
            what = "there are no tests, so nothing would be checked"
            reader.say(what, reader.origin_at("tests"), "add `tests:`")

        targetless = None
        is_recorded = bool(cases) and all(case.is_recorded for case in cases)
        if not written_targets and not is_recorded:
            cure = "add `providers: [openai:chat:MODEL]`"
            origin = reader.origin_at(targets_key)
            targetless = Mistake("the config names no provider", origin, cure)

        policy = read_policy(keys.gate, reader)
        derived = tuple(read_derived_metrics(keys.derived_metrics or (), reader))
        reader.notes += template_notes(keys.assertion_templates, reader.file)
        return Suite(
            file=reader.file,
            description=keys.description,
            prompts=prompts,
            targets=targets,
            targetless=targetless,
            cases=tuple(cases),
            policy=policy,
            graders=graders,
            env=reader.source.env,
            max_concurrency=command_line.max_concurrency or evaluate.max_concurrency,
            repeat=command_line.repeat or evaluate.repeat,
            derived=derived,
            timeout=evaluate.timeout_ms / 1000 if evaluate.timeout_ms else None,
            notes=tuple(reader.notes),
            idle=tuple(reader.source.idle),
            mistakes=tuple(reader.mistakes),
        )

    def _check_config(self) -> ConfigKeys:
        """Check the keys at the top of the config, and those of its options."""
        reader = self.reader
        whole = reader.source.content
        idle = reader.source.idle
        content = without_idle_keys(ConfigKeys, whole, reader.file, idle)
        for name, model in (
            ("evaluateOptions", EvaluateKeys),
            ("commandLineOptions", CommandLineKeys),
        ):
            options = content.get(name)
            if isinstance(options, Mapping):
                options = without_idle_keys(model, options, reader.file, idle)
                content = {**content, name: options}
        return reader.check_keys(ConfigKeys, content, whole, reader.file) or ConfigKeys()

    def _read_env(self, written: Mapping[str, str]) -> Environment:
        """The environment under the config's own ``env``."""
        env = self.reader.source.env
        mistakes = self.reader.mistakes
        with gather_mistakes(mistakes):
            block = read_env_block(written, env, self.reader.origin_at("env"), mistakes)
            return env.with_literals(*block)
        return env.with_literals(written)

    def _read_targets(self, written: Any, key: str) -> tuple[ProviderSpec, ...]:
        """Read all targets; none of them if there is a mistake."""
        targets = []
        with gather_mistakes(self.reader.mistakes):
            for item, origin in self.reader.items_with_origins(written or None, key):
                targets += read_targets(item, self.reader.source, origin)
            return tuple(targets)
        return ()

    # --- tests --------------------------------------------------------------------------------------------

    def _read_default_test(self) -> Graders:
        """Read ``defaultTest``, and return its graders: ``--grader`` wins over them, and not over those of a test."""
        reader = self.reader
        source = reader.source
        file = reader.file
        written = source.content.get("defaultTest")
        if isinstance(written, str):
            origin = reader.origin_at("defaultTest")
            with gather_mistakes(reader.mistakes):
                file = source.name(written, origin)
                written = document.read(source.read(written, origin), file)
        if not isinstance(written, Mapping):
            return {}

        case_reader = CaseReader(reader, file, inline=file == reader.file)
        default = case_reader.read_case(written) or Case()
        if default.quarantine:
            what = "`flaky` puts every test in quarantine here"
            cure = "write it on the tests that are flaky"
            reader.say(what, document.origin_of(file, written, "flaky"), cure)
        self.default = replace(
            default,
            vars={**default.vars, **source.variables},
            options=replace(default.options, graders={}),
        )
        return default.options.graders

    def _read_tests(
        self, written: Any, file: str, *path: str, origin: Origin | None = None
    ) -> Iterator[_Test]:
        """Read the tests of a list, or of the files that it names. A ``path`` leads to the list in the config."""
        reader = self.reader
        for item, item_origin in reader.items_with_origins(written, *path):
            # A function that makes tests, and what it is called with.
            config = None
            reference = item
            if isinstance(item, Mapping) and "path" in item and item.keys() <= {"path", "config"}:
                reference = str(item["path"])
                config = item.get("config")
            if not isinstance(reference, str):
                yield from self._read_test(item, file, inline=file == reader.file)
                continue
            with gather_mistakes(reader.mistakes):
                tests = load_tests(reference, reader.source, origin or item_origin, config)
                for test, name in tests:
                    yield from self._read_test(test, name, inline=False)

    def _read_test(self, written: Any, file: str, inline: bool) -> Iterator[_Test]:
        if not isinstance(written, Mapping):
            origin = document.origin_of(file, written)
            self.reader.say("a test is a mapping", origin, "give it `vars` and `assert`")
            return
        case = CaseReader(self.reader, file, inline).read_case(written)
        if case is not None:
            yield _Test(written, case)

    def _with_defaults(self, test: _Test, default: Case, always_joins: bool = False) -> Case:
        """A case over a default one: its vars, options and metadata win, key by key.

        The assertions of both are joined, unless the test says ``disableDefaultAsserts``.
        """
        case = test.case
        assertions = case.assertions
        if always_joins or case.options.default_assertions:
            assertions = (*default.assertions, *assertions)
        return replace(
            inherit_fields(case, default, joined=("vars", "metadata")),
            assertions=assertions,
            options=inherit_fields(case.options, default.options, joined=("settings",)),
            threshold=case.threshold if "threshold" in test.written else default.threshold,
            origin=case.origin,
        )

    # --- scenarios ----------------------------------------------------------------------------------------

    def _read_scenarios(self, written: Any) -> Iterator[Case]:
        """The cases of all scenarios: each entry of ``config`` with each test. The test wins over the entry."""
        reader = self.reader
        number = 0
        for scenario, origin in self._load_scenarios(written):
            keys = reader.check_keys(ScenarioKeys, scenario, scenario, origin.file)
            if keys is None:
                continue
            entries = list(self._read_tests(keys.config, origin.file, origin=origin))
            tests = [_Test({}, Case())]
            if keys.tests is not None:
                tests = list(self._read_tests(keys.tests, origin.file, origin=origin))
            if not (entries and tests) and not reader.mistakes:
                what = "the scenario makes no test, so nothing would be checked"
                reader.say(what, origin, "give it entries in `config`, and `tests`")
            for entry in entries:
                for test in tests:
                    case = self._join_entry(entry, test)
                    metadata = {"conversationId": f"__scenario_{number}__", **case.metadata}
                    yield replace(case, metadata=metadata)
                number += 1

    def _join_entry(self, entry: _Test, test: _Test) -> Case:
        """The case of a test over an entry of its scenario, and both over ``defaultTest``."""
        case = self._with_defaults(test, entry.case, always_joins=True)
        if not case.origin.line:
            case = replace(case, origin=entry.case.origin)
        joined = _Test({**entry.written, **test.written}, case)
        return self._with_defaults(joined, self.default)

    def _load_scenarios(self, written: Any) -> Iterator[tuple[JsonObject, Origin]]:
        """The scenarios of a list, or of the files that it names, each with its place."""
        reader = self.reader
        for item, _ in reader.items_with_origins(written, "scenarios"):
            if isinstance(item, str):
                documents = self._load_documents(item)
            else:
                documents = [(reader.file, item)]
            for file, content in documents:
                for scenario in content if isinstance(content, list) else [content]:
                    line = getattr(scenario, "line", 0) or reader.origin_at("scenarios").line
                    origin = Origin(file, line)
                    if isinstance(scenario, Mapping):
                        yield scenario, origin
                    else:
                        cure = "give it `config` and `tests`"
                        reader.say("a scenario is a mapping", origin, cure)

    def _load_documents(self, reference: str) -> list[tuple[str, Any]]:
        """The names and contents of the files that a path or pattern matches; none if there is a mistake."""
        source = self.reader.source
        origin = self.reader.origin_at("scenarios")
        documents = []
        with gather_mistakes(self.reader.mistakes):
            for path in source.workspace.glob(reference, source.folder, origin):
                name = source.workspace.name(path)
                content = source.read(str(path), origin)
                documents.append((name, read_with_references(content, name)))
            return documents
        return []


DIALECTS.register("promptfoo")(
    Dialect(
        "promptfoo",
        "promptfooconfig.yaml or .json, with gradegate's own `gate` block",
        recognises,
        read,
    )
)
