"""promptfoo's config file, with our ``gate``, ``blocking`` and ``turns`` in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gradegate.access.environment import Environment
from gradegate.configs import specs
from gradegate.configs.cases import CaseReader
from gradegate.configs.desk import Desk
from gradegate.configs.dialect import DIALECTS, Dialect, Source
from gradegate.configs.keys import ConfigKeys
from gradegate.configs.policy import policy
from gradegate.configs.prompts import prompts
from gradegate.configs.testfiles import tests_in
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.suite import Case, CaseOptions, Graders, Note, PromptSpec, ProviderSpec, Suite

KEYS = ("prompts", "providers", "targets", "tests", "defaultTest", "scenarios")


def recognises(content: Any) -> bool:
    """A mapping with one of promptfoo's main keys."""
    return isinstance(content, dict) and any(key in content for key in KEYS)


def read(source: Source) -> Suite:
    """What could not be read is left out and noted in the suite's mistakes."""
    return _Reader(Desk(source)).suite()


class _Reader:
    """Reads one file. ``_default`` is what ``defaultTest`` gives to every test."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._tests_at = CaseReader(desk)
        self._default = Case()

    def suite(self) -> Suite:
        content = {
            key: value for key, value in self.desk.source.content.items() if not key.startswith(("x-", "_", "."))
        }
        keys = self.desk.check(ConfigKeys, content, self.desk.source.content, self.desk.file) or ConfigKeys()
        self.desk.source = replace(self.desk.source, env=self._env(keys.env))
        graders, evaluate = self._read_default(), keys.evaluate_options
        if keys.command_line_options.grader:
            graders = self.desk.graders(keys.command_line_options.grader, self.desk.line("commandLineOptions"))
        templates = tuple(prompts(keys.prompts, self.desk))
        targets = self._providers(keys.targets or keys.providers)
        cases = tuple(self._cases(keys.tests))
        if not (keys.targets or keys.providers) and not (cases and all(case.recorded for case in cases)):
            key = "targets" if "targets" in self.desk.source.content else "providers"
            self.desk.say("the config names no provider", self.desk.line(key), "add `providers: [openai:chat:MODEL]`")
        if keys.derived_metrics:
            what = "`derivedMetrics` are not computed: a rule of the gate with `min-score` looks at a metric"
            self.desk.notes.append(Note(what, self.desk.line("derivedMetrics")))
        rules = policy(keys.gate, self.desk)
        return Suite(
            file=self.desk.file,
            description=keys.description,
            prompts=templates or (PromptSpec("{{prompt}}", origin=Origin(self.desk.file)),),
            targets=targets,
            cases=cases,
            policy=rules,
            graders=graders,
            env=self.desk.source.env,
            max_concurrency=keys.command_line_options.max_concurrency or evaluate.max_concurrency,
            repeat=keys.command_line_options.repeat or evaluate.repeat or 1,
            derived_metrics=keys.derived_metrics,
            timeout=evaluate.timeout_ms / 1000 if evaluate.timeout_ms else None,
            notes=tuple(self.desk.notes),
            mistakes=tuple(self.desk.mistakes),
        )

    def _env(self, written: Mapping[str, str]) -> Environment:
        """The environment under the config's own literals."""
        env = self.desk.source.env
        try:
            return env.over(*specs.literals(written, env, self.desk.line("env")))
        except ConfigError as e:
            self.desk.mistakes += e.mistakes
            return env.over(written)

    def _providers(self, written: Any) -> tuple[ProviderSpec, ...]:
        key = "targets" if "targets" in self.desk.source.content else "providers"
        if not written:
            return ()
        try:
            items = written if isinstance(written, list) else [written]
            lines = [
                self.desk.line(key, *([number] if isinstance(written, list) else [])) for number in range(len(items))
            ]
            pairs = zip(items, lines, strict=True)
            return tuple(spec for item, line in pairs for spec in specs.providers(item, self.desk.source, line))
        except ConfigError as e:
            self.desk.mistakes += e.mistakes
            return ()

    def _read_default(self) -> Graders:
        """Read ``defaultTest``; its grader is kept apart, because ``--grader`` wins over it and not over a test's."""
        written, file = self.desk.source.content.get("defaultTest"), self.desk.file
        if isinstance(written, str):
            try:
                path = self.desk.source.workspace.locate(
                    written, self.desk.source.folder, self.desk.line("defaultTest")
                )
                content = self.desk.source.workspace.read(
                    written, self.desk.source.folder, self.desk.line("defaultTest")
                )
                file = self.desk.source.workspace.name(path)
                written = document.read(content, file)
            except ConfigError as e:
                self.desk.mistakes += e.mistakes
        if not isinstance(written, Mapping):
            return {}
        self._default = self._tests_at.case(written, file, inline=file == self.desk.file) or Case()
        graders = self._default.options.graders
        self._default = replace(self._default, options=replace(self._default.options, graders={}))
        return graders

    def _cases(self, written: Any) -> Iterator[Case]:
        count = 0
        for test, file, inline in self._written(written):
            count += 1
            if not isinstance(test, Mapping):
                self.desk.say(
                    "a test is a mapping", Origin(file, getattr(test, "line", 0)), "give it `vars` and `assert`"
                )
                continue
            case = self._tests_at.case(test, file, inline)
            if case is not None:
                yield self._merged(case, test)
        if not count and not self.desk.mistakes:
            self.desk.say("there are no tests, so nothing would be checked", self.desk.line("tests"), "add `tests:`")

    def _written(self, written: Any) -> Iterator[tuple[Any, str, bool]]:
        items = written if isinstance(written, list) else [] if written is None else [written]
        for number, item in enumerate(items):
            if not isinstance(item, str):
                if isinstance(item, Mapping) and set(item) == {"path", "config"}:
                    self.desk.say(
                        "test generators run code", self.desk.line("tests", number), "write the tests into a file"
                    )
                    continue
                yield item, self.desk.file, True
                continue
            try:
                line = self.desk.line("tests", *([number] if isinstance(written, list) else []))
                yield from ((test, file, False) for test, file, _ in tests_in(item, self.desk.source, line))
            except ConfigError as e:
                self.desk.mistakes += e.mistakes

    def _merged(self, case: Case, test: Mapping[str, Any]) -> Case:
        """A test over the defaults: the test wins, key by key in vars, options and metadata."""
        base, options = self._default, case.options
        merged = CaseOptions(
            graders=options.graders,
            rubric_prompt=options.rubric_prompt if options.rubric_prompt is not None else base.options.rubric_prompt,
            settings={**base.options.settings, **options.settings} if base.options.settings else options.settings,
            expand_vars=options.expand_vars and base.options.expand_vars,
            prefix=options.prefix or base.options.prefix,
            suffix=options.suffix or base.options.suffix,
            repeat=options.repeat or base.options.repeat,
            transform=options.transform or base.options.transform,
            transform_vars=options.transform_vars or base.options.transform_vars,
        )
        return replace(
            case,
            description=case.description or base.description,
            vars={**base.vars, **case.vars} if base.vars else case.vars,
            assertions=(*base.assertions, *case.assertions) if options.default_assertions else case.assertions,
            options=merged,
            threshold=case.threshold if "threshold" in test else base.threshold,
            scoring=case.scoring or base.scoring,
            providers=case.providers or base.providers,
            prompts=case.prompts or base.prompts,
            target=case.target or base.target,
            output=case.output if case.output is not None else base.output,
            turns=case.turns or base.turns,
            metadata={**base.metadata, **case.metadata} if base.metadata else case.metadata,
        )


DIALECTS.register("promptfoo")(
    Dialect("promptfoo", "promptfooconfig.yaml or .json, with gradegate's own `gate` block", recognises, read)
)
