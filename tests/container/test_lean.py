"""container/lean.py: libraries load as before, and the rest of a folder stays as it is."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "container" / "lean.py"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's")]


def lean(folder: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, folder], check=True)


@pytest.mark.parametrize("name", ["_quickjs", "pydantic_core", "rpds", "yaml"])
def test_a_library_loads_and_is_no_longer(name: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin)
    whole = source if source.suffix == ".so" else source.parent
    for folder in ("before", "after"):
        copied = tmp_path / folder / whole.name
        copied.parent.mkdir()
        shutil.copytree(whole, copied) if whole.is_dir() else shutil.copy(whole, copied)
    lean(tmp_path / "after")
    sizes = [sum(path.stat().st_size for path in (tmp_path / at).rglob("*.so*")) for at in ("before", "after")]
    assert 0 < sizes[1] <= sizes[0]
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'after')!r}); import {name}; print({name}.__file__)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path / "after"))


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + b"\0" * 80, b"INPUT(libx.so.1)\n"])
def test_what_is_no_library_of_64_bits_stays(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(content)
    (tmp_path / "y.so.1").symlink_to("x.so")
    lean(tmp_path)
    assert (tmp_path / "x.so").read_bytes() == content
    assert (tmp_path / "y.so.1").is_symlink()
