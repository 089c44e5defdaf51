"""Which files a pull request changes, and whether anything that a run depends on is among them.

GitHub lists either all of them or none (https://docs.github.com/rest/pulls/pulls#list-pull-requests-files). Where it cannot be told
what a run depends on, everything counts as changed.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath

from pydantic import AliasPath, BaseModel, Field, ValidationError

from gradegate.config.context import Context
from gradegate.config.load import DEFAULT_CONFIGS
from gradegate.core.numbers import format_count, list_some
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import ConfigError, GradegateError
from gradegate.files.git import Vouched, folders_of, head_of, repository_of, ways
from gradegate.files.paths import runs_code
from gradegate.files.workspace import searched
from gradegate.github.client import PER_PAGE, READ_RIGHTS, GitHub, Never, patiently
from gradegate.reports.format.escape import one_line
from gradegate.results.accounts import AskedModel
from gradegate.runner.prepare import Prepared
from gradegate.security.event import Event
from gradegate.security.hosts import host_at, is_inside, literal
from gradegate.structs import FrozenStruct

MOST = 3000  # files that GitHub lists of one pull request


class Changed(FrozenStruct):
    """Paths from the root of the repository. ``gone`` are those under which there is no longer what there was."""

    paths: frozenset[str]
    gone: frozenset[str] = frozenset()


class _Pull(BaseModel):
    changed_files: int
    sha: str = Field(validation_alias=AliasPath("head", "sha"))
    base: str = Field(validation_alias=AliasPath("base", "ref"))


class _File(BaseModel):
    filename: str
    status: str
    previous_filename: str | None = None


def changed_files(github: GitHub, event: Event, base: str) -> Changed:
    """What the pull request of an event changes, renames under both names. ``base`` is the branch that it is for.

    Raises Never where that cannot be told: GitHub does not answer, lists less than there is, or the pull request has moved on.
    """
    return patiently(github, lambda: _changed(github, event, base))


def _changed(github: GitHub, event: Event, base: str) -> Changed:
    address = f"{github.api}/repos/{event.repository}/pulls/{event.number}"
    files: list[_File] = []
    for page in range(1, MOST // PER_PAGE + 2):
        items = github.read_json(
            f"{address}/files?per_page={PER_PAGE}&page={page}", "the changed files", READ_RIGHTS
        )
        try:
            files += map(_File.model_validate, items if isinstance(items, list) else [None])
        except ValidationError as e:
            raise Never("GitHub's list of changed files cannot be read") from e
        if not items:  # a page that is not full may still not be the last
            break
    try:
        # After the list, so that a push in between shows.
        pull = _Pull.model_validate(github.read_json(address, "the changed files", READ_RIGHTS))
    except ValidationError as e:
        raise Never("GitHub's answer about the pull request cannot be read") from e
    if pull.sha != event.head_sha or (base and pull.base != base):
        raise Never("the pull request has new commits since this run started")
    if pull.changed_files != len(files):
        raise Never(
            f"GitHub lists {len(files):,} of the {pull.changed_files:,} changed files, and never more than {MOST:,}"
        )
    before = frozenset(file.previous_filename for file in files if file.previous_filename)
    gone = before | frozenset(file.filename for file in files if file.status == "removed")
    return Changed(frozenset(file.filename for file in files) | before, gone)


EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")
SHOWN = 5  # files that are named
# What steers a workflow (an action of the repository may hand on the inputs), and what decides what a checkout holds.
_STEERING = re.compile(
    r"\.github/.*|(?:.*/)?action\.ya?ml|(?:.*/)?\.gitattributes|\.gitmodules|\.lfsconfig", re.DOTALL
)
_SERVERS = (
    "docker:",
    "litellm:",
    "lmstudio:",
    "localai:",
    "ollama:",
    "vllm:",
)  # of models, wherever they run


class CannotTellError(GradegateError):
    """Nothing can be said of what the run depends on; the message says why."""


@dataclass(frozen=True)
class Filter:
    """What the filter looks at. ``paths`` are patterns of further files that count, as the workflow gives them."""

    github: GitHub
    context: Context
    paths: tuple[str, ...] = ()

    @cached_property
    def root(self) -> Path:
        """The work tree of the pull request. Raises CannotTellError."""
        root = repository_of(self.context.cwd.resolve())
        if root is None:
            raise CannotTellError("there is no git repository around the working directory")
        return root

    def look(self, prepared: Prepared) -> tuple[str, str]:
        """Why nothing needs to be run, or an empty string; and what to say in the log where something does."""
        try:
            # Where a list of changed files says nothing about the run.
            if self.context.event.name not in EVENTS or self.context.event.number is None:
                raise CannotTellError(
                    f"the event {self.context.event.name} is not about the head of a pull request"
                )
            if not self.github.token:
                raise CannotTellError("the input `github-token` is empty")
            if head_of(self.root) not in {
                self.context.environ.get("GITHUB_SHA", ""),
                self.context.event.head_sha,
            } - {""}:
                raise CannotTellError("the checkout is not at the commit of the event")
            action = self.context.environ.get("GITHUB_ACTION_PATH", "")
            if action and Path(action).resolve().is_relative_to(self.root):
                raise CannotTellError("the action itself comes from the pull request")
            if prepared.changes.found:
                raise CannotTellError("the gate differs from the gate of the base")
            if not self.paths and (why := self._unseen(prepared)):
                raise CannotTellError(f"{why}; name its files in the input `paths`")
            read = frozenset(self._reads(prepared))
            changed = changed_files(
                self.github, self.context.event, self.context.environ.get("GITHUB_BASE_REF", "")
            )
            touched = sorted(self._touched(changed, read, prepared))
            if not touched:
                # A pattern that no file has is a slip of the pen, which would have nothing checked, ever.
                committed = self._committed()
                for written in self.paths:
                    parts = written.rstrip("/").split("/")
                    fixed = tuple(takewhile(lambda part: "*" not in part, parts))
                    try:
                        known = any(map(_pattern(written).fullmatch, committed.files(fixed)))
                    except LookupError:
                        raise CannotTellError(
                            "not all folders of the commit are in the checkout"
                        ) from None
                    if not known:
                        raise CannotTellError(
                            f"the input `paths` has {one_line(written, 100)}, which matches no file of the commit"
                        )
        except (GradegateError, OSError, ValueError) as e:
            why = "because it is not known what the pull request changes"
            return "", f"Everything runs, {why}: {e}"
        if touched:
            names = [one_line(path, 100) for path in touched[:SHOWN]]
            files = list_some(names, len(touched), "file")
            return "", f"The run depends on {files}, which the pull request changes"
        files = format_count(len(changed.paths), "file")
        return f"no case depends on the {files} that the pull request changes", ""

    def _committed(self) -> Vouched:
        """The files of the commit that is checked out. Raises OSError and ValueError."""
        return Vouched(
            self.root,
            folders_of(self.root)[1] / "objects",
            head_of(self.root),
            self.context.event.name,
        )

    def _unseen(self, prepared: Prepared) -> str:
        """What the run depends on beside the files that it reads; an empty string where there is nothing."""
        if self.context.settings.answers:
            return "recorded answers are graded"
        if self.context.settings.allow_exec:
            return "code of the repository runs"
        for model in filter(_is_application, prepared.plan.models):
            return f"{one_line(model.name, 80)} is an application with files that are not known"
        return ""

    def _reads(self, prepared: Prepared) -> Iterator[str]:
        """Every path from the root that the plan was read from or through. Raises CannotTellError."""
        vouched = self._committed()
        own = self.context.environ.get("RUNNER_TEMP", "")
        for path in prepared.inputs.named:
            if own and path.is_relative_to(own) and not path.is_relative_to(self.root):
                continue  # of an earlier step, as a baseline is; no file of the repository
            if not path.resolve().is_relative_to(self.root):
                raise CannotTellError(f"{path.name} is not in the checkout of the pull request")
            if path.is_file():
                found = path.resolve()
                try:  # of a file that an earlier step made or changed it is not known what it is made of
                    vouched.vouch(found, found.read_bytes(), path.name, NOWHERE)
                except ConfigError:
                    raise CannotTellError(f"{path.name} differs from the commit") from None
            for place in ways(path):
                if place.is_relative_to(self.root):
                    name = place.relative_to(self.root).as_posix()
                    try:  # GitHub's list is UTF-8
                        name.encode()
                    except UnicodeEncodeError:
                        raise CannotTellError(
                            f"the name {one_line(name, 100)} is not UTF-8"
                        ) from None
                    yield name

    def _touched(self, changed: Changed, read: frozenset[str], prepared: Prepared) -> Iterator[str]:
        patterns = [_pattern(path) for path in self.paths]
        own = (searched(self.context.cwd / written) for written in self.context.settings.configs)
        folders = [_below(folder, self.root) for folder in (*prepared.inputs.searched, *own)]
        defaults = {
            _below(self.context.cwd.resolve() / name, self.root) for name in DEFAULT_CONFIGS
        }
        for path in changed.paths:
            if (
                path in read
                or _STEERING.fullmatch(path)
                or any(pattern.fullmatch(path) for pattern in patterns)
            ) or (
                path in changed.gone
                and (  # a pattern may have matched it
                    path in defaults
                    or any(it == "." or f"{path}/".startswith(f"{it}/") for it in folders)
                )
            ):
                yield path


def _is_application(model: AskedModel) -> bool:
    """Whether what answers may be made of files that no config names."""
    if (
        runs_code(model.name)
        or model.name.startswith(("http:", "https:"))
        or model.replies_from == "program"
    ):
        return True
    host = host_at(f"http://{model.host}") if model.host else None
    if host is None or model.name.startswith(_SERVERS):
        return False
    return is_inside(host.name) or ("." not in host.name and literal(host.name) is None)


def _below(place: Path, root: Path) -> str:
    """A place as a path from the root, whether it is there or not."""
    return PurePosixPath(os.path.relpath(place.resolve(), root)).as_posix()


def _pattern(written: str) -> re.Pattern[str]:
    """As in ``paths`` of a workflow: ``*`` stays in a folder, ``**`` does not. A folder's name matches all below it."""
    parts = re.split(r"(\*\*/|\*\*|\*)", written.rstrip("/"))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return re.compile(
        "".join(signs.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL
    )
