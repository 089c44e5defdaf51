"""What runs of the default branch leave for later ones: their results and their history, as one artifact that the action itself finds.

Believed is what a run of this workflow left at a commit of the default branch, started by somebody who may write or by the clock. Of
two runs at the same time each leaves an artifact of its own, and the one with the higher id is read.
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
from gradegate.github.client import PER_PAGE, GitHub, Never, patiently, said
from gradegate.github.gate_key import WORKFLOW, key_of_gate, workflow_file
from gradegate.github.publish import Step, set_outputs
from gradegate.reports.format.escape import harmless
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.runner.session import Delivery
from gradegate.security.environment import TRUSTED_EVENTS
from gradegate.structs import FrozenStruct, NamedTexts, replace

RUNS = 30  # of each event that are looked at, newest first
LONGEST = 150  # characters of a name
MOST_PACKED = 64 * MIB  # bytes; 100,000 cases with short answers have a third of that
# The last record of a zip: its mark, ..., how many entries, in how many bytes, ..., the length of a comment.
_LAST = struct.Struct("<4s4H2LH")
_LISTED = 512  # bytes that the list of our files takes at most


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
    """``own`` is the name of this gate's artifact, ``of_job`` how those of the job's other configs begin, too.

    Earlier releases named neither matrix nor configs (``former``).
    """

    own: str
    of_job: str
    former: str


def artifact_names(step: Step) -> ArtifactNames:
    """The names under which a gate leaves its artifact, and under which it may have left an earlier one."""
    former = name_of_job(step.environ, step.settings.comment_key)
    key = key_of_gate(step.settings.run, step.environ)
    return ArtifactNames(f"{former}-{key}", f"{former}-{key.partition('.')[0]}.", former)


def name_of_job(environ: NamedTexts, key: str) -> str:
    """A name with the workflow, the job and the ``comment-key``, as far as their letters and digits fit."""
    parts = (workflow_file(environ), environ.get("GITHUB_JOB", ""), key)
    words = [
        "gradegate",
        *re.findall(r"[A-Za-z0-9]+", " ".join(parts)),
        hashlib.sha256(repr(parts).encode()).hexdigest()[:12],
    ]
    name = "-".join(words)
    return name if len(name) <= LONGEST else f"gradegate-{words[-1]}"


class _NothingError(Never):
    """There is nothing that later runs would lose if this one began anew."""


@contextmanager
def fetched(step: Step) -> Iterator[Step]:
    """The step with the files that ``baseline`` seeks, which are there until the block ends. What cannot be had, its settings say.

    Where the reason may pass, nothing is left either: it would take the place of all that earlier runs have left.
    """
    run = step.settings.run
    if not run.seeks_baseline:
        yield step
        return
    temporary = step.environ.get("RUNNER_TEMP") or None
    with TemporaryDirectory(prefix="gradegate-", dir=temporary) as folder:
        found, why, passes = Path(folder), "", False
        try:
            packed, origin = patiently(step.github, _Source.of(step).newest)
            unpack(packed, found)
            step.tell(harmless(f"Found the files of {origin}."))
        except _NothingError as e:
            why = str(e)
        except (Never, ValidationError, LookupError, TypeError) as e:
            unreadable = "the reply of GitHub about the runs of the default branch cannot be read"
            why, passes = str(e) if isinstance(e, Never) else unreadable, True
            if step.event.is_default_branch:
                why += "; so this run keeps nothing for later runs"
        name = artifact_names(step).own
        if temporary and not passes:
            run = replace(run, baseline_output=Path(temporary, name))
        if why:
            what = f"there is nothing for `baseline: {run.baseline}`: {why}"
            run = replace(run, why_no_baseline=what)
        else:
            run = replace(run, fetched_baseline=found)
        yield replace(step, settings=replace(step.settings, run=run))


def keep(step: Step, delivered: Delivery) -> None:
    """Name the artifact in which the action's last step uploads what a run of the default branch left."""
    kept = step.settings.run.baseline_output
    if kept and delivered.kept:
        set_outputs(step, {"artifact": kept.name})


class _Source(FrozenStruct):
    """Where the default branch's runs of one workflow leave their artifacts. ``own`` is the run that asks."""

    github: GitHub
    address: str  # of the repository
    workflow: re.Match[str]
    branch: str
    names: ArtifactNames
    own: str

    @classmethod
    def of(cls, step: Step) -> _Source:
        """Raises Never where the event or the runner does not say what that takes."""
        repository, branch = step.event.repository, step.event.default_branch
        workflow = WORKFLOW.fullmatch(step.environ.get("GITHUB_WORKFLOW_REF", ""))
        if not workflow or workflow["repository"].lower() != repository.lower():
            raise Never("the workflow is not one of this repository")
        if not (step.settings.token and branch):
            what = "the input `github-token` is empty"
            if step.settings.token:
                what = "the event does not name the default branch"
            raise Never(what)
        return cls(
            step.github,
            f"{step.github.api}/repos/{repository}",
            workflow,
            branch,
            artifact_names(step),
            step.environ.get("GITHUB_RUN_ID", ""),
        )

    def newest(self) -> tuple[bytes, str]:
        """The newest artifact that is believed, packed, and whose it is. Raises Later and Never.

        Where no run left one under our name, it is the newest that a run left for this job alone: the step may have named
        other configs, and an earlier release had another name.
        """
        place = f"{self.address}/actions/workflows/{quote(self.workflow['file'], safe='')}/runs"
        found: list[_Run] = []
        # Each event is asked for by itself, so that runs of pull requests leave no run out.
        for event in TRUSTED_EVENTS:
            query = f"event={event}&branch={quote(self.branch, safe='')}&exclude_pull_requests=true&per_page={RUNS}"
            found += map(_Run.model_validate, self._read(f"{place}?{query}")["workflow_runs"])
        refused = []
        instead: tuple[_Artifact, str] | None = None
        for run in sorted(
            (run for run in found if str(run.id) != self.own), key=lambda run: -run.id
        ):
            artifact = self._left_by(run)
            if artifact is None or (instead and artifact.name != self.names.own):
                continue
            origin = f"run {run.id} of {self.branch} (commit {run.head_sha[:7]})"
            if why := self._objection(run):
                refused.append(f"what run {run.id} left is not believed: {why}")
            elif artifact.name == self.names.own:
                return self._packed(artifact, origin), origin
            else:
                instead = artifact, origin
        if instead:
            return self._packed(*instead), instead[1]
        raise _NothingError(
            "; ".join(refused)
            or f"no run of {self.branch} has left the artifact {self.names.own} yet"
        )

    def _left_by(self, run: _Run) -> _Artifact | None:
        """Our artifact of a run, of several attempts the last, or the only one that may have been ours."""
        artifacts = list[_Artifact]()
        for page in itertools.count(1):
            query = f"per_page={PER_PAGE}&page={page}"
            listed = self._read(f"{self.address}/actions/runs/{run.id}/artifacts?{query}")
            artifacts += map(_Artifact.model_validate, listed["artifacts"])
            if len(listed["artifacts"]) < PER_PAGE:
                break
        by_name = {it.name: it for it in sorted(artifacts, key=lambda it: it.id)}
        of_job = [name for name in by_name if name.startswith(self.names.of_job)]
        if self.names.own in by_name or not of_job:
            return by_name.get(self.names.own) or by_name.get(self.names.former)
        return by_name[of_job[0]] if len(of_job) == 1 else None

    def _objection(self, run: _Run) -> str:
        """Why a run is not believed; an empty string where it is."""
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
        # Files stand on the first page alone.
        status = self._read(f"{self.address}/compare/{span}?per_page=1&page=2")["status"]
        return "" if status in ("behind", "identical") else f"its commit is none of {self.branch}"

    def _packed(self, artifact: _Artifact, origin: str) -> bytes:
        if artifact.expired:
            raise _NothingError(f"what {origin} left has expired")
        if artifact.size_in_bytes > MOST_PACKED:
            raise _NothingError(f"what {origin} left has more than {MOST_PACKED // MIB} MiB")
        answer = self.github.send("GET", f"{self.address}/actions/artifacts/{artifact.id}/zip")
        place = answer.headers.get("location", "")
        if answer.status != 302 or not place.startswith(
            f"{self.address.partition(':')[0]}:"
        ):  # https, as the API is
            refusal = f"{answer.status}: {said(answer)}"
            raise Never(f"GitHub does not hand out what {origin} left ({refusal})")
        packed = self.github.send("GET", place, elsewhere=MOST_PACKED).body
        if artifact.digest != f"sha256:{hashlib.sha256(packed).hexdigest()}":
            raise Never(f"what {origin} left does not have the digest that GitHub has of it")
        return packed

    def _read(self, address: str) -> Any:
        return self.github.read_json(
            address, "the runs of the default branch", "actions: read` and `contents: read"
        )


def unpack(packed: bytes, folder: Path) -> None:
    """Write the files of an artifact into a folder. Raises Never for an archive that holds anything but ours, or too much."""
    try:
        mark, *_, entries, size, _, comment = _LAST.unpack(packed[-_LAST.size :])
        is_zip64 = packed[-42:-38] == b"PK\6\7"
        if mark != b"PK\5\6" or entries > 2 or size > _LISTED or comment or is_zip64:
            raise BadZipFile("it does not list two files")
        with ZipFile(BytesIO(packed)) as archive:
            listed = archive.infolist()
            if sorted(it.filename for it in listed) != [HISTORY, RESULTS]:
                raise BadZipFile("it holds other files than ours")
            if sum(it.file_size for it in listed) > MAX_BASELINE:
                raise BadZipFile(f"it unpacks to more than {MAX_BASELINE // MIB} MiB")
            for entry in listed:
                with archive.open(entry) as source, (folder / entry.filename).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except OSError as e:  # such as a full disk
        raise Never(
            f"the artifact of the default branch cannot be written: {e.strerror or e}"
        ) from e
    except (BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError) as e:
        raise _NothingError(f"the artifact of the default branch cannot be unpacked: {e}") from e
