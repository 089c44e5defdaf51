"""When a workflow runs with secrets and anybody can start it: only files of the commit that the workflow runs at are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.errors import ConfigError, Origin
from gradegate.files.checkout import SHA, folders_of, head_of, repository_of
from gradegate.files.gitobjects import object_name, read_object

# Events whose own commit is what is to be judged: started by somebody who may write, or without secrets for a fork. All
# others, those that GitHub has yet to invent among them, say nothing about whose files lie in the workspace.
FREE = frozenset(
    {
        "merge_group",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "push",
        "schedule",
        "workflow_dispatch",
    }
)
CURE = (
    "check the repository out as actions/checkout does by itself, without `ref`, and change no file that a config names"
)
WHERE = "docs/github.md, Events, says why"


def bound(environ: Mapping[str, str]) -> bool:
    """Whether the event allows files of the commit $GITHUB_SHA alone. Off GitHub there is no event, and everything is free."""
    event = environ.get("GITHUB_EVENT_NAME", "")
    return event not in FREE and bool(event or environ.get("GITHUB_ACTIONS"))


@dataclass(frozen=True, eq=False, slots=True)
class Vouched:
    """The files of a commit, by whose name every one of them is checked."""

    root: Path
    objects: Path
    commit: str
    event: str
    trees: dict[str, dict[bytes, tuple[bytes, str]]] = field(default_factory=dict, repr=False)

    @classmethod
    def around(cls, config: Path, environ: Mapping[str, str]) -> Vouched:
        """The commit that the workflow runs at, in the repository of a config. Raises ConfigError if that one is not checked out."""
        event, commit = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_SHA", "")
        what = f"the event `{event}` may run with secrets for anybody"
        if not SHA.fullmatch(commit):
            raise ConfigError.at(f"{what}, and GITHUB_SHA names no commit", None, WHERE)
        root = repository_of(config.resolve().parent)
        if root is None:
            raise ConfigError.at(
                f"{what}, and there is no git repository around `{config.name}`", None, f"{CURE}; {WHERE}"
            )
        for folder in {root, repository_of(Path(environ.get("GITHUB_WORKSPACE", root)).resolve()) or root}:
            if (head := head_of(folder)) != commit:
                found = f"at {head}" if head else "at a commit that cannot be told"
                raise ConfigError.at(f"{what}, and the checkout is {found}, not at {commit}", None, f"{CURE}; {WHERE}")
        return cls(root, folders_of(root)[1] / "objects", commit, event)

    def vouch(self, path: Path, content: bytes, shown: str, origin: Origin) -> None:
        """Raises ConfigError unless the commit has this content at this path."""
        try:
            expected = self._blob(path)
        except (LookupError, ValueError) as e:
            why = f"`{shown}` cannot be found in the commit {self.commit}, and nothing else is read at the event `{self.event}`"
            raise ConfigError.at(why, origin, f"{CURE}; {WHERE}") from e
        if object_name("blob", content, len(self.commit)) != expected:
            why = f"`{shown}` is not as the commit {self.commit} has it, and nothing else is read at the event `{self.event}`"
            raise ConfigError.at(why, origin, f"{CURE}; {WHERE}")

    def _blob(self, path: Path) -> str:
        """The name of a file's content. Raises LookupError, and ValueError for a path outside of the repository."""
        *folders, last = (part.encode() for part in path.relative_to(self.root).parts)
        name = self._root_tree()
        for folder in folders:
            name = self._entry(name, folder, b"40000")
        return self._entry(name, last, b"100")

    def _root_tree(self) -> str:
        first = read_object(self.objects, self.commit, "commit").partition(b"\n")[0]
        return first.removeprefix(b"tree ").decode()

    def _entry(self, tree: str, name: bytes, mode: bytes) -> str:
        if tree not in self.trees:
            self.trees[tree] = dict(_entries(read_object(self.objects, tree, "tree"), len(self.commit) // 2))
        found, content = self.trees[tree][name]
        if not found.startswith(mode):  # a link or a submodule, whose content the commit does not hold
            raise LookupError(name)
        return content


def _entries(tree: bytes, size: int) -> Iterator[tuple[bytes, tuple[bytes, str]]]:
    place = 0
    while place < len(tree):
        end = tree.index(b"\0", place)
        mode, _, name = tree[place:end].partition(b" ")
        place = end + 1 + size
        yield name, (mode, tree[end + 1 : place].hex())
