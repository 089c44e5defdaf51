"""Code of a pull request that tries what it can: what it must not be able to, by name, as a Python provider."""

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
            yield f"read {name} of {pid}", lambda pid=pid, name=name: open(f"/proc/{pid}/{name}", "rb").read(1)
        yield f"list files of {pid}", lambda pid=pid: os.listdir(f"/proc/{pid}/fd")
        yield f"kill {pid}", lambda pid=pid: os.kill(pid, 0)
        yield f"trace {pid}", lambda pid=pid: trace(pid)
        yield f"limit {pid}", lambda pid=pid: __import__("resource").prlimit(pid, 7, (0, 0))
    for path in told["sockets"]:
        yield f"connect {path}", lambda path=path: socket.socket(socket.AF_UNIX).connect(path)
    yield "root", lambda: os.setuid(0)
    yield "root's group", lambda: os.setgroups([0])
    yield "su", lambda: su()


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
