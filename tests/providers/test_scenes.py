"""Scenes of providers, played through the command: those in the YAML of this folder."""

from support.scenes import scenes

test_a_scene = scenes(__file__)


def test_no_answer_of_code_is_kept_in_the_cache(gate):
    app = {"app.py": "import time\ndef call_api(*args): return {'output': str(time.time())}\n"}
    config = {"prompts": ["x"], "providers": ["file://app.py"], "tests": [{"assert": [{"type": "python", "value": "True"}]}]}
    first, second = (gate(config, "--allow-exec", "--cache", "kept", **app).cases[0]["output"] for _ in range(2))
    assert float(first) < float(second)
