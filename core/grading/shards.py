"""Shards of grades that the workers of a cluster wrote, taken in: what lies there is not asked again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import Report
from core.graders import Grader, Shard, ShardFolder, block_digest, read_shard
from core.grading.pairs import with_texts
from core.grading.replies import TakenIn, Taking
from core.project import Project
from core.types import GraderSpec

_HINT = "Nothing was taken in. Give shards of this grader and of this project."


@dataclass(frozen=True)
class FoundShards:
    """What became of the shards of a folder.

    Args:
        taken: what came of their grades.
        others: shards that are damaged, or about texts that this project does not have; they were passed over.
    """

    taken: TakenIn
    others: int


def take_in_shards(project: Project, grader: Grader, paths: Iterable[Path], author: str) -> TakenIn:
    """Take in shards of grades from files; any number of times, in any order, with the same result.

    Args:
        grader: the one that made them.
        paths: files that `core.graders.write_shard` made the content of.
        author: who takes them in.

    Raises:
        FileError: a file is no such shard, is of another grader, or about texts that this project does not have.
            Nothing was changed.
    """
    files = list(paths)
    report = Report()
    # Read twice: whether all of it can be used is known before any of it is.
    for path in files:
        shard = _usable(project, grader.spec, _content(path))
        if isinstance(shard, str):
            report.refuse(path.name, None, "unusable-shard", shard)
    report.raise_if_refused(_HINT)
    taking = Taking(project, grader, author)
    for path in files:
        shard = read_shard(_content(path) or b"")
        taking.take_outcomes(shard.outcomes, shard.usage)
    return taking.end()


def take_in_folder(project: Project, grader: Grader, folder: ShardFolder, author: str) -> FoundShards:
    """Take in the shards of a grader that lie in a folder, as the workers of a job left them that was killed.

    Raises:
        InputError: the folder cannot be read.
    """
    taking, others = Taking(project, grader, author), 0
    for name in folder.names(grader.spec.fingerprint):
        shard = _usable(project, grader.spec, folder.read(name))
        if isinstance(shard, str):
            others += 1
        else:
            taking.take_outcomes(shard.outcomes, shard.usage)
    return FoundShards(taking.end(), others)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _usable(project: Project, spec: GraderSpec, content: bytes | None) -> Shard | str:
    """A shard that can be taken in; why not where it cannot."""
    if content is None:
        return "it cannot be read"
    try:
        shard = read_shard(content)
    except ValueError as error:
        return str(error)
    if shard.fingerprint not in spec.fingerprints:
        return "it has grades of another grader"
    if any(grade.rating is not None and grade.rating > spec.max_rating for _, _, grade in shard.outcomes):
        return f"it has ratings above {spec.max_rating}, where the scale of this grader ends"
    if not _is_ours(project, spec, shard):
        return "its pairs are of texts that this project does not have"
    return shard


def _is_ours(project: Project, spec: GraderSpec, shard: Shard) -> bool:
    """Whether the keys of a shard's pairs are those of the texts that were graded."""
    pairs = [(question, passage) for question, passage, _ in shard.outcomes]
    texts = with_texts(project, spec, pairs)
    try:
        return block_digest(shard.fingerprint, texts.questions, texts.passages, pairs) == shard.block
    except KeyError:
        return False
