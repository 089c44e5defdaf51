"""promptfoo's config file, with our ``gate``, ``blocking`` and ``turns`` in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gradegate import config, document
from gradegate.configs import specs
from gradegate.configs.testfiles import tests_in
from gradegate.configs.turns import read_turns
from gradegate.dialect import DIALECTS, Dialect, Source
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.suite import (
    Assertion,
    Case,
    CaseOptions,
    Graders,
    Note,
    Policy,
    PromptSpec,
    ProviderSpec,
    Rule,
    Select,
    Suite,
    Verbatim,
)

_M = TypeVar("_M", bound=BaseModel)
KEYS = ("prompts", "providers", "targets", "tests", "defaultTest", "scenarios")
_PATHS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", ".jsonl")


def recognises(content: Any) -> bool:
    """A mapping with one of promptfoo's main keys."""
    return isinstance(content, dict) and any(key in content for key in KEYS)


def read(source: Source) -> Suite:
    """What could not be read is left out and stands in the suite's mistakes."""
    return _Reader(source).suite()


class _Reader:
    """Reads one file; mistakes are gathered, so that the user sees them all at once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.file
        self._content: Mapping[str, Any] = source.content
        self._mistakes: list[Mistake] = []
        self._notes: list[Note] = []
        self._default = Case()

    def suite(self) -> Suite:
        own = {key: value for key, value in self._content.items() if not key.startswith(("x-", "_", "."))}
        keys = self._check(config.ConfigKeys, own, self._content, self._file) or config.ConfigKeys()
        self._source = replace(self._source, env={**self._source.env, **keys.env})
        graders, evaluate = self._read_default(), keys.evaluate_options
        if keys.command_line_options.grader:
            graders = self._graders(keys.command_line_options.grader, self._line("commandLineOptions"))
        prompts = tuple(self._prompts(keys.prompts))
        targets = self._providers(keys.targets or keys.providers)
        cases = tuple(self._cases(keys.tests))
        if not (keys.targets or keys.providers) and not (cases and all(case.recorded for case in cases)):
            key = "targets" if "targets" in self._content else "providers"
            self._say("the config names no provider", self._line(key), "add `providers: [openai:chat:MODEL]`")
        policy = self._policy(keys.gate)
        return Suite(
            file=self._file,
            description=keys.description,
            prompts=prompts or (PromptSpec("{{prompt}}", origin=Origin(self._file)),),
            targets=targets,
            cases=cases,
            policy=policy,
            graders=graders,
            env=self._source.env,
            max_concurrency=keys.command_line_options.max_concurrency or evaluate.max_concurrency,
            repeat=keys.command_line_options.repeat or evaluate.repeat or 1,
            timeout=evaluate.timeout_ms / 1000 if evaluate.timeout_ms else None,
            notes=tuple(self._notes),
            mistakes=tuple(self._mistakes),
        )

    # --- prompts and providers --------------------------------------------------------------------------------

    def _prompts(self, written: Any) -> Iterator[PromptSpec]:
        items = written if isinstance(written, list) else [] if written is None else [written]
        for number, item in enumerate(items):
            origin = self._line("prompts", *([number] if isinstance(written, list) else []))
            try:
                yield from self._prompt(item, origin)
            except ConfigError as e:
                self._mistakes += e.mistakes

    def _prompt(self, item: Any, origin: Origin) -> Iterator[PromptSpec]:
        if isinstance(item, Mapping):
            keys = self._check(config.PromptKeys, item, item, origin.file)
            if keys is None:
                return
            text = keys.raw if keys.raw is not None else keys.id
            if text is None:
                raise ConfigError.at("a prompt needs `raw` or `id`", origin, "add the text as `raw`")
            if keys.config:
                raise ConfigError.at("`config` of a prompt is not supported", origin, "set it in the provider's config")
            label = keys.label or keys.display
            yield from (replace(p, label=label) if label else p for p in self._prompt(text, origin))
        elif not isinstance(item, str):
            raise ConfigError.at("a prompt is a text, `file://...` or a mapping with `raw`", origin, "quote it")
        elif item.startswith("file://") or _is_path(item):
            yield from self._prompt_files(item, origin)
        elif item.startswith(("exec:", "langfuse://", "portkey://", "helicone://")):
            raise ConfigError.at(f"`{item}` is not fetched or run", origin, "put the prompt into the repository")
        else:
            yield PromptSpec(item, item, origin)

    def _prompt_files(self, reference: str, origin: Origin) -> Iterator[PromptSpec]:
        workspace = self._source.workspace
        for path in workspace.glob(reference, self._source.folder, origin):
            name = workspace.name(path)
            if path.suffix not in _PATHS:
                raise ConfigError.at(f"`{reference}` is no text file", origin, f"use one of {', '.join(_PATHS)}")
            text = workspace.text(str(path), self._source.folder, origin)
            parts = [text]
            if path.suffix == ".txt":
                parts = [part.strip("\n") for part in f"\n{text}\n".split("\n---\n")]
            elif path.suffix == ".jsonl":
                parts = [line for line in text.splitlines() if line.strip()]
            for number, part in enumerate(parts, 1):
                yield PromptSpec(part, name if len(parts) == 1 else f"{name} #{number}", Origin(name, 1))

    def _providers(self, written: Any) -> tuple[ProviderSpec, ...]:
        key = "targets" if "targets" in self._content else "providers"
        if not written:
            return ()
        try:
            items = written if isinstance(written, list) else [written]
            lines = [self._line(key, *([number] if isinstance(written, list) else [])) for number in range(len(items))]
            pairs = zip(items, lines, strict=True)
            return tuple(spec for item, line in pairs for spec in specs.providers(item, self._source, line))
        except ConfigError as e:
            self._mistakes += e.mistakes
            return ()

    def _graders(self, written: Any, origin: Origin) -> Graders:
        try:
            return specs.graders(written, self._source, origin)
        except ConfigError as e:
            self._mistakes += e.mistakes
            return {}

    # --- tests ------------------------------------------------------------------------------------------------

    def _read_default(self) -> Graders:
        """Read ``defaultTest``; its grader is kept apart, because ``--grader`` wins over it and not over a test's."""
        written, file = self._content.get("defaultTest"), self._file
        if isinstance(written, str):
            try:
                path = self._source.workspace.locate(written, self._source.folder, self._line("defaultTest"))
                content = self._source.workspace.read(written, self._source.folder, self._line("defaultTest"))
                file = self._source.workspace.name(path)
                written = document.read(content, file)
            except ConfigError as e:
                self._mistakes += e.mistakes
        if not isinstance(written, Mapping):
            return {}
        self._default = self._case(written, file, inline=file == self._file) or Case()
        graders = self._default.options.graders
        self._default = replace(self._default, options=replace(self._default.options, graders={}))
        return graders

    def _cases(self, written: Any) -> Iterator[Case]:
        found = 0
        for test, file, inline in self._tests(written):
            found += 1
            if not isinstance(test, Mapping):
                self._say("a test is a mapping", Origin(file, getattr(test, "line", 0)), "give it `vars` and `assert`")
                continue
            case = self._case(test, file, inline)
            if case is not None:
                yield self._merged(case, test)
        if not found and not self._mistakes:
            self._say("there are no tests, so nothing would be checked", self._line("tests"), "add `tests:`")

    def _tests(self, written: Any) -> Iterator[tuple[Any, str, bool]]:
        items = written if isinstance(written, list) else [] if written is None else [written]
        for number, item in enumerate(items):
            if not isinstance(item, str):
                if isinstance(item, Mapping) and set(item) == {"path", "config"}:
                    self._say("test generators run code", self._line("tests", number), "write the tests into a file")
                    continue
                yield item, self._file, True
                continue
            try:
                line = self._line("tests", *([number] if isinstance(written, list) else []))
                yield from ((test, file, False) for test, file, _ in tests_in(item, self._source, line))
            except ConfigError as e:
                self._mistakes += e.mistakes

    def _case(self, test: Mapping[str, Any], file: str, inline: bool) -> Case | None:
        keys = self._check(config.TestKeys, test, test, file)
        if keys is None:
            return None
        origin = Origin(file, getattr(test, "line", 0))
        try:
            return Case(
                description=keys.description,
                vars=self._vars(keys.vars, origin),
                assertions=tuple(self._assertions(test.get("assert") or (), file, inline)),
                options=self._options(keys.options, test, file),
                threshold=keys.threshold,
                providers=tuple(keys.providers or ()),
                prompts=tuple(keys.prompts or ()),
                target=self._target(keys.provider, test, file),
                output=_output(keys.provider_output),
                turns=read_turns(test["turns"], self._source, origin) if test.get("turns") is not None else (),
                metadata=keys.metadata,
                origin=origin,
            )
        except ConfigError as e:
            self._mistakes += e.mistakes
            return None

    def _target(self, written: Any, test: Mapping[str, Any], file: str) -> ProviderSpec | None:
        if not written:
            return None
        return specs.providers(written, self._source, Origin(file, document.line_of(test, ["provider"])))[0]

    def _vars(self, written: Any, origin: Origin) -> Mapping[str, Any]:
        if not isinstance(written, str):
            return dict(written)
        content = self._source.workspace.read(written, self._source.folder, origin)
        found = document.read(content, written.removeprefix("file://"))
        if not isinstance(found, Mapping):
            raise ConfigError.at(f"`{written}` holds no variables", origin, "write a mapping into it")
        return dict(found)

    def _options(self, keys: config.OptionKeys | None, test: Mapping[str, Any], file: str) -> CaseOptions:
        if keys is None:
            return CaseOptions()
        origin = Origin(file, document.line_of(test, ["options", "provider"]))
        extra = dict(keys.model_extra or {})
        for name in [name for name in extra if name in config.UNSUPPORTED]:
            where = Origin(file, document.line_of(test, ["options", name]))
            self._say(f"`{name}` is not supported", where, config.UNSUPPORTED[name])
        return CaseOptions(
            graders=self._graders(keys.provider, origin),
            rubric_prompt=self._rubric_prompt(keys.rubric_prompt, origin),
            settings=extra,
            expand_vars=not keys.disable_var_expansion,
            default_assertions=not keys.disable_default_asserts,
            prefix=keys.prefix,
            suffix=keys.suffix,
            repeat=keys.repeat,
        )

    def _merged(self, case: Case, test: Mapping[str, Any]) -> Case:
        """A test over the defaults: the test wins, key by key in vars, options and metadata."""
        base, own = self._default, case.options
        options = CaseOptions(
            graders=own.graders,
            rubric_prompt=own.rubric_prompt if own.rubric_prompt is not None else base.options.rubric_prompt,
            settings={**base.options.settings, **own.settings} if base.options.settings else own.settings,
            expand_vars=own.expand_vars and base.options.expand_vars,
            prefix=own.prefix or base.options.prefix,
            suffix=own.suffix or base.options.suffix,
            repeat=own.repeat or base.options.repeat,
        )
        return replace(
            case,
            description=case.description or base.description,
            vars={**base.vars, **case.vars} if base.vars else case.vars,
            assertions=(*base.assertions, *case.assertions) if own.default_assertions else case.assertions,
            options=options,
            threshold=case.threshold if "threshold" in test else base.threshold,
            providers=case.providers or base.providers,
            prompts=case.prompts or base.prompts,
            target=case.target or base.target,
            output=case.output if case.output is not None else base.output,
            turns=case.turns or base.turns,
            metadata={**base.metadata, **case.metadata} if base.metadata else case.metadata,
        )

    # --- assertions -------------------------------------------------------------------------------------------

    def _assertions(self, written: Iterable[Any], file: str, inline: bool) -> Iterator[Assertion]:
        for item in written:
            if not isinstance(item, Mapping):
                self._say("an assertion is a mapping with a `type`", Origin(file), "write `- type: ...`")
                continue
            keys = self._check(config.AssertionKeys, item, item, file)
            if keys is not None:
                try:
                    yield self._assertion(keys, item, file, inline)
                except ConfigError as e:
                    self._mistakes += e.mistakes

    def _assertion(self, keys: config.AssertionKeys, item: Mapping[str, Any], file: str, inline: bool) -> Assertion:
        origin = Origin(file, getattr(item, "line", 0))
        return Assertion(
            type=keys.type,
            value=self._value(keys.value, origin, inline),
            threshold=keys.threshold,
            weight=keys.weight,
            metric=keys.metric,
            blocking=keys.blocking,
            graders=self._graders(keys.provider, Origin(file, document.line_of(item, ["provider"]))),
            rubric_prompt=self._rubric_prompt(keys.rubric_prompt, origin),
            config=keys.config,
            context_transform=keys.context_transform or "",
            members=tuple(self._assertions(item.get("assert") or (), file, inline)),
            origin=origin,
        )

    def _value(self, value: Any, origin: Origin, inline: bool) -> Any:
        if isinstance(value, list):
            return [self._value(item, origin, inline) for item in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        suffix = value.rpartition(".")[2].partition(":")[0]
        if suffix in ("json", "yaml", "yml"):
            content = self._source.workspace.read(value, self._source.folder, origin)
            return document.read(content, value.removeprefix("file://"))
        if suffix in ("py", "js", "ts", "mjs", "cjs", "rb"):
            raise ConfigError.at(f"`{value}` is code, which gradegate does not run", origin, "use another assertion")
        text = self._source.workspace.text(value, self._source.folder, origin)
        return Verbatim(text.strip()) if inline else text  # as in promptfoo, only external tests fill such text in

    def _rubric_prompt(self, written: Any, origin: Origin) -> Any:
        if isinstance(written, str) and written.startswith("file://"):
            return self._source.workspace.text(written, self._source.folder, origin)
        if isinstance(written, Mapping):
            return {key: self._rubric_prompt(value, origin) for key, value in written.items()}
        if isinstance(written, list):
            return [self._rubric_prompt(value, origin) for value in written]
        return written

    # --- the gate ---------------------------------------------------------------------------------------------

    def _policy(self, gate: config.GateKeys | None) -> Policy:
        if gate is None or not gate.rules:
            rules: tuple[Rule, ...] = (Rule("every case passes", every_case=True, suite=self._file),)
        else:
            rules = tuple(self._rule(keys, number) for number, keys in enumerate(gate.rules))
        if gate is None:
            return Policy(rules)
        if isinstance(gate.errors, str):
            return Policy(rules, gate.errors, changes=gate.changes)
        return Policy(rules, "ignore", gate.errors.ignore_up_to, gate.changes)

    def _rule(self, keys: config.RuleKeys, number: int) -> Rule:
        origin = self._line("gate", "rules", number)
        if keys.min_pass_rate is None and keys.min_score is None:
            self._say(f"the rule `{keys.name}` has no threshold", origin, "give `min-pass-rate` or `min-score`")
        for name, limit in (("min-pass-rate", keys.min_pass_rate), ("min-score", keys.min_score)):
            if limit is not None and limit <= 0:
                where = self._line("gate", "rules", number, name)
                self._notes.append(Note(f"the rule `{keys.name}` can never fail: {name} is {limit:g}", where))
        select = Select(**keys.select.model_dump())
        return Rule(
            keys.name, select, keys.min_pass_rate, keys.min_score, keys.blocking, suite=self._file, origin=origin
        )

    # --- help -------------------------------------------------------------------------------------------------

    def _line(self, *path: str | int) -> Origin:
        return Origin(self._file, document.line_of(self._content, path))

    def _say(self, what: str, origin: Origin, cure: str) -> None:
        self._mistakes.append(Mistake(what, origin, cure))

    def _check(self, model: type[_M], value: Mapping[str, Any], content: Any, file: str) -> _M | None:
        """The value without the keys that hold a mistake, so that the rest is looked at too."""
        try:
            return model.model_validate(value)
        except ValidationError as e:
            self._mistakes += config.mistakes(e, content, file, (), model)
            wrong = {str(found["loc"][0]) for found in e.errors() if found["loc"]}
        try:
            return model.model_validate({key: value[key] for key in value if key not in wrong})
        except ValidationError:
            return None  # what is missing was said


def _is_path(text: str) -> bool:
    """A bare path: one word without a template that ends like a file of prompts."""
    return text.endswith(_PATHS) and not any(mark in text for mark in (" ", "\n", "{"))


def _output(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else document.to_json(value)


DIALECTS.register("promptfoo")(
    Dialect("promptfoo", "promptfooconfig.yaml or .json, with gradegate's own `gate` block", recognises, read)
)
