"""Stored vectors of questions and passages, so that only new or reworded texts are encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graders import Kept
from ..store import Cursor, Project, stage

_COLUMNS = {"encoder": "VARCHAR", "role": "VARCHAR", "digest": "BLOB", "vector": "BLOB", "sentences": "BLOB"}


@dataclass(eq=False)
class ProjectVectors:
    """The vector store of a project, for one job.

    Args:
        project: the thread that runs the job writes to it.
    """

    project: Project
    _known: dict[tuple[str, str], set[bytes]] = field(default_factory=dict, init=False)

    def get(self, encoder: str, role: str, digests: Sequence[bytes]) -> dict[bytes, Kept]:
        """Return the stored vectors by digest; see `VectorStore`."""
        wanted = [digest for digest in digests if digest in self._digests(encoder, role)]
        if not wanted:
            return {}
        rows = self.project.rows(
            "SELECT digest, vector, sentences FROM text_vectors JOIN (SELECT unnest($digests) AS digest) USING (digest)"
            " WHERE encoder = $encoder AND role = $role",
            {"encoder": encoder, "role": role, "digests": wanted},
        )
        return {digest: Kept(vector, sentences) for digest, vector, sentences in rows}

    def put(self, encoder: str, role: str, kept: Mapping[bytes, Kept]) -> None:
        """Store vectors that are not stored yet; see `VectorStore`."""
        known = self._digests(encoder, role)
        new = [
            (encoder, role, digest, one.vector, one.sentences) for digest, one in kept.items() if digest not in known
        ]
        if not new:
            return

        def write(cursor: Cursor) -> None:
            stage(cursor, "new_vectors", dict(zip(_COLUMNS, map(list, zip(*new, strict=True)), strict=True)), _COLUMNS)
            cursor.execute(
                "INSERT INTO text_vectors FROM new_vectors ANTI JOIN text_vectors USING (encoder, role, digest)"
            )

        self.project.write(write)
        known.update(digest for _, _, digest, _, _ in new)

    def _digests(self, encoder: str, role: str) -> set[bytes]:
        """Return the digests of all stored vectors. They are read once, because a first job has mostly new texts."""
        if (encoder, role) not in self._known:
            rows = self.project.rows("SELECT digest FROM text_vectors WHERE encoder = ? AND role = ?", [encoder, role])
            self._known[encoder, role] = {digest for (digest,) in rows}
        return self._known[encoder, role]


@dataclass(frozen=True)
class VectorCount:
    """Number of texts of a role with vectors of an encoder, and their size in bytes."""

    encoder: str
    role: str
    texts: int
    size: int


def count_vectors(project: Project) -> list[VectorCount]:
    """Return the numbers of stored vectors, by encoder and role."""
    return [
        VectorCount(*row)
        for row in project.rows(
            "SELECT encoder, role, count(*), sum(octet_length(vector) + octet_length(sentences))::BIGINT"
            " FROM text_vectors GROUP BY ALL ORDER BY ALL"
        )
    ]


def drop_vectors(project: Project) -> int:
    """Delete all vectors; grading computes them again. Return the number of deleted vectors."""
    with project.transaction() as cursor:
        return int(cursor.execute("DELETE FROM text_vectors").fetchall()[0][0])
