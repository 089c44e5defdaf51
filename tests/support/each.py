"""A table as a loop in one test, which reports all rows that differ: thousands of ids cost more than what they check."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate.sandbox.evaluate import reset_accounts
from support.fake_llm import FakeLlm


def each(names: str | Sequence[str], rows: Iterable[Any], ids: Any = None) -> Callable[..., Any]:
    """As ``pytest.mark.parametrize``, but fixtures are made once for all rows, and no row has marks."""
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_row(row, len(named)) for row in rows]
    labels = [_label(values, ids) for values in table] if ids is None or callable(ids) else [*ids]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            skipped: list[BaseException] = []
            for label, values in zip(labels, table, strict=True):
                reset_accounts()  # a row is a run of its own
                for fake in fixtures.values():
                    if isinstance(fake, FakeLlm):
                        fake.requests.clear()
                try:
                    with pytest.MonkeyPatch.context() as patch:  # undone after the row, what other fixtures patched is not
                        own = {"monkeypatch": patch} if "monkeypatch" in fixtures else {}
                        test(**{**fixtures, **own}, **dict(zip(named, values, strict=True)))
                except (Exception, pytest.fail.Exception) as e:
                    e.add_note(f"row: {label}")
                    failed.append(e)
                except pytest.skip.Exception as e:
                    skipped.append(e)
            if len(skipped) == len(table) > 0:
                raise skipped[0]
            if failed:
                raise (failed[0] if len(failed) == 1 else BaseExceptionGroup(f"{len(failed)} of {len(table)} rows", failed))

        signature = inspect.signature(test)
        others = [it for name, it in signature.parameters.items() if name not in named]
        loop.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return loop

    return decorate


def _row(row: Any, width: int) -> Sequence[Any]:
    if hasattr(row, "marks"):
        assert not row.marks, "a row of `each` has no marks"
        return row.values
    return row if width > 1 else (row,)


def _label(values: Sequence[Any], ids: Any) -> str:
    return ", ".join(str(ids(value) if ids else repr(value))[:100] for value in values)


def table(file: str, name: str) -> Any:
    """A table of the YAML beside a test file: long ones are data."""
    return tables(Path(file).with_suffix(".yaml"))[name]


@functools.cache
def tables(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def fill_in_item(file: str, name: str, /, **values: Any) -> Any:
    """An item of the YAML beside a file with values for its `{name}`: one that stands alone is the value itself."""

    def fill(item: Any) -> Any:
        if isinstance(item, Mapping):
            return {key: fill(value) for key, value in item.items()}
        if isinstance(item, list):
            return [fill(value) for value in item]
        if not isinstance(item, str):
            return item
        alone = re.fullmatch(r"\{(\w+)\}", item)
        return values[alone[1]] if alone else re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), item)

    return fill(table(file, name))
