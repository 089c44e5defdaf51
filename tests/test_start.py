"""docs/start.md: its commands are typed into a shell, and what they say is what the page shows."""

import pytest
import transcript

PAGE = transcript.PAGE.read_text()
TYPED = [command for block in transcript.BLOCK.findall(PAGE) for command in transcript.commands(block)]


@pytest.mark.slow
def test_every_command_says_what_the_page_shows():
    """Stale: `python scripts/transcript.py` writes it anew."""
    assert transcript.replayed(PAGE) == PAGE


@pytest.mark.slow
def test_what_a_command_says_is_compared():
    other = PAGE.replace("Blocked: ", "Passed: ").replace("$ echo $?\n1\n", "$ echo $?\n0\n")
    assert other != PAGE
    assert transcript.replayed(other) == PAGE


def test_a_decision_and_a_block_are_less_than_two_minutes_of_typing():
    blocked = TYPED[: TYPED.index("echo $?")]
    assert [command for command in blocked if command.startswith("gradegate")] == [
        "gradegate init --provider openai:chat:MODEL",
        "gradegate run",
        "gradegate run",
    ]
    assert sum(map(len, blocked)) < 2 * 120  # keys a minute: a slow hand
