import ipaddress

import pytest
import requests

from gradegate.security.egress import METADATA, NO_NAME, PRIVATE, EgressPolicy
from gradegate.security.hosts import host_at, is_metadata_service, parse_host
from gradegate.security.vendors import Vendor
from support.each import table

VENDOR = Vendor(("A_KEY",), ("api.a.com",), ("A_BASE", "A_HOST"))


@pytest.mark.parametrize(("written", "url", "takes"), table(__file__, "which_addresses_an_allowed_host_takes"))
def test_which_addresses_an_allowed_host_takes(written, url, takes):
    host = parse_host(written)
    assert host is not None
    assert host.matches(url) is takes


@pytest.mark.parametrize(
    "written", ["", "*.example.com", "*", "a b", "user@host", "ftp://host", "host/path", "https://", "host:port", "a..b", "[::1", "[x]"]
)
def test_what_is_no_host(written):
    assert parse_host(written) is None


@pytest.mark.parametrize("name", table(__file__, "a_name_that_is_read_in_two_ways_is_that_of_no_host"))
def test_a_name_that_is_read_in_two_ways_is_that_of_no_host(name):
    assert host_at(f"https://{name}/v1") is None
    assert EgressPolicy().objection(f"https://{name}/v1") == NO_NAME
    assert parse_host(name) is None


@pytest.mark.parametrize("name", ["b\u00fccher.example", "B\u00dcCHER.example.", "xn--bcher-kva.example"])
def test_a_name_beyond_ascii_is_the_one_that_is_sent(name):
    host = host_at(f"https://{name}/v1")
    assert host is not None
    assert host.name == "xn--bcher-kva.example"
    sent = requests.Request("GET", f"https://{name}/v1").prepare().url or ""
    assert sent.startswith("https://xn--bcher-kva.example")


@pytest.mark.parametrize(("url", "takes"), table(__file__, "a_vendors_keys_go_to_its_own_hosts_and_where_the_environment_says"))
def test_a_vendors_keys_go_to_its_own_hosts_and_where_the_environment_says(url, takes):
    assert VENDOR.may_get_keys(url, {"A_BASE": "http://10.0.0.5:4000/v1", "A_HOST": "gateway"}) is takes


@pytest.mark.parametrize(
    "name",
    "169.254.169.254 169.254.170.2 2852039166 0xa9fea9fe 0251.0376.0251.0376 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe "
    "fd00:ec2::254 fe80::1 100.100.100.200 192.0.0.192 metadata.google.internal METADATA.google.internal. "
    "2002:a9fe:a9fe::1 169.254.1.1 ::a9fe:a9fe ::ffff:0:a9fe:a9fe 64:ff9b:1::a9fe:a9fe".split(),
)
def test_services_that_hand_out_credentials_are_never_asked(name):
    assert is_metadata_service(name)
    url = f"http://[{name}]/" if ":" in name else f"http://{name}/"
    assert EgressPolicy().objection(url) == METADATA
    assert EgressPolicy(hosts=tuple(filter(None, [parse_host(url)])), bound=True).objection(url) == METADATA


@pytest.mark.parametrize("name", "10.1.2.3 224.0.0.1 172.16.0.9 192.168.1.1 fd12::1 100.64.0.1 ::ffff:10.0.0.1 167837953".split())
def test_private_addresses_are_asked_where_the_workflow_names_them_or_nothing_is_bound(name):
    url = f"http://[{name}]:80/" if ":" in name else f"http://{name}:80/"
    host = host_at(url)
    assert host is not None
    assert EgressPolicy().objection(url) == ""
    assert EgressPolicy(bound=True).objection(url) == PRIVATE
    assert EgressPolicy(hosts=(host,), bound=True).objection(url) == ""
    named = EgressPolicy({"A_BASE": url}, bound=True, vendors=lambda: (VENDOR,))
    assert named.objection(url) == ""


def test_a_name_is_held_to_the_address_that_it_leads_to():
    inside, metadata = ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("169.254.169.254")
    egress = EgressPolicy(hosts=tuple(filter(None, [parse_host("app")])), bound=True)
    assert egress.objection("http://rebind.example.com", inside) == PRIVATE
    assert egress.objection("http://app", inside) == ""
    assert egress.objection("http://app", metadata) == METADATA
    assert egress.objection("http://example.com", ipaddress.ip_address("93.184.216.34")) == ""


LOOPBACK = (
    "127.0.0.1 localhost LOCALHOST. a.localhost [::1] 0.0.0.0 [::] 127.1 2130706433 0177.0.0.1 127.9.9.9 [::ffff:127.0.0.1] [::7f00:1]"
)


@pytest.mark.parametrize("name", LOOPBACK.split())
def test_loopback_is_a_private_network_on_a_runner_alone(name):
    url = f"http://{name}:8000/"
    assert EgressPolicy(bound=True).objection(url) == ""
    assert EgressPolicy(bound=True, on_runner=True).objection(url) == PRIVATE


@pytest.mark.parametrize(
    "name", "[fec0::1] [64:ff9b:1::a00:1] [fd12::1] [::ffff:0:7f00:1] [64:ff9b::a00:1] 0.1.2.3 100.64.0.1 224.0.0.1".split()
)
def test_whatever_nobody_handed_out_is_private(name):
    assert EgressPolicy(bound=True, on_runner=True).objection(f"http://{name}/") == PRIVATE


@pytest.mark.parametrize("name", "93.184.216.34 [2606:2800:220:1::1] [64:ff9b::5db8:d822] api.example.com".split())
def test_public_hosts_are_open(name):
    assert EgressPolicy(bound=True, on_runner=True).objection(f"http://{name}:8000/") == ""


@pytest.mark.parametrize(("way", "url", "opens"), table(__file__, "what_a_workflow_opens_on_a_runner"))
def test_what_a_workflow_opens_on_a_runner(way, url, opens):
    (name, written) = next(iter(way.items()))
    egress = EgressPolicy(
        {name: written} if name.isupper() else {},
        hosts=tuple(filter(None, [parse_host(written)])) if name == "allowed-hosts" else (),
        awaited=(host_at(written),) if name == "ready" else (),
        bound=True,
        on_runner=True,
        vendors=lambda: (VENDOR,),
    )
    assert (egress.objection(url, ipaddress.ip_address("127.0.0.1")) == "") is opens


def test_a_variable_with_an_address_may_go_to_that_address():
    egress = EgressPolicy({"APP_URL": "https://app.example.com/x", "TOKEN": "t"}, bound=True)
    assert egress.reaches_host("APP_URL", "https://app.example.com/y")
    hosts = EgressPolicy({"H": "app.example.com", "P": "app:8080", "K": "abcdef"}, bound=True)
    assert hosts.reaches_host("H", "https://app.example.com/")
    assert hosts.reaches_host("P", "http://app:8080/")
    assert not hosts.reaches_host("H", "https://h.app.example.com/")
    assert not hosts.reaches_host("K", "https://abcdef/")
    assert not egress.reaches_host("APP_URL", "https://evil.net/")
    assert not egress.reaches_host("TOKEN", "https://app.example.com/y")
