"""Facts about exam items beyond their questions in the bank: source passage, topic and origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import InputError, check_known
from ..store import Cursor, Project, log_action, stage_rows
from ..text import clean_text

Scheme = Literal["bloom", "question type"]
SCHEMES: tuple[Scheme, ...] = ("bloom", "question type")
"""Schemes of categories for items."""


@dataclass(frozen=True)
class ItemFacts:
    """Facts about an item in addition to its question; unknown facts are None.

    Args:
        source_passage_id: the passage from which the item was written; oracle examinees read it.
        topic: subject of the item, for accuracies by topic.
        raw: the model's unchanged reply.
        shuffle_seed: seed of the order of its choices; None if they are in the given order.
    """

    source_passage_id: str | None = None
    topic: str | None = None
    raw: str | None = None
    shuffle_seed: int | None = None


def item_facts(project: Project, query_id: str | None = None) -> dict[str, ItemFacts]:
    """Return the facts of every item with facts, by question id.

    Args:
        query_id: restricts the result to this query; None for all.
    """
    return {
        question_id: ItemFacts(*facts)
        for question_id, *facts in project.rows(
            "SELECT question_id, passage_id, topic, raw, shuffle_seed FROM items i"
            " JOIN questions USING (question_key) JOIN queries USING (query_key)"
            " LEFT JOIN passages p ON p.passage_key = i.source_passage_key"
            " WHERE $query_id::VARCHAR IS NULL OR query_id = $query_id",
            {"query_id": query_id},
        )
    }


def put_items(cursor: Cursor, facts: Mapping[str, ItemFacts]) -> int:
    """Store the facts of items, replacing earlier ones. The caller's transaction must log the
    change.

    Args:
        facts: facts by question id; the project must have these questions.

    Returns:
        The number of changed items.

    Raises:
        InputError: a passage is unknown.
    """
    types = {
        "question_id": "VARCHAR",
        "passage_id": "VARCHAR",
        "topic": "VARCHAR",
        "raw": "VARCHAR",
        "shuffle_seed": "BIGINT",
    }
    rows = [
        (
            key,
            one.source_passage_id,
            _clean_topic(one.topic),
            one.raw and clean_text(one.raw),
            one.shuffle_seed,
        )
        for key, one in facts.items()
    ]
    stage_rows(cursor, "incoming_items", rows, types)
    lost = cursor.execute(
        "SELECT passage_id FROM incoming_items ANTI JOIN passages USING (passage_id)"
        " WHERE passage_id IS NOT NULL"
    ).fetchall()
    if lost:
        raise InputError(
            "unknown-passage", f"Unknown passage '{lost[0][0]}'.", "Import the passage first."
        )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE other_items AS FROM"
        " (SELECT question_key, passage_key AS source_passage_key,"
        " topic, raw, shuffle_seed FROM incoming_items JOIN questions USING (question_id)"
        " LEFT JOIN passages USING (passage_id)) EXCEPT FROM items"
    )
    cursor.execute("DELETE FROM items WHERE question_key IN (SELECT question_key FROM other_items)")
    return int(
        cursor.execute("INSERT INTO items FROM other_items ORDER BY question_key").fetchall()[0][0]
    )


def set_item(
    project: Project,
    question_ids: Sequence[str],
    author: str,
    *,
    topic: str | None = None,
    source_passage_id: str | None = None,
) -> int:
    """Set the topic, the source passage or both of items; the log records the old and new values.

    Args:
        topic, source_passage_id: the value for all these items; None keeps the present value, an
            empty text removes it.

    Returns:
        The number of changed items.

    Raises:
        InputError: a question or passage is unknown.
    """
    new_facts = {"topic": topic, "source": source_passage_id}
    with project.transaction() as cursor:
        _check_known(cursor, question_ids)
        facts_before = item_facts(project)
        changed_facts = [name for name, value in new_facts.items() if value is not None]
        after = {}
        for key in dict.fromkeys(question_ids):
            old = facts_before.get(key, ItemFacts())
            new = ItemFacts(
                old.source_passage_id if source_passage_id is None else source_passage_id or None,
                old.topic if topic is None else _clean_topic(topic),
                old.raw,
                old.shuffle_seed,
            )
            if new != old:
                after[key] = new
                was = {"topic": old.topic, "source": old.source_passage_id}
                log_action(
                    cursor,
                    author,
                    "set item",
                    question=key,
                    what=changed_facts,
                    to=", ".join(
                        " ".join(str(new_facts[name]).split()) or "nothing"
                        for name in changed_facts
                    ),
                    before={name: was[name] for name in changed_facts},
                )
        return put_items(cursor, after)


def take_accepted(cursor: Cursor) -> None:
    """Store the facts of items from accepted proposals whose questions the bank now has."""
    cursor.execute(
        "INSERT INTO items SELECT question_key, any_value(passage_key), any_value(i.topic),"
        " any_value(raw),"
        " any_value(i.shuffle_seed) FROM proposed_items i JOIN proposals p USING (proposal_key)"
        " JOIN generations USING (generation_key) JOIN questions q ON q.question_id = i.question_id"
        " JOIN (SELECT DISTINCT question_key FROM question_revisions) USING (question_key)"
        " ANTI JOIN items USING (question_key) WHERE p.state = 'accepted' GROUP BY question_key"
        " ORDER BY question_key"
    )


def item_categories(project: Project, scheme: Scheme) -> dict[str, tuple[str, ...]]:
    """Return the categories that people set, by question id. They replace the computed ones."""
    return {
        question_id: tuple(categories)
        for question_id, categories in project.rows(
            "SELECT question_id, categories FROM item_categories JOIN questions"
            " USING (question_key) WHERE scheme = ?",
            [scheme],
        )
    }


def set_categories(
    project: Project,
    question_ids: Sequence[str],
    scheme: Scheme,
    categories: Sequence[str] | None,
    author: str,
) -> None:
    """Set the categories of items, which replace the computed categories.

    Args:
        categories: the categories of each of these items; None restores the computed categories.

    Raises:
        InputError: the scheme or a question is unknown, or the list of categories is empty.
    """
    check_known("unknown-category-scheme", "category scheme", SCHEMES, scheme)
    named = (
        None
        if categories is None
        else list(dict.fromkeys(filter(None, (one.strip() for one in categories))))
    )
    if named is not None and not named:
        raise InputError(
            "no-category", "No category given.", "Give a category, or restore the computed ones."
        )
    with project.transaction() as cursor:
        _check_known(cursor, question_ids)
        for key in dict.fromkeys(question_ids):
            cursor.execute(
                "DELETE FROM item_categories WHERE scheme = ? AND question_key ="
                " (SELECT question_key FROM questions WHERE question_id = ?)",
                [scheme, key],
            )
            if named is not None:
                cursor.execute(
                    "INSERT INTO item_categories SELECT question_key, ?, ?, ?, now()::TIMESTAMP"
                    " FROM questions WHERE question_id = ?",
                    [scheme, [clean_text(name) for name in named], author, key],
                )
            to = "the computed ones" if named is None else ", ".join(named)
            log_action(
                cursor,
                author,
                "set item",
                question=key,
                what=[f"the categories by {scheme}"],
                to=to,
            )


def _check_known(cursor: Cursor, question_ids: Sequence[str]) -> None:
    for key in question_ids:
        if not cursor.execute("SELECT 1 FROM questions WHERE question_id = ?", [key]).fetchall():
            raise InputError("unknown-item", f"Unknown item '{key}'.", "See exam items list.")


def _clean_topic(topic: str | None) -> str | None:
    return " ".join(clean_text(topic).split()) or None if topic is not None else None
