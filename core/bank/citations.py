"""The sentences of generated responses and the passages that they cite, as relations."""

from __future__ import annotations

from ..types import GraderSpec

SENTENCES = (
    "(SELECT run_key, name AS run, query_key, rank, passage_key, position, text_key, citations,"
    " substring(text, begins + 1, ends - begins) AS sentence"
    " FROM responses JOIN runs USING (run_key) JOIN rankings USING (run_key, query_key)"
    " JOIN passages USING (passage_key) JOIN passage_texts USING (text_key)"
    " JOIN response_sentences USING (passage_key))"
)
"""SQL for the sentences of all responses. text_key is the text key of the response's passage with the sentence."""

CITED = (
    "(SELECT c.*, s.text_key AS sentence_key, p.text_key AS cited_key,"
    " p.passage_key AS cited_passage FROM"
    f" (SELECT * EXCLUDE (citations), unnest(citations) AS cited_id, generate_subscripts(citations, 1) AS place"
    f"  FROM {SENTENCES}) c"
    " LEFT JOIN passages p ON p.passage_id = cited_id LEFT JOIN question_texts s ON s.text = sentence)"
)
"""SQL for all citations of all sentences; place is the position of the citation in its sentence, from 1.

sentence_key is the key of the sentence among the texts for graders; it is NULL if no grader was asked yet.
An unresolved citation, whose text the project does not have, has the cited_key NULL.
"""


def asked_pool(spec: GraderSpec) -> str:
    """Return SQL for the passages that a grader grades: query_key, passage_key, text_key, position."""
    cited = f"(SELECT query_key, cited_passage AS passage_key, cited_key AS text_key, position FROM {CITED})"
    return cited if spec.rates_citations else "pool"
