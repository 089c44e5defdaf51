"""Types the commands of docs/start.md anew, in an empty folder, and writes what they say below them; with --check, says whether it is stale."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "start.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
SECONDS = re.compile(r"\d+\.\d s$", re.MULTILINE)
END = "-- the end of what one command said --"
ENVIRON = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "100",
}  # no key, and no setting of the machine


def main(arguments: list[str]) -> int:
    """Exit code 1 where --check finds it stale."""
    text = PAGE.read_text()
    anew = replayed(text)
    if "--check" in arguments and anew != text:
        print(f"{PAGE.name} is stale -> python scripts/transcript.py", file=sys.stderr)
        return 1
    PAGE.write_text(anew)
    return 0


def replayed(page: str) -> str:
    """The page with what its commands say today. All blocks are typed into one shell, one after the other."""
    typed = [commands(block) for block in BLOCK.findall(page)]
    said = spoken([command for block in typed for command in block])
    shown = iter("".join(f"$ {command}\n{next(said)}" for command in block) for block in typed)
    return BLOCK.sub(lambda _: next(shown), page)


def commands(block: str) -> list[str]:
    """What is typed in a block."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def spoken(typed: list[str]) -> Iterator[str]:
    """What each command says on both streams, with the seconds that it took as 0."""
    with TemporaryDirectory() as folder:
        bin_ = Path(folder) / "bin"
        home = Path(folder) / "home"
        bin_.mkdir()
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[init]\ndefaultBranch = main\n"
        )  # else git has advice to give
        program = bin_ / "gradegate"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradegate "$@"\n')
        program.chmod(0o755)
        path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
        environ = {**ENVIRON, "HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT / "src")}
        # The code of each command is given back after the line that marks its end, for an `echo $?` that follows.
        lines = [f"{command}\n__code=$?; echo '{END}'; (exit $__code)" for command in typed]
        shell = ["bash", "-c", "exec 2>&1\n" + "\n".join(lines)]
        done = subprocess.run(
            shell, cwd=home, env=environ, stdout=subprocess.PIPE, text=True, check=False
        )
    yield from (SECONDS.sub("0.0 s", text.lstrip("\n")) for text in done.stdout.split(f"{END}\n"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
