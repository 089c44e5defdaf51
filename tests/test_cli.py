import json
import os
import pty
import subprocess
import sys
import termios

import pytest
import yaml

from gradegate.cli import main as cli
from gradegate.runner import session
from support.each import each, table

CONFIG = {"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "x"}]}]}


@pytest.mark.parametrize(("arguments", "code", "said"), table(__file__, "commands_and_exit_codes"))
def test_commands_and_exit_codes(tmp_path, monkeypatch, capsys, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(CONFIG))
    for folder in ("folder", "empty"):
        (tmp_path / folder).mkdir()
    (tmp_path / "folder" / "promptfooconfig.yaml").write_text(yaml.safe_dump(CONFIG))
    assert cli.main(arguments) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "usage:" not in captured.err


def test_several_configs_are_judged_each_by_its_own_rules(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    failing = {**CONFIG, "tests": [{"assert": [{"type": "equals", "value": "y"}]}]}
    lenient = {**failing, "gate": {"rules": [{"name": "any", "min-pass-rate": 1, "blocking": False}]}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(CONFIG))
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(lenient))
    assert cli.main(["run", "*.yaml", "-o", "r.json"]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["outcome"] == "advisory"
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(failing))
    assert cli.main(["run", "*.yaml"]) == 1


def test_a_defect_is_said_in_a_line_and_is_not_green(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "prepare", broken)
    assert cli.main(["run", "c.yaml"]) == 3
    assert capsys.readouterr().err == "gradegate failed: RuntimeError: a bug (GRADEGATE_DEBUG=1 shows where)\n"


@each("command", ["validate", "run"])
def test_a_config_commands_no_runner(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    rule = {"name": "x\n::error::forged ##[error]forged", "min-pass-rate": 0}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({**CONFIG, "gate": {"rules": [rule]}}))
    assert cli.main([command, "c.yaml"]) == 0
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "forged" in said
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in said.splitlines())


def test_a_defect_commands_no_runner(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("\n::error::forged")

    monkeypatch.setattr(session, "prepare", broken)
    assert cli.main(["run", "c.yaml"]) == 3
    assert not any(line.lstrip().startswith("::") for line in capsys.readouterr().err.splitlines())


def test_a_terminal_gets_a_bar_and_a_log_gets_plain_lines(tmp_path):
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(CONFIG))
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml"]
    environ = {key: value for key, value in os.environ.items() if key != "CI"}
    main, other = pty.openpty()
    termios.tcsetwinsize(other, (24, 80))
    subprocess.run(command, cwd=tmp_path, stderr=other, stdout=subprocess.DEVNULL, env=environ, check=True)
    assert b"answer" in os.read(main, 65536)
    os.close(other)
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environ, check=True)
    assert plain.stderr == b""


def test_a_closed_pipe_is_no_traceback(tmp_path):
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(CONFIG))
    command = f"{sys.executable} -m gradegate --help | head -1 >/dev/null"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True)
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@each(("raised", "code"), [("KeyboardInterrupt", 130), ("Terminated", 143)])
def test_a_signal_where_nothing_can_be_raised_ends_the_process(raised, code):
    program = (
        "import sys\nfrom gradegate.cli import main as cli\nfrom gradegate.errors import Terminated\n"
        "class Lost:\n    def __del__(self):\n        raise " + raised + "\n"
        "cli.main(['list'])\nlost = Lost()\ndel lost\nsys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
