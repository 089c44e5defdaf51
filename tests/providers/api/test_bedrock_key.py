"""Short-term keys of Bedrock beside those that the vendor's own generator makes."""

import base64
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from aws_bedrock_token_generator import BedrockTokenGenerator
from botocore.credentials import Credentials as Botocores
from hypothesis import given
from hypothesis import strategies as st

from gradegate.providers.api.aws_signing import AwsCredentials, make_bearer_key

REGIONS = ("us-east-1", "eu-central-1", "us-gov-west-1")


def query(key: str) -> dict[str, str]:
    url = base64.b64decode(key.removeprefix("bedrock-api-key-"), validate=True).decode()
    return dict(parse_qsl(url.removeprefix("bedrock.amazonaws.com/?")))


def same(access: str, secret: str, session: str, region: str) -> bool:
    """Whether both make one key, of the moment and for the time that theirs is made for."""
    theirs = BedrockTokenGenerator().get_token(Botocores(access, secret, session or None), region)
    told = query(theirs)
    at = datetime.strptime(told["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return make_bearer_key(AwsCredentials(access, secret, session), region, at, int(told["X-Amz-Expires"])) == theirs


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("session", ["", "FwoGZXIvYXdzE//+session=="])
def test_a_key_is_the_one_that_the_generator_makes(region, session):
    assert same("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", session, region)


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=60), st.text(max_size=80))
def test_whatever_the_credentials_are(access, secret, session):
    texts = (access, secret, session)
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        return
    assert same(access, secret, session, "us-west-2")


def test_it_lives_for_an_hour_and_shows_no_secret():
    key = make_bearer_key(AwsCredentials("AKIA", "secret-canary", "session"), "us-east-1")
    assert query(key)["X-Amz-Expires"] == "3600"
    assert "canary" not in base64.b64decode(key.removeprefix("bedrock-api-key-")).decode()
    assert "canary" not in repr(AwsCredentials("AKIA", "secret-canary", "session-canary"))
