"""Finds the report for each path that the user names, and writes it there: on GitHub inside the workspace alone."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.files.plain_files import Place, remove, replacing
from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.results.baseline import RESULTS
from gradegate.results.run_result import Decision
from gradegate.security.environment import Environment
from gradegate.security.redaction import Redact
from gradegate.structs import replace

_ELSEWHERE = "name a file inside the workspace"


def check_outputs(outputs: Iterable[str]) -> dict[str, Report]:
    """The report for each path that -o names, by the longest suffix. Raises ConfigError."""
    reports, mistakes = {}, []
    for path in outputs:
        if report := report_of(path):
            reports[path] = report
        else:
            cure = "end it with " + ", ".join(
                sorted({report.suffix for _, report in REPORTS if report.suffix})
            )
            mistakes.append(Mistake(f"no report format has the suffix of `{path}`", None, cure))
    if mistakes:
        raise ConfigError(*mistakes)
    return reports


def report_of(path: str) -> Report | None:
    """The report that is written to a path of that name: the longest suffix decides, None where no report has it."""
    name = path.rpartition("/")[2]
    suffixes = (
        [f".{name}"] if "." in name.strip(".") else []
    )  # `agent.md` ends with `.agent.md`, too, without a dot before
    suffixes += [name[position:] for position, character in enumerate(name) if character == "."]
    return next(
        (it for suffix in suffixes for it in REPORTS.mentioning(suffix) if it.suffix == suffix),
        None,
    )


def links_to(written: Iterable[str], links: Links) -> Links:
    """The links without those that lead to a report that is not among the files."""
    paths = {report.name: path for path in written if (report := report_of(path))}
    page = links.page if "html" in paths else ""
    return replace(links, page=page, results=paths.get("json", ""))


def render(name: str, decision: Decision, links: Links, hide: Redact) -> Document:
    """The report of that name, secrets hidden."""
    report = REPORTS.find(name)
    assert report is not None, name
    return _hidden(report.render(decision, links), hide)


def write_reports(
    reports: Mapping[str, Report],
    places: Mapping[str, Place],
    decision: Decision,
    links: Links,
    hide: Redact,
) -> dict[str, str]:
    """Write the files; gives why each that could not be written was not, which never changes the verdict."""
    return write_documents(
        {path: partial(it.render, decision, links) for path, it in reports.items()}, places, hide
    )


def write_documents(
    documents: Mapping[str, Callable[[], Document]], places: Mapping[str, Place], hide: Redact
) -> dict[str, str]:
    """Write documents to their paths, each rendered when its turn comes; gives why one could not be written."""
    failures = {}
    for path, rendered in documents.items():
        try:
            with replacing(places[path]) as file:
                file.writelines(_hidden(rendered(), hide).parts)
        except OSError as e:
            failures[path] = f"{path} could not be written: {e.strerror or e}"
    return failures


def _hidden(document: Document, hide: Redact) -> Document:
    return replace(document, parts=map(hide, document.parts))


def places(outputs: Iterable[str], cwd: Path, environment: Environment) -> dict[str, Place]:
    """The place of each output. Raises ConfigError for those that may not be written, and for two that may be one."""
    fenced = environment.on_github
    repository = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)
    root = (Path(environment.workspace or cwd) if fenced else repository).resolve()
    found = {}
    taken: dict[str, Path] = {}
    mistakes = []
    for written in outputs:
        place = _place(written, cwd, root, fenced=fenced)
        if isinstance(place, Mistake):
            mistakes.append(place)
        elif (other := taken.setdefault(_folded(place.path), place.path)) != place.path:
            what = f"the output `{written}` and `{other.name}` differ only in upper and lower case"
            mistakes.append(
                Mistake(what, None, "give them other names: some systems treat them as one file")
            )
        else:
            found[written] = place
    if mistakes:
        raise ConfigError(*mistakes)
    return found


def remove_earlier(settings: Settings, environment: Environment) -> list[Mistake]:
    """Remove what has the name of an output: a checkout could have brought it, and a later step would take it for a report.

    Gives why an output could not be removed, or is an input.
    """
    mistakes = list[Mistake]()
    for written in settings.outputs:
        with gather_mistakes(mistakes):
            outputs = places([written], settings.cwd, environment)
            check_inputs(outputs, (), named_inputs(settings))
            try:
                remove(outputs[written])
            except OSError as e:
                what = f"the output `{written}` exists and cannot be removed: {e.strerror or e}"
                cure = "remove it from the repository, or write the report to another file"
                mistakes.append(Mistake(what, None, cure))
    return mistakes


def named_inputs(settings: Settings) -> list[Path]:
    """The configs, the answers and the baseline as the settings name them, by patterns too; they need not exist."""
    named = [*settings.configs, *settings.answers]
    if settings.baseline and not settings.seeks_baseline:
        named += [settings.baseline, f"{settings.baseline}/{RESULTS}"]
    return [Path(os.path.abspath(settings.cwd / path)) for path in named]  # noqa: PTH100


def check_inputs(
    outputs: Mapping[str, Place], inputs: Collection[Path], patterns: Collection[Path] = ()
) -> None:
    """Raise ConfigError for outputs that are among the ``inputs`` of this run, or fit one of the ``patterns`` that name inputs."""
    read = {_folded(path) for path in (*inputs, *patterns)}
    over = [
        written
        for written, place in outputs.items()
        if _folded(place.path) in read or any(_fits(place.path, pattern) for pattern in patterns)
    ]
    if over:
        cure = "write the report to another file"
        raise ConfigError(
            *(
                Mistake(f"the output `{written}` is a file that this run reads", None, cure)
                for written in over
            )
        )


def _fits(path: Path, pattern: Path) -> bool:
    """Whether a pattern can match a path: a part matches one part, only ``**`` matches several."""
    if "**" not in pattern.parts and len(path.parts) != len(pattern.parts):
        return False
    return fnmatchcase(_folded(path), _folded(pattern).replace("**/", "*"))


def _folded(path: Path) -> str:
    """Paths that some file system takes for one have one of these."""
    return os.fspath(path).casefold()


def _place(written: str, cwd: Path, root: Path, *, fenced: bool) -> Place | Mistake:
    if "\0" in written:
        return Mistake(
            f"the output {written!r} contains a NUL character", None, "write a plain path"
        )
    # `..` goes by the words alone: what a link on the way would make of it is not asked.
    path = Path(os.path.abspath(cwd / written))  # noqa: PTH100
    inside = next((folder for folder in reversed(path.parents) if _is_in(folder, root)), None)
    if inside is None:
        if fenced:
            return Mistake(f"the output `{written}` leads out of the workspace", None, _ELSEWHERE)
        if not path.parent.is_dir():
            what = f"the folder of the output `{written}` does not exist"
            return Mistake(what, None, f"create it, or {_ELSEWHERE}, where folders are created")
        return Place(path.parent.resolve(), (path.name,))
    place = Place(
        root, (*inside.resolve().relative_to(root).parts, *path.relative_to(inside).parts), fenced
    )
    if ".git" in map(str.casefold, place.parts):
        return Mistake(f"the output `{written}` is inside `.git`", None, _ELSEWHERE)
    return place


def _is_in(folder: Path, root: Path) -> bool:
    try:
        return folder.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a ring of links
        return False
