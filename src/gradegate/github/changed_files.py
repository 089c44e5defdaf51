"""Which files a pull request changes, and whether a run depends on any of them.

GitHub lists either all changed files or none (https://docs.github.com/rest/pulls/pulls#list-pull-requests-files). If nobody can tell
what a run depends on, everything counts as changed.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath

from pydantic import AliasPath, BaseModel, Field, TypeAdapter, ValidationError

from gradegate.config.context import Context
from gradegate.config.load import DEFAULT_CONFIGS
from gradegate.core.numbers import format_count, list_some
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import ConfigError, GradegateError
from gradegate.files.documents import encodable
from gradegate.files.git import folders_of, head_of, repository_of
from gradegate.files.paths import runs_code
from gradegate.files.patterns import folder_of_pattern
from gradegate.files.vouched import Vouched, path_steps
from gradegate.github.client import PER_PAGE, READ_RIGHTS, GitHub, GitHubError, retry_requests
from gradegate.reports.format.escape import one_line
from gradegate.results.accounts import AskedModel
from gradegate.runner.prepare import Preparation
from gradegate.security.event import Event
from gradegate.security.hosts import host_at, is_inside, parse_address
from gradegate.structs import FrozenStruct

MOST_FILES = 3000  # that GitHub lists of one pull request
EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")
MOST_NAMES = 5  # files that are named
# What steers a workflow (an action of the repository may pass on the inputs), and what decides which files a checkout has.
_STEERING = re.compile(
    r"\.github/.*|(?:.*/)?action\.ya?ml|(?:.*/)?\.gitattributes|\.gitmodules|\.lfsconfig", re.DOTALL
)
# Servers of models, on whichever host they run.
_SERVERS = ("docker:", "litellm:", "lmstudio:", "localai:", "ollama:", "vllm:")


class ChangedFiles(FrozenStruct):
    """Paths of changed files, from the root of the repository.

    ``gone`` are the paths at which the pull request leaves no file: of removed files, and the old paths of renamed files.
    """

    paths: frozenset[str]
    gone: frozenset[str] = frozenset()


class _PullRequest(BaseModel):
    changed_files: int
    sha: str = Field(validation_alias=AliasPath("head", "sha"))
    base: str = Field(validation_alias=AliasPath("base", "ref"))


class _File(BaseModel):
    filename: str
    status: str
    previous_filename: str | None = None


_FILES = TypeAdapter(list[_File])


def list_changed_files(github: GitHub, event: Event, base: str) -> ChangedFiles:
    """List what the pull request of an event changes, renamed files under both names. ``base`` is its target branch.

    Raises GitHubError if GitHub does not answer or lists less than there is, and if the pull request has moved on.
    """
    return retry_requests(github, lambda: _list_changed_files(github, event, base))


def _list_changed_files(github: GitHub, event: Event, base: str) -> ChangedFiles:
    """List the files in one attempt. Raises RetryableError and GitHubError."""
    address = f"{github.api}/repos/{event.repository}/pulls/{event.number}"
    subject = "the changed files"
    files: list[_File] = []
    for page in range(1, MOST_FILES // PER_PAGE + 2):
        url = f"{address}/files?per_page={PER_PAGE}&page={page}"
        content = github.read_json(url, subject, READ_RIGHTS)
        try:
            files += _FILES.validate_python(content)
        except ValidationError as e:
            raise GitHubError("GitHub's list of changed files cannot be read") from e
        if not content:  # a page that is not full may still not be the last
            break

    try:
        # Read after the list, so that a push in between shows.
        content = github.read_json(address, subject, READ_RIGHTS)
        pull_request = _PullRequest.model_validate(content)
    except ValidationError as e:
        raise GitHubError("GitHub's answer about the pull request cannot be read") from e
    if pull_request.sha != event.head_sha or (base and pull_request.base != base):
        raise GitHubError("the pull request has new commits since this run started")
    if pull_request.changed_files != len(files):
        raise GitHubError(
            f"GitHub lists {len(files):,} of the {pull_request.changed_files:,} changed files, "
            f"and never more than {MOST_FILES:,}"
        )

    paths = {file.filename for file in files}
    renamed = {file.previous_filename for file in files if file.previous_filename}
    removed = {file.filename for file in files if file.status == "removed"}
    return ChangedFiles(frozenset(paths | renamed), frozenset(renamed | removed))


class SkipDecision(FrozenStruct):
    """Whether nothing needs to run, and why or why not, as a sentence without its period."""

    may_skip: bool
    reason: str


class UnknownDependencyError(GradegateError):
    """Nobody can tell what the run depends on. The message says why."""


@dataclass(frozen=True)
class ChangeFilter:
    """Finds out whether a run depends on what a pull request changes.

    ``paths`` are patterns of further files that count, from the input ``paths`` of the workflow. A workflow with this input
    vouches that the patterns cover everything that the run depends on, beside the files that the plan reads.
    """

    github: GitHub
    context: Context
    paths: tuple[str, ...] = ()

    @cached_property
    def root(self) -> Path:
        """The work tree of the pull request. Raises UnknownDependencyError."""
        root = repository_of(self.context.cwd.resolve())
        if root is None:
            raise UnknownDependencyError("there is no git repository around the working directory")
        return root

    def decide_skip(self, prepared: Preparation) -> SkipDecision:
        """Decide whether nothing needs to run. Everything runs if anything about the change is uncertain."""
        try:
            self._check_checkout()
            if prepared.changes.found:
                raise UnknownDependencyError("the gate differs from the gate of the base")
            if not self.paths:  # else the workflow says what the run depends on
                self._check_dependencies(prepared)
            read = frozenset(self._paths_read(prepared))
            base = self.context.environ.get("GITHUB_BASE_REF", "")
            changed = list_changed_files(self.github, self.context.event, base)
            relevant = sorted(self._relevant_paths(changed, read, prepared))
            if not relevant:
                self._check_patterns()
        except (GradegateError, OSError, ValueError) as e:
            why = "because it is not known what the pull request changes"
            return SkipDecision(may_skip=False, reason=f"Everything runs, {why}: {e}")

        if relevant:
            names = [one_line(path, 100) for path in relevant[:MOST_NAMES]]
            files = list_some(names, len(relevant), "file")
            reason = f"The run depends on {files}, which the pull request changes"
            return SkipDecision(may_skip=False, reason=reason)
        files = format_count(len(changed.paths), "file")
        reason = f"no case depends on the {files} that the pull request changes"
        return SkipDecision(may_skip=True, reason=reason)

    def _check_checkout(self) -> None:
        """Raise UnknownDependencyError where a list of changed files says nothing about the run."""
        event, environ = self.context.event, self.context.environ
        if event.name not in EVENTS or event.number is None:
            what = f"the event {event.name} is not about the head of a pull request"
            raise UnknownDependencyError(what)
        if not self.github.token:
            raise UnknownDependencyError("the input `github-token` is empty")
        commits = {environ.get("GITHUB_SHA", ""), event.head_sha} - {""}
        if head_of(self.root) not in commits:
            raise UnknownDependencyError("the checkout is not at the commit of the event")
        action = environ.get("GITHUB_ACTION_PATH", "")
        if action and Path(action).resolve().is_relative_to(self.root):
            raise UnknownDependencyError("the action itself comes from the pull request")

    def _check_dependencies(self, prepared: Preparation) -> None:
        """Raise UnknownDependencyError if the run depends on more than the files that it reads."""
        settings = self.context.settings
        if settings.answers:
            why = "recorded answers are graded"
        elif settings.allow_exec:
            why = "code of the repository runs"
        else:
            applications = [model for model in prepared.plan.models if _is_application(model)]
            if not applications:
                return
            name = one_line(applications[0].name, 80)
            why = f"{name} is an application with files that are not known"
        raise UnknownDependencyError(f"{why}; name its files in the input `paths`")

    def _check_patterns(self) -> None:
        """Raise UnknownDependencyError for a pattern that matches no file. A typo would skip every check."""
        committed = self._committed_files()
        for pattern in self.paths:
            parts = pattern.rstrip("/").split("/")
            folder = tuple(takewhile(lambda part: "*" not in part, parts))
            try:
                files = committed.files(folder)
                has_files = any(map(compile_path_pattern(pattern).fullmatch, files))
            except LookupError:
                what = "not all folders of the commit are in the checkout"
                raise UnknownDependencyError(what) from None
            if not has_files:
                text = one_line(pattern, 100)
                what = f"the input `paths` has {text}, which matches no file of the commit"
                raise UnknownDependencyError(what)

    def _committed_files(self) -> Vouched:
        """The files of the commit that is checked out. Raises OSError and ValueError."""
        objects = folders_of(self.root)[1] / "objects"
        return Vouched(self.root, objects, head_of(self.root), self.context.event.name)

    def _paths_read(self, prepared: Preparation) -> Iterator[str]:
        """Yield every path from the root that the plan was read from, with the folders and links on the way to it.

        Only temporary files of earlier steps, such as a baseline, are left out. Raises UnknownDependencyError.
        """
        committed = self._committed_files()
        for path in prepared.inputs.named:
            if self._is_temporary(path):
                continue
            self._check_committed(path, committed)
            for step in path_steps(path):
                # Folders above the root, or outside it on the way of a link, are not in GitHub's list.
                if not step.is_relative_to(self.root):
                    continue
                name = step.relative_to(self.root).as_posix()
                if encodable(name) != name:  # GitHub's list is UTF-8
                    what = f"the name {one_line(name, 100)} is not UTF-8"
                    raise UnknownDependencyError(what)
                yield name

    def _is_temporary(self, path: Path) -> bool:
        """Whether a path is in the runner's folder for temporary files, and outside the repository."""
        folder = self.context.environ.get("RUNNER_TEMP", "")
        if not folder or not path.is_relative_to(folder):
            return False
        return not path.is_relative_to(self.root)

    def _check_committed(self, path: Path, committed: Vouched) -> None:
        """Raise UnknownDependencyError for a file outside the repository, or with other content than the commit has."""
        file = path.resolve()
        if not file.is_relative_to(self.root):
            raise UnknownDependencyError(f"{path.name} is not in the checkout of the pull request")
        if not path.is_file():
            return
        try:
            committed.vouch(file, file.read_bytes(), path.name, NOWHERE)
        except ConfigError:  # an earlier step may have made it from any file
            raise UnknownDependencyError(f"{path.name} differs from the commit") from None

    def _relevant_paths(
        self, changed: ChangedFiles, read: frozenset[str], prepared: Preparation
    ) -> Iterator[str]:
        """Yield the changed paths that the run depends on. ``read`` are all paths that the plan was read from."""
        patterns = [_STEERING, *map(compile_path_pattern, self.paths)]
        places = self._searched_places(prepared)
        for path in changed.paths:
            if path in read or any(pattern.fullmatch(path) for pattern in patterns):
                yield path
            elif path in changed.gone and any(_is_in_folder(path, place) for place in places):
                yield path  # the base may have read it

    def _searched_places(self, prepared: Preparation) -> list[str]:
        """The paths from the root at which configs may be, and the folders in which their patterns look for files."""
        cwd = self.context.cwd.resolve()
        places = [cwd / name for name in DEFAULT_CONFIGS]
        places += prepared.inputs.searched
        places += (
            folder_of_pattern(self.context.cwd / config) for config in self.context.settings.configs
        )
        return [self._below(place) for place in places]

    def _below(self, place: Path) -> str:
        """The path of a place from the root, whether the place exists or not."""
        return PurePosixPath(os.path.relpath(place.resolve(), self.root)).as_posix()


def _is_in_folder(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it. The root is the folder ``.``."""
    return folder == "." or f"{path}/".startswith(f"{folder}/")


def _is_application(model: AskedModel) -> bool:
    """Whether a model may be made of files that no config names."""
    if model.replies_from == "program" or model.name.startswith(("http:", "https:")):
        return True
    if runs_code(model.name):
        return True
    host = host_at(f"http://{model.host}") if model.host else None
    if host is None or model.name.startswith(_SERVERS):
        return False
    return is_inside(host.name) or ("." not in host.name and parse_address(host.name) is None)


def compile_path_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as in ``paths`` of a workflow: ``*`` stays in a folder, ``**`` does not. The name of a folder matches all files in it."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern.rstrip("/"))
    expression = "".join(signs.get(part, re.escape(part)) for part in parts)
    return re.compile(f"{expression}(?:/.*)?", re.DOTALL)
