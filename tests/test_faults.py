"""What may go wrong around a run, and the exit code that stays the verdict's all the same."""

import json
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import yaml

from gradegate import signals
from gradegate.cli import main as cli
from gradegate.reports import junit
from support.patience import PATIENCE
from support.processes import start_process

GATE = (sys.executable, "-m", "gradegate")
ENVIRON = {"PATH": os.environ["PATH"]}
# The description has signs that ASCII lacks; the list of cases is longer than what a pipe holds.
CONFIG = {
    "prompts": ["x"],
    "providers": ["echo"],
    "defaultTest": {"assert": [{"type": "equals", "value": "x"}]},
    "tests": [{"description": f"Füße … {number}"} for number in range(300)],
}
FAILING = {**CONFIG, "defaultTest": {"assert": [{"type": "equals", "value": "y"}]}}
slow = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pass.yaml").write_text(yaml.safe_dump(CONFIG))
    (tmp_path / "fail.yaml").write_text(yaml.safe_dump(FAILING))
    return tmp_path


def shell(folder, words, **environ):
    """Run a line of bash in which $GATE is the command."""
    line = words.replace("$GATE", shlex.join(GATE))
    return subprocess.run(["bash", "-c", line], cwd=folder, env={**ENVIRON, **environ}, capture_output=True, text=True, timeout=PATIENCE)


# --- the streams ------------------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("streams", [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("config", "code"), [("pass.yaml", 0), ("fail.yaml", 1), ("none.yaml", 2)])
def test_a_stream_that_is_closed_or_full_changes_no_verdict(folder, streams, config, code):
    done = shell(folder, f"$GATE run {config} -o r.json {streams}")
    assert done.returncode == code
    assert (folder / "r.json").exists() is (code != 2)
    assert "Traceback" not in done.stdout + done.stderr


@slow
@pytest.mark.parametrize("reader", ["head -c 10", "true", "sleep 0.2"])
@pytest.mark.parametrize(("config", "code"), [("pass.yaml", 0), ("fail.yaml", 1)])
def test_a_reader_that_goes_away_changes_no_verdict(folder, reader, config, code):
    done = shell(folder, f"$GATE run {config} | {reader} >/dev/null; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (code, "")


@slow
def test_a_pipe_that_does_not_wait_loses_nothing(folder):
    command = [*GATE, "run", "fail.yaml"]
    whole = subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with start_process(command, cwd=folder, env=ENVIRON, stdout=writing) as run:
        os.close(writing)
        time.sleep(1)  # so that the pipe is full
        with os.fdopen(reading, "rb") as pipe:
            read = pipe.read()
        run.wait(timeout=PATIENCE)
    assert run.returncode == 1
    assert read.count(b"\n") == whole.stdout.count(b"\n")


@slow
@pytest.mark.parametrize(
    "environ", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"HOME": "/none"}], ids=str
)
def test_a_sign_that_cannot_be_written_changes_no_verdict(folder, environ):
    done = shell(folder, "$GATE run fail.yaml -o r.json", **environ)
    assert done.returncode == 1, done.stderr
    assert "FAILED  F" in done.stdout
    assert json.loads((folder / "r.json").read_text())["cases"][0]["description"] == "Füße … 0"


@slow
def test_a_name_that_is_no_text_is_said(folder):
    name = os.fsdecode(b"\xff.yaml")
    done = subprocess.run([*GATE, "run", name], cwd=folder, env=ENVIRON, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert b"\\udcff.yaml` does not exist" in done.stderr


@slow
def test_a_working_directory_that_is_gone_is_said(folder):
    (folder / "gone").mkdir()
    done = shell(folder / "gone", "rmdir ../gone && $GATE run ../pass.yaml")
    assert done.returncode == 2
    assert "the working directory cannot be read" in done.stderr


# --- the reports ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "code", "decision"), [("pass.yaml", 3, "pass"), ("fail.yaml", 1, "blocked")])
def test_a_report_that_cannot_be_written_changes_no_decision_and_is_never_green(folder, monkeypatch, capsys, config, code, decision):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CI", raising=False)  # no last run is kept there
    (folder / "r.json").symlink_to("/dev/stdout")
    (folder / "out").write_text("a file")
    assert cli.main(["run", config, "-o", "r.json", "-o", "out/r.xml", "-o", "r.html"]) == code
    captured = capsys.readouterr()
    assert captured.err == (
        "r.json could not be written: `r.json` is a symbolic link, and reports follow none\n"
        "out/r.xml could not be written: `out` is not a folder\n"
    )
    assert '"version"' not in captured.out
    assert (folder / "r.html").read_text().endswith("</html>")
    assert json.loads((folder / ".gradegate" / "last.json").read_text())["outcome"] == decision


@slow
def test_a_full_disk_leaves_the_old_report(folder):
    (folder / "r.json").write_text("old")
    small = 20_000

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    command = [*GATE, "run", "pass.yaml", "-o", "r.json", "-o", "new.json", "-o", "r.md"]
    environ = {**ENVIRON, "PYTHONDONTWRITEBYTECODE": "1"}  # compiled modules would be cut too, and stay
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, preexec_fn=limited, timeout=PATIENCE)
    assert done.returncode == 3  # reports are missing
    assert done.stderr == "".join(
        f"{name} could not be written: File too large\n" for name in (".gradegate/last.json", "r.json", "new.json")
    )
    assert (folder / "r.json").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["fail.yaml", "pass.yaml", "r.json", "r.md"]


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError()])
def test_a_report_that_breaks_is_never_green(folder, monkeypatch, capsys, error):
    def broken(*_):
        raise error

    monkeypatch.chdir(folder)
    monkeypatch.setattr(junit, "findings_in_plan_order", broken)
    (folder / "r.xml").write_text("old")
    assert cli.main(["run", "pass.yaml", "-o", "r.xml"]) == 3
    assert capsys.readouterr().err.startswith(f"gradegate failed: {type(error).__name__}: ")
    assert (folder / "r.xml").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["fail.yaml", "pass.yaml", "r.xml"]


def test_an_output_overwrites_no_file_that_the_run_reads(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "cases.json").write_text('[{"description": "one"}]')
    (folder / "c.json").write_text(json.dumps({**CONFIG, "tests": "file://cases.json"}))
    assert cli.main(["run", "c.json", "-o", "cases.json", "-o", "c.json", "-o", "r.json"]) == 2
    said = capsys.readouterr().err
    assert "the output `cases.json` is a file that this run reads -> write the report to another file" in said
    assert "the output `c.json` is a file that this run reads" in said
    assert not (folder / "r.json").exists()


# --- memory -----------------------------------------------------------------------------------------------------

# The first step of the N-th thread finds no memory: from then on `threading.Thread.start` would wait for ever.
NO_FIRST_STEP = """
import _thread, sys
left, start = int(sys.argv.pop(1)), _thread.start_new_thread
def start_new_thread(work, *arguments):
    global left
    left -= 1
    return start(work if left > 0 else (lambda *_: None), *arguments)
_thread.start_new_thread = start_new_thread
import threading
threading._start_new_thread = start_new_thread
from gradegate.http import crew
crew.BEGIN_SECONDS = 1.0
from gradegate.__main__ import script
script()
"""


def asking(folder, llm):
    """A config that asks a model, and its graders several things at once."""
    rubric = {"type": "g-eval", "value": ["is polite", "is short"], "provider": llm.spec("judge")}
    config = {**CONFIG, "providers": [llm.spec()], "tests": [{"vars": {"n": n}, "assert": [rubric]} for n in range(4)]}
    (folder / "c.yaml").write_text(yaml.safe_dump(config))


@slow
@pytest.mark.parametrize("thread", [1, 2, 3, 5, 9])
def test_a_thread_that_never_begins_holds_up_no_run(folder, llm, thread):
    asking(folder, llm)
    command = [sys.executable, "-c", NO_FIRST_STEP, str(thread), "run", "c.yaml"]
    done = subprocess.run(command, cwd=folder, env={**os.environ}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr


@slow
@pytest.mark.parametrize("mebibytes", [40, 60, 80, 100, 130, 160, 200, 260, 400, 1000])
def test_a_run_with_little_memory_ends(folder, llm, mebibytes):
    asking(folder, llm)

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    def run_limited():
        with start_process([*GATE, "run", "c.yaml"], cwd=folder, env=ENVIRON, stdout=-1, stderr=-1, preexec_fn=limited) as run:
            return run, run.communicate(timeout=PATIENCE)[1]  # no process is left that could write into the pipes

    try:
        run, said = run_limited()
    except subprocess.TimeoutExpired:
        # Python 3.11 itself can loop in an exception handler for which it cannot allocate a number (ceval.c, exception_unwind).
        run, said = run_limited()
    # Below what Python and its libraries take to be loaded, it is they who end the process.
    assert run.returncode in (0, 1, 2, 3) or run.returncode < 0 or b"Error" in said


# --- signals ----------------------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_at_any_moment_without_a_traceback(folder, number):
    command = [*GATE, "run", "pass.yaml", "-o", "r.json", "-o", "r.xml", "-o", "r.html"]
    whole = _seconds(command, folder)
    codes = set()
    for moment in (whole * step / 16 for step in range(1, 17)):
        with start_process(command, cwd=folder, env=ENVIRON, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            time.sleep(moment)
            run.send_signal(number)
            said = run.communicate(timeout=PATIENCE)[1]
        # Python itself has no handlers in its first milliseconds: then the signal's own way to end it.
        early = run.returncode == -number or b"site" in said
        assert early or b"Traceback" not in said, said
        codes |= {128 + number if early else run.returncode}
        assert _temporary(folder) == []
    assert 128 + number in codes
    assert codes <= {0, 128 + number}


# Sends the process a signal at the import of the N-th module after the start of the command.
AT_IMPORT = """
import os, signal, sys, typing  # Python's own handlers are there until these are imported
class Finder:
    left = int(sys.argv.pop(1))
    def find_spec(self, name, *_):
        if "gradegate.__main__" in sys.modules:
            Finder.left -= 1
            if not Finder.left:
                os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from gradegate.__main__ import script
script()
"""


@slow
@pytest.mark.parametrize("imports", [1, 2, 3, 10, 60, 150, 250])
def test_a_signal_during_imports_prints_no_traceback(folder, imports):
    command = [sys.executable, "-c", AT_IMPORT, str(imports), "run", "pass.yaml"]
    done = subprocess.run(command, cwd=folder, env={**os.environ}, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_decides_whatever_becomes_of_its_exception(folder, monkeypatch, capsys, number):
    """As in the import of a class: until Python 3.12 what comes up in ``__set_name__`` becomes a RuntimeError."""

    def importing(*_):
        class Named:
            def __set_name__(self, owner, name):
                signal.raise_signal(number)

        type("Owner", (), {"part": Named()})

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.chdir(folder)
    monkeypatch.setattr(junit, "findings_in_plan_order", importing)
    try:
        assert cli.main(["run", "pass.yaml", "-o", "r.xml"]) == 128 + number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert "failed" not in capsys.readouterr().err


@slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_sent_twice_loses_no_report(folder, llm, number):
    """GNU timeout signals its child and then the child's group; wrappers pass on what a terminal sent to all."""
    llm.latency = 600
    config = {**CONFIG, "providers": [{"id": "openai:chat:m", "config": {"apiBaseUrl": llm.base, "apiKey": "own"}}]}
    (folder / "c.yaml").write_text(yaml.safe_dump(config))
    with start_process([*GATE, "run", "c.yaml", "-o", "r.json"], cwd=folder, env=ENVIRON, text=True) as run:
        while not llm.requests:
            assert run.poll() is None
            time.sleep(0.01)
        for _ in range(20):
            run.send_signal(number)
            time.sleep(0.01)
        assert run.wait(timeout=PATIENCE) == 128 + number
    assert json.loads((folder / "r.json").read_text())["interrupted"]


def test_a_signal_more_than_a_second_later_ends_the_process_at_once(monkeypatch):
    now, ended = [100.0], []
    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(signals, "os", SimpleNamespace(_exit=ended.append))
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signals.start_listening()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        for now[0], number in ((100.9, signal.SIGINT), (101.0, signal.SIGTERM), (101.1, signal.SIGTERM)):
            signal.raise_signal(number)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert ended == [128 + signal.SIGTERM]


@slow
def test_a_killed_run_leaves_reports_whole_or_none(folder):
    names = ("r.json", "r.xml", "r.html")
    command = [*GATE, "run", "fail.yaml", *(word for name in names for word in ("-o", name))]
    subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True)
    lengths = {name: (folder / name).stat().st_size for name in names}
    whole, rng = _seconds(command, folder), random.Random(7)
    for _ in range(12):
        for name in names:
            (folder / name).unlink(missing_ok=True)
        with start_process(command, cwd=folder, env=ENVIRON, stdout=subprocess.DEVNULL) as run:
            time.sleep(whole * rng.uniform(0.6, 1.0))
            run.kill()
        for name in filter(lambda name: (folder / name).exists(), names):
            assert abs((folder / name).stat().st_size - lengths[name]) < 100, name  # times differ


def _seconds(command, folder):
    started = time.monotonic()
    subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True)
    return time.monotonic() - started


def _temporary(folder):
    return [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
