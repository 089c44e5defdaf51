"""The reports of a calibration by the suffix of their files, and the text for the console."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator

from gradegate.calibrating import words
from gradegate.calibrating.agreement import Calibration, Judged
from gradegate.calibrating.data import plain_calibration
from gradegate.errors import ConfigError, Mistake
from gradegate.figures import many, spent
from gradegate.reporting.browser import filled
from gradegate.reporting.commands import harmless
from gradegate.reporting.markdown import fence, fit, inline, table, utf8
from gradegate.reporting.report import Document, Sink
from gradegate.reporting.visible import clip, one_line, visible
from gradegate.reporting.wording import name, no_model, place

Form = Callable[[Calibration], Document]
_SHORT, _LONG = 500, 4000  # characters of one text: in a log, and in a page
_MOST = 1000  # outputs of one kind in a log or a page
_PAGE = 1_000_000  # bytes of a Markdown page: what GitHub takes as a summary


def check_outputs(outputs: Iterable[str]) -> dict[str, Form]:
    """The form of each path that -o names, by its suffix. Raises ConfigError."""
    forms, mistakes = {}, []
    for path in outputs:
        form = next((form for suffix, form in FORMS.items() if path.endswith(suffix)), None)
        if form is None:
            cure = "end it with " + ", ".join(FORMS)
            mistakes.append(Mistake(f"no report of a calibration is written as `{path}`", None, cure))
        else:
            forms[path] = form
    if mistakes:
        raise ConfigError(*mistakes)
    return forms


def _sections(calibration: Calibration) -> Iterator[tuple[str, str, tuple[Judged, ...]]]:
    """What is listed one by one: how a log and how a page calls it, and the outputs."""
    yield "DIFFERS", "Grader and people differ", calibration.differences
    yield "NO VERDICT", "No verdict", calibration.errors


# --- text -----------------------------------------------------------------------------------------------------


def console(calibration: Calibration) -> Document:
    """The text for people on standard output, line by line harmless to a runner."""
    return Document(Sink.CONSOLE, (harmless(text) + "\n" for text in _texts(calibration)))


def _texts(calibration: Calibration) -> Iterator[str]:
    run = calibration.run
    for sign, _, judged in _sections(calibration):
        for it in judged[:_MOST]:
            yield f"{sign}  {place(it.origin)}  {name(it.rows[0])}  {words.about(it)}  {words.spoken(it)}"
            yield textwrap.indent("\n".join(_facts(it, _SHORT)), "  ") + "\n"
        if len(judged) > _MOST:
            yield f"{sign}  {many(len(judged) - _MOST, 'more output')}; the JSON report has all of them\n"
    yield from _columns([words.HEADER, *words.lines(calibration)])
    yield ""
    yield from _columns(words.crossed(calibration.overall))
    yield ""
    yield from (f"{text}." for text in words.remarks(calibration))
    yield from (f"note: {one_line(note.text, _SHORT)}" for note in run.notes)
    yield f"models: {', '.join(one_line(str(model), 120) for model in run.models)}"
    yield from (f"key: {one_line(str(use), 200)}" for use in run.keys)
    yield from (f"{text}." for text in [no_model(run.models)] if text)
    if run.interrupted:
        yield f"The run stopped early: {run.interrupted}"
    yield f"grader: {spent(run.grader_usage)}; {run.seconds:,.1f} s"
    if words.advice(calibration):
        yield f"{words.why_noise(calibration)}. Copy into the config:\n\ngate:\n  {words.advice(calibration)}\n"
    yield words.headline(calibration)


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    cells = [[one_line(cell, 100) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _facts(judged: Judged, limit: int) -> Iterator[str]:
    for label, text in (("got", judged.rows[0].output), ("why", judged.first.reason)):
        first, *rest = visible(clip((text or "(empty)").strip(), limit)).split("\n")
        yield "\n".join([f"{label}: {first}", *(f"  {line}" for line in rest)])


# --- pages ----------------------------------------------------------------------------------------------------


def markdown(calibration: Calibration) -> Document:
    """A page for GitHub; outputs that do not fit are left out, and the page says so."""
    head = "".join(_head(calibration))
    parts, room = [head], _PAGE - utf8(head)
    for _, title, judged in _sections(calibration):
        blocks = fit(map(_block, judged), room, utf8)
        left = len(judged) - len(blocks)
        more = f"\n{many(left, 'more output')} in the JSON report.\n" if left else ""
        parts += [f"\n#### {title}: {many(len(judged), 'output')}\n\n", *blocks, more] if judged else []
        room -= sum(map(utf8, blocks))
    return Document(Sink.FILE, parts)


def _head(calibration: Calibration) -> Iterator[str]:
    yield f"### {inline(words.headline(calibration), 300)}\n\n"
    yield from table(words.HEADER, (map(inline, cells) for cells in words.lines(calibration)))
    header, *rows = words.crossed(calibration.overall)
    yield "\n"
    yield from table(header, rows)
    yield "\n"
    yield from (f"- {inline(text, 400)}.\n" for text in words.remarks(calibration))
    yield from (f"- {inline(note.text, 400)}\n" for note in calibration.run.notes)
    if words.advice(calibration):
        yield f"- {inline(words.why_noise(calibration), 300)}. To copy:\n\n"
        yield f"```yaml\ngate:\n  {words.advice(calibration)}\n```\n"


def _block(judged: Judged) -> str:
    title = f"**{inline(name(judged.rows[0]))}** {inline(words.about(judged))}: {inline(words.spoken(judged))}"
    return f"{title} ({inline(place(judged.origin), 300)})\n\n" + fence("\n".join(_facts(judged, _LONG))) + "\n"


def html(calibration: Calibration) -> Document:
    """A page for a browser."""
    sections = [(title, len(judged), judged[:_MOST]) for _, title, judged in _sections(calibration)]
    parts = filled("calibration.html", calibration=calibration, sections=sections, words=words, name=name, place=place)
    return Document(Sink.FILE, parts)


def as_json(calibration: Calibration) -> Document:
    """Everything, for programs."""
    return Document(Sink.FILE, (json.dumps(plain_calibration(calibration), ensure_ascii=False, indent=1), "\n"))


FORMS: dict[str, Form] = {".json": as_json, ".html": html, ".md": markdown}
