"""Templates of our own, which show what a report looks like; every value in them is escaped as their format needs it.

All that a template prints goes through one function: text of the format's own kind stays, and anything else is escaped. Macros and
captured parts are of that kind, since they hold our words and such text only. Two statements of Jinja print past that function,
``call`` and ``filter``: tests/test_house.py finds them in no template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradegate.core.numbers import format_count, format_number
from gradegate.reports.format.escape import Escaped, clip, one_line, outline, spread

if TYPE_CHECKING:
    from jinja2 import Environment, Template

K = TypeVar("K", bound=Escaped)
_FOLDER = Path(__file__).parents[1] / "templates"
_CHUNK = 100  # pieces of a template that are handed on together


class Format(Generic[K]):
    """The kind of text that templates of a format give, how other text becomes that kind, and the helpers that they have."""

    def __init__(
        self, kind: type[K], escape: Callable[[str], K], **helpers: Callable[..., Any]
    ) -> None:
        self._kind = kind
        self._escape = escape
        common: dict[str, Callable[..., Any]] = {
            "many": format_count,
            "figure": format_number,
            "line": one_line,
            "clip": clip,
            "spread": spread,
            "outline": outline,
        }
        self._helpers = {**common, **helpers}

    def render(self, template: str, **values: Any) -> K:
        """A template in one part."""
        return self._kind(self._template(template).render(values))

    def stream(self, template: str, **values: Any) -> Iterator[K]:
        """A template in parts."""
        stream = self._template(template).stream(values)
        stream.enable_buffering(_CHUNK)
        return map(self._kind, stream)

    def macros(self, template: str, **values: Any) -> Callable[..., K]:
        """Renders the macro of a template by its name, with its arguments; all of them know the values."""
        module = self._template(template).make_module(values)

        def render_macro(name: str, *arguments: Any) -> K:
            return self._kind(getattr(module, name)(*arguments))

        return render_macro

    def _template(self, name: str) -> Template:
        return self.environment.get_template(name)

    @cached_property
    def environment(self) -> Environment:
        """Jinja with the escape and the helpers of the format."""
        # Only where a report is written: a command that writes none need not load it.
        from jinja2 import Environment, FunctionLoader, StrictUndefined

        from gradegate.reports.view import case, run_summary, wording

        environment = Environment(  # noqa: S701 - `finalize` escapes, as each format needs it
            finalize=self._finalize,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            loader=FunctionLoader(read_template),
        )
        # What a macro or a block gives is of the format's own kind.
        environment.concat = self._join  # type: ignore[method-assign]
        environment.filters.update(self._helpers)
        environment.globals.update(self._helpers)
        environment.globals.update(words=wording, cases=case, summary=run_summary)
        return environment

    def _finalize(self, value: object) -> K:
        return value if isinstance(value, self._kind) else self._escape(str(value))

    def _join(self, parts: Iterable[str]) -> K:
        return self._kind("".join(parts))


@cache
def read_template(name: str) -> str:
    """The text of one of our own files."""
    return (_FOLDER / name).read_text(encoding="utf-8")
