"""Reads prompts: texts, files, and mappings with a label."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradegate.config.code import prompt_from_command, prompt_from_file
from gradegate.config.csv_tests import read_csv_rows
from gradegate.config.keys import PromptKeys
from gradegate.config.reader import ConfigReader
from gradegate.core.policy import Note
from gradegate.core.provider_spec import PromptSpec
from gradegate.errors import ConfigError, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.paths import is_code
from gradegate.structs import JsonObject, replace

_MAX_NAME = 60  # characters of a word that may be a name
_WORD = re.compile(r"[^\s{}]+")
# A word that looks like the name of a file: with a dot, hyphen, underscore or slash inside.
_FILE_NAME = re.compile(r"\w[\w.-]*[./_-][\w./-]*\w|\.{0,2}/[\w./-]*\w")
_WRONG_FILE_KEYS = ("file", "path")  # people write a prompt's file under these keys
_SUFFIXES = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", ".jsonl", ".csv")


def read_prompts(written: Any, reader: ConfigReader) -> Iterator[PromptSpec]:
    """Read a list of prompts, a single one, or a mapping from prompts to their labels. Mistakes are noted at the reader."""
    items = reader.items_with_origins(written, "prompts")
    if isinstance(written, Mapping) and written.keys().isdisjoint(("id", "raw")):
        items = _labeled_items(written, reader)
    for item, list_origin in items:
        origin = document.origin_of(reader.file, item)
        if not origin.line:  # a text does not know its line
            origin = list_origin
        with gather_mistakes(reader.mistakes):
            yield from _read_prompt(item, origin, reader)


def _labeled_items(labels: JsonObject, reader: ConfigReader) -> Iterator[tuple[Any, Origin]]:
    """Each prompt of a mapping from prompts to labels, as a mapping with ``raw`` and ``label``, and its place."""
    for text, label in labels.items():
        origin = reader.origin_at("prompts", text)
        if isinstance(label, str):
            line = document.line_of(labels, [text])
            yield document.at_line({"raw": text, "label": label}, line), origin
        else:
            what = f"the label of the prompt `{text}` is not text"
            reader.say(what, origin, "write `PROMPT: LABEL`")


def _read_prompt(
    item: Any, origin: Origin, reader: ConfigReader, name_pattern: re.Pattern[str] = _FILE_NAME
) -> Iterator[PromptSpec]:
    """Read one entry, which may be a file with several prompts. Raises ConfigError.

    A text that matches ``name_pattern`` is noted: it may be meant as the name of a file.
    """
    if isinstance(item, Mapping):
        yield from _read_mapping(item, origin, reader)
    elif not isinstance(item, str):
        what = "a prompt is a text, `file://...` or a mapping with `raw`"
        raise ConfigError.at(what, origin, "quote it")
    elif item.startswith("file://") or _is_path(item):
        if is_code(item):
            yield prompt_from_file(item, reader.source, origin)
        else:
            yield from _read_files(item, origin, reader)
    elif item.startswith("exec:"):
        yield prompt_from_command(item, reader.source, origin)
    elif item.startswith(("langfuse://", "portkey://", "helicone://")):
        what = f"gradegate does not fetch or run `{item}`"
        raise ConfigError.at(what, origin, "put the prompt into the repository")
    else:
        if len(item) <= _MAX_NAME and name_pattern.fullmatch(item):
            what = f"the prompt is the word `{item}`, and is sent as text: to name a file, write `file://` or its suffix"
            reader.notes.append(Note(what, origin))
        yield PromptSpec(item, item, origin)


def _read_mapping(item: JsonObject, origin: Origin, reader: ConfigReader) -> Iterator[PromptSpec]:
    mistakes = len(reader.mistakes)
    keys = reader.check_keys(PromptKeys, item, item, origin.file)
    if keys is None or len(reader.mistakes) > mistakes:
        return  # one mistake is enough for one prompt

    text = keys.raw
    name_pattern = _FILE_NAME
    if text is None:
        files = [item[key] for key in _WRONG_FILE_KEYS if isinstance(item.get(key), str)]
        if files and files[0]:
            what = "the file of a prompt is named by `raw` or `id`, and by nothing else"
            cure = f"write `raw: file://{files[0].removeprefix('file://')}`"
            raise ConfigError.at(what, origin, cure)
        text = keys.id
        if text is None:
            raise ConfigError.at("a prompt needs `raw` or `id`", origin, "add the text as `raw`")
        name_pattern = _WORD  # any single word: an `id` is more often a name than a prompt

    label = keys.label or keys.display
    for prompt in _read_prompt(text, origin, reader, name_pattern):
        yield replace(prompt, label=label or prompt.label, config=keys.config or {})


def _is_path(text: str) -> bool:
    """Whether a text is a path without `file://`: one word with the suffix of a prompt or of code, and no template."""
    is_file = text.endswith(_SUFFIXES) or is_code(text)
    return is_file and not any(sign in text for sign in (" ", "\n", "{"))


# --- files of prompts -------------------------------------------------------------------------------------


def _read_files(reference: str, origin: Origin, reader: ConfigReader) -> Iterator[PromptSpec]:
    """Read the files that a path or pattern matches. Raises ConfigError."""
    source = reader.source
    for path in source.workspace.glob(reference, source.folder, origin):
        name = source.workspace.name(path)
        if path.suffix not in _SUFFIXES:
            what = f"`{reference}` is not a text file"
            raise ConfigError.at(what, origin, f"use one of {', '.join(_SUFFIXES)}")
        text = source.read_text(str(path), origin)
        if path.suffix == ".csv":
            yield from _read_csv(text, name)
            continue
        prompts = _split_prompts(text, path.suffix, name)
        if not prompts:
            what = f"`{reference}` holds no prompt"
            raise ConfigError.at(what, Origin(name, 1), "write one into it")
        for number, prompt in enumerate(prompts, 1):
            label = name if len(prompts) == 1 else f"{name} #{number}"
            yield PromptSpec(prompt, label, Origin(name, 1))


def _split_prompts(text: str, suffix: str, name: str) -> list[str]:
    """The prompts in the text of a file, as promptfoo reads files of this suffix. Raises ConfigError."""
    match suffix:
        case ".txt":
            text = text.replace("\r\n", "\n")
            parts = re.split(r"^[^\S\n]*---[^\S\n]*$", text, flags=re.MULTILINE)
            return [part.strip() for part in parts if part.strip()]
        case ".jsonl":
            return [line for line in re.split(r"\r?\n", text) if line]
        case ".json" | ".yaml" | ".yml":
            return [_normalize_chat(text, suffix, name)]
    return [text]


def _normalize_chat(text: str, suffix: str, name: str) -> str:
    """A chat as JSON. A text that is a chat only after its template is filled in stays as it is."""
    try:
        chat = json.loads(text) if suffix == ".json" else document.read(text.encode(), name)
    except (ValueError, RecursionError, ConfigError):
        return text
    for string in document.strings(chat):
        if string.startswith("file://"):
            what = f"`{string}` in a prompt is not read"
            raise ConfigError.at(what, Origin(name, 1), "put its content into a variable")
    return document.to_json(chat) if isinstance(chat, list | dict) else text


class _PromptRow(NamedTuple):
    """A prompt in a CSV file, with its label, empty if it has none, and its line."""

    prompt: str
    label: str
    line: int


def _read_csv(text: str, name: str) -> Iterator[PromptSpec]:
    """Read a CSV file as promptfoo does: one prompt a line, or the columns `prompt` and `label`. Raises ConfigError."""
    rows = _rows_with_columns(text, name) if "," in text else _rows_without_columns(text)
    prompts = [row for row in rows if row.prompt]
    if not prompts:
        raise ConfigError.at(f"`{name}` holds no prompt", Origin(name, 1), "write one into it")
    for number, row in enumerate(prompts, 1):
        label = row.label or f"Prompt {number} - {row.prompt}"
        yield PromptSpec(row.prompt, label, Origin(name, row.line))


def _rows_with_columns(text: str, name: str) -> list[_PromptRow]:
    rows = list(read_csv_rows(text.encode(), name))
    if rows and "prompt" not in rows[0]:
        what = f"`{name}` has no column `prompt`"
        raise ConfigError.at(what, Origin(name, 1), "name it in the first line")
    return [
        _PromptRow(row.get("prompt", "").strip(), row.get("label", "").strip(), row.line)
        for row in rows
    ]


def _rows_without_columns(text: str) -> list[_PromptRow]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            rows.append(_PromptRow(line.strip(), "", number))
    if rows and rows[0].prompt.lower() == "prompt":
        del rows[0]  # the header
    return rows
