"""One test with its assertions and turns, as a config or a file of tests writes it; a conversation is checked before anything is asked."""

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config import code as scripts
from gradegate.config import providers as specs
from gradegate.config import unknown_keys
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import AssertionKeys, OptionKeys, TestKeys
from gradegate.config.reader import ConfigReader
from gradegate.core.assertion import ASSERT_SET, Assertion
from gradegate.core.conversation import Image, Turn, split_exchanges
from gradegate.core.policy import Note, Quarantine, parse_runs
from gradegate.core.provider_spec import NOTHING, Code, Verbatim
from gradegate.core.suite import NO_OPTIONS, Case, CaseOptions
from gradegate.errors import ConfigError, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.documents import origin_of
from gradegate.files.paths import is_code
from gradegate.providers.api.content import CALLS, uniform_call
from gradegate.registry import suggest
from gradegate.sandbox.repository_code import USE_OTHER_ASSERTION, load_program
from gradegate.security.redaction import excerpt
from gradegate.structs import Struct, field_names


class ImageKeys(BaseModel):
    """An image among documents."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    image: str


def _listed(value: Any) -> Any:
    return [] if value is None else [value] if isinstance(value, str) else value


class TurnKeys(BaseModel):
    """One turn as written."""

    model_config = ConfigDict(extra="forbid", defer_build=True)
    place: ClassVar = "turn"  # as unknown_keys.py calls it

    role: Literal["user", "assistant"]
    content: str
    retrieval_context: Annotated[list[str | ImageKeys], BeforeValidator(_listed)] = Field(
        default_factory=list
    )
    images: Annotated[list[str], BeforeValidator(_listed)] = Field(default_factory=list)
    tool_calls: list[dict[str, Any]] | None = None


_TURNS = TypeAdapter(list[TurnKeys], config=ConfigDict(defer_build=True))


def read_turns(written: Any, source: Source, origin: Origin) -> tuple[Turn, ...]:
    """The turns of a list, or of a ``file://`` with YAML, JSON or JSON lines. Raises ConfigError.

    A conversation with answers of the assistant is recorded, and must hold one complete exchange.
    """
    file = origin.file
    if isinstance(written, str):
        content = source.read(written, origin)
        file = source.name(written, origin)
        read = document.read_lines if file.endswith(".jsonl") else document.read
        written = read(content, file)
        if isinstance(written, dict) and isinstance(written.get("turns"), list):
            written = written["turns"]
    if not written:
        raise ConfigError.at("`turns` is empty", origin, "give at least one turn of the user")
    try:
        keys = _TURNS.validate_python(written)
    except ValidationError as e:
        raise ConfigError(*validation_mistakes(e, written, file, (), TurnKeys)) from e
    turns = tuple(
        _turn(turn, source, origin_of(file, raw)) for turn, raw in zip(keys, written, strict=True)
    )
    if any(turn.role == "assistant" for turn in turns) and not split_exchanges(turns):
        what = "the conversation has no complete exchange: no answer of the assistant follows a message of the user"
        cure = "record the answers too, or leave the assistant's turns out and let a provider give them"
        raise ConfigError.at(what, origin, cure)
    return turns


def _turn(keys: TurnKeys, source: Source, origin: Origin) -> Turn:
    documents: list[str | Image] = []
    for item in keys.retrieval_context:
        if isinstance(item, ImageKeys):
            documents.append(Image(load_image(item.image, source, origin)))
        elif item.strip():
            documents.append(Image(item) if is_data(item) else item)
    pictures = tuple(load_image(reference, source, origin) for reference in keys.images)
    if keys.role == "user" and keys.tool_calls:
        cure = "give them with the turn of the assistant that called"
        raise ConfigError.at("a turn of the user has `tool_calls`", origin, cure)
    if keys.tool_calls is None:
        return Turn(keys.role, keys.content, tuple(documents), pictures)
    calls = [uniform_call(call) for call in keys.tool_calls]
    content = keys.content
    if calls and not content:  # as of a model that calls without a word
        content = document.to_json(calls)
    return Turn(keys.role, content, tuple(documents), pictures, {CALLS: calls})


# --- images -------------------------------------------------------------------------------------------------------------


# What model APIs take (https://platform.openai.com/docs/guides/images, https://docs.anthropic.com/en/docs/vision).
TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
_DATA = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*", re.IGNORECASE)


def is_data(text: str) -> bool:
    """Whether the text is an image as data URI."""
    return text.startswith("data:") and _DATA.fullmatch(text) is not None


def load_image(reference: str, source: Source, origin: Origin) -> str:
    """A data URI or a URL as it is; the file of the workspace that a path leads to, as data URI. Raises ConfigError."""
    if reference.startswith(("https://", "http://")) or is_data(reference):
        return reference
    suffix = "." + reference.rpartition(".")[2].lower()
    if reference.startswith("data:") or suffix not in TYPES:
        cure = f"give a data URI with base64, a URL, or the path of a file that ends with {', '.join(TYPES)}"
        raise ConfigError.at(f"`{excerpt(reference, 60)}` is not an image", origin, cure)
    content = source.read(reference, origin)
    return f"data:image/{TYPES[suffix]};base64,{base64.b64encode(content).decode()}"


LONGEST = 90  # days of a quarantine


class CaseReader(Struct, frozen=True):
    """Reads tests; what is wrong with them is noted at the reader."""

    reader: ConfigReader

    def case(self, test: Mapping[str, Any], file: str, inline: bool) -> Case | None:
        """A test of a file; ``inline`` when that is the config itself. None when it cannot be read at all."""
        keys = self.reader.check_keys(TestKeys, test, test, file)
        if keys is None:
            return None
        origin, place = origin_of(file, test), partial(origin_of, file, test)
        output = keys.provider_output
        if not isinstance(output, str | None):
            output = document.to_json(output)
        with gather_mistakes(self.reader.mistakes):
            return Case(
                description=keys.description,
                vars=self._vars(keys.vars, origin, inline),
                assertions=tuple(self._assertions(test.get("assert"), file, inline)),
                options=self._options(keys, test, file),
                threshold=keys.threshold,
                providers=tuple(keys.providers or ()),
                prompts=tuple(keys.prompts or ()),
                target=specs.read_targets(keys.provider, self.reader.source, place("provider"))[0]
                if keys.provider
                else None,
                output=output,
                turns=read_turns(test["turns"], self.reader.source, origin)
                if test.get("turns") is not None
                else (),
                metadata=keys.metadata or NOTHING,
                runs=parse_runs(keys.runs, place("runs")) if keys.runs else None,
                quarantine=self._quarantine(keys.flaky, place("flaky")) if keys.flaky else None,
                origin=origin,
            )
        return None

    def _quarantine(self, until: date, origin: Origin) -> Quarantine:
        days = (until - datetime.now(UTC).date()).days
        if days > LONGEST:
            what = f"`flaky` is {days} days ahead, but a quarantine lasts at most {LONGEST}"
            raise ConfigError.at(what, origin, "set an earlier date, and fix the test by then")
        return Quarantine(until, days)

    def _vars(self, written: Any, origin: Origin, inline: bool) -> Mapping[str, Any]:
        """A mapping, or the mappings of YAML and JSON files in one, which are relative to the file of the test."""
        if isinstance(written, Mapping):
            return dict(written)
        workspace, variables = self.reader.source.workspace, dict[str, Any]()
        folder = self.reader.source.folder if inline else (workspace.root / origin.file).parent
        for reference in [written] if isinstance(written, str) else written:
            if is_code(reference):
                what = f"`{reference}` is code, which gradegate does not run"
                raise ConfigError.at(what, origin, "write the values")
            for path in workspace.glob(reference, folder, origin):
                name = workspace.name(path)
                content = document.read(workspace.read(str(path), folder, origin), name)
                if not isinstance(content, Mapping):
                    what = f"`{name}` holds no variables"
                    raise ConfigError.at(what, origin, "write a mapping into it")
                variables |= content
        return variables

    def _options(self, of_test: TestKeys, test: Mapping[str, Any], file: str) -> CaseOptions:
        keys, own_prompt = of_test.options, of_test.rubric_prompt
        if own_prompt is not None and keys and keys.rubric_prompt is not None:
            what = "`rubricPrompt` stands in the test and in its `options`"
            self.reader.say(what, origin_of(file, test, "rubricPrompt"), "remove one")
        if keys is None and own_prompt is None:
            return NO_OPTIONS
        keys = keys or OptionKeys()
        rubric_prompt = keys.rubric_prompt if own_prompt is None else own_prompt
        origin = origin_of(file, test, "options", "provider")
        settings = {}
        for key, value in (keys.model_extra or {}).items():
            if cure := unknown_keys.cure_for_removed_key("options", key):
                self.reader.say(f"unknown key `{key}`", origin_of(file, test, "options", key), cure)
            else:
                settings[key] = value
        return CaseOptions(
            graders=self.reader.read_graders(keys.provider, origin),
            rubric_prompt=self._rubric_prompt(rubric_prompt, origin),
            settings=settings or NOTHING,
            expand_vars=not keys.disable_var_expansion,
            default_assertions=not keys.disable_default_asserts,
            prefix=keys.prefix,
            suffix=keys.suffix,
            repeat=keys.repeat,
            transform=self._code(keys.transform, test, file, "transform"),
            transform_vars=self._code(keys.transform_vars, test, file, "transformVars"),
        )

    def _code(self, written: str, test: Mapping[str, Any], file: str, key: str) -> Code:
        """A script of the test's options; empty when it holds a mistake, which is said."""
        with gather_mistakes(self.reader.mistakes):
            return scripts.read_code(
                written, self.reader.source, origin_of(file, test, "options", key)
            )
        return ""

    def _assertions(self, written: Any, file: str, inline: bool) -> Iterator[Assertion]:
        """The assertions of a list; of what is none, and of an item that is no mapping, the check of keys has said so."""
        for item in written if isinstance(written, list) else ():
            if not isinstance(item, Mapping):
                continue
            keys = self.reader.check_keys(AssertionKeys, item, item, file)
            if keys is not None:
                with gather_mistakes(self.reader.mistakes):
                    yield self._assertion(keys, item, file, inline)

    def _assertion(
        self, keys: AssertionKeys, item: Mapping[str, Any], file: str, inline: bool
    ) -> Assertion:
        origin = origin_of(file, item)
        graders = NOTHING
        if keys.provider:
            graders = self.reader.read_graders(keys.provider, origin_of(file, item, "provider"))
        # As they are written, and then those that mean something else than their text
        written = {
            name: getattr(keys, name)
            for name in field_names(Assertion)
            if name in keys.model_fields_set
        }
        read = {
            "value": self._value(keys.value, origin, inline, keys.type),
            "graders": graders,
            "rubric_prompt": self._rubric_prompt(keys.rubric_prompt, origin),
            "config": keys.config or NOTHING,
            "transform": scripts.read_code(keys.transform, self.reader.source, origin),
            "context_transform": scripts.read_code(
                keys.context_transform, self.reader.source, origin
            ),
            "members": tuple(self._assertions(item.get("assert"), file, inline)),
            "reask": keys.reask or "",
            "origin": origin,
        }
        return Assertion(**(written | read))

    def _value(self, value: Any, origin: Origin, inline: bool, kind: str = "") -> Any:
        if isinstance(value, list):
            return [self._value(item, origin, inline) for item in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        source = self.reader.source
        if kind.removeprefix("not-") == "python":
            return load_program(value, source.workspace, source.folder, origin, USE_OTHER_ASSERTION)
        if kind.removeprefix("not-") == "javascript":
            return scripts.read_code(value, source, origin)
        if is_code(value):
            what = f"`{value}` is code, which gradegate does not run"
            raise ConfigError.at(what, origin, "use another assertion")
        suffix = value.rpartition(".")[2].partition(":")[0]
        if suffix in ("json", "yaml", "yml"):
            return document.read(source.read(value, origin), value.removeprefix("file://"))
        text = source.read_text(value, origin)
        # As in promptfoo, only external tests fill such text in.
        return Verbatim(text.strip()) if inline else text

    def _rubric_prompt(self, written: Any, origin: Origin) -> Any:
        if isinstance(written, str) and written.startswith("file://"):
            return self.reader.source.read_text(written, origin)
        if isinstance(written, Mapping):
            return {key: self._rubric_prompt(value, origin) for key, value in written.items()}
        if isinstance(written, list):
            return [self._rubric_prompt(value, origin) for value in written]
        return written


def template_notes(templates: Any, file: str) -> Iterator[Note]:
    """What is wrong with a template, as notes: where a test uses it, the same is a mistake there."""
    for name, written in templates.items() if isinstance(templates, Mapping) else ():
        if isinstance(written, Mapping) and "$ref" not in written:
            for wrong in _wrong_template(written, file):
                what = f"the assertion template `{name}` cannot be used: {wrong}"
                yield Note(what, origin_of(file, templates, name))


def _wrong_template(written: Mapping[str, Any], file: str) -> Iterator[str]:
    try:
        keys = AssertionKeys.model_validate(
            unknown_keys.without_idle_keys(AssertionKeys, written, file, [])
        )
    except ValidationError as e:
        for mistake in validation_mistakes(e, written, file, keys=AssertionKeys):
            yield f"{mistake.what} ({mistake.cure})"
        return
    base = keys.type.removeprefix("not-")
    if base != ASSERT_SET and EVALUATORS.find(base) is None:
        what = f"there is no assertion type `{keys.type}`"
        cure = suggest(base, EVALUATORS.names())
        yield f"{what} ({cure})" if cure else what
