"""Templates of reports, which show what a report looks like. Every value in them is escaped as their format needs it.

All that a template prints goes through one function: text of the format's own kind stays, and anything else is escaped. Macros and
captured parts are of that kind, since they contain only our words and such text. Two statements of Jinja print past that function,
``call`` and ``filter``. tests/test_house.py checks that no template has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradegate.core.numbers import format_count, format_number
from gradegate.reports.format.escape import Escaped, clip, one_line, outline, spread_values

if TYPE_CHECKING:
    from jinja2 import Environment

K = TypeVar("K", bound=Escaped)
_FOLDER = Path(__file__).parents[1] / "templates"
_CHUNK = 100  # pieces of a template that are passed on together


class Format(Generic[K]):
    """A kind of text: how other text is escaped to become that kind, and the helpers of its templates."""

    def __init__(
        self, kind: type[K], escape: Callable[[str], K], **helpers: Callable[..., Any]
    ) -> None:
        self._kind = kind
        self._escape = escape
        self._helpers = {
            "many": format_count,
            "figure": format_number,
            "line": one_line,
            "clip": clip,
            "spread": spread_values,
            "outline": outline,
            **helpers,
        }

    def render(self, template: str, **values: Any) -> K:
        """Render a template in one part."""
        return self._kind(self.environment.get_template(template).render(values))

    def stream(self, template: str, **values: Any) -> Iterator[K]:
        """Render a template in parts."""
        stream = self.environment.get_template(template).stream(values)
        stream.enable_buffering(_CHUNK)
        return map(self._kind, stream)

    def macros(self, template: str, **values: Any) -> Callable[..., K]:
        """A function that renders a macro of the template by its name, with its arguments. All macros know the values."""
        module = self.environment.get_template(template).make_module(values)

        def render_macro(name: str, *arguments: Any) -> K:
            return self._kind(getattr(module, name)(*arguments))

        return render_macro

    @cached_property
    def environment(self) -> Environment:
        """Jinja with the escape and the helpers of the format."""
        # Imported here, because most commands write no report.
        from jinja2 import Environment, FunctionLoader, StrictUndefined

        from gradegate.reports.view import case, run_summary, wording

        environment = Environment(  # noqa: S701 - `finalize` escapes, as each format needs it
            finalize=self._finalize,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            loader=FunctionLoader(read_template),
        )
        # Makes what a macro or a block gives text of the kind of this format.
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
    """Read one of our own files."""
    return (_FOLDER / name).read_text(encoding="utf-8")
