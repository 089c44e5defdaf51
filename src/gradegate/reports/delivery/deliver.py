"""Finds the report and the place for each output, and writes reports. On GitHub they stay inside the workspace."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.files.plain_files import Place, remove, replace_file
from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.results.baseline import RESULTS
from gradegate.results.run_result import Decision
from gradegate.security.environment import Environment
from gradegate.security.redaction import Redact
from gradegate.structs import replace

_ELSEWHERE = "name a file inside the workspace"


# --- which report -------------------------------------------------------------------------------------------------------


def find_reports(outputs: Iterable[str]) -> dict[str, Report]:
    """Find the report for each path that -o names. Raises ConfigError for unknown suffixes."""
    reports = {}
    mistakes = []
    for path in outputs:
        report = report_for_path(path)
        if report:
            reports[path] = report
        else:
            suffixes = sorted({report.suffix for _, report in REPORTS if report.suffix})
            cure = f"end it with {', '.join(suffixes)}"
            mistakes.append(Mistake(f"no report format has the suffix of `{path}`", None, cure))
    if mistakes:
        raise ConfigError(*mistakes)
    return reports


def report_for_path(path: str) -> Report | None:
    """The report with the longest suffix that the path ends with, or None."""
    name = path.rpartition("/")[2]
    if "." in name.strip("."):  # `agent.md` has the suffix `.agent.md`, too
        name = f".{name}"
    for position, character in enumerate(name):
        if character == ".":
            suffix = name[position:]
            for report in REPORTS.mentioning(suffix):
                if report.suffix == suffix:
                    return report
    return None


def links_to_written(written: Iterable[str], links: Links) -> Links:
    """The links without those to reports that were not written."""
    paths = {report.name: path for path in written if (report := report_for_path(path))}
    page = links.page if "html" in paths else ""
    return replace(links, page=page, results=paths.get("json", ""))


# --- writing ------------------------------------------------------------------------------------------------------------


def render_report(name: str, decision: Decision, links: Links, hide: Redact) -> Document:
    """Render the report of that name without secrets."""
    report = REPORTS.find(name)
    assert report is not None, name
    return _hide_secrets(report.render(decision, links), hide)


def write_reports(
    reports: Mapping[str, Report],
    places: Mapping[str, Place],
    decision: Decision,
    links: Links,
    hide: Redact,
) -> dict[str, str]:
    """Write the reports. Returns for each path that failed the reason, which never changes the verdict."""
    documents = {path: partial(report.render, decision, links) for path, report in reports.items()}
    return write_documents(documents, places, hide)


def write_documents(
    documents: Mapping[str, Callable[[], Document]], places: Mapping[str, Place], hide: Redact
) -> dict[str, str]:
    """Render and write one document after the other. Returns for each path that failed the reason."""
    failures = {}
    for path, render in documents.items():
        try:
            with replace_file(places[path]) as file:
                file.writelines(_hide_secrets(render(), hide).parts)
        except OSError as e:
            failures[path] = f"{path} could not be written: {e.strerror or e}"
    return failures


def _hide_secrets(document: Document, hide: Redact) -> Document:
    return replace(document, parts=map(hide, document.parts))


# --- where --------------------------------------------------------------------------------------------------------------


def find_places(outputs: Iterable[str], cwd: Path, environment: Environment) -> dict[str, Place]:
    """Find the place of each output. Raises ConfigError if it may not be written, or if two may be one file."""
    is_fenced = environment.on_github
    if is_fenced:
        root = Path(environment.workspace or cwd)
    else:
        folders = (cwd, *cwd.parents)
        root = next((folder for folder in folders if (folder / ".git").exists()), cwd)
    root = root.resolve()

    places = {}
    paths: dict[str, Path] = {}
    mistakes = list[Mistake]()
    for output in outputs:
        with gather_mistakes(mistakes):
            place = _find_place(output, cwd, root, is_fenced)
            earlier = paths.setdefault(_fold(place.path), place.path)
            if earlier != place.path:
                what = f"the output `{output}` and `{earlier.name}` differ only in upper and lower case"
                cure = "give them other names: some systems treat them as one file"
                raise ConfigError.at(what, None, cure)
            places[output] = place
    if mistakes:
        raise ConfigError(*mistakes)
    return places


def _find_place(output: str, cwd: Path, root: Path, is_fenced: bool) -> Place:
    """Find the place of an output. ``is_fenced``: it must be inside the root. Raises ConfigError."""
    if "\0" in output:
        what = f"the output {output!r} contains a NUL character"
        raise ConfigError.at(what, None, "write a plain path")
    # `..` is resolved by the words of the path. Where a link on the way leads does not matter.
    path = Path(os.path.abspath(cwd / output))  # noqa: PTH100

    # The outermost folder of the path that is inside the root. The folders below it need not exist.
    inside = next((folder for folder in reversed(path.parents) if _is_in(folder, root)), None)
    if inside is None:
        if is_fenced:
            what = f"the output `{output}` leads out of the workspace"
            raise ConfigError.at(what, None, _ELSEWHERE)
        if not path.parent.is_dir():
            what = f"the folder of the output `{output}` does not exist"
            cure = f"create it, or {_ELSEWHERE}, where folders are created"
            raise ConfigError.at(what, None, cure)
        return Place(path.parent.resolve(), (path.name,))

    folders = inside.resolve().relative_to(root).parts
    place = Place(root, (*folders, *path.relative_to(inside).parts), is_fenced)
    if ".git" in map(str.casefold, place.parts):
        raise ConfigError.at(f"the output `{output}` is inside `.git`", None, _ELSEWHERE)
    return place


def _is_in(folder: Path, root: Path) -> bool:
    try:
        return folder.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a ring of links
        return False


def remove_earlier_outputs(settings: Settings, environment: Environment) -> list[Mistake]:
    """Remove files with the names of outputs: a checkout may have brought them, and a later step would believe them.

    Returns a mistake for each output that cannot be removed or is an input.
    """
    mistakes = list[Mistake]()
    for output in settings.outputs:
        with gather_mistakes(mistakes):
            places = find_places([output], settings.cwd, environment)
            check_against_inputs(places, (), input_paths(settings))
            try:
                remove(places[output])
            except OSError as e:
                what = f"the output `{output}` exists and cannot be removed: {e.strerror or e}"
                cure = "remove it from the repository, or write the report to another file"
                mistakes.append(Mistake(what, None, cure))
    return mistakes


def input_paths(settings: Settings) -> list[Path]:
    """Paths and patterns of the configs, the recorded answers and the baseline. They need not exist."""
    names = [*settings.configs, *settings.answers]
    if settings.baseline and not settings.seeks_baseline:
        names += [settings.baseline, f"{settings.baseline}/{RESULTS}"]
    return [Path(os.path.abspath(settings.cwd / name)) for name in names]  # noqa: PTH100


def check_against_inputs(
    outputs: Mapping[str, Place], inputs: Collection[Path], patterns: Collection[Path] = ()
) -> None:
    """Raise ConfigError for outputs that are inputs of this run, or fit one of the ``patterns`` that name inputs."""
    folded = {_fold(path) for path in (*inputs, *patterns)}
    mistakes = []
    for output, place in outputs.items():
        path = place.path
        if _fold(path) in folded or any(_fits_pattern(path, pattern) for pattern in patterns):
            what = f"the output `{output}` is a file that this run reads"
            mistakes.append(Mistake(what, None, "write the report to another file"))
    if mistakes:
        raise ConfigError(*mistakes)


def _fits_pattern(path: Path, pattern: Path) -> bool:
    """Whether a pattern can match a path. A part matches one part, only ``**`` matches several."""
    if "**" not in pattern.parts and len(path.parts) != len(pattern.parts):
        return False
    return fnmatchcase(_fold(path), _fold(pattern).replace("**/", "*"))


def _fold(path: Path) -> str:
    """The same text for all paths that some file system treats as one."""
    return os.fspath(path).casefold()
