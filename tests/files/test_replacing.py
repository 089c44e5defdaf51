import errno
import os
import stat

import pytest

from gradegate.files.plain_files import Place, replace_file
from support.each import table


def write(place, text="new"):
    with replace_file(place) as file:
        file.write(text)


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_takes_the_place_of_the_old_one_and_nothing_else_is_left(tmp_path):
    (tmp_path / "r.json").write_text("old")
    write(Place(tmp_path, ("r.json",)))
    assert (tmp_path / "r.json").read_text() == "new"
    assert names(tmp_path) == ["r.json"]


def test_folders_that_are_missing_are_made(tmp_path):
    write(Place(tmp_path, ("a", "b", "r.json")))
    assert (tmp_path / "a" / "b" / "r.json").read_text() == "new"


def test_the_old_file_stays_whole_when_the_writing_fails(tmp_path):
    (tmp_path / "r.json").write_text("old")

    def parts():
        yield "half of the n"
        raise RecursionError

    with pytest.raises(RecursionError), replace_file(Place(tmp_path, ("r.json",))) as file:
        file.writelines(parts())
    assert (tmp_path / "r.json").read_text() == "old"
    assert names(tmp_path) == ["r.json"]


@pytest.mark.parametrize(("link", "to"), table(__file__, "no_link_is_followed_wherever_it_leads"))
def test_no_link_is_followed_wherever_it_leads(tmp_path, link, to):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "target").write_text("precious")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(to)
    before = names(tmp_path)
    parts = ("r.json",) if link == "r.json" else (*link.split("/"), "r.json")
    with pytest.raises(OSError, match=f"`{link}` is a symbolic link") as raised:
        write(Place(tmp_path, parts))
    assert raised.value.errno == errno.ELOOP
    assert (tmp_path / "elsewhere" / "target").read_text() == "precious"
    assert names(tmp_path) == before


def test_a_link_of_the_same_content_is_broken_and_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", tmp_path / "r.json")
    write(Place(tmp_path, ("r.json",)))
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "r.json").read_text() == "new"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_only_a_plain_file_is_replaced(tmp_path, make):
    make(tmp_path / "r.json")
    kind = stat.S_IFMT((tmp_path / "r.json").stat().st_mode)
    with pytest.raises(OSError, match="not a plain file"):
        write(Place(tmp_path, ("r.json",)))
    assert stat.S_IFMT((tmp_path / "r.json").stat().st_mode) == kind


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OSError, match="`out` is not a folder"):
        write(Place(tmp_path, ("out", "r.json")))


def test_what_is_shared_may_be_written_by_anybody_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write(Place(tmp_path, ("out", "r.json"), shared=True))
        write(Place(tmp_path, ("own", "r.json")))
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out", "out/r.json", "own", "own/r.json")}
    assert modes == {"out": 0o777, "out/r.json": 0o666, "own": 0o700, "own/r.json": 0o600}


def test_a_name_as_long_as_names_may_be_leaves_room_for_the_temporary_one(tmp_path):
    name = "n" * 250 + ".json"
    write(Place(tmp_path, (name,)))
    assert names(tmp_path) == [name]
