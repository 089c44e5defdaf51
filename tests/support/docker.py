"""A docker command for tests: it reads what the action's script says as docker does, and starts the action as a process of this machine.

Only what the script uses is known: anything else ends with docker's own exit code for that.
"""

import json
import os
import sys
from pathlib import Path

TAKES_VALUE = {"--env", "--network", "--pull", "--security-opt", "--volume", "--workdir"}
IMAGE = "sha256:" + "1" * 64
REFUSED = 125  # docker's, of what it cannot start


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
    if arguments[:1] == ["run"]:
        return run(arguments[1:])
    return REFUSED


def run(arguments: list[str]) -> int:  # noqa: RET503  # it becomes the action
    options: dict[str, list[str]] = {}
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--rm":
            continue
        if option not in TAKES_VALUE:
            return REFUSED
        options.setdefault(option, []).append(arguments.pop(0))
    if len(arguments) != 1 or options["--network"] != ["host"]:
        return REFUSED
    # A container has its image's variables and those that are named, and of the file system the folders that are mounted.
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    for pair in options.get("--env", ()):
        name, equals, value = pair.partition("=")
        environ |= {name: value} if equals else {name: os.environ[name]} if name in os.environ else {}
    mounted = [volume.partition(":")[0] for volume in options["--volume"]]
    for name in ("GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        if not any(Path(os.environ[name]).is_relative_to(folder) for folder in mounted):
            return REFUSED
    os.chdir(options["--workdir"][0])
    os.execve(sys.executable, [sys.executable, "-I", "-m", "gradegate", "action"], environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
