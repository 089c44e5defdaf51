"""Code of the repository in processes of its own, run for real."""

import ast
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.sandbox import repository_code as pool
from gradegate.sandbox.code_run import CodePlace
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy
from gradegate.sandbox.repository_code import CodeError
from support.each import each, table
from support.patience import PATIENCE


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    until = time.monotonic() + PATIENCE
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_alive(pid)


def test_an_interpreter_from_python_38_on_reads_what_it_is_given():
    text = Path(pool.__file__).with_name("harness.py").read_text()
    opening = ast.parse(text, feature_version=(3, 8)).body[1]
    assert isinstance(opening, ast.ImportFrom)
    assert opening.module == "__future__"  # a `dict[str, Any]` that is evaluated ends 3.8


def test_a_function_is_given_plain_data_and_gives_plain_data(run):
    value = {"text": "ä\u2028\ud800", "list": [1, 2.5, None, True], "nested": {"a": {"b": []}}}
    assert run("def f(a, b): return [b, a]", "f", value, "x")[1]["list"] == value["list"]


def test_classes_coroutines_and_values_that_scripts_return(run):
    source = (
        "import asyncio, dataclasses\n"
        "class A:\n    @staticmethod\n    def f(): return 1\n"
        "async def g():\n    await asyncio.sleep(0)\n    return 2\n"
        "@dataclasses.dataclass\nclass D:\n    x: int = 3\n"
        "def h(): return D()\n"
    )
    assert run(source, "A.f") == 1
    assert run(source, "g") == 2
    assert run(source, "h") == {"x": 3}


def test_a_module_is_imported_once_for_all_calls(run):
    source = "import os\nseen = []\ndef f(a):\n    seen.append(a)\n    return [os.getpid(), list(seen)]\n"
    first, second = run(source, "f", 1), run(source, "f", 2)
    assert first[0] == second[0]
    assert second[1] == [1, 2]


NOT_PLAIN = table(__file__, "NOT_PLAIN")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        *table(__file__, "what_goes_wrong_is_said_and_the_next_call_is_answered"),
        *((f"def f(): return {value}", f"it returned something that is not plain JSON data: {why}") for value, why in NOT_PLAIN),
    ],
)
def test_what_goes_wrong_is_said_and_the_next_call_is_answered(run, source: str, said: str):
    with pytest.raises(CodeError, match=said.replace("(", r"\(")):
        run(source, "f")
    assert pool.run_snippet("output + 1", [1, {}], "gate") == 2


def test_a_traceback_begins_at_the_users_own_code(run):
    with pytest.raises(CodeError) as raised:
        run("def f():\n    return 1 / 0\n", "f")
    said = str(raised.value)
    assert "x.py" in said
    assert "<string>" not in said
    assert raised.value.line.endswith("ZeroDivisionError: division by zero")
    assert "\n" not in raised.value.line


def test_what_is_printed_is_no_answer_and_reaches_no_log(run, capfd):
    source = "import os, sys\ndef f():\n    print('::set-output name=x::1')\n    os.write(2, b'::error::x\\n')\n    return 5\n"
    assert run(source, "f") == 5
    assert capfd.readouterr() == ("", "")


def test_a_lot_of_printing_holds_nothing_up(run):
    assert run("def f():\n    for _ in range(3000): print('x' * 1000)\n    return 1", "f") == 1


def test_a_call_ends_at_its_time_with_all_that_it_started(run, tmp_path):
    note = tmp_path / "pids"
    source = (
        "import os, subprocess, time\n"
        "def f(note):\n"
        "    child = subprocess.Popen(['setsid', '-f', 'sleep', '300'])\n"
        "    child.wait()\n"
        "    grandchild = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "    open(note, 'w').write(f'{os.getpid()} {grandchild.pid}')\n"
        "    time.sleep(300)\n"
    )
    with pytest.raises(CodeError, match="takes more than 1 seconds"):
        run(source, "f", str(note), seconds=1)
    assert all(map(has_ended, map(int, note.read_text().split())))
    assert sleeping_processes() == []


def sleeping_processes() -> list[int]:
    """Processes of the test above that nobody knows of any more."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == b"sleep\x00300\x00":
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if not has_ended(pid)]


def test_the_end_of_a_run_ends_daemons_and_wakes_who_waits(run, tmp_path):
    note = tmp_path / "pid"
    source = "import os, time\ndef f(note):\n    open(note, 'w').write(str(os.getpid()))\n    time.sleep(300)\n"
    said: list[str] = []

    def wait() -> None:
        try:
            run(source, "f", str(note))
        except CodeError as e:
            said.append(str(e))

    waiting = threading.Thread(target=wait)
    waiting.start()
    until = time.monotonic() + PATIENCE
    while not (note.exists() and note.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    pool.stop_code()
    waiting.join(10)
    assert said == ["its process was ended from outside"]
    assert has_ended(int(note.read_text()))
    with pytest.raises(CodeError, match="the run ended"):
        run(source, "f", str(note))


def test_the_environment_is_clean(run, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    source = "import os\ndef f(): return dict(os.environ), os.getcwd(), sorted(map(int, os.listdir('/proc/self/fd')))[:-1]"
    env, folder, descriptors = run(source, "f", env=(("OWN", "1"),))
    assert "sk-canary" not in str(env)
    assert env["OWN"] == "1"
    assert "PYTHONPATH" not in env
    assert folder == str(tmp_path)
    assert env["HOME"] != os.environ.get("HOME")
    assert descriptors == [0, 1, 2, 3, 4]


def test_what_it_sees_of_the_environment_stands_in_no_command_line(run):
    pid = run("import os\ndef f(): return os.getpid()", "f", env=(("OWN", "canary-5f1c9a"),))
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    for process in (pid, parent):
        assert "canary" not in Path(f"/proc/{process}/cmdline").read_text()


def test_no_program_that_it_starts_inherits_the_pipes(run):
    source = "import subprocess\ndef f(): return subprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split()"
    assert run(source, "f") == ["0", "1", "2", "3"]  # the last is that of the folder which ls reads


def test_no_process_serves_two_roles(run, tmp_path):
    inline = "__import__('os').getpid()"
    assert pool.run_snippet(inline, ["", {}], "gate") == pool.run_snippet(inline, ["", {}], "gate")
    assert pool.run_snippet(inline, ["", {}], "gate") != pool.run_snippet(inline, ["", {}], "target")


def test_as_many_run_at_once_as_may(run):
    source = "import time\ndef f():\n    time.sleep(0.5)\n    return __import__('os').getpid()"
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(run(source, "f", workers=2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 2


@each(("code", "value"), table(__file__, "code_of_a_config_is_an_expression_or_the_body_of_a_function"))
def test_code_of_a_config_is_an_expression_or_the_body_of_a_function(run, code, value):
    assert pool.run_snippet(code, ["abc", {"vars": {"x": 1}}], "gate") == value


def test_code_of_a_config_sees_nothing_of_the_code_before(run):
    assert pool.run_snippet("global kept\nkept = 1\nreturn 1", ["", {}], "gate") == 1
    with pytest.raises(CodeError, match="kept"):
        pool.run_snippet("kept", ["", {}], "gate")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_whatever_json_holds_comes_back(value):
    if pool.current_policy() == NO_EXEC:
        pool.start_code(ExecPolicy(is_allowed=True, env={"PATH": "/usr/bin:/bin"}, python=sys.executable))
    given_back = pool.run_snippet("output", [value, {}], "gate")
    assert repr(given_back) == repr(value)


def run_command(*argv: str):
    return pool.ask_worker(CodePlace(Path("/"), "target"), {"kind": "command", "argv": list(argv)})


def test_a_command_answers_on_standard_output(run):
    assert run_command("printf", "\\033[31ma\\033[0m \\n") == "a"
    assert run_command("sh", "-c", "echo warn >&2; echo b") == "b"


@each(
    ("argv", "said"),
    [
        (["sh", "-c", "echo why >&2; exit 4"], "ended with 4: why"),
        (["sh", "-c", "echo why >&2"], "ended with 0: why"),
        (["no-such-program"], "does not start"),
        (["echo", "x" * 200_000], "does not start"),
        (["sh", "-c", "yes | head -c 20000000"], "more than 16 MiB"),
    ],
)
def test_a_command_that_fails_gave_no_answer(run, argv, said):
    with pytest.raises(CodeError, match=said):
        run_command(*argv)


def test_a_program_that_a_command_leaves_behind_holds_nothing_up(run):
    started = time.monotonic()
    assert run_command("sh", "-c", "sleep 300 >/dev/null 2>&1 & echo a") == "a"
    assert time.monotonic() - started < PATIENCE


def test_an_interpreter_that_is_not_there_is_said(run):
    with pytest.raises(CodeError, match="there is no interpreter `nothing/python`"):
        run("def f(): return 1", "f", python="nothing/python")


def test_without_leave_nothing_runs():
    pool.start_code(NO_EXEC)
    with pytest.raises(CodeError, match="allow-exec"):
        pool.run_snippet("1", ["", {}], "gate")
