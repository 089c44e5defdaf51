"""Code of a pull request that tries what it can: what it must not be able to, by name, as a Python provider."""

from __future__ import annotations

import json

from support.step import CANARY, Left, Step

# Each attempt raises, or says what it got. `told` has paths by what they are for.
SOURCE = r'''
import ctypes, json, os, socket, subprocess


def attempts(told):
    for path in told["secret"]:
        yield f"read {path}", lambda path=path: open(path, "rb").read(1) and None if os.path.isfile(path) else os.listdir(path)
        yield f"write {path}", lambda path=path: open(path, "ab").close()
    for path in told["fixed"]:
        yield f"write below {path}", lambda path=path: open(os.path.join(path, "planted"), "w").close()
        yield f"link below {path}", lambda path=path: os.symlink("/dev/stdout", os.path.join(path, "linked"))
        yield f"open {path}", lambda path=path: os.chmod(path, 0o777)
    for pid in told["processes"] or others():
        for name in ("environ", "mem", "maps", "fd/1", "root/etc", "cwd/x"):
            yield f"read {name} of {pid}", lambda pid=pid, name=name: something(open(f"/proc/{pid}/{name}", "rb").read(1))
        yield f"list files of {pid}", lambda pid=pid: os.listdir(f"/proc/{pid}/fd")
        yield f"kill {pid}", lambda pid=pid: os.kill(pid, 0)
        yield f"trace {pid}", lambda pid=pid: trace(pid)
        yield f"limit {pid}", lambda pid=pid: __import__("resource").prlimit(pid, 7, (0, 0))
    for path in told["sockets"]:
        yield f"connect {path}", lambda path=path: socket.socket(socket.AF_UNIX).connect(path)
    yield "root", lambda: os.setuid(0)
    yield "root's group", lambda: os.setgroups([0])
    yield "su", lambda: su()


def something(content):
    """A thread of the kernel has empty files, which everybody may read."""
    if not content:
        raise OSError("nothing")


def others():
    """All processes of other users."""
    me = os.getuid()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid != me:
                yield int(name)
        except OSError:
            pass


def trace(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(16, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "no")


def su():
    done = subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.stdout.strip() != "0":
        raise OSError(done.stderr)


def call_api(prompt, options, context):
    got = []
    for name, attempt in attempts(options["config"]["told"]):
        try:
            attempt()
            got.append(name)
        except Exception as e:
            pass
    groups, status = os.getgroups(), open("/proc/self/status").read()
    kept = [line for line in status.splitlines() if line.startswith(("CapEff", "CapPrm", "CapAmb")) and int(line.split()[1], 16)]
    if kept or groups or "NoNewPrivs:\t1" not in status or 0 in os.getresuid() + os.getresgid():
        got.append(f"rights {kept} {groups} {os.getresuid()}")
    got += [f"descriptor {n}" for n in map(int, os.listdir("/proc/self/fd")) if n > 4 and os.path.exists(f"/proc/self/fd/{n}")]
    got += [f"variable {name}" for name, value in os.environ.items() if "canary" in value or name.startswith(("GITHUB", "ACTIONS", "INPUT", "RUNNER"))]
    print("::set-output name=outcome::pass\n::add-mask::a\n::stop-commands::t")
    return {"output": json.dumps(got)}
'''


def intrude(action: Step) -> tuple[Left, list[str]]:
    """A step of a pull request whose provider is the intruder, and what it got."""
    at = action.launcher.mounted(action.root)
    planted = ("home/.docker/config.json", "runner_temp/git-credentials-1.config", "workspace/.git/config", "workspace/.npmrc")
    for name in planted:
        path = action.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY)
    commands = [f"file_commands/{name}_{action.runs + 1}" for name in ("output", "summary")]
    told = {
        "secret": [f"{at}/{name}" for name in (*planted, *commands, "workflow/event.json")],
        "fixed": [f"{at}/workspace", f"{at}/workspace/evals", f"{at}/workspace/.git", f"{at}/file_commands", "/opt/gradegate"],
        "processes": [],
        "sockets": ["/var/run/docker.sock"],
    }
    config = {
        "prompts": ["try"],
        "providers": [{"id": "file://app.py", "config": {"told": told}}],
        "tests": [{"assert": [{"type": "equals", "value": "[]"}, {"type": "python", "value": "output == '[]'"}]}],
    }
    action.write({"evals/promptfooconfig.yaml": json.dumps(config), "evals/app.py": SOURCE})
    left = action.run(allow_exec="true", grader="")
    results = json.loads((action.workspace / "evals" / "gradegate-results.json").read_text())
    (case,) = results["cases"]
    got = json.loads(case["output"]) if case.get("output") else [case.get("error", "nothing came of it")]
    return left, got
