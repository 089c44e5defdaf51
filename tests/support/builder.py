"""Builds the image for real, where there is no docker daemon: a bootstrapped Debian as the base, buildah for the rest."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.installed import ROOT

MIRROR = os.environ.get("GRADEGATE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
SUITE = "trixie"  # of the image's base
PACKAGES = "python3,python3-venv,ca-certificates"
NEEDED = ("buildah", "debootstrap", "npm")
# Of the base system, what no image needs.
LEFT_OUT = ("./dev/*", "./var/cache/apt/archives/*.deb", "./var/lib/apt/lists/*")
IMAGE = "localhost/gradegate:test"
# Started in a container: a command whose output and exit code stay in files of the folder that is mounted there. bash, because
# sh drops variables whose names have hyphens, as inputs of an action have.
KEEPER = ("/bin/bash", "-c", '"$@" >/kept/out 2>/kept/err; echo $? >/kept/code', "keeper")


def missing() -> str:
    """Why the container cannot be tested on this machine, or an empty string."""
    absent = [program for program in NEEDED if shutil.which(program) is None]
    if absent:
        return f"{' and '.join(absent)} not installed"
    return "" if os.geteuid() == 0 else "not root, which debootstrap and chroot need"


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@dataclass(frozen=True)
class Builder:
    """buildah with a storage of its own, so that nobody else's images are touched."""

    cache: Path

    def __call__(self, *arguments: str | Path) -> str:
        return call(*self.command(*arguments))

    def command(self, *arguments: str | Path) -> list[str]:
        where = ["--root", str(self.cache / "storage"), "--runroot", str(self.cache / "storage-run")]
        return ["buildah", *where, *map(str, arguments)]

    def base(self) -> str:
        """The base image: ``GRADEGATE_BASE`` where that is set, else a Debian that is bootstrapped once and kept."""
        if given := os.environ.get("GRADEGATE_BASE"):
            return given
        tag = hashlib.sha256(f"{MIRROR} {SUITE} {PACKAGES} {LEFT_OUT}".encode()).hexdigest()[:12]
        name = f"localhost/gradegate-base:{tag}"
        if not self("images", "--quiet", "--filter", f"reference={name}"):
            container = self("from", "scratch").strip()
            self("add", "--quiet", container, self._system(tag), "/")
            self("commit", "--quiet", "--rm", container, name)
        return name

    def _system(self, tag: str) -> Path:
        archive = self.cache / f"base-{tag}.tar"
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=self.cache) as folder:
                call("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, f"{folder}/root", MIRROR)
                excluded = [f"--exclude={pattern}" for pattern in LEFT_OUT]
                call("tar", "-C", f"{folder}/root", *excluded, "-cf", f"{folder}/base.tar", ".")
                Path(folder, "base.tar").rename(archive)
        return archive

    def image(self, folder: Path) -> str:
        """The image, built from the repository; pip finds its packages as it does on this machine."""
        mounts = [f"--volume={source}:{target}:ro" for source, target in _pip(folder).items()]
        build = ("bud", "--isolation", "chroot", "--quiet", "--no-cache", "--build-arg", f"BASE={self.base()}")
        return self(*build, *mounts, "--tag", IMAGE, ROOT).split()[-1]

    def run(self, container: str, command: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
        """A command in a container.

        Its output comes by files and not by the pipe: of 60 calls of ``buildah run --isolation chroot`` about one loses
        what the command wrote.
        """
        with tempfile.TemporaryDirectory() as folder:
            run = ("run", "--isolation", "chroot", f"--volume={folder}:/kept", *options, container, "--")
            line = self.command(*run, *KEEPER, *command)
            done = subprocess.run(line, capture_output=True, text=True, timeout=180)
            kept = {path.name: path.read_text() for path in Path(folder).iterdir()}
        assert kept.get("code"), f"{line} did not start: {done.stdout}\n{done.stderr}"
        return subprocess.CompletedProcess(command, int(kept["code"]), kept["out"], kept["err"])

    def entry_point(self, image: str) -> list[str]:
        """What the image starts; the runner adds nothing to it."""
        return list(json.loads(self("inspect", "--type", "image", image))["OCIv1"]["config"]["Entrypoint"])


def _pip(folder: Path) -> dict[str, str]:
    """Mounts by which pip in the build sees this machine's settings: its registry, mirrors in folders, certificates."""
    options, mounts = {}, {}
    listed = call(sys.executable, "-m", "pip", "config", "list").splitlines()
    for scope in ("global.", "install.", ":env:."):  # later ones win
        for line in listed:
            name, _, value = line.partition("=")
            if name.startswith(scope):
                options[name.removeprefix(scope)] = value.strip("'\"").split()
    for name, words in options.items():
        for word in words:
            path = Path(word.removeprefix("file://"))
            if path.is_absolute() and path.exists():
                whole = path.parent if name.endswith("index-url") else path  # an index's files lie beside it
                mounts[str(whole)] = str(whole)
    lines = ["[global]", *(f"{name} = " + "\n  ".join(words) for name, words in options.items())]
    file = folder / "pip.conf"
    file.write_text("\n".join(lines) + "\n")
    return {**mounts, str(file): "/etc/pip.conf"}
