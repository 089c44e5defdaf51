"""What a run knows of its surroundings: the environment that configs may read, and who may be asked with which credentials."""

from collections.abc import Iterable
from functools import cache

from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.settings import Settings
from gradegate.providers.api import readiness
from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.egress import Egress
from gradegate.security.environment import Environment
from gradegate.security.hosts import host_at
from gradegate.security.vendors import Vendor
from gradegate.structs import replace


@cache
def known_vendors() -> tuple[Vendor, ...]:
    """The vendors of all provider plug-ins."""
    return tuple({getattr(build, "vendor", Vendor()): None for _, build in PROVIDERS})


def is_vendors_key(name: str) -> bool:
    """Whether a variable holds the key of any vendor."""
    return Egress(vendors=known_vendors).is_vendors(name)


def egress(settings: Settings, specs: Iterable[ProviderSpec] = ()) -> Egress:
    """Who may be asked, and with which credentials; ``specs`` are all providers of a run. Raises ConfigError for a wrong `ready`."""
    named = set()
    for spec in specs:
        variable = str(spec.config.get("apiKeyEnvar") or "")
        named |= {*filter(None, [variable]), *spec.drawn.get(variable, ())}
        named |= {use.variable for use in spec.reads if use.place == "apiKey"}
    return Egress(
        settings.environ,
        settings.allowed_hosts,
        settings.bound,
        known_vendors,
        settings.allowed_env,
        frozenset(named),
        tuple(host_at(it.url) for it in readiness.read(settings.ready, settings.environ)),
        settings.environment.on_github,
    )


def environment(settings: Settings) -> Environment:
    """The environment as configs may read it: the workflow opens no vendor's key."""
    env = settings.environment
    return replace(env, open_=frozenset(name for name in env.open_ if not is_vendors_key(name)))
