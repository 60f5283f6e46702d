"""The passages that a grader is asked about; graders of citations are asked about cited passages."""

from __future__ import annotations

from ..types import GraderSpec

CITING = (
    "(SELECT query_key, passage_key, position, sentence, s.text_key AS whole_key,"
    " coalesce(t.text_key, -dense_rank() OVER (ORDER BY sentence)) AS text_key"
    " FROM sentences s LEFT JOIN passage_texts t ON t.text = sentence WHERE len(citations) > 0)"
)
"""SQL for the sentences with citations, as passages. text_key is negative if no grader was asked about the sentence.

whole_key is the text key of the response's passage with the sentence.
"""


def asked_pool(spec: GraderSpec) -> str:
    """Return SQL for the passages that a grader may grade: query_key, passage_key, text_key, position."""
    if spec.rates_citations:
        return "(SELECT query_key, cited_passage AS passage_key, cited_key AS text_key, position FROM cited)"
    columns = "SELECT query_key, passage_key, text_key, position FROM"
    return f"({columns} pool UNION ALL {columns} {CITING})"
