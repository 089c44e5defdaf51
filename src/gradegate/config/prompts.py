"""Prompts as a config writes them: text, files, and mappings with a label."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.config import code as scripts
from gradegate.config import test_files as testfiles
from gradegate.config.keys import PromptKeys
from gradegate.config.reader import ConfigReader
from gradegate.core.policy import Note
from gradegate.core.provider_spec import PromptSpec
from gradegate.errors import ConfigError, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.paths import is_code
from gradegate.structs import replace

_LONGEST = 60  # characters of a word that may be a name
_WORD = re.compile(r"[^\s{}]+")
_NAME = re.compile(
    r"\w[\w.-]*[./_-][\w./-]*\w|\.{0,2}/[\w./-]*\w"
)  # one word that looks like the name of something
_FILES = ("file", "path")  # keys of a prompt under which nobody looks for its file
_PATHS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", ".jsonl", ".csv")


def read_prompts(written: Any, reader: ConfigReader) -> Iterator[PromptSpec]:
    """The prompts of a list, a single one, or those of a mapping from prompts to their labels."""
    if isinstance(written, Mapping) and not {"id", "raw"} & set(written):
        for text, label in written.items():
            if isinstance(label, str):
                entry = {"raw": text, "label": label}
                line = document.line_of(written, [text])
                yield from read_prompts([document.at_line(entry, line)], reader)
            else:
                what = f"the label of the prompt `{text}` is not text"
                reader.say(what, reader.origin_at("prompts", text), "write `PROMPT: LABEL`")
        return
    for item, origin in reader.items_with_origins(written, "prompts"):
        own = document.origin_of(reader.file, item)
        with gather_mistakes(reader.mistakes):
            yield from _prompt(item, own if own.line else origin, reader)


def _prompt(item: Any, origin: Origin, reader: ConfigReader) -> Iterator[PromptSpec]:
    if isinstance(item, Mapping):
        before = len(reader.mistakes)
        keys = reader.check_keys(PromptKeys, item, item, origin.file)
        if keys is None or len(reader.mistakes) > before:  # one mistake for one prompt
            return
        if keys.raw is None and (
            name := next((item[key] for key in _FILES if isinstance(item.get(key), str)), "")
        ):
            cure = f"write `raw: file://{name.removeprefix('file://')}`"
            raise ConfigError.at(
                "the file of a prompt is named by `raw` or `id`, and by nothing else", origin, cure
            )
        text = keys.raw if keys.raw is not None else keys.id
        if text is None:
            raise ConfigError.at("a prompt needs `raw` or `id`", origin, "add the text as `raw`")
        if keys.raw is None and not _is_path(text):
            reader.notes += _as_text(text, _WORD, origin)
        label = keys.label or keys.display
        for prompt in _prompt(text, origin, reader):
            yield replace(prompt, label=label or prompt.label, config=keys.config or {})
    elif not isinstance(item, str):
        raise ConfigError.at(
            "a prompt is a text, `file://...` or a mapping with `raw`", origin, "quote it"
        )
    elif item.startswith("file://") or _is_path(item):
        yield from (
            [scripts.prompt_from_file(item, reader.source, origin)]
            if is_code(item)
            else _files(item, origin, reader)
        )
    elif item.startswith("exec:"):
        yield scripts.prompt_from_command(item, reader.source, origin)
    elif item.startswith(("langfuse://", "portkey://", "helicone://")):
        what = f"gradegate does not fetch or run `{item}`"
        raise ConfigError.at(what, origin, "put the prompt into the repository")
    else:
        reader.notes += _as_text(item, _NAME, origin)
        yield PromptSpec(item, item, origin)


def _as_text(text: str, kind: re.Pattern[str], origin: Origin) -> list[Note]:
    """A note for one word that may be meant as the name of a file."""
    what = f"the prompt is the word `{text}`, and is sent as text: to name a file, write `file://` or its suffix"
    return [Note(what, origin)] if len(text) <= _LONGEST and kind.fullmatch(text) else []


def _files(reference: str, origin: Origin, reader: ConfigReader) -> Iterator[PromptSpec]:
    workspace = reader.source.workspace
    for path in workspace.glob(reference, reader.source.folder, origin):
        name = workspace.name(path)
        if path.suffix == ".csv":
            yield from _rows(reader.source.read_text(str(path), origin), name)
            continue
        if path.suffix not in _PATHS:
            raise ConfigError.at(
                f"`{reference}` is not a text file", origin, f"use one of {', '.join(_PATHS)}"
            )
        # The prompts of a file, as promptfoo reads each kind: Markdown and Jinja to the last newline.
        text = reader.source.read_text(str(path), origin)
        if path.suffix == ".txt":
            parts = re.split(
                r"^[^\S\n]*---[^\S\n]*$", text.replace("\r\n", "\n"), flags=re.MULTILINE
            )
            parts = [part.strip() for part in parts if part.strip()]
        elif path.suffix == ".jsonl":
            parts = [line for line in re.split(r"\r?\n", text) if line]
        elif path.suffix in (".json", ".yaml", ".yml"):
            parts = [_chat(path.suffix, text, name)]
        else:
            parts = [text]
        if not parts:
            raise ConfigError.at(
                f"`{reference}` holds no prompt", Origin(name, 1), "write one into it"
            )
        for number, part in enumerate(parts, 1):
            label = name if len(parts) == 1 else f"{name} #{number}"
            yield PromptSpec(part, label, Origin(name, 1))


def _rows(text: str, name: str) -> Iterator[PromptSpec]:
    """The prompts of a CSV file, as promptfoo has it: one a line, or the columns `prompt` and `label`. Raises ConfigError."""
    lines = [
        (line.strip(), number) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    if "," in text:
        rows = list(testfiles.read_csv_rows(text.encode(), name))
        if rows and "prompt" not in rows[0]:
            raise ConfigError.at(
                f"`{name}` has no column `prompt`", Origin(name, 1), "name it in the first line"
            )
        found = [(row["prompt"].strip(), row.get("label", "").strip(), row.line) for row in rows]
    else:
        head = bool(lines) and lines[0][0].lower() == "prompt"
        found = [(line, "", number) for line, number in lines[head:]]
    found = [row for row in found if row[0]]
    if not found:
        raise ConfigError.at(f"`{name}` holds no prompt", Origin(name, 1), "write one into it")
    for count, (prompt, label, number) in enumerate(found, 1):
        yield PromptSpec(prompt, label or f"Prompt {count} - {prompt}", Origin(name, number))


def _chat(suffix: str, text: str, name: str) -> str:
    """A chat is read before it is filled in; what is a chat only once it is filled in stays text."""
    try:
        parsed = json.loads(text) if suffix == ".json" else document.read(text.encode(), name)
    except (ValueError, RecursionError, ConfigError):
        return text
    inner = next((item for item in document.strings(parsed) if item.startswith("file://")), None)
    if inner:
        raise ConfigError.at(
            f"`{inner}` in a prompt is not read", Origin(name, 1), "put its content into a variable"
        )
    return document.to_json(parsed) if isinstance(parsed, list | dict) else text


def _is_path(text: str) -> bool:
    """A bare path: one word without a template that ends like a file of prompts, or of code."""
    return (text.endswith(_PATHS) or is_code(text)) and not any(
        mark in text for mark in (" ", "\n", "{")
    )
