"""Files of npm packages that tests hold us to: fetched once, checked, kept beside the repository and never in it."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class NotToBeHadError(Exception):
    """A package cannot be fetched here; the text says why."""


@dataclass(frozen=True)
class Package:
    """A package of the npm registry: one version, and the digest that the registry publishes for it."""

    name: str
    version: str
    integrity: str  # as `npm view NAME@VERSION dist.integrity` tells it


def cache() -> Path:
    """Where what was downloaded is kept; git does not see it."""
    path = Path(os.environ.get("GRADEGATE_CACHE") or ROOT / ".cache").absolute()
    path.mkdir(parents=True, exist_ok=True)
    (path / ".gitignore").write_text("*\n")
    return path


@contextmanager
def alone(name: str) -> Iterator[None]:
    """One process at a time, of all that share the cache."""
    with (cache() / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unpack_files(package: Package, *members: str) -> list[Path]:
    """Files of a package, in the order of their names. Raises NotToBeHadError."""
    label = f"{package.name.strip('@').replace('/', '-')}-{package.version}"
    folder = cache() / label
    files = [folder / Path(member).name for member in members]
    with alone(label):
        if not all(file.exists() for file in files):
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as new:
                _unpack(_fetched(package, Path(new)), members, Path(new))
                for file in files:
                    Path(new, file.name).rename(file)
    return files


def _fetched(package: Package, folder: Path) -> Path:
    if shutil.which("npm") is None:
        raise NotToBeHadError("npm is not installed")
    patience = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
    line = ["npm", "pack", "--silent", "--ignore-scripts", *patience, f"{package.name}@{package.version}"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise NotToBeHadError(f"npm cannot fetch {package.name}@{package.version}: {done.stderr[-500:]}")
    (archive,) = folder.glob("*.tgz")
    found = f"sha512-{b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()}"
    assert found == package.integrity, f"{archive.name} has the digest {found}, and not {package.integrity}"
    return archive


def _unpack(archive: Path, members: tuple[str, ...], folder: Path) -> None:
    wanted = {f"package/{member}" for member in members}
    with tarfile.open(archive, "r|gz") as tar:  # a stream: the archive is read once, from front to back
        for entry in tar:
            source = tar.extractfile(entry) if entry.name in wanted else None
            if source:
                with (folder / Path(entry.name).name).open("wb") as file:
                    shutil.copyfileobj(source, file)
