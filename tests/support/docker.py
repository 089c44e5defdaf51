"""A docker command for tests: it reads what the action's script says as docker does, and starts the action as a process of this machine.

Only what the script uses is known: anything else ends with docker's own exit code for that. Where root starts it, the process
has the rights and sees the files that docker would give it: it is root without the capabilities that were not added, all that
is not mounted is read-only or, below ``/tmp``, not there. What takes a control group is read and not done: memory, processes.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

TAKES_VALUE = (
    "--cap-add --cap-drop --env --memory --memory-swap --network --pids-limit --pull --security-opt --tmpfs --volume --workdir"
).split()
ALONE = ("--read-only", "--rm")
IMAGE = "sha256:" + "1" * 64
REFUSED = 125  # docker's, of what it cannot start
# Of prctl(2), unshare(2) and mount(2).
DROP, NO_NEW_PRIVILEGES = 24, 38
NEW_NAMESPACE = 0x20000
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
# As linux/capability.h numbers them.
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}
# Where gradegate and its Python lie: the image has them, and so has the process, though the checkout be below /tmp.
IMAGES_OWN = {Path(__file__).parents[2], Path(sys.prefix), Path(sys.base_prefix)}
LAST = Path("/proc/sys/kernel/cap_last_cap")
LIBC = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    log = os.environ.get("DOCKER_LOG")
    if log:
        with Path(log).open("a") as file:
            file.write(json.dumps(arguments) + "\n")
    if arguments[:1] == ["build"]:
        print(IMAGE)
        return int(os.environ.get("DOCKER_BUILD_FAILS", "0"))
    if arguments[:2] == ["image", "inspect"]:
        return 1
    if arguments[:1] == ["pull"]:
        return int(os.environ.get("DOCKER_PULL_FAILS", "0"))
    if arguments[:1] == ["create"]:
        print("c0ffee")
        return int(os.environ.get("DOCKER_CREATE_FAILS", "0"))
    if arguments[:2] == ["cp", "c0ffee:/usr/local/bin/node"] or arguments == ["rm", "c0ffee"]:
        return 0
    if arguments[:1] == ["run"] and not os.environ.get("DOCKER_RUN_FAILS"):
        return run(arguments[1:])
    return REFUSED


def options_of(arguments: list[str]) -> dict[str, list[str]] | None:
    """The values of each option, in order; None where docker would refuse the arguments."""
    options: dict[str, list[str]] = {"image": []}
    words = iter(arguments)
    for word in words:
        if not word.startswith("--"):
            options["image"] += [word, *words]
        elif word in ALONE:
            options[word] = []
        elif word in TAKES_VALUE:
            options.setdefault(word, []).append(next(words, ""))
        else:
            return None
    return options if len(options["image"]) == 1 else None


def run(arguments: list[str]) -> int:  # noqa: RET503  # it becomes the action
    options = options_of(arguments)
    if options is None or options["--network"] != ["host"]:
        return REFUSED
    # A container has its image's variables and those that are named, and of the file system the folders that are mounted.
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    for pair in options.get("--env", ()):
        name, equals, value = pair.partition("=")
        environ |= {name: value} if equals else {name: os.environ[name]} if name in os.environ else {}
    mounted = [volume.split(":")[1] for volume in options["--volume"]]
    for name in ("GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        if not any(Path(os.environ[name]).is_relative_to(folder) for folder in mounted):
            return REFUSED
    if os.geteuid() == 0:
        see_only(options)
    os.chdir(options["--workdir"][0])
    if os.geteuid() == 0:
        keep_only(options)
    os.execve(sys.executable, [sys.executable, "-I", "-m", "gradegate", "action"], environ)


def see_only(options: dict[str, list[str]]) -> None:
    """Mount what docker would, in this process alone; whatever else this machine has is read-only."""
    assert "--read-only" in options
    check(LIBC.unshare(NEW_NAMESPACE))
    mount(None, "/", PRIVATE | RECURSIVE)
    places: dict[str, tuple[int, str]] = {}  # what is mounted there, an open file or a file system of its own, and its options
    for volume in (*(f"{path}:{path}:ro" for path in IMAGES_OWN), *options["--volume"]):
        source, target, *words = volume.split(":")
        places[target] = (os.open(source, os.O_PATH), *words) if words else (os.open(source, os.O_PATH), "")
    for place in options["--tmpfs"]:
        target, _, words = place.partition(":")
        places[target] = (-1, ",".join(word for word in words.split(",") if word != "exec"))
    for target in sorted(places, key=lambda path: path.count("/")):
        source, words = places[target]
        if source == -1:
            Path(target).mkdir(parents=True, exist_ok=True)
            mount("tmpfs", target, 0, "tmpfs", words)
            continue
        if Path(f"/proc/self/fd/{source}").is_dir():
            Path(target).mkdir(parents=True, exist_ok=True)
        else:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).touch()
        mount(f"/proc/self/fd/{source}", target, BIND | RECURSIVE)
        if words == "ro":
            mount(None, target, REMOUNT | BIND | READ_ONLY)
        os.close(source)
    mount(None, "/", REMOUNT | BIND | READ_ONLY)


def mount(source: str | None, target: str, flags: int, kind: str | None = None, words: str = "") -> None:
    names = [None if text is None else text.encode() for text in (source, target, kind)]
    check(LIBC.mount(*names, ctypes.c_ulong(flags), words.encode() or None))


def check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def keep_only(options: dict[str, list[str]]) -> None:
    """Give up, for good, the capabilities that docker would not give, and the way to more."""
    assert options["--cap-drop"] == ["ALL"]
    without = os.environ.get("DOCKER_WITHOUT")
    kept = {CAPABILITIES[name] for name in options["--cap-add"] if name != without}
    for capability in range(int(LAST.read_text()) + 1):
        if capability not in kept:
            check(LIBC.prctl(DROP, capability, 0, 0, 0))
    assert options["--security-opt"] == ["no-new-privileges"]
    check(LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
