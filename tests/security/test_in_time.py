"""What looks for secrets takes time in proportion to the text."""

import time

import pytest

from gradegate.security.redaction import redactor
from gradegate.security.secrets import address_passwords, secrets_in_text

pytestmark = pytest.mark.slow
HIDE = redactor(["sk-canary-4f9A+/z0", "postgres://u:pw-canary-77@h/x", "hunter2"])
LONG = 1_000_000


@pytest.mark.parametrize("look", [HIDE, lambda text: list(address_passwords(text)), lambda text: list(secrets_in_text(text))])
@pytest.mark.parametrize(
    "unit", ["a", "a@b", "&", "&#1", "%41", "\\", "\\u0041", "<", "<a", "<!--", "\n", "…", "sk-cana", "=", ": ", "\u200b", "key:"]
)
def test_any_text_is_looked_at_in_time(look, unit):
    started = time.process_time()
    look("@" + unit * (LONG // len(unit)) + "http://x")
    assert time.process_time() - started < 20
