"""What the image weighs, and how long it takes from its start to the first call: `make image`, or with an archive of `docker save`.

Sizes are in millions of bytes: unpacked on disk, and compressed as a registry serves its layers. Seconds are measured with the
action's own script, in a workspace with one case, against a model that is a server on the loopback of this machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

SCRIPT = Path(__file__).resolve().parent.parent / "container" / "run.sh"
CHUNK = 1 << 20
MILLION = 1_000_000
CONFIG = {
    "prompts": ["hello"],
    "providers": ["openai:chat:model"],
    "tests": [{"assert": [{"type": "equals", "value": "ok"}]}],
}
REPLY = json.dumps(
    {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        ]
    }
)


def layers(archive: tarfile.TarFile) -> Iterator[IO[bytes]]:
    """The layers of an archive of ``docker save`` or ``buildah push``, uncompressed."""
    manifest = archive.extractfile("manifest.json")
    assert manifest is not None
    for name in json.load(manifest)[0]["Layers"]:
        layer = archive.extractfile(name)
        assert layer is not None
        packed = layer.read(2) == b"\x1f\x8b"
        layer.seek(0)
        yield gzip.GzipFile(fileobj=layer) if packed else layer


def weighed(layer: IO[bytes], folder: Path) -> dict[str, int]:
    """Bytes of one layer: as a tar file, with gzip as registries have it, and with zstd where that is installed."""
    packer, packed, size = zlib.compressobj(6), 0, 0
    with (folder / "layer.tar").open("wb") as file:
        while part := layer.read(CHUNK):
            size += len(part)
            packed += len(packer.compress(part))
            file.write(part)
    found = {"unpacked": size, "gzip": packed + len(packer.flush())}
    if program := shutil.which("zstd"):
        with subprocess.Popen(
            [program, "-q", "-3", "-c", file.name], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            found["zstd"] = sum(len(part) for part in iter(lambda: process.stdout.read(CHUNK), b""))
    return found


def sizes(path: Path) -> Iterator[str]:
    """A line for each layer, the lowest first, and one for all of them."""
    total: dict[str, int] = {}
    with tarfile.open(path) as archive, tempfile.TemporaryDirectory() as folder:
        for at, layer in enumerate(layers(archive), 1):
            found = weighed(layer, Path(folder))
            total = {name: total.get(name, 0) + size for name, size in found.items()}
            yield f"layer {at}: {told(found)}"
    yield f"image: {told(total)}"


def told(found: dict[str, int]) -> str:
    """Bytes as people read them."""
    return ", ".join(f"{size / MILLION:.1f} MB {name}" for name, size in found.items())


@contextmanager
def model() -> Iterator[tuple[str, list[float]]]:
    """A model on loopback: its address, and when each call came."""
    calls: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            calls.append(time.monotonic())
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(REPLY.encode())

        def log_message(self, *words: Any) -> None:
            """Not into the figures."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", calls
    server.shutdown()
    server.server_close()


def started(image: str, root: Path) -> float:
    """Seconds from the action's script to the first call, in a workspace of its own."""
    for name in ("workspace", "temp"):
        (root / name).mkdir(parents=True)
    (root / "workspace" / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (root / "temp" / "event.json").write_text("{}")
    for name in ("output", "summary"):
        (root / "temp" / name).touch()
    with model() as (url, calls):
        inputs = {"config": "promptfooconfig.json"}
        variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        step = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_EVENT_PATH": str(root / "temp" / "event.json"),
            "GITHUB_OUTPUT": str(root / "temp" / "output"),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_STEP_SUMMARY": str(root / "temp" / "summary"),
            "GITHUB_WORKSPACE": str(root / "workspace"),
            "RUNNER_TEMP": str(root / "temp"),
            "GRADEGATE_IMAGE": image,
            "GRADEGATE_INPUTS": json.dumps(inputs),
            "GRADEGATE_ENV": json.dumps(variables),
        }
        begun = time.monotonic()
        environ = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **step}
        done = subprocess.run(
            ["bash", SCRIPT], env=environ, capture_output=True, text=True, check=False
        )
    if done.returncode != 0 or not calls:
        raise SystemExit(
            f"{image} did not gate one case (exit code {done.returncode}):\n{done.stdout}{done.stderr}"
        )
    return calls[0] - begun


def main(words: list[str]) -> int:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "archive",
        nargs="?",
        type=Path,
        help="of `docker save` or `buildah push IMAGE docker-archive:FILE`",
    )
    parser.add_argument(
        "--start", metavar="IMAGE", help="an image that docker has; seconds to the first call"
    )
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args(words)
    if args.archive:
        for line in sizes(args.archive):
            print(line)
    if args.start:
        with tempfile.TemporaryDirectory() as folder:
            seconds = [started(args.start, Path(folder, str(at))) for at in range(args.times)]
        print(
            f"start to first call: {statistics.median(seconds):.2f} s median, {min(seconds):.2f} s best of {len(seconds)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
