from collections.abc import Callable
from functools import partial

import pytest

from support.calibrated import Calibrated, run


@pytest.fixture
def calibrate(tmp_path, capsys, monkeypatch) -> Callable[..., Calibrated]:
    """Config, labels and arguments to what came of them; the environment holds no keys."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_WORKSPACE", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return partial(run, tmp_path, capsys)
