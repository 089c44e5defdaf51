"""Reads JSON lines (https://jsonlines.org): one JSON object a line, each with its line."""

from __future__ import annotations

import codecs

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.amounts import READ, TooMuch
from gradegate.files.bounds import MAX_LINES, MAX_MISTAKES
from gradegate.files.jsonreader import parsed, unique, values_in
from gradegate.files.lines import Map, Seq

_CURE = "write one JSON object a line"


def read(content: bytes, file: str) -> Seq:
    """The objects, each of them a ``Map``; blank lines are skipped. Raises ConfigError with every mistake.

    Lines end in a line feed, with or without a carriage return before it, and in nothing else: a JSON string may hold
    U+2028, U+0085 and their like.
    """
    rows, mistakes = readable(content, file)
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def readable(content: bytes, file: str) -> tuple[Seq, list[Mistake]]:
    """The objects of the lines that can be read, and the mistakes of all others."""
    rows, mistakes = Seq(1), list[Mistake]()
    if content.count(b"\n") > MAX_LINES:
        raise ConfigError.at(f"the file has more than {MAX_LINES:,} lines", Origin(file), "split it into several files")
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        try:
            text = line.decode()
            READ.add_values(values_in(text))
            row = parsed(text, file, number, _CURE, object_pairs_hook=unique, strict=False)
            if isinstance(row, Map):
                rows.append(row)
            else:
                mistakes.append(Mistake("the line is not a JSON object", Origin(file, number), _CURE))
        except TooMuch as e:
            raise ConfigError.at(str(e), Origin(file, number), "keep fewer tests in one run") from e
        except UnicodeDecodeError:
            mistakes.append(Mistake("the line is not UTF-8 text", Origin(file, number), "save the file as UTF-8"))
        except ConfigError as e:
            mistakes += e.mistakes
        if len(mistakes) > MAX_MISTAKES:
            what = "too many lines cannot be read, so the rest is not checked"
            mistakes[-1] = Mistake(what, Origin(file, number), "correct these first")
            break
    return rows, mistakes
