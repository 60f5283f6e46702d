"""People's values of citation support, which replace the grader's ratings: how far a passage supports a sentence."""

from __future__ import annotations

from ..bank import question_text_key
from ..errors import InputError
from ..store import Project, as_name, log
from ..text import clean_text

SUPPORT = {0: "no support", 1: "partial support", 2: "full support"}
"""The scale, in words."""


def set_support(
    project: Project, passage_id: str, position: int, cited_id: str, value: int | None, author: str, reason: str = ""
) -> None:
    """Set a person's value for a citation, or withdraw it. It counts for every sentence and passage of the same texts.

    Args:
        passage_id: the passage of the response with the sentence.
        position: position of the sentence in this passage, from 1.
        cited_id: a passage that the sentence cites.
        value: a key of `SUPPORT`; None withdraws the person's value.

    Raises:
        InputError: the value is out of range, the citation is unknown or its text is missing, or the person has no
            value to withdraw.
    """
    if value is not None and value not in SUPPORT:
        raise InputError("value-out-of-range", f"Value {value} is out of range.", "Use 0, 1 or 2.")
    found = project.rows(
        "SELECT query_id, sentence, cited_key, s.value FROM cited JOIN passages USING (passage_key)"
        " JOIN queries USING (query_key) LEFT JOIN personal_support s ON s.question_text_key = sentence_key"
        " AND s.passage_text_key = cited_key AND s.author = $author"
        " WHERE passage_id = $passage AND position = $position AND cited_id = $cited",
        {"passage": passage_id, "position": position, "cited": cited_id, "author": as_name(author)},
    )
    if not found:
        raise InputError(
            "unknown-citation",
            f"Sentence {position} of '{passage_id}' does not cite '{cited_id}'.",
            "See exam support list.",
        )
    query_id, sentence, cited_key, known = found[0]
    if cited_key is None:
        raise InputError("no-text", f"Passage '{cited_id}' has no text.", "Import texts: exam import passages.")
    if value is None and known is None:
        raise InputError("no-value-to-remove", f"You have no value for '{cited_id}'.", "See exam support list.")
    with project.transaction(act="override ratings", queries=[query_id], author=author) as cursor:
        cursor.execute(
            "INSERT INTO support_values VALUES (nextval('keys'), ?, ?, ?, ?, ?, now()::TIMESTAMP)",
            [question_text_key(cursor, sentence), cited_key, value, clean_text(reason).strip(), as_name(author)],
        )
        act = "remove support" if value is None else "set support"
        log(cursor, author, act, query=query_id, passage=passage_id, sentence=position, cited=cited_id, value=value)
