"""scripts/image_size.py: what it weighs, and that it measures the first call of the action as it is started."""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from support import docker

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "image_size.py"


def archive(path: Path, layers: list[bytes]) -> Path:
    """An archive as `docker save` writes it."""
    manifest = json.dumps([{"Layers": [f"{at}.tar" for at in range(len(layers))]}]).encode()
    with tarfile.open(path, "w") as file:
        for name, content in [("manifest.json", manifest), *((f"{at}.tar", one) for at, one in enumerate(layers))]:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def measured(*words: str | Path, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_layers_are_weighed_unpacked_and_as_a_registry_serves_them(tmp_path: Path) -> None:
    image = archive(tmp_path / "image.tar", [b"\0" * 3_000_000, gzip.compress(os.urandom(2_000_000))])
    first, second, both = measured(image).stdout.splitlines()
    assert first.startswith("layer 1: 3.0 MB unpacked, 0.0 MB gzip")
    assert second.startswith("layer 2: 2.0 MB unpacked, 2.0 MB gzip")
    assert both.startswith("image: 5.0 MB unpacked, 2.0 MB gzip")
    if shutil.which("zstd"):
        assert both.endswith("2.0 MB zstd")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Programs among which docker is the one of the tests."""
    command = tmp_path / "bin" / "docker"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {docker.__file__} "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}:{os.environ['PATH']}"


def test_seconds_to_the_first_call_come_from_a_run(path: str) -> None:
    done = measured("--start", docker.IMAGE, "--times", "2", path=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"start to first call: \d+\.\d\d s median, \d+\.\d\d s best of 2\n", done.stdout)


def test_an_image_that_does_not_gate_is_no_figure(tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "docker"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'no such image' >&2\nexit 125\n")
    broken.chmod(0o755)
    done = measured("--start", "x", path=f"{broken.parent}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "the image cannot be pulled" in done.stderr
