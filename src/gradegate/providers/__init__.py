"""Providers: what answers requests, one file per vendor.

A provider takes a request and returns a reply. It serves one or more kinds: it completes chats, embeds texts, classifies or
moderates. The registry builds it from a provider setup, which has the options of the config, the environment and the HTTP client.

``api/`` is what providers share. A chat API builds the body of a request and parses the response; it knows no host and no key. A
chat model sends it to an address with a credential, and counts what it cost. A compatible service is an entry of
``compatible.yaml``. ``cache/`` keeps the replies of calls for later runs.
"""
