"""Bundles: published qrels in one zip with their manifest and everything that a reader needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from ..errors import InputError, ProjectError
from ..labels import Policy, overrides
from ..leaderboard import Leaderboard, leaderboard
from ..project import Project, log, rankings, visible
from ..project import record as record_act
from ..tables import csv_text, disarmed
from .exporting import bank_csv, bank_jsonl, board_latex
from .publication import Manifest, Publication, as_published, manifest_json, publish, remade
from .zipping import zipped

BOARD_MEASURES = ("EXAM-Cover", "nDCG@10", "nDCG@20", "AP", "Rprec", "RR", "P@20")
"""Measures of the leaderboard in a bundle. The first one orders it."""

_WHAT = {
    "qrels": "Labels in the four columns of trec_eval: query, 0, passage, {values}.\n"
    "    Passages without a label are left out; manifest.json has the counts.",
    "manifest.json": "How the qrels were made: bank version, grader, scoring settings, counts, and their SHA-256.\n"
    "    Reproduce the qrels: exam export qrels --manifest manifest.json -o FILE\n"
    "    Reproduce this bundle: exam export bundle --manifest manifest.json -o FILE",
    "bank.jsonl": "Version {version} of the question bank, one question per line.",
    "bank.csv": "The question bank for spreadsheets.",
    "leaderboard.tsv": "Leaderboards by {measures}, with standard errors.",
    "leaderboard.tex": "The leaderboards as LaTeX tables, one per measure.",
    "overrides.csv": "Assessors' ratings that replace the grader's, with reasons. If `stale` is true, the question\n"
    "    in bank version {version} has another wording than the rated question.",
}


Beside = Callable[[Project], Mapping[str, tuple[str, bytes]]]
"""Returns further files for a bundle: by file name, a sentence of description and the content. The files may depend
only on data that a publication keeps (`exchange.published`). Otherwise the bundle could not be reproduced."""


def bundle(
    project: Project,
    policy: Policy,
    author: str,
    binary: bool = False,
    note: str = "",
    beside: Beside = lambda _: {},
    deliver: Callable[[bytes], object] = lambda _: None,
) -> bytes:
    """Publish the qrels of a policy and pack them with their manifest, the bank, leaderboards and overrides.

    Args:
        beside: makes further files for the bundle.
        deliver: writes the zip file.
        The others: as for `exchange.publish`.

    Returns:
        A zip file.

    Raises:
        InputError: the grader or version is unknown, or nothing is labelled.
    """
    # The transaction keeps other writers out, so that everything in the bundle is of one moment.
    with project.transaction(act="publish", author=author) as cursor:
        packed: list[bytes] = []

        def pack(publication: Publication) -> None:
            files = _files(project, publication, beside(project))
            hashes = _hashes(files)
            sizes = {name: len(content) for name, content in sorted(files.items())}
            number = publication.manifest["publication"]
            log(cursor, author, _ACT, publication=number, files=sorted(files), sha256=hashes, bytes=sizes)
            packed.append(zipped(files))
            deliver(packed[0])

        publish(project, policy, author, binary, note, pack)
    return packed[0]


_ACT = "export bundle"
_README = "README.txt"


def bundled(project: Project) -> dict[int, dict[str, int | None]]:
    """Return the sizes in bytes of all bundles' files, by file by publication. None if not recorded."""
    found: dict[int, dict[str, int | None]] = {}
    for (text,) in project.rows(_MADE.format(visible(project, "activity")), [_ACT]):
        detail = json.loads(text)
        if detail.get("publication") is not None:
            sizes = detail.get("bytes") or {}
            found.setdefault(int(detail["publication"]), {name: sizes.get(name) for name in detail.get("files", ())})
    return found


def bundle_again(
    project: Project,
    manifest: Manifest,
    author: str,
    beside: Beside = lambda _: {},
    deliver: Callable[[bytes], object] = lambda _: None,
) -> bytes:
    """Reproduce the bundle of a publication, independently of later changes in the project.

    Every file is the same to the byte, except that another version may word README.txt differently.

    Args:
        manifest: that of the bundle.
        beside: as when the bundle was made.
        deliver: writes the zip file. If it fails, nothing is recorded.

    Returns:
        A zip file.

    Raises:
        InputError: the manifest is of another project, unknown here or changed; or the publication has no bundle, or
            one with a cascade, which only earlier versions can make.
        ProjectError: the project no longer gives this bundle; the message names the files that differ.
    """
    publication = Publication(manifest, remade(project, manifest))
    number = manifest["publication"]
    acts = (json.loads(text) for (text,) in project.rows(_MADE.format(visible(project, "activity")), [_ACT]))
    recorded = next((detail for detail in acts if detail.get("publication") == number), None)
    if recorded is None:
        raise InputError("not-a-bundle", f"Publication {number} has no bundle.", _QRELS_ONLY)
    known = recorded.get("sha256")
    if cascades := [name for name in known or () if name.startswith("cascade-")]:
        raise InputError(
            "bundle-with-cascade",
            f"The bundle of publication {number} has a cascade ({', '.join(cascades)}), which this version cannot"
            " reproduce.",
            _QRELS_ONLY,
        )
    with as_published(project, manifest) as then:
        # Earlier versions put fewer files into a bundle.
        more = {name: file for name, file in beside(then).items() if known is None or name in known}
        files = _files(then, publication, more)
    now = _hashes(files)
    # Bundles from before hashes were recorded cannot be compared, but their qrels were compared above. README.txt is
    # left out because another version may word it differently.
    if differing := known and sorted(name for name in {*known, *now} - {_README} if known.get(name) != now.get(name)):
        raise ProjectError(
            "bundle-differs",
            f"The bundle of publication {number} cannot be reproduced: {', '.join(differing)} would differ.",
            f"A run may have been replaced since. {_QRELS_ONLY}",
        )
    packed = zipped(files)
    deliver(packed)
    record_act(project, author, "reproduce qrels", publication=number, sha256=manifest["qrels"]["sha256"])
    return packed


_QRELS_ONLY = "Reproduce only the qrels: exam export qrels --manifest FILE -o OUT"
_MADE = "SELECT detail FROM {} WHERE act = ? ORDER BY activity_key"


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}


def _files(project: Project, publication: Publication, more: Mapping[str, tuple[str, bytes]]) -> dict[str, bytes]:
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
    if rankings(project):
        # Version 0.1.0 included the queries with ungraded pairs.
        older = manifest["software"]["version"] == "0.1.0"
        boards = [leaderboard(project, measure, "exam", policy, with_ungraded=older) for measure in BOARD_MEASURES]
        files["leaderboard.tsv"] = _wide_tsv(boards).encode()
        files["leaderboard.tex"] = "\n".join(map(board_latex, boards)).encode()
        notes = (f"\n    {board.measure}: {board.says_ungraded}" for board in boards if board.ungraded)
        sentence = _WHAT["leaderboard.tsv"].format(measures=", ".join(BOARD_MEASURES))
        sentences["leaderboard.tsv"] = sentence + "".join(notes)
    files |= {name: content for name, (_, content) in more.items()}
    sentences |= {name: sentence for name, (sentence, _) in more.items()}
    return {**files, _README: _readme(publication, sorted(files), sentences).encode()}


def _readme(publication: Publication, names: list[str], sentences: Mapping[str, str]) -> str:
    manifest = publication.manifest
    values = {
        "values": f"1 from rating {manifest['policy']['min_rating']}, else 0"
        if manifest["qrels"]["values"] == "binary"
        else "label",
        "version": manifest["bank"]["version"],
        "measures": ", ".join(BOARD_MEASURES),
    }
    lines = [
        f"Qrels of {manifest['project']['name']}, published {manifest['published_at']} by {manifest['published_by']}",
        f"with Exam Workbench {manifest['software']['version']}.",
        *([manifest["note"]] if manifest["note"] else []),
        "",
    ]
    known = {name: sentence.format(**values) for name, sentence in _WHAT.items()}
    for name in names:
        sentence = sentences.get(name) or known["qrels" if name.endswith(".qrels") else name]
        lines.append(f"{name}\n    {sentence}")
    return "\n".join(lines) + "\n"


def overrides_csv(project: Project, version: int | None = None) -> str:
    """Return the overrides that are not withdrawn, oldest first, as CSV. Cells that could be formulas are neutralised.

    Args:
        version: the bank version that decides which overrides are stale; None for the newest.
    """
    header = ("query_id", "question_id", "question", "passage_id", "rating", "reason", "author", "made_at", "stale")
    rows = (
        (one.query_id, one.question_id, one.wording, one.passage_id, one.rating, one.reason, one.author)
        + (one.made_at.isoformat(timespec="seconds"), str(one.stale).lower())
        for one in reversed(overrides(project, version=version))
    )
    return csv_text(header, rows)


def _wide_tsv(boards: list[Leaderboard]) -> str:
    """Return several leaderboards as one table that `formats.leaderboards` reads, in the order of the first."""
    header = [cell for board in boards for cell in (board.measure, f"{board.measure} std_error")]
    lines = ["\t".join(("run", *map(disarmed, header)))]
    for run in boards[0].scores:
        numbers = [value for board in boards for value in (board.scores.get(run), board.std_errors.get(run))]
        cells = ["" if value is None else repr(value) for value in numbers]
        lines.append("\t".join((disarmed(" ".join(run.split())), *cells)))
    return "\n".join(lines) + "\n"
