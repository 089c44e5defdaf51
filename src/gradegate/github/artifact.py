"""The artifact with results and history that runs of the default branch leave for later runs. The Action finds it by itself.

It is believed if a run of this workflow left it at a commit of the default branch, started by somebody who may write or by the clock.
Of two runs at the same time each leaves an artifact of its own, and the one with the higher id is read.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shutil
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import quote
from zipfile import BadZipFile, ZipFile

from pydantic import AliasPath, BaseModel, Field, ValidationError

from gradegate.files.limits import MAX_BASELINE, MIB
from gradegate.github.client import PER_PAGE, GitHub, GitHubError, retry_requests, status_text
from gradegate.github.gate_key import WORKFLOW, gate_key, workflow_file
from gradegate.github.publish import Step, set_outputs
from gradegate.reports.format.escape import harmless
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.runner.session import Delivery
from gradegate.security.environment import TRUSTED_EVENTS
from gradegate.structs import FrozenStruct, NamedTexts, replace

MOST_RUNS = 30  # of each event that are looked at, newest first
LONGEST_NAME = 150  # characters
MOST_PACKED = 64 * MIB  # bytes; 100,000 cases with short answers have a third of that
# The last record of a zip: its mark, ..., how many entries, in how many bytes, ..., the length of a comment.
_END_RECORD = struct.Struct("<4s4H2LH")
_MOST_LISTED = 512  # bytes that the list of our files takes at most


class _Run(BaseModel):
    id: int
    event: str
    path: str
    head_branch: str | None
    head_sha: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]
    repository: Annotated[int, Field(validation_alias=AliasPath("repository", "id"))]
    source: Annotated[int | None, Field(validation_alias=AliasPath("head_repository", "id"))] = (
        None  # that of a fork may be gone
    )


class _Artifact(BaseModel):
    id: int
    name: str
    size_in_bytes: int
    expired: bool
    digest: str | None = None


class ArtifactNames(FrozenStruct):
    """The names of artifacts of a gate and its job."""

    gate: str  # the artifact of this gate
    job_prefix: str  # how artifacts of the same job with any configs begin
    former: str  # of earlier releases, which named neither matrix nor configs


def artifact_names(step: Step) -> ArtifactNames:
    """The names under which a gate leaves its artifact, and under which it may have left an earlier one."""
    former = job_name(step.environ, step.settings.comment_key)
    key = gate_key(step.settings.run, step.environ)
    return ArtifactNames(f"{former}-{key}", f"{former}-{key.partition('.')[0]}.", former)


def job_name(environ: NamedTexts, comment_key: str) -> str:
    """A name with the workflow, the job and the ``comment-key``, as far as their letters and digits fit."""
    parts = (workflow_file(environ), environ.get("GITHUB_JOB", ""), comment_key)
    words = re.findall(r"[A-Za-z0-9]+", " ".join(parts))
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
    name = "-".join(["gradegate", *words, digest])
    return name if len(name) <= LONGEST_NAME else f"gradegate-{digest}"


class _NoUsableArtifactError(GitHubError):
    """Earlier runs left no artifact that can be used, so an artifact of this run replaces nothing."""


@contextmanager
def with_fetched_baseline(step: Step) -> Iterator[Step]:
    """Fetch the files that ``baseline`` looks for. They exist until the block ends.

    Yields the step with their folder, or with the reason why there are none. The step also gets a place for the files of
    this run, unless GitHub could not be asked: then they would replace all that earlier runs have left.
    """
    run = step.settings.run
    if not run.seeks_baseline:
        yield step
        return

    temporary = step.environ.get("RUNNER_TEMP") or None
    with TemporaryDirectory(prefix="gradegate-", dir=temporary) as folder:
        problem = ""
        may_leave_files = True
        try:
            artifacts = ArtifactSource.from_step(step)
            packed, origin = retry_requests(step.github, artifacts.fetch_newest)
            unpack(packed, Path(folder))
            step.tell(harmless(f"Found the files of {origin}."))
        except _NoUsableArtifactError as e:
            problem = str(e)
        except (GitHubError, ValidationError, LookupError, TypeError) as e:
            may_leave_files = False
            unreadable = "the reply of GitHub about the runs of the default branch cannot be read"
            problem = str(e) if isinstance(e, GitHubError) else unreadable
            if step.event.is_default_branch:
                problem += "; so this run keeps nothing for later runs"

        if temporary and may_leave_files:
            run = replace(run, baseline_output=Path(temporary, artifact_names(step).gate))
        if problem:
            why = f"there is nothing for `baseline: {run.baseline}`: {problem}"
            run = replace(run, why_no_baseline=why)
        else:
            run = replace(run, fetched_baseline=Path(folder))
        yield replace(step, settings=replace(step.settings, run=run))


def name_artifact(step: Step, delivered: Delivery) -> None:
    """Name the artifact in which the Action's last step uploads what a run of the default branch left."""
    folder = step.settings.run.baseline_output
    if folder and delivered.kept:
        set_outputs(step, {"artifact": folder.name})


class ArtifactSource(FrozenStruct):
    """Where runs of one workflow leave their artifacts. Methods raise RetryableError and GitHubError."""

    github: GitHub
    address: str  # of the repository
    workflow: re.Match[str]
    branch: str  # the default branch
    names: ArtifactNames
    run_id: str  # of the run that asks

    @classmethod
    def from_step(cls, step: Step) -> ArtifactSource:
        """Raises GitHubError if the event or the runner does not say enough."""
        repository = step.event.repository
        branch = step.event.default_branch
        workflow = WORKFLOW.fullmatch(step.environ.get("GITHUB_WORKFLOW_REF", ""))
        if not workflow or workflow["repository"].lower() != repository.lower():
            raise GitHubError("the workflow is not one of this repository")
        if not step.settings.token:
            raise GitHubError("the input `github-token` is empty")
        if not branch:
            raise GitHubError("the event does not name the default branch")
        return cls(
            step.github,
            f"{step.github.api}/repos/{repository}",
            workflow,
            branch,
            artifact_names(step),
            step.environ.get("GITHUB_RUN_ID", ""),
        )

    def fetch_newest(self) -> tuple[bytes, str]:
        """Fetch the newest artifact that is believed. Returns it packed, with words for the run that left it.

        If no run left one under the name of this gate, it is the newest one that only this job can have left: the step may have named
        other configs, and earlier releases had another name.
        """
        objections = []
        fallback: tuple[_Artifact, str] | None = None  # with the words for its run
        for run in self._list_runs():
            artifact = self._find_artifact(run)
            if artifact is None:
                continue
            is_of_gate = artifact.name == self.names.gate
            if fallback and not is_of_gate:  # an older one of the job
                continue
            origin = f"run {run.id} of {self.branch} (commit {run.head_sha[:7]})"
            objection = self._find_objection(run)
            if objection:
                objections.append(f"what run {run.id} left is not believed: {objection}")
            elif is_of_gate:
                return self._download(artifact, origin), origin
            else:
                fallback = artifact, origin
        if fallback:
            return self._download(*fallback), fallback[1]
        nothing = f"no run of {self.branch} has left the artifact {self.names.gate} yet"
        raise _NoUsableArtifactError("; ".join(objections) or nothing)

    def _list_runs(self) -> list[_Run]:
        """Other runs of the workflow for the default branch, newest first."""
        url = f"{self.address}/actions/workflows/{quote(self.workflow['file'], safe='')}/runs"
        branch = quote(self.branch, safe="")
        runs: list[_Run] = []
        # One request for each event, so that runs of pull requests leave no run out.
        for event in TRUSTED_EVENTS:
            query = f"event={event}&branch={branch}&exclude_pull_requests=true&per_page={MOST_RUNS}"
            runs += map(_Run.model_validate, self._read(f"{url}?{query}")["workflow_runs"])
        others = [run for run in runs if str(run.id) != self.run_id]
        return sorted(others, key=lambda run: -run.id)

    def _find_artifact(self, run: _Run) -> _Artifact | None:
        """The artifact of this gate, the last one of several attempts, or the only one that the job left."""
        artifacts = sorted(self._list_artifacts(run), key=lambda artifact: artifact.id)
        by_name = {artifact.name: artifact for artifact in artifacts}
        of_gate = by_name.get(self.names.gate)
        of_job = [name for name in by_name if name.startswith(self.names.job_prefix)]
        if of_gate or not of_job:
            return of_gate or by_name.get(self.names.former)
        return by_name[of_job[0]] if len(of_job) == 1 else None

    def _list_artifacts(self, run: _Run) -> Iterator[_Artifact]:
        for page in itertools.count(1):
            query = f"per_page={PER_PAGE}&page={page}"
            url = f"{self.address}/actions/runs/{run.id}/artifacts?{query}"
            items = self._read(url)["artifacts"]
            yield from map(_Artifact.model_validate, items)
            if len(items) < PER_PAGE:
                return

    def _find_objection(self, run: _Run) -> str:
        """Why a run is not believed. Empty if it is."""
        if run.source != run.repository:
            return "it ran for a fork"
        if run.event not in TRUSTED_EVENTS:
            return f"it ran for the event {run.event}"
        if run.path.partition("@")[0] != self.workflow["path"]:
            return f"it is a run of {run.path}"
        if run.head_branch != self.branch:
            return f"it ran for {run.head_branch}, and not for {self.branch}"
        # A tag may have the name of the branch, and a workflow of its own.
        branch = self._read(f"{self.address}/branches/{quote(self.branch, safe='')}")
        span = f"{branch['commit']['sha']}...{run.head_sha}"
        # The second page has no files.
        status = self._read(f"{self.address}/compare/{span}?per_page=1&page=2")["status"]
        return "" if status in ("behind", "identical") else f"its commit is none of {self.branch}"

    def _download(self, artifact: _Artifact, origin: str) -> bytes:
        """Download an artifact and check its digest. ``origin`` names its run in errors."""
        if artifact.expired:
            raise _NoUsableArtifactError(f"what {origin} left has expired")
        if artifact.size_in_bytes > MOST_PACKED:
            raise _NoUsableArtifactError(
                f"what {origin} left has more than {MOST_PACKED // MIB} MiB"
            )
        answer = self.github.send("GET", f"{self.address}/actions/artifacts/{artifact.id}/zip")
        url = answer.headers.get("location", "")
        scheme = self.address.partition(":")[0]  # https, as the API is
        if answer.status != 302 or not url.startswith(f"{scheme}:"):
            reason = status_text(answer)
            raise GitHubError(f"GitHub does not hand out what {origin} left ({reason})")
        packed = self.github.download(url, MOST_PACKED)
        if artifact.digest != f"sha256:{hashlib.sha256(packed).hexdigest()}":
            raise GitHubError(f"what {origin} left does not have the digest that GitHub has of it")
        return packed

    def _read(self, url: str) -> Any:
        permissions = "actions: read` and `contents: read"
        return self.github.read_json(url, "the runs of the default branch", permissions)


def unpack(packed: bytes, folder: Path) -> None:
    """Write the files of an artifact into a folder. Raises GitHubError for an archive with other files, or with too much."""
    try:
        # Before ``ZipFile`` reads the list of files: it must be short.
        mark, *_, count, size, _, comment = _END_RECORD.unpack(packed[-_END_RECORD.size :])
        is_zip64 = packed[-42:-38] == b"PK\6\7"
        if mark != b"PK\5\6" or count > 2 or size > _MOST_LISTED or comment or is_zip64:
            raise BadZipFile("it does not list two files")
        with ZipFile(BytesIO(packed)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != [HISTORY, RESULTS]:
                raise BadZipFile("it holds other files than ours")
            if sum(entry.file_size for entry in entries) > MAX_BASELINE:
                raise BadZipFile(f"it unpacks to more than {MAX_BASELINE // MIB} MiB")
            for entry in entries:
                with archive.open(entry) as source, (folder / entry.filename).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except OSError as e:  # such as a full disk
        why = e.strerror or e
        raise GitHubError(f"the artifact of the default branch cannot be written: {why}") from e
    except (BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError) as e:
        raise _NoUsableArtifactError(
            f"the artifact of the default branch cannot be unpacked: {e}"
        ) from e
