"""GitHub's published OpenAPI documents, cut down to the operations that we use: 24 MB are read once, 0.25 MB in every process of tests."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.installed import Package, alone, cache, unpack_files

PACKAGE = Package(
    "@octokit/openapi", "23.0.2", "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
)
# Members that no check reads.
_TALK = ("example", "examples", "externalDocs", "x-github", "x-octokit")


def documents(servers: Iterable[str], operations: Iterable[str], schemas: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The document of each server: these operations (`GET /user`), these schemas, and all that they refer to.

    Raises NotToBeHadError where the package cannot be fetched.
    """
    servers, operations, schemas = sorted(servers), sorted(operations), sorted(schemas)
    wanted = json.dumps([PACKAGE.integrity, Path(__file__).read_text(), servers, operations, schemas])
    label = f"openapi-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    kept = cache() / f"{label}.json"
    with alone("openapi"):
        if not kept.exists():
            files = unpack_files(PACKAGE, *(f"generated/{server}.json" for server in servers))
            whole = {server: json.loads(file.read_bytes()) for server, file in zip(servers, files, strict=True)}
            new = kept.with_suffix(".new")
            new.write_text(json.dumps({name: _cut(it, operations, schemas) for name, it in whole.items()}))
            for old in cache().glob("openapi-*.json"):
                old.unlink()
            new.rename(kept)
        return json.loads(kept.read_text())


def _cut(document: Mapping[str, Any], operations: Iterable[str], schemas: Iterable[str]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        method, _, path = operation.partition(" ")
        if there := document["paths"].get(path, {}).get(method.lower()):
            paths.setdefault(path, {})[method.lower()] = _quiet(there)
    kept: dict[str, dict[str, Any]] = {"schemas": {}}
    open_ = [*_refs(paths), *(f"#/components/schemas/{name}" for name in schemas)]
    while open_:
        kind, name = open_.pop().split("/")[2:]
        if name not in kept.setdefault(kind, {}) and name in document["components"][kind]:
            kept[kind][name] = _quiet(document["components"][kind][name])
            open_ += _refs(kept[kind][name])
    about = {name: document[name] for name in ("openapi", "info", "servers")}
    return {**about, "paths": paths, "components": kept}


def _quiet(value: Any) -> Any:
    if isinstance(value, list):
        return [_quiet(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A property may be called "example": only beside a type it is talk.
    schema = any(name in value for name in ("type", "$ref", "schema", "content", "operationId"))
    return {name: _quiet(item) for name, item in value.items() if not (schema and name in _TALK)}


def _refs(value: Any) -> list[str]:
    if isinstance(value, list):
        return [ref for item in value for ref in _refs(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [ref for item in value.values() for ref in _refs(item)]
