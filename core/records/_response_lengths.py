"""Words and passages per response of each system, so that readers notice long responses."""

from __future__ import annotations

from dataclasses import dataclass

from ..store import COLLECTION, Project


@dataclass(frozen=True)
class Length:
    """Means over the queries that a system answered.

    Args:
        words: mean number of words in the top k passages; a passage without a known text has 0 words.
        passages: mean number of these passages, at most k.
    """

    words: float
    passages: float


def lengths(project: Project, cutoff: int) -> dict[str, Length]:
    """Return the mean words and passages per query of each run down to a cutoff, by run.

    Words are separated by spaces and line ends. A split response counts the words of its original
    text, if it has no more passages than the cutoff.
    """

    def compute() -> dict[str, Length]:
        return {
            run: Length(words, passages)
            for run, words, passages in project.rows(
                "WITH top AS (SELECT run_key, query_key, text_key FROM rankings JOIN passages USING (passage_key)"
                "  WHERE rank <= ?),"
                " plain AS (SELECT text_key, translate(text, chr(9) || chr(10) || chr(13) || chr(160), '    ') AS text"
                "  FROM passage_texts SEMI JOIN top USING (text_key)),"
                " sizes AS (SELECT text_key, len(list_filter(string_split(text, ' '), lambda w: w <> '')) AS words"
                "  FROM plain),"
                " spent AS (SELECT run_key, query_key, coalesce(sum(words), 0) AS words, count(*) AS passages"
                "  FROM top LEFT JOIN sizes USING (text_key) GROUP BY ALL)"
                " SELECT name, avg(words), avg(passages) FROM spent JOIN runs USING (run_key)"
                " GROUP BY run_key, name ORDER BY run_key",
                [cutoff],
            )
        }

    return project.cached(("lengths", cutoff), compute, COLLECTION)
