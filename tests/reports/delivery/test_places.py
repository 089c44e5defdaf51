import pytest

from gradegate.errors import ConfigError
from gradegate.reports.delivery.deliver import check_against_inputs, find_places
from gradegate.security.environment import Environment
from support.each import each


@pytest.fixture
def repository(tmp_path):
    """A repository with a folder of configs, and a folder beside it."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "evals").mkdir()
    (tmp_path / "beside").mkdir()
    return tmp_path / "repo"


def github(repository):
    return Environment({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(repository)})


def place_mistakes(*arguments):
    with pytest.raises(ConfigError) as raised:
        find_places(*arguments)
    return [mistake.what for mistake in raised.value.mistakes]


@each("written", ["r.json", "out/r.json", "../r.json", "./a/../r.json"])
def test_inside_the_workspace_a_report_may_be_written(repository, written):
    place = find_places([written], repository / "evals", github(repository))[written]
    assert place.root == repository
    assert place.path == (repository / "evals" / written).resolve()
    assert place.shared


@each("written", ["../../r.json", "/tmp/r.json", "../../beside/r.json", "../../repo-2/r.json"])
def test_on_github_a_report_stays_in_the_workspace(repository, written):
    assert place_mistakes([written], repository / "evals", github(repository)) == [f"the output `{written}` leads out of the workspace"]


def test_on_github_a_working_directory_outside_makes_every_output_a_mistake(repository):
    assert len(place_mistakes(["a.json", "b.xml"], repository.parent / "beside", github(repository))) == 2


def test_elsewhere_the_command_line_may_name_any_place(repository):
    beside = repository.parent / "beside"
    first, second = find_places([str(beside / "r.json"), "../../r.xml"], repository / "evals", Environment({})).values()
    assert first.path == beside / "r.json"
    with pytest.raises(ConfigError, match="does not exist -> create it"):
        find_places([str(beside / "none" / "r.json")], repository / "evals", Environment({}))
    assert second.path == repository.parent / "r.xml"
    assert not first.shared


@each(("link", "written"), [("out", "../out/r.json"), ("evals/out", "out/r.json")])
def test_a_link_in_the_repository_is_no_way_to_another_place(repository, link, written):
    (repository / link).symlink_to(repository.parent / "beside")
    for environ in (Environment(), github(repository)):
        place = find_places([written], repository / "evals", environ)[written]
        assert place.root == repository  # and below the root no link is followed
        assert place.parts == (*link.split("/"), "r.json")


def test_a_link_to_the_repository_is_the_repository(repository):
    alias = repository.parent / "alias"
    alias.symlink_to(repository)
    (repository / "out").symlink_to("/")
    (place,) = find_places([f"{alias}/out/r.json"], repository / "evals", Environment({})).values()
    assert (place.root, place.parts) == (repository, ("out", "r.json"))


@each("written", ["../.git/r.json", "../.GIT/hooks/r.json", "vendored/.git/r.json"])
def test_nothing_is_written_for_git_to_read(repository, written):
    for environ in (Environment(), github(repository)):
        assert place_mistakes([written], repository / "evals", environ) == [f"the output `{written}` is inside `.git`"]


@each("other", ["R.json", "r.JSON", "./R.json"])
def test_names_that_differ_in_case_alone_are_a_mistake(repository, other):
    assert place_mistakes(["r.json", other], repository, Environment()) == [
        f"the output `{other}` and `r.json` differ only in upper and lower case"
    ]


def test_an_output_may_be_named_twice(repository):
    first, second = find_places(["r.json", "a/../r.json"], repository, Environment({})).values()
    assert first == second


def test_a_nul_sign_is_a_mistake(repository):
    assert place_mistakes(["a\0.json"], repository, Environment()) == ["the output 'a\\x00.json' contains a NUL character"]


def test_every_mistake_is_said(repository):
    assert len(place_mistakes(["../x.json", "a.xml", "A.xml", "../../x.json"], repository / "evals", github(repository))) == 2


@each("read", ["r.json", "R.json"])
def test_no_file_that_was_read_is_overwritten(repository, read):
    outputs = find_places(["r.json", "r.xml"], repository, Environment({}))
    check_against_inputs(outputs, [repository / "other.json"])
    with pytest.raises(ConfigError, match=r"the output `r.json` is a file that this run reads"):
        check_against_inputs(outputs, [repository / read])
