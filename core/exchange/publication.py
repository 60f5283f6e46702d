"""Publication of labels as qrels, with a manifest of their sources from which the same bytes can be reproduced."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import PureWindowsPath
from typing import Any
from uuid import uuid4

from .. import __version__
from ..errors import InputError, ProjectError
from ..labels import Policy, basis, readiness
from ..project import Cursor, Project, log, terms_of
from ..project import record as record_act
from ..types import GraderSpec
from .exporting import bank_jsonl, qrels
from .published import Recorded, past, pool_hash, record, record_pool

FORMAT = "exam-workbench qrels manifest"
FORMAT_VERSION = 1

Manifest = dict[str, Any]
"""The manifest of a publication, as JSON values."""


@dataclass(frozen=True)
class Publication:
    """Published qrels with their manifest."""

    manifest: Manifest
    qrels_bytes: bytes


def publish(
    project: Project,
    policy: Policy,
    author: str,
    binary: bool = False,
    note: str = "",
    deliver: Callable[[Publication], object] = lambda _: None,
) -> Publication:
    """Make the qrels of a policy and record everything needed to reproduce them.

    Args:
        binary: write 1 for labels from the min rating on and 0 for the rest, instead of the labels.
        note: a reason for people to read.
        deliver: writes the files. If it fails, nothing is recorded.

    Raises:
        InputError: the grader or version is unknown, or nothing is labelled.
    """
    with project.transaction(act="publish", author=author) as cursor:
        base = basis(project, policy)
        resolved = replace(base.policy, grader=base.grader.spec.fingerprint, bank_version=base.version)
        content = qrels(project, resolved, binary=binary).encode()
        pool_key = record_pool(cursor)
        key = int(cursor.execute("SELECT nextval('keys')").fetchall()[0][0])
        now = datetime.now(UTC)
        data_sets = [asdict(terms) for terms in terms_of(project)]
        manifest: Manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "software": {"name": "Exam Workbench", "version": __version__},
            "project": {"name": project.name, "id": _identify(cursor)},
            "publication": key,
            "published_at": now.isoformat(timespec="seconds"),
            "published_by": author,
            "note": note.strip(),
            "bank": _bank(project, base.version),
            "grader": _grader(base.grader.spec),
            "policy": resolved.as_dict(),
            "pool": _pool(project),
            **({"data_sets": data_sets} if data_sets else {}),
            "counts": asdict(readiness(project, basis(project, resolved))),
            "qrels": {
                "values": "binary" if binary else "graded",
                "lines": content.count(b"\n"),
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            },
        }
        record(
            cursor,
            Recorded(
                key,
                pool_key,
                base.grader.key,
                now.replace(tzinfo=None),
                author,
                json.dumps(manifest, ensure_ascii=False),
            ),
        )
        log(cursor, author, "publish qrels", publication=key, note=manifest["note"], **manifest["qrels"])
        publication = Publication(manifest, content)
        deliver(publication)
    return publication


def _identify(cursor: Cursor) -> str:
    """Return the project's unique id, which does not depend on its file name; made for the first publication."""
    cursor.execute("INSERT OR IGNORE INTO settings VALUES ('project_id', ?)", [uuid4().hex])
    return str(cursor.execute("SELECT value FROM settings WHERE name = 'project_id'").fetchall()[0][0])


def manifest_json(manifest: Manifest) -> str:
    """Return the text of a manifest's file."""
    return json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"


def read_manifest(data: bytes, name: str) -> Manifest:
    """Return a manifest from the bytes of its file.

    Args:
        name: of the file, for messages.

    Raises:
        InputError: the file is not a manifest, or comes from a newer version.
    """
    try:
        manifest = json.loads(data)
    except ValueError as error:
        raise InputError("not-a-manifest", f"{name} is not a manifest ({error}).", _WHICH) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("not-a-manifest", f"{name} is not a manifest of published qrels.", _WHICH)
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(
            "unknown-format-version",
            f"{name} has unknown format version {version}; this program reads version {FORMAT_VERSION}.",
            "Use the version of Exam Workbench that wrote it, or a newer version than that.",
        )
    return manifest


_WHICH = "Use the manifest that was written when the qrels were published."


def publications(project: Project) -> list[Manifest]:
    """Return the manifests of all publications, newest first."""
    rows = project.rows("SELECT manifest FROM publications ORDER BY publication_key DESC")
    return [json.loads(text) for (text,) in rows]


def reproduce(
    project: Project, manifest: Manifest, author: str, deliver: Callable[[bytes], object] = lambda _: None
) -> bytes:
    """Return the qrels of a publication, the same to the byte despite later changes, and record this in the log.

    Args:
        manifest: as `publish` made it.
        deliver: writes the file. If it fails, nothing is recorded.

    Raises:
        InputError: the manifest is of another project, is unknown here, or was changed.
        ProjectError: the project no longer gives these qrels; the message names the differences.
    """
    content = remade(project, manifest)
    deliver(content)
    sha256 = manifest["qrels"]["sha256"]
    record_act(project, author, "reproduce qrels", publication=manifest["publication"], sha256=sha256)
    return content


def remade(project: Project, manifest: Manifest) -> bytes:
    """Return the same qrels as `reproduce` without a log entry, to check that they can be reproduced.

    Raises:
        InputError, ProjectError: as `reproduce`.
    """
    with as_published(project, manifest) as then:
        policy = Policy(**manifest["policy"])
        content = qrels(then, policy, binary=manifest["qrels"]["values"] == "binary").encode()
        found = hashlib.sha256(content).hexdigest()
        if found != manifest["qrels"]["sha256"]:
            raise ProjectError(
                "publication-differs",
                f"Publication {manifest['publication']} cannot be reproduced because {_why(then, manifest, policy)}."
                f" The SHA-256 of the qrels would be {found}, not {manifest['qrels']['sha256']}.",
                "Nothing was written. Use a copy of the project from the time of the publication.",
            )
    return content


def _why(then: Project, manifest: Manifest, policy: Policy) -> str:
    """Return the reason why a publication cannot be reproduced: the changed facts behind it."""
    now: Manifest = {
        "bank": _bank(then, manifest["bank"]["version"]),
        "pool": _pool(then),
        "counts": asdict(readiness(then, basis(then, policy))),
    }
    # A manifest of an earlier version has fewer counts, so only its own are compared.
    now["counts"] = {name: count for name, count in now["counts"].items() if name in manifest["counts"]}
    differing = [name for part in now for name in _differing(manifest[part], now[part], part)]
    if differing:
        return f"these facts changed: {', '.join(differing)}"
    return (
        f"ratings changed, or version {__version__} derives labels differently from {manifest['software']['version']}"
    )


@contextmanager
def as_published(project: Project, manifest: Manifest) -> Iterator[Project]:
    """Provide the project with the facts behind labels as they were at a publication; for a block that only reads.

    Raises:
        InputError: the manifest is of another project, is unknown here, or was changed.
    """
    named = manifest["project"] if isinstance(manifest.get("project"), dict) else {}
    if named.get("id") != project.value("SELECT value FROM settings WHERE name = 'project_id'"):
        raise InputError(
            "manifest-of-another-project",
            f"The manifest belongs to project {named.get('name')} ({named.get('id')}), not to {project.name}.",
            "Open that project, or a copy of it.",
        )
    stored = project.value(
        "SELECT manifest FROM publications WHERE publication_key = try_cast(? AS INTEGER)",
        [str(manifest.get("publication"))],
    )
    if stored is None:
        raise InputError(
            "unknown-publication",
            f"Unknown publication {manifest.get('publication')} in this copy of the project.",
            "Use the copy in which it was published, or a newer one.",
        )
    if differing := list(_differing(json.loads(stored), manifest)):
        raise InputError(
            "manifest-changed",
            f"The manifest differs from the published one in {', '.join(differing)}.",
            "Use the file as it was published.",
        )
    with past(project, int(manifest["publication"])) as found:
        yield found


def _pool(project: Project) -> Manifest:
    sha256 = project.read(pool_hash)
    return {"passages": project.value("SELECT count(*) FROM pool"), "sha256": sha256}


def _bank(project: Project, version: int) -> Manifest:
    note = project.value("SELECT note FROM bank_versions WHERE version = ?", [version])
    sha256 = hashlib.sha256(bank_jsonl(project, version).encode()).hexdigest()
    return {"version": version, "note": note or "", "sha256": sha256}


def _grader(spec: GraderSpec) -> Manifest:
    return {
        "name": spec.name,
        "fingerprint": spec.fingerprint,
        "method": spec.method,
        "model": _public(spec.model),
        "prompt": spec.prompt,
        "prompt_hash": spec.prompt_hash,
        "parameters": _public(spec.parameters),
        "kinds": list(spec.kinds),
        "max_rating": spec.max_rating,
    }


_SECRET = re.compile(r"(^|[_-])(key|token|secret|password|authorization)$", re.IGNORECASE)
_URL = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/@\s]*@)?", re.IGNORECASE)


def _public(value: Any) -> Any:
    """Return a value without keys of endpoints and folders of this computer; the fingerprint still identifies it."""
    if isinstance(value, Mapping):
        return {name: _public(inner) for name, inner in value.items() if not _SECRET.search(name)}
    if isinstance(value, list | tuple):
        return [_public(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if found := _URL.match(value):
        return found[1] + value[found.end() :]
    # A Windows path has both kinds of separators.
    local = value.startswith(("/", "~", "./", "../", "\\")) or PureWindowsPath(value).is_absolute()
    return PureWindowsPath(value).name if local else value


_ABSENT = object()


def _differing(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """Yield the names of the fields in which two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for field in {**one, **other}:
            inner = f"{name}.{field}" if name else field
            yield from _differing(one.get(field, _ABSENT), other.get(field, _ABSENT), inner)
    elif one != other:
        yield name or "everything"
