"""Reads a test with its assertions, options and turns into a case."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config import unknown_keys
from gradegate.config.code import read_code
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import AssertionKeys, OptionKeys, TestKeys
from gradegate.config.providers import read_targets
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
from gradegate.structs import JsonObject, Struct, field_names, replace

MAX_QUARANTINE_DAYS = 90


class CaseReader(Struct, frozen=True):
    """Reads the tests of one file. What is wrong with them is noted at the reader of the config."""

    reader: ConfigReader
    file: str
    inline: bool  # the tests are written in the config itself

    def read_case(self, test: JsonObject) -> Case | None:
        """Read one test. None if it cannot be read at all."""
        keys = self.reader.check_keys(TestKeys, test, test, self.file)
        if keys is None:
            return None
        source = self.reader.source
        origin = origin_of(self.file, test)

        output = keys.provider_output
        if not isinstance(output, str | None):
            output = document.to_json(output)

        with gather_mistakes(self.reader.mistakes):
            variables = self._read_vars(keys.vars, origin)
            assertions = tuple(self._read_assertions(test.get("assert")))
            options = self._read_options(keys, test)
            target = None
            if keys.provider:
                place = origin_of(self.file, test, "provider")
                target = read_targets(keys.provider, source, place)[0]
            turns: tuple[Turn, ...] = ()
            if test.get("turns") is not None:
                turns = read_turns(test["turns"], source, origin)
            runs = None
            if keys.runs:
                runs = parse_runs(keys.runs, origin_of(self.file, test, "runs"))
            quarantine = None
            if keys.flaky:
                quarantine = _read_quarantine(keys.flaky, origin_of(self.file, test, "flaky"))
            return Case(
                description=keys.description,
                vars=variables,
                assertions=assertions,
                options=options,
                threshold=keys.threshold,
                providers=tuple(keys.providers or ()),
                prompts=tuple(keys.prompts or ()),
                target=target,
                output=output,
                turns=turns,
                metadata=keys.metadata or NOTHING,
                runs=runs,
                quarantine=quarantine,
                origin=origin,
            )
        return None

    def _read_vars(self, written: Any, origin: Origin) -> JsonObject:
        """Variables as a mapping, or joined from the mappings in YAML and JSON files. Raises ConfigError.

        Paths are relative to the file of the test.
        """
        if isinstance(written, Mapping):
            return dict(written)
        source = self.reader.source
        workspace = source.workspace
        folder = source.folder if self.inline else (workspace.root / origin.file).parent
        variables: dict[str, Any] = {}
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

    def _read_options(self, test_keys: TestKeys, test: JsonObject) -> CaseOptions:
        keys = test_keys.options
        rubric_prompt = test_keys.rubric_prompt
        if keys is None and rubric_prompt is None:
            return NO_OPTIONS
        keys = keys or OptionKeys()

        if rubric_prompt is None:
            rubric_prompt = keys.rubric_prompt
        elif keys.rubric_prompt is not None:
            what = "`rubricPrompt` stands in the test and in its `options`"
            self.reader.say(what, origin_of(self.file, test, "rubricPrompt"), "remove one")

        settings = {}
        for key, value in (keys.model_extra or {}).items():
            cure = unknown_keys.cure_for_removed_key("options", key)
            if cure:
                place = origin_of(self.file, test, "options", key)
                self.reader.say(f"unknown key `{key}`", place, cure)
            else:
                settings[key] = value

        grader_origin = origin_of(self.file, test, "options", "provider")
        return CaseOptions(
            graders=self.reader.read_graders(keys.provider, grader_origin),
            rubric_prompt=self._read_rubric_prompt(rubric_prompt, grader_origin),
            settings=settings or NOTHING,
            expand_vars=not keys.disable_var_expansion,
            default_assertions=not keys.disable_default_asserts,
            prefix=keys.prefix,
            suffix=keys.suffix,
            repeat=keys.repeat,
            transform=self._read_transform(keys.transform, test, "transform"),
            transform_vars=self._read_transform(keys.transform_vars, test, "transformVars"),
        )

    def _read_transform(self, written: str, test: JsonObject, key: str) -> Code:
        """Read a script of the test's options; empty if there is a mistake in it, which is noted."""
        with gather_mistakes(self.reader.mistakes):
            place = origin_of(self.file, test, "options", key)
            return read_code(written, self.reader.source, place)
        return ""

    def _read_assertions(self, written: Any) -> Iterator[Assertion]:
        """Read the assertions of a list. The check of keys has reported items that are no mappings."""
        for item in written if isinstance(written, list) else ():
            if not isinstance(item, Mapping):
                continue
            keys = self.reader.check_keys(AssertionKeys, item, item, self.file)
            if keys is not None:
                with gather_mistakes(self.reader.mistakes):
                    yield self._read_assertion(keys, item)

    def _read_assertion(self, keys: AssertionKeys, item: JsonObject) -> Assertion:
        source = self.reader.source
        origin = origin_of(self.file, item)
        graders = NOTHING
        if keys.provider:
            place = origin_of(self.file, item, "provider")
            graders = self.reader.read_graders(keys.provider, place)

        # Most keys are fields of the same name. These are not taken as they are written:
        read = {
            "value": self._read_value(keys.value, origin, keys.type),
            "graders": graders,
            "rubric_prompt": self._read_rubric_prompt(keys.rubric_prompt, origin),
            "config": keys.config or NOTHING,
            "transform": read_code(keys.transform, source, origin),
            "context_transform": read_code(keys.context_transform, source, origin),
            "members": tuple(self._read_assertions(item.get("assert"))),
            "reask": keys.reask or "",
            "origin": origin,
        }
        for name in field_names(Assertion):
            if name in keys.model_fields_set:
                read.setdefault(name, getattr(keys, name))
        return Assertion(**read)

    def _read_value(self, value: Any, origin: Origin, kind: str = "") -> Any:
        """The value of an assertion of a type, with the content of the files that it names. Raises ConfigError."""
        if isinstance(value, list):
            return [self._read_value(item, origin) for item in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value

        source = self.reader.source
        kind = kind.removeprefix("not-")
        if kind == "python":
            return load_program(value, source.workspace, source.folder, origin, USE_OTHER_ASSERTION)
        if kind == "javascript":
            return read_code(value, source, origin)
        if is_code(value):
            what = f"`{value}` is code, which gradegate does not run"
            raise ConfigError.at(what, origin, "use another assertion")

        suffix = value.rpartition(".")[2].partition(":")[0]
        if suffix in ("json", "yaml", "yml"):
            return document.read(source.read(value, origin), value.removeprefix("file://"))
        text = source.read_text(value, origin)
        # Only in tests outside of the config is such text a template, as in promptfoo.
        return Verbatim(text.strip()) if self.inline else text

    def _read_rubric_prompt(self, written: Any, origin: Origin) -> Any:
        """A rubric with the content of the files that it names, at any depth. Raises ConfigError."""
        if isinstance(written, str) and written.startswith("file://"):
            return self.reader.source.read_text(written, origin)
        if isinstance(written, Mapping):
            return {key: self._read_rubric_prompt(value, origin) for key, value in written.items()}
        if isinstance(written, list):
            return [self._read_rubric_prompt(value, origin) for value in written]
        return written


def _read_quarantine(until: date, origin: Origin) -> Quarantine:
    """The quarantine of a flaky test. Raises ConfigError if it would last too long."""
    days = (until - datetime.now(UTC).date()).days
    if days > MAX_QUARANTINE_DAYS:
        what = f"`flaky` is {days} days ahead, but a quarantine lasts at most {MAX_QUARANTINE_DAYS}"
        raise ConfigError.at(what, origin, "set an earlier date, and fix the test by then")
    return Quarantine(until, days)


# --- templates of assertions ------------------------------------------------------------------------------


def template_notes(templates: Any, file: str) -> Iterator[Note]:
    """Notes on wrong ``assertionTemplates``. Where a test uses such a template, this is a mistake of the test."""
    if not isinstance(templates, Mapping):
        return
    for name, template in templates.items():
        if isinstance(template, Mapping) and "$ref" not in template:
            for reason in _template_mistakes(template, file):
                what = f"the assertion template `{name}` cannot be used: {reason}"
                yield Note(what, origin_of(file, templates, name))


def _template_mistakes(template: JsonObject, file: str) -> Iterator[str]:
    """What is wrong with a template, as a clause with its cure."""
    try:
        written = unknown_keys.without_idle_keys(AssertionKeys, template, file, [])
        keys = AssertionKeys.model_validate(written)
    except ValidationError as e:
        for mistake in validation_mistakes(e, template, file, (), AssertionKeys):
            yield f"{mistake.what} ({mistake.cure})"
        return
    kind = keys.type.removeprefix("not-")
    if kind != ASSERT_SET and EVALUATORS.find(kind) is None:
        what = f"there is no assertion type `{keys.type}`"
        cure = suggest(kind, EVALUATORS.names())
        yield f"{what} ({cure})" if cure else what


# --- turns ------------------------------------------------------------------------------------------------


class ImageKeys(BaseModel):
    """An image among documents."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    image: str


def _as_list(value: Any) -> Any:
    """A text as a list with this text, and null as an empty list."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


class TurnKeys(BaseModel):
    """One turn as written."""

    model_config = ConfigDict(extra="forbid", defer_build=True)
    place: ClassVar = "turn"  # the name of the place in the tables of `unknown_keys`

    role: Literal["user", "assistant"]
    content: str
    retrieval_context: Annotated[list[str | ImageKeys], BeforeValidator(_as_list)] = Field(
        default_factory=list
    )
    images: Annotated[list[str], BeforeValidator(_as_list)] = Field(default_factory=list)
    tool_calls: list[dict[str, Any]] | None = None


_TURNS = TypeAdapter(list[TurnKeys], config=ConfigDict(defer_build=True))


def read_turns(written: Any, source: Source, origin: Origin) -> tuple[Turn, ...]:
    """Read turns from a list, or from a ``file://`` with YAML, JSON or JSON lines. Raises ConfigError.

    A conversation with answers of the assistant is recorded. It must have at least one complete exchange.
    """
    file = origin.file
    if isinstance(written, str):
        content = source.read(written, origin)
        file = source.name(written, origin)
        parse = document.read_lines if file.endswith(".jsonl") else document.read
        written = parse(content, file)
        if isinstance(written, dict) and isinstance(written.get("turns"), list):
            written = written["turns"]
    if not written:
        raise ConfigError.at("`turns` is empty", origin, "give at least one turn of the user")
    try:
        keys = _TURNS.validate_python(written)
    except ValidationError as e:
        raise ConfigError(*validation_mistakes(e, written, file, (), TurnKeys)) from e

    turns = []
    for turn_keys, item in zip(keys, written, strict=True):
        turns.append(_read_turn(turn_keys, source, origin_of(file, item)))
    if any(turn.role == "assistant" for turn in turns) and not split_exchanges(turns):
        what = "the conversation has no complete exchange: no answer of the assistant follows a message of the user"
        cure = "record the answers too, or leave the assistant's turns out and let a provider give them"
        raise ConfigError.at(what, origin, cure)
    return tuple(turns)


def _read_turn(keys: TurnKeys, source: Source, origin: Origin) -> Turn:
    documents = tuple(_read_documents(keys.retrieval_context, source, origin))
    images = tuple(load_image(reference, source, origin) for reference in keys.images)
    turn = Turn(keys.role, keys.content, documents, images)

    if keys.role == "user" and keys.tool_calls:
        cure = "give them with the turn of the assistant that called"
        raise ConfigError.at("a turn of the user has `tool_calls`", origin, cure)
    if keys.tool_calls is None:
        return turn
    calls = [uniform_call(call) for call in keys.tool_calls]
    content = keys.content
    if (
        calls and not content
    ):  # a model that only calls tools writes no text: its calls are the answer
        content = document.to_json(calls)
    return replace(turn, content=content, metadata={CALLS: calls})


def _read_documents(
    written: Iterable[str | ImageKeys], source: Source, origin: Origin
) -> Iterator[str | Image]:
    """Read the documents that were retrieved for a turn, without blank ones. Raises ConfigError."""
    for item in written:
        if isinstance(item, ImageKeys):
            yield Image(load_image(item.image, source, origin))
        elif is_data_uri(item):
            yield Image(item)
        elif item.strip():
            yield item


# --- images -----------------------------------------------------------------------------------------------


# What model APIs take (https://platform.openai.com/docs/guides/images, https://docs.anthropic.com/en/docs/vision).
IMAGE_TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
_DATA_URI = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*", re.IGNORECASE)


def is_data_uri(text: str) -> bool:
    """Whether the text is an image as data URI."""
    return text.startswith("data:") and _DATA_URI.fullmatch(text) is not None


def load_image(reference: str, source: Source, origin: Origin) -> str:
    """A data URI or a URL as it is written, or the data URI of an image file of the workspace. Raises ConfigError."""
    if reference.startswith(("https://", "http://")) or is_data_uri(reference):
        return reference
    suffix = "." + reference.rpartition(".")[2].lower()
    if reference.startswith("data:") or suffix not in IMAGE_TYPES:
        cure = f"give a data URI with base64, a URL, or the path of a file that ends with {', '.join(IMAGE_TYPES)}"
        raise ConfigError.at(f"`{excerpt(reference, 60)}` is not an image", origin, cure)
    content = source.read(reference, origin)
    return f"data:image/{IMAGE_TYPES[suffix]};base64,{base64.b64encode(content).decode()}"
