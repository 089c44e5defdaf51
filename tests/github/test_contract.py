"""What we send to GitHub is what GitHub publishes: for github.com and an Enterprise Server, each operation, and defects that must show."""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gradegate
from gradegate.github import client
from gradegate.github.approval import find_approval
from gradegate.github.artifact import ArtifactNames, ArtifactSource
from gradegate.github.changed_files import list_changed_files
from gradegate.github.client import GitHub, connect
from gradegate.github.comment import CommentThread, Posted, Stamp
from gradegate.github.pull_request import with_pull_request
from gradegate.http.client import Client
from gradegate.security.event import Event, Person, PrecedingRun
from gradegate.structs import replace
from support import contract
from support.each import each
from support.fake_github import FakeGitHub, Token, serve

HEAD = "a" * 40
REPOSITORY = "octo-org/octo-repo"
EVENT = Event("pull_request", REPOSITORY, 7, HEAD, "b" * 40, REPOSITORY, REPOSITORY)
LATER_STAGE = Event("workflow_run", REPOSITORY, stage=PrecedingRun("pull_request", HEAD, "topic/#1 &x", "stranger"))
LABEL = "gate-approved"
PACKAGE = Path(gradegate.__file__).parent
SERVERS = pytest.mark.parametrize("enterprise", [False, True], ids=["github.com", "enterprise"])

pytestmark = pytest.mark.skipif(bool(contract.missing()), reason=contract.missing() or "it is there")


def github(fake: FakeGitHub, token: str = "ghs_actions") -> GitHub:
    environ = {"GITHUB_API_URL": fake.url}  # as the runner says it; where GraphQL is, follows from it
    return replace(connect(environ, token), pause=lambda seconds: None)


def comment(fake: FakeGitHub, text: str = "report", token: str = "ghs_actions") -> None:
    assert isinstance(CommentThread(github(fake, token), EVENT, Stamp("")).update(text), Posted)


def look_for_the_label(fake: FakeGitHub) -> None:
    pushed = replace(EVENT, author=Person("author", 1), updated=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert find_approval(github(fake), pushed, LABEL, (HEAD,), HEAD).by


def look_for_the_pull_request(fake: FakeGitHub) -> None:
    assert with_pull_request(github(fake), LATER_STAGE).number == 7


def look_for_the_files(fake: FakeGitHub) -> None:
    assert list_changed_files(github(fake), EVENT, "main").paths == {"a.md", "b.md", "c.md"}


def look_for_the_artifact(fake: FakeGitHub) -> None:
    workflow = re.compile(r"(?P<path>\.github/workflows/(?P<file>.+))").fullmatch(".github/workflows/evals.yml")
    assert workflow
    found = ArtifactSource(
        github(fake), f"{fake.url}/repos/{fake.repository}", workflow, "main", ArtifactNames("gradegate-evals", "gradegate-", ""), "8"
    )
    assert found.fetch_newest() == (b"packed", f"run 7 of main (commit {HEAD[:7]})")


def furnish(fake: FakeGitHub) -> None:
    """A pull request with something of all that we read."""
    fake.tokens["ghp_person"] = Token("Mona", "User")
    fake.pulls["stranger:topic/#1 &x"] = [{"number": 7, "head": {"sha": HEAD}}]
    fake.changes("a.md", "renamed", "b.md")
    fake.changes("c.md", "removed")
    fake.committed(HEAD, "2026-03-01T11:00:00Z")
    fake.commits.append(HEAD)
    fake.ran(7, HEAD)
    fake.left(7, "gradegate-evals", b"packed")
    for event in ("head_ref_force_pushed", "commented", "base_ref_changed"):
        fake.happened(event, "2026-03-01T11:30:00Z", "hubot")
    fake.happened("labeled", "2026-03-01T13:00:00Z", label=LABEL)


def everything(fake: FakeGitHub) -> None:
    """Whatever we ask of GitHub, once at least."""
    comment(fake)
    comment(fake, "next report")
    fake.add("github-actions[bot]", f"{Stamp('').line}\nof a job that was at it together", "Bot")
    comment(fake, "last report")
    comment(fake, token="ghp_person")
    look_for_the_label(fake)
    look_for_the_pull_request(fake)
    look_for_the_files(fake)
    look_for_the_artifact(fake)


def run(act: Callable[[FakeGitHub], object], enterprise: bool = False) -> list[contract.Exchange]:
    """The exchanges of what was done; the fake holds them to the documents when it ends."""
    with serve(enterprise=enterprise) as fake:
        furnish(fake)
        act(fake)
    return [contract.Exchange(it.method, it.path, it.query, it.headers, it.body, 0, None) for it, *_ in fake.exchanges]


# --- nothing is left out --------------------------------------------------------------------------------------------


@SERVERS
def test_every_operation_that_is_listed_is_used_and_no_other(enterprise: bool) -> None:
    used = {exchange.operation for exchange in run(everything, enterprise)}
    assert used == {*contract.OPERATIONS, contract.GRAPHQL}


def test_the_page_lists_what_is_asked() -> None:
    page = (PACKAGE.parents[1] / "docs" / "for-reviewers.md").read_text()
    listed = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted([*contract.OPERATIONS, contract.GRAPHQL])


Place = tuple[str, int, int, str]  # file, first and last line, text


def sites(path: Path, passing: dict[str, int]) -> Iterator[Place]:
    """Calls in a file that decide on an address; ``passing`` says which argument of which function is one, and grows."""
    tree = ast.parse(path.read_text())
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        given = [it.arg for it in function.args.args if it.arg != "self"]
        for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name not in passing:
                continue
            address = call.args[passing[name]]
            handed = {node.id for node in ast.walk(address) if isinstance(node, ast.Name)} & texts(function)
            if handed:
                passing[function.name] = given.index(handed.pop())
            else:
                yield path.name, call.lineno, call.end_lineno or call.lineno, ast.unparse(call)


def texts(function: ast.FunctionDef) -> set[str]:
    """Parameters that are texts: an address that comes in by one is the caller's."""
    return {it.arg for it in function.args.args if isinstance(it.annotation, ast.Name) and it.annotation.id == "str"}


def places() -> set[Place]:
    """Each place of the source that decides on an address of GitHub's, by calling `GitHub.send`, `GitHub.download` or what passes on to them."""
    found: set[Place] = set()
    for path in sorted((PACKAGE / "github").glob("*.py")):
        passing, before = {"send": 1, "download": 0, "read_json": 0, "list_items": 0}, 0
        while len(passing) != before:
            before = len(passing)
            own = set(sites(path, passing))
        found |= own
    return found


@SERVERS
def test_every_place_of_the_code_that_asks_github_has_been_held_to_the_contract(monkeypatch: pytest.MonkeyPatch, enterprise: bool) -> None:
    reached: set[tuple[str, int]] = set()

    def noting(send: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: GitHub, *arguments: Any, **more: Any) -> Any:
            frame = sys._getframe(1)
            while frame:
                reached.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
                frame = frame.f_back  # type: ignore[assignment]
            return send(self, *arguments, **more)

        return noted

    monkeypatch.setattr(GitHub, "send", noting(GitHub.send))
    monkeypatch.setattr(GitHub, "download", noting(GitHub.download))
    run(everything, enterprise)
    found = places()
    assert len(found) >= 10
    missed = {
        f"{file}:{first} {text}" for file, first, last, text in found if not any((file, line) in reached for line in range(first, last + 1))
    }
    assert missed == set()


def test_nobody_but_the_client_knows_where_github_is() -> None:
    knowing = ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "api.github.com", "client.send(")
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).as_posix()
        told = [words for words in knowing if words in path.read_text()]
        if own.startswith("github/") or any("GITHUB_" in words or "github" in words for words in told):
            assert not told or own in ("github/client.py", "cli/output.py"), (own, told)  # help names what is read


# --- defects, of the client and of the GitHub that tests are given: one of each kind -------------------------------

Defect = Callable[[pytest.MonkeyPatch], object]


def address(old: str, new: str) -> Defect:
    """A client that asks at another address than it was told."""
    send = GitHub.send

    def sent(self: GitHub, method: str, url: str, body: Mapping[str, Any] | None = None, **more: Any) -> Any:
        return send(self, method, url.replace(old, new), body, **more)

    return lambda patch: patch.setattr(GitHub, "send", sent)


def header(name: str, value: str) -> Defect:
    send = Client.send

    def sent(self: Client, method: str, url: str, headers: Mapping[str, str], **more: Any) -> Any:
        return send(self, method, url, headers={**headers, name: value}, **more)

    return lambda patch: patch.setattr(Client, "send", sent)


def comment_sent(body: Any) -> Defect:
    send = GitHub.send

    def sent(self: GitHub, method: str, url: str, given: Any = None, **more: Any) -> Any:
        return send(self, method, url, body if given and not url.endswith("graphql") else given, **more)

    return lambda patch: patch.setattr(GitHub, "send", sent)


@each(
    ("defect", "words"),
    [
        (address("/issues/", "/issue/"), "request: no operation of GitHub's that has been looked at"),
        (lambda patch: patch.setattr(client, "PER_PAGE", 500), "request: per_page=500 is more than the 100"),
        (address("per_page", "perpage"), "request: no parameter 'perpage'; there are page, per_page, since"),
        (comment_sent({"text": "x"}), "request: it: 'body' is a required property"),
        (comment_sent({"body": "x", "draft": True}), "the body has no member 'draft'"),
        (comment_sent({"body": "x" * 65_537}), "a body of more than 65,536 characters"),
        (lambda patch: patch.setattr(client, "API_VERSION", "2021-01-01"), "request: the header x-github-api-version is '2021-01-01'"),
        (header("Accept", "text/html"), "the header accept is 'text/html'"),
    ],
)
def test_a_defect_of_the_client_shows(defect: Defect, words: str) -> None:
    def whatever_comes_of_it(fake: FakeGitHub) -> None:
        with suppress(AssertionError):  # what is refused is not done; what must show is why
            comment(fake)

    with pytest.MonkeyPatch.context() as patch:
        defect(patch)
        with pytest.raises(AssertionError, match="GitHub is not like this") as told:
            run(whatever_comes_of_it)
    assert words in str(told.value)


@each("path", ["/api", "/api/v4", ""])
def test_an_enterprise_server_is_not_asked_elsewhere(path: str) -> None:
    def astray(fake: FakeGitHub) -> None:
        fake.url = fake.url.replace("/api/v3", path)
        CommentThread(github(fake), EVENT, Stamp("")).update("x")

    with pytest.raises(AssertionError, match=r"ghes-3\.17: .*no operation of GitHub's"):
        run(astray, enterprise=True)


@each(
    ("method", "part", "change", "words"),
    [
        ("POST", "issues", lambda value: (201, {**value, "node_id": 5}), "reply 201: node_id: 5 is not of type 'string'"),
        ("POST", "issues", lambda value: (200, value), "reply 200: Unknown response http status: 200"),
        ("GET", "timeline", lambda value: (200, [{**it, "actor": 5} for it in value]), "reply 200: "),
        ("PATCH", "", lambda value: (403, {"error": "no"}), "reply 403: it: 'message' is a required property"),
    ],
)
def test_a_reply_that_github_would_not_give_shows(method: str, part: str, change: Callable[[Any], tuple[int, Any]], words: str) -> None:
    def act(fake: FakeGitHub) -> None:
        answer = fake.answer

        def other(seen: Any) -> Any:
            status, headers, value = answer(seen)
            if seen.method == method and part in seen.path:
                status, value = change(json.loads(json.dumps(value)))
            return status, headers, value

        fake.answer = other  # type: ignore[method-assign]
        with suppress(AssertionError):
            everything(fake)

    with pytest.raises(AssertionError, match="GitHub is not like this") as told:
        run(act)
    assert words in str(told.value)


def test_what_a_test_says_that_it_breaks_is_let_through_and_must_be_needed() -> None:
    def broken(*words: str) -> Callable[[FakeGitHub], None]:
        def act(fake: FakeGitHub) -> None:
            fake.unlike = words
            fake.add("mona", None)
            comment(fake)

        return act

    with pytest.raises(AssertionError, match=r"0\.body: None"):
        run(broken())
    run(broken("0.body: None"))
    with pytest.raises(AssertionError, match="nothing is 'per_page'"):
        run(broken("0.body: None", "per_page"))
