"""Publication of labels as qrels with a manifest, alone or in a bundle. The manifest reproduces the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import PureWindowsPath
from typing import Any
from uuid import uuid4

from .. import __version__
from ..errors import InputError, ProjectError
from ..labels import Leaderboard, Policy, basis, find_overrides, label_readiness, leaderboard
from ..records import (
    ranking_scores,
    readable_versions,
    refuse_sealed,
    sealed_questions,
    terms_of,
    visible_rows,
)
from ..store import (
    Cursor,
    Project,
    log_action,
    log_readonly_action,
    put_setting,
    quoted_name,
    read_setting,
)
from ..tables import csv_text, tsv_text
from ..types import GraderSpec
from .exporting import bank_csv, bank_jsonl, board_latex, qrels_text, zip_bytes


class PastProject(Project):
    """A read-only project whose tables show their content at the time of a publication.

    Args:
        project: the project as it is now.
        cursor: a cursor of the project with the views of the past. It runs all queries, from one
            thread.
    """

    def __init__(self, project: Project, cursor: Cursor) -> None:
        super().__init__(project._database)
        self._cursor = lambda: nullcontext(cursor)


def _past_views(main: str, publication: int) -> dict[str, str]:
    """Return the SQL of each table's content at a publication, by table name.

    Args:
        main: the schema with the tables as they are now.
    """
    of_publication = f"publication_key = {publication:d}"
    publications = f"FROM {main}.publications WHERE {of_publication}"
    awaited = f"FROM {main}.published_awaited WHERE {of_publication}"
    kept_overrides = (
        "SELECT o.* REPLACE (coalesce(a.text_key, o.question_text_key) AS question_text_key,"
        " NULL::VARCHAR AS withdrawn_by, NULL::TIMESTAMP AS withdrawn_at)"
        f" FROM {main}.overrides o LEFT JOIN (SELECT text_key, unnest(override_keys) AS"
        f" override_key {awaited}) a"
        f" USING (override_key) WHERE override_key IN (SELECT unnest(override_keys) {publications})"
    )
    return {
        "pool": "SELECT query_key, passage_key, text_key, position"
        f" FROM {main}.published_passages WHERE pool_key = (SELECT pool_key {publications})",
        # A query without a title is graded under its id; these grades moved to the title when it
        # was added.
        "queries": "SELECT q.* REPLACE (CASE WHEN p.text = q.query_id AND p.text NOT IN"
        f" (SELECT text FROM {main}.question_texts"
        " WHERE text IS NOT NULL) THEN q.text ELSE p.text END AS text,"
        f" p.narrative AS narrative, p.answer AS answer) FROM {main}.queries q"
        f" JOIN (FROM {main}.published_queries WHERE {of_publication}) p USING (query_key)",
        "question_texts": "SELECT * REPLACE (CASE WHEN text_key NOT IN"
        f" (SELECT text_key {awaited}) THEN text END AS text)"
        f" FROM {main}.question_texts WHERE text_key < {publication:d}",
        "question_revisions": "SELECT r.* REPLACE (coalesce(a.text_key, r.text_key) AS text_key)"
        f" FROM {main}.question_revisions r"
        " LEFT JOIN (SELECT text_key, unnest(revision_keys) AS revision_key"
        f"  {awaited}) a USING (revision_key) WHERE revision_key < {publication:d}",
        # Rows added later have greater keys. A run that was imported again keeps its old key, with
        # its new ranking.
        "runs": f"SELECT * FROM {main}.runs WHERE run_key < {publication:d}",
        "rankings": f"SELECT * FROM {main}.rankings WHERE run_key < {publication:d}",
        "grades": "SELECT g.* REPLACE (coalesce(a.text_key,"
        f" g.question_text_key) AS question_text_key) FROM {main}.grades g"
        f" LEFT JOIN (SELECT text_key, unnest(grade_rows) AS grade_row {awaited}) a"
        f"  ON a.grade_row = g.rowid WHERE g.rowid < (SELECT grades {publications})",
        **{
            table: f"SELECT * FROM {main}.{table} WHERE {key} < {publication:d}"
            for table, key in (
                ("audits", "audit_key"),
                ("audit_batches", "batch_key"),
                ("audit_chances", "batch_key"),
                ("audit_verdicts", "verdict_key"),
                ("audit_looks", "look_key"),
                ("audit_ends", "end_key"),
            )
        },
        # Questions that were sealed then stay left out after they are opened.
        "seals": "SELECT s.* REPLACE (NULL::VARCHAR AS opened_by, NULL::TIMESTAMP AS opened_at)"
        f" FROM {main}.seals s JOIN {main}.questions USING (question_key)"
        f" WHERE seal_key < {publication:d} AND list_contains(((SELECT manifest"
        f" {publications})::JSON->'$.bank.sealed.sha256')::VARCHAR[], sha256(question_id))",
        "failures": f"SELECT * FROM {main}.failures WHERE rowid < (SELECT failures {publications})",
        "overrides": kept_overrides,
        "current_overrides": "SELECT question_text_key, passage_text_key,"
        f" arg_max(rating, override_key) AS rating FROM ({kept_overrides}) GROUP BY ALL",
    }


def record_publication(
    cursor: Cursor,
    key: int,
    pool_key: int,
    grader_key: int,
    published_at: datetime,
    author: str,
    manifest: str,
) -> None:
    """Store a publication, with a copy of the data that later work may change in place.

    Args:
        key: from the project's sequence of keys, so that every smaller key is older.
        pool_key: as `record_pool` returns it.
        grader_key: of the grader behind the labels.
        published_at: in UTC.
        manifest: JSON, as delivered.
    """
    cursor.execute(
        "INSERT INTO publications SELECT ?, ?, ?, ?, ?, (SELECT coalesce(max(rowid) + 1, 0)"
        " FROM grades), (SELECT coalesce(max(rowid) + 1, 0) FROM failures),"
        " (SELECT coalesce(list(override_key ORDER BY override_key), []) FROM overrides"
        " WHERE withdrawn_at IS NULL"
        "  AND override_key NOT IN (SELECT override_key FROM held_overrides))",
        [key, published_at, author, manifest, pool_key],
    )
    cursor.execute(
        "INSERT INTO published_queries SELECT ?, query_key, text, narrative, answer FROM queries"
        " ORDER BY query_key",
        [key],
    )
    cursor.execute(
        "INSERT INTO published_awaited"
        " SELECT $key, text_key, coalesce(revisions, []), coalesce(graded, []), given"
        " FROM (FROM question_texts WHERE text IS NULL)"
        " LEFT JOIN (SELECT text_key, list(revision_key ORDER BY revision_key) AS revisions"
        "  FROM question_revisions GROUP BY text_key) USING (text_key)"
        " LEFT JOIN (SELECT question_text_key AS text_key, list(rowid"
        " ORDER BY rowid) AS graded FROM grades"
        "  WHERE grader_key = $grader AND question_text_key IN (SELECT text_key FROM question_texts"
        " WHERE text IS NULL)"
        "  GROUP BY question_text_key) USING (text_key)"
        " LEFT JOIN (SELECT question_text_key AS text_key, list(override_key"
        " ORDER BY override_key) AS given"
        "  FROM overrides GROUP BY question_text_key) USING (text_key) ORDER BY text_key",
        {"key": key, "grader": grader_key},
    )


POOL_SHA256 = (
    "sha256(coalesce(string_agg(query_id || ' ' || passage_id"
    " || CASE WHEN p.text_key IS NULL THEN ' without text' ELSE '' END || chr(10), ''"
    " ORDER BY query_key, position), ''))"
)
"""SQL for the hash of a pool `p`: a line per passage with the ids of query and passage, and a mark
for missing text.
"""


def record_pool(cursor: Cursor) -> int:
    """Return the key of the stored copy of the current pool; write it unless an earlier publication
    stored the same.
    """
    sha256 = pool_hash(cursor)
    rows = cursor.execute(
        "SELECT pool_key FROM published_pools WHERE sha256 = ?", [sha256]
    ).fetchall()
    if rows:
        return int(rows[0][0])
    key = int(
        cursor.execute(
            "INSERT INTO published_pools VALUES (nextval('keys'), ?) RETURNING pool_key", [sha256]
        ).fetchall()[0][0]
    )
    cursor.execute(
        "INSERT INTO published_passages SELECT ?, query_key, passage_key, text_key, position"
        " FROM pool ORDER BY query_key, position",
        [key],
    )
    return key


def pool_hash(cursor: Cursor) -> str:
    """Return the hash of the current pool."""
    ((sha256,),) = cursor.execute(
        f"SELECT {POOL_SHA256} FROM pool p JOIN queries USING (query_key) JOIN passages"
        " USING (passage_key)"
    ).fetchall()
    return str(sha256)


FORMAT = "exam-workbench qrels manifest"
FORMAT_VERSION = 1

Manifest = dict[str, Any]
"""The manifest of a publication, as JSON values."""


@dataclass(frozen=True)
class Publication:
    """Published qrels with their manifest."""

    manifest: Manifest
    qrels_bytes: bytes


def publish_qrels(
    project: Project,
    policy: Policy,
    author: str,
    binary: bool = False,
    note: str = "",
    deliver: Callable[[Publication], object] = lambda _: None,
    readiness: Mapping[str, Any] | None = None,
) -> Publication:
    """Make the qrels of a policy and record everything needed to reproduce them.

    Args:
        binary: write 1 for labels from the min rating on and 0 for the rest, instead of the labels.
        note: a reason for people to read.
        readiness: the audit, the number of open disagreements, and the like, for the manifest.
        deliver: writes the files. If it fails, nothing is recorded.

    Raises:
        InputError: the grader or version is unknown, or nothing is labelled.
    """
    with project.transaction(act="publish", author=author) as cursor:
        base = basis(project, policy)
        resolved = replace(
            base.policy, grader=base.grader.spec.fingerprint, bank_version=base.version
        )
        content = qrels_text(project, resolved, binary=binary).encode()
        pool_key = record_pool(cursor)
        key = int(cursor.execute("SELECT nextval('keys')").fetchall()[0][0])
        now = datetime.now(UTC)
        data_sets = [asdict(terms) for terms in terms_of(project)]
        manifest: Manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "software": {"name": "Exam Workbench", "version": __version__},
            "project": {"name": project.name, "id": _identify_project(project, cursor)},
            "publication": key,
            "published_at": now.isoformat(timespec="seconds"),
            "published_by": author,
            "note": note.strip(),
            # Without a person, so that the note does not depend on the questions that this person
            # wrote.
            "bank": _bank_facts(PastProject(project, cursor), base.version),
            "grader": _grader_facts(base.grader.spec),
            "policy": resolved.as_dict(),
            "pool": _pool_facts(project),
            **({"data_sets": data_sets} if data_sets else {}),
            "counts": asdict(label_readiness(project, basis(project, resolved))),
            **({"readiness": dict(readiness)} if readiness else {}),
            "qrels": {
                "values": "binary" if binary else "graded",
                "lines": content.count(b"\n"),
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            },
        }
        written = json.dumps(manifest, ensure_ascii=False)
        record_publication(
            cursor, key, pool_key, base.grader.key, now.replace(tzinfo=None), author, written
        )
        log_action(
            cursor,
            author,
            "publish qrels",
            publication=key,
            note=manifest["note"],
            **manifest["qrels"],
        )
        publication = Publication(manifest, content)
        deliver(publication)
    return publication


def _identify_project(project: Project, cursor: Cursor) -> str:
    """Return the project's unique id, which does not depend on its file name; made for the first
    publication.
    """
    project_id = read_setting(project, "project_id")
    if project_id is None:
        project_id = uuid4().hex
        put_setting(cursor, "project_id", project_id)
    return project_id


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
        raise InputError(
            "not-a-manifest", f"{name} is not a manifest ({error}).", _WHICH
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("not-a-manifest", f"{name} is not a manifest of published qrels.", _WHICH)
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(
            "unknown-format-version",
            f"{name} has unknown format version {version}; this program reads version"
            f" {FORMAT_VERSION}.",
            "Use the version of Exam Workbench that wrote it, or a newer version than that.",
        )
    return manifest


_WHICH = "Use the manifest that was written when the qrels were published."


def list_publications(project: Project) -> list[Manifest]:
    """Return the manifests of all publications, newest first."""
    manifests = "SELECT manifest FROM publications ORDER BY publication_key DESC"
    return [json.loads(text) for (text,) in project.rows(manifests)]


def reproduce_qrels(
    project: Project,
    manifest: Manifest,
    author: str,
    deliver: Callable[[bytes], object] = lambda _: None,
) -> bytes:
    """Return the qrels of a publication, the same to the byte despite later changes, and record
    this in the log.

    Args:
        manifest: as `publish_qrels` made it.
        deliver: writes the file. If it fails, nothing is recorded.

    Raises:
        InputError: the manifest is of another project, is unknown here, or was changed.
        ProjectError: the project no longer gives these qrels; the message names the differences.
    """
    content = remake_qrels(project, manifest)
    deliver(content)
    log_readonly_action(
        project,
        author,
        "reproduce qrels",
        publication=manifest["publication"],
        sha256=manifest["qrels"]["sha256"],
    )
    return content


def remake_qrels(project: Project, manifest: Manifest) -> bytes:
    """Return the same qrels as `reproduce_qrels` without a log entry, to check that they can be
    reproduced.

    Raises:
        InputError, ProjectError: as `reproduce_qrels`.
    """
    with open_as_published(project, manifest) as then:
        policy = Policy(**manifest["policy"])
        content = qrels_text(then, policy, binary=manifest["qrels"]["values"] == "binary").encode()
        actual = hashlib.sha256(content).hexdigest()
        if actual != manifest["qrels"]["sha256"]:
            raise ProjectError(
                "publication-differs",
                f"Publication {manifest['publication']} cannot be reproduced because "
                f"{_explain_difference(then, manifest, policy)}."
                f" The SHA-256 of the qrels would be {actual}, not {manifest['qrels']['sha256']}.",
                "Nothing was written. Use a copy of the project from the time of the publication.",
            )
    return content


def _explain_difference(then: Project, manifest: Manifest, policy: Policy) -> str:
    """Return the reason why a publication cannot be reproduced: the changed facts behind it."""
    now: Manifest = {
        "bank": _bank_facts(then, manifest["bank"]["version"]),
        "pool": _pool_facts(then),
        "counts": asdict(label_readiness(then, basis(then, policy))),
    }
    # A manifest of an earlier version has fewer counts, so only its own are compared.
    now["counts"] = {
        name: count for name, count in now["counts"].items() if name in manifest["counts"]
    }
    differing = [
        name for part in now for name in _differing_fields(manifest[part], now[part], part)
    ]
    if differing:
        return f"these facts changed: {', '.join(differing)}"
    return (
        f"ratings changed, or version {__version__} derives labels differently from"
        f" {manifest['software']['version']}"
    )


@contextmanager
def open_as_published(project: Project, manifest: Manifest) -> Iterator[Project]:
    """Provide the project with the facts behind labels as they were at a publication; for a block
    that only reads, in one thread.

    Raises:
        InputError: the manifest is of another project, is unknown here, or was changed.
    """
    named = manifest["project"] if isinstance(manifest.get("project"), dict) else {}
    if named.get("id") != read_setting(project, "project_id"):
        raise InputError(
            "manifest-of-another-project",
            f"The manifest belongs to project {named.get('name')} ({named.get('id')}), not to"
            f" {project.name}.",
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
    if differing := list(_differing_fields(json.loads(stored), manifest)):
        raise InputError(
            "manifest-changed",
            f"The manifest differs from the published one in {', '.join(differing)}.",
            "Use the file as it was published.",
        )
    main = f"{quoted_name(project.value('SELECT current_database()'))}.main"
    with project.cursor() as cursor:
        # The views are made once for the block.
        for name, sql in _past_views(main, int(manifest["publication"])).items():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        yield PastProject(project, cursor)


def _pool_facts(project: Project) -> Manifest:
    return {
        "passages": project.value("SELECT count(*) FROM pool"),
        "sha256": project.read(pool_hash),
    }


def _bank_facts(project: Project, version: int) -> Manifest:
    """Return the facts of a bank version, with its hash, and with hashes of the ids of sealed
    questions.
    """
    note = project.value(
        f"SELECT note FROM {readable_versions(project)} WHERE version = ?", [version]
    )
    sealed = sorted(hashlib.sha256(one.encode()).hexdigest() for one in sealed_questions(project))
    return {
        "version": version,
        "note": note or "",
        "sha256": hashlib.sha256(bank_jsonl(project, version, sealed=True).encode()).hexdigest(),
        **({"sealed": {"questions": len(sealed), "sha256": sealed}} if sealed else {}),
    }


def _grader_facts(spec: GraderSpec) -> Manifest:
    return {
        "name": spec.name,
        "fingerprint": spec.fingerprint,
        "method": spec.method,
        "model": _public_value(spec.model),
        "prompt": spec.prompt,
        "prompt_hash": spec.prompt_hash,
        "parameters": _public_value(spec.parameters),
        "kinds": list(spec.kinds),
        "max_rating": spec.max_rating,
    }


_SECRET = re.compile(r"(^|[_-])(key|token|secret|password|authorization)$", re.IGNORECASE)
_URL = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/@\s]*@)?", re.IGNORECASE)


def _public_value(value: Any) -> Any:
    """Return a value without keys of endpoints and folders of this computer; the fingerprint still
    identifies it.
    """
    if isinstance(value, Mapping):
        return {
            name: _public_value(inner) for name, inner in value.items() if not _SECRET.search(name)
        }
    if isinstance(value, list | tuple):
        return [_public_value(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if match := _URL.match(value):
        return match[1] + value[match.end() :]
    # A Windows path has both kinds of separators.
    local = value.startswith(("/", "~", "./", "../", "\\")) or PureWindowsPath(value).is_absolute()
    return PureWindowsPath(value).name if local else value


_ABSENT = object()


def _differing_fields(value: Any, other: Any, name: str = "") -> Iterator[str]:
    """Yield the names of the fields in which two JSON values differ."""
    if isinstance(value, dict) and isinstance(other, dict):
        for field in {**value, **other}:
            inner = f"{name}.{field}" if name else field
            yield from _differing_fields(
                value.get(field, _ABSENT), other.get(field, _ABSENT), inner
            )
    elif value != other:
        yield name or "everything"


BOARD_MEASURES = ("EXAM-Cover", "nDCG@10", "nDCG@20", "AP", "Rprec", "RR", "P@20")
"""Measures of the leaderboard in a bundle. The first one orders it."""

_WHAT = {
    "qrels": "Labels in the four columns of trec_eval: query, 0, passage, {values}.\n"
    "    Passages without a label are left out; manifest.json has the counts.",
    "manifest.json": "How the qrels were made: bank version,"
    " grader, scoring settings, counts, and their SHA-256.\n"
    "    Reproduce the qrels: exam export qrels --manifest manifest.json -o FILE\n"
    "    Reproduce this bundle: exam export bundle --manifest manifest.json -o FILE",
    "bank.jsonl": "Version {version} of the question bank, one question per line.{sealed}",
    "bank.csv": "The question bank for spreadsheets.{sealed}",
    "leaderboard.tsv": "Leaderboards by {measures}, with standard errors.",
    "leaderboard.tex": "The leaderboards as LaTeX tables, one per measure.",
    "overrides.csv": "Assessors' ratings that replace the grader's, with reasons. If `stale` is"
    " true, the question\n"
    "    in bank version {version} has another wording than the rated question.{sealed}",
}


Beside = Callable[[Project], Mapping[str, tuple[str, bytes]]]
"""Returns further files for a bundle: by file name, a sentence of description and the content. The
files may depend only on data that a publication keeps (`exchange.published`). Otherwise the bundle
could not be reproduced."""


def bundle_publication(
    project: Project,
    policy: Policy,
    author: str,
    binary: bool = False,
    note: str = "",
    beside: Beside = lambda _: {},
    deliver: Callable[[bytes], object] = lambda _: None,
    readiness: Mapping[str, Any] | None = None,
) -> bytes:
    """Publish the qrels of a policy and pack them with their manifest, the bank, leaderboards and
    overrides.

    Args:
        beside: makes further files for the bundle.
        deliver: writes the zip file.
        Other arguments: as for `exchange.publish_qrels`.

    Returns:
        A zip file.

    Raises:
        InputError: the grader or version is unknown, or nothing is labelled.
    """
    # The transaction keeps other writers out, so that all files of the bundle show the same state.
    with project.transaction(act="publish", author=author) as cursor:
        packed: list[bytes] = []

        def pack_files(publication: Publication) -> None:
            files = _bundle_files(PastProject(project, cursor), publication, beside(project))
            sizes = {name: len(content) for name, content in sorted(files.items())}
            number = publication.manifest["publication"]
            log_action(
                cursor,
                author,
                _ACT,
                publication=number,
                files=sorted(files),
                sha256=_file_hashes(files),
                bytes=sizes,
            )
            packed.append(zip_bytes(files))
            deliver(packed[0])

        publish_qrels(project, policy, author, binary, note, pack_files, readiness)
    return packed[0]


_ACT = "export bundle"
_README = "README.txt"


def bundle_sizes(project: Project) -> dict[int, dict[str, int | None]]:
    """Return the sizes in bytes of all bundles' files, by file by publication. None if not
    recorded.
    """
    by_publication: dict[int, dict[str, int | None]] = {}
    for detail in _logged_bundles(project):
        if detail.get("publication") is not None:
            sizes = detail.get("bytes") or {}
            by_publication.setdefault(
                int(detail["publication"]),
                {name: sizes.get(name) for name in detail.get("files", ())},
            )
    return by_publication


def reproduce_bundle(
    project: Project,
    manifest: Manifest,
    author: str,
    beside: Beside = lambda _: {},
    deliver: Callable[[bytes], object] = lambda _: None,
) -> bytes:
    """Reproduce the bundle of a publication, independently of later changes in the project.

    Every file is the same to the byte, except that another version may word README.txt differently.

    Args:
        manifest: the manifest of the bundle.
        beside: the function that made the further files of the bundle.
        deliver: writes the zip file. If it fails, nothing is recorded.

    Returns:
        A zip file.

    Raises:
        InputError: the manifest is of another project, unknown here or changed; or the publication
            has no bundle, or one with a cascade, which only earlier versions can make; or the
            bundle has questions that are sealed now.
        ProjectError: the project no longer gives this bundle; the message names the files that
            differ.
    """
    publication = Publication(manifest, remake_qrels(project, manifest))
    number = manifest["publication"]
    recorded = next(
        (detail for detail in _logged_bundles(project) if detail.get("publication") == number), None
    )
    if recorded is None:
        raise InputError("not-a-bundle", f"Publication {number} has no bundle.", _QRELS_ONLY)
    hashes = recorded.get("sha256")
    if cascades := [name for name in hashes or () if name.startswith("cascade-")]:
        raise InputError(
            "bundle-with-cascade",
            f"The bundle of publication {number} has a cascade ({', '.join(cascades)}), which this"
            " version cannot reproduce.",
            _QRELS_ONLY,
        )
    with open_as_published(project, manifest) as then:
        refuse_sealed(
            project, sealed_questions(then), "bank.jsonl, bank.csv and overrides.csv of this bundle"
        )
        # Earlier versions put fewer files into a bundle.
        more = {
            name: file for name, file in beside(then).items() if hashes is None or name in hashes
        }
        files = _bundle_files(then, publication, more)
    now = _file_hashes(files)
    # Bundles written before hashes were recorded cannot be compared, but their qrels were compared
    # above. README.txt is left out because another version may word it differently.
    if differing := hashes and sorted(
        name for name in {*hashes, *now} - {_README} if hashes.get(name) != now.get(name)
    ):
        raise ProjectError(
            "bundle-differs",
            f"The bundle of publication {number} cannot be reproduced:"
            f" {', '.join(differing)} would differ.",
            f"A run may have been replaced since. {_QRELS_ONLY}",
        )
    packed = zip_bytes(files)
    deliver(packed)
    log_readonly_action(
        project, author, "reproduce qrels", publication=number, sha256=manifest["qrels"]["sha256"]
    )
    return packed


_QRELS_ONLY = "Reproduce only the qrels: exam export qrels --manifest FILE -o OUT"


def _logged_bundles(project: Project) -> Iterator[dict[str, Any]]:
    """Yield what the log says of the bundles, the oldest first."""
    visible = visible_rows(project, "activity")
    rows = project.rows(f"SELECT detail FROM {visible} WHERE act = ? ORDER BY activity_key", [_ACT])
    return (json.loads(text) for (text,) in rows)


def _file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}


def _bundle_files(
    project: Project, publication: Publication, more: Mapping[str, tuple[str, bytes]]
) -> dict[str, bytes]:
    manifest = publication.manifest
    policy = Policy(**manifest["policy"])
    version = manifest["bank"]["version"]
    files = {
        f"{manifest['project']['name']}.qrels": publication.qrels_bytes,
        "manifest.json": manifest_json(manifest).encode(),
        "bank.jsonl": bank_jsonl(project, version).encode(),
        "bank.csv": bank_csv(project, version).encode(),
        "overrides.csv": overrides_csv(project, version).encode(),
    }
    sentences: dict[str, str] = {}
    if ranking_scores(project):
        # Version 0.1.0 included the queries with ungraded pairs.
        older = manifest["software"]["version"] == "0.1.0"
        boards = [
            leaderboard(project, measure, "exam", policy, with_ungraded=older)
            for measure in BOARD_MEASURES
        ]
        files["leaderboard.tsv"] = _wide_tsv(boards).encode()
        files["leaderboard.tex"] = "\n".join(map(board_latex, boards)).encode()
        notes = (
            f"\n    {board.measure}: {board.ungraded_note}" for board in boards if board.ungraded
        )
        sentence = _WHAT["leaderboard.tsv"].format(measures=", ".join(BOARD_MEASURES))
        sentences["leaderboard.tsv"] = sentence + "".join(notes)
    files |= {name: content for name, (_, content) in more.items()}
    sentences |= {name: sentence for name, (sentence, _) in more.items()}
    return {**files, _README: _readme_text(publication, sorted(files), sentences).encode()}


def _readme_text(publication: Publication, names: list[str], sentences: Mapping[str, str]) -> str:
    manifest = publication.manifest
    sealed = manifest["bank"].get("sealed", {}).get("questions", 0)
    values = {
        "values": f"1 from rating {manifest['policy']['min_rating']}, else 0"
        if manifest["qrels"]["values"] == "binary"
        else "label",
        "version": manifest["bank"]["version"],
        "measures": ", ".join(BOARD_MEASURES),
        "sealed": (
            f"\n    Left out: {sealed} sealed questions, which are secret until they are opened."
        )
        if sealed
        else "",
    }
    head = [
        f"Qrels of {manifest['project']['name']}, published {manifest['published_at']} by"
        f" {manifest['published_by']}",
        f"with Exam Workbench {manifest['software']['version']}.",
        *([manifest["note"]] if manifest["note"] else []),
        "",
    ]
    descriptions = {name: sentence.format(**values) for name, sentence in _WHAT.items()}
    descriptions |= dict.fromkeys(
        (name for name in names if name.endswith(".qrels")), descriptions["qrels"]
    ) | dict(sentences)
    return "\n".join([*head, *(f"{name}\n    {descriptions[name]}" for name in names)]) + "\n"


def overrides_csv(project: Project, version: int | None = None) -> str:
    """Return the overrides that are not withdrawn, oldest first, as CSV; without those of sealed
    questions.

    Cells that could be formulas are neutralised.

    Args:
        version: the bank version that decides which overrides are stale; None for the newest.
    """
    header = (
        "query_id",
        "question_id",
        "question",
        "passage_id",
        "rating",
        "reason",
        "author",
        "made_at",
        "stale",
    )
    sealed = sealed_questions(project)
    rows = (
        (
            one.query_id,
            one.question_id,
            one.wording,
            one.passage_id,
            one.rating,
            one.reason,
            one.author,
        )
        + (one.made_at.isoformat(timespec="seconds"), str(one.stale).lower())
        for one in reversed(find_overrides(project, version=version))
        if one.question_id not in sealed
    )
    return csv_text(header, rows)


def _wide_tsv(boards: list[Leaderboard]) -> str:
    """Return leaderboards as one table that `read_boards` reads, in the order of the first."""
    header = [cell for board in boards for cell in (board.measure, f"{board.measure} std_error")]
    columns = [column for board in boards for column in (board.scores, board.std_errors)]
    rows = ((run, *(column.get(run) for column in columns)) for run in boards[0].scores)
    return tsv_text(("run", *header), rows)
