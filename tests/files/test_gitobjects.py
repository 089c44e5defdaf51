"""Objects read without git, against git itself, and what is damaged or forged."""

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.files import git as checkout
from gradegate.files.git import object_name, read_object

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0"]


def run(folder: Path, *words: str, given: bytes | None = None) -> bytes:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, input=given).stdout


def names(folder: Path) -> list[tuple[str, str]]:
    """Every object that git knows, with its kind."""
    listed = run(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").decode()
    return [(name, kind) for name, kind in (line.split() for line in listed.splitlines())]


def test_loose_objects_are_read_as_git_reads_them(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    (tmp_path / "empty").write_text("")
    run(tmp_path, "add", "-A")
    run(tmp_path, "commit", "-q", "-m", "first")
    for name, kind in names(tmp_path):
        assert read_object(tmp_path / ".git" / "objects", name, kind) == run(tmp_path, "cat-file", kind, name)
        with pytest.raises(LookupError):
            read_object(tmp_path / ".git" / "objects", name, "tree" if kind == "commit" else "commit")


def test_an_object_that_is_damaged_forged_or_absent_is_not_had(tmp_path: Path) -> None:
    name = object_name("tree", b"", 40)
    assert name == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree, which everybody knows
    path = tmp_path / name[:2] / name[2:]
    path.parent.mkdir()
    path.write_bytes(zlib.compress(b"tree 0\0"))
    assert read_object(tmp_path, name, "tree") == b""
    forged = zlib.compress(b"tree 4\0evil")
    for content in (b"", b"x", forged, forged[:-3], zlib.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(LookupError):
            read_object(tmp_path, name, "tree")
    for other in ("0" * 40, "f" * 64):
        with pytest.raises(LookupError):
            read_object(tmp_path, other, "tree")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "LARGEST", 1000)
    content = b"x" * 2000
    name = object_name("blob", content, 40)
    path = tmp_path / name[:2] / name[2:]
    path.parent.mkdir()
    path.write_bytes(zlib.compress(b"blob 2000\0" + content))
    with pytest.raises(LookupError):
        read_object(tmp_path, name, "blob")


@pytest.mark.parametrize("first", [0xFF, 0xE0, 0x90])  # a delta by name, a delta by place, a commit
def test_numbers_without_an_end_are_not_read_to_it(packed: Path, tmp_path: Path, first: int) -> None:
    shutil.copytree(packed, tmp_path / "objects")
    (pack,) = (tmp_path / "objects" / "pack").glob("*.pack")
    pack.chmod(0o644)
    pack.write_bytes(bytes([first]) + b"\xff" * 5_000_000)
    (index,) = (tmp_path / "objects" / "pack").glob("*.idx")
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[: -40 - 4 * len(OBJECTS)] + bytes(4 * len(OBJECTS) + 40))  # all of them at 0
    with pytest.raises(LookupError):
        read_object(tmp_path / "objects", OBJECTS[0][0], OBJECTS[0][1])


@given(st.data())
def test_a_damaged_pack_gives_the_object_or_none(packed: Path, data: st.DataObject) -> None:
    """No byte of an index or a pack can make another content, another exception or an endless loop."""
    pack = packed / "pack"
    file = data.draw(st.sampled_from(sorted(pack.iterdir())))
    whole = file.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255))
    cut = data.draw(st.booleans())
    file.chmod(0o644)
    file.write_bytes(whole[:place] if cut else whole[:place] + bytes([value]) + whole[place + 1 :])
    try:
        for name, kind, content in OBJECTS:
            try:
                assert read_object(packed, name, kind) == content
            except LookupError:
                continue
    finally:
        file.write_bytes(whole)


OBJECTS: list[tuple[str, str, bytes]] = []


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small")
    run(root, "init", "-q", "-b", "main")
    for i in range(3):
        (root / "a.txt").write_text("".join(f"line {j}\n" for j in range(i, 200 + i)))
        run(root, "add", "-A")
        run(root, "commit", "-q", "-m", str(i))
    run(root, "repack", "-adq")
    OBJECTS[:] = [(name, kind, run(root, "cat-file", kind, name)) for name, kind in names(root)]
    return root / ".git" / "objects"
