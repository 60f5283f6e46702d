"""Proposals: questions, nuggets, answer keys and items drafted by a model, waiting for a person's
decision.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from ..errors import InputError, check_not_empty
from ..records import hidden_questions
from ..store import Cursor, Project
from ..types import Question
from ._drafts import list_drafts, new_question, put_drafts
from ._questions import list_questions, queries_awaiting_own, readable_questions

Drafted = Literal["question", "nugget", "answer key", "item", "rewording"]
State = Literal["open", "accepted", "rejected"]
STATES: tuple[State, ...] = ("open", "accepted", "rejected")
OF_QUESTION = ("answer key", "rewording")
"""Kinds of drafts that change a question."""


@dataclass(frozen=True)
class DraftedItem:
    """Facts about a drafted item in addition to its question's text.

    Args:
        question_id: id of its future question.
        choices: in the order in which they are shown.
        answer_key: text of the right choice.
        shuffle_seed: seed of the order of the choices; None if they are in the given order.
    """

    question_id: str
    choices: tuple[str, ...]
    answer_key: str
    topic: str | None = None
    shuffle_seed: int | None = None


@dataclass(frozen=True)
class Generation:
    """Reply of a model to one request.

    Args:
        kind: kind of the requested drafts.
        texts: drafts that were read from the reply, cleaned with `clean_line`; empty for an
            unusable reply.
        raw: the unchanged reply.
        reason: why the reply is unusable; None for a usable reply.
        question_id: the question of a drafted answer key or rewording.
        passage_id: the passage from which an answer key or item was drafted.
        item: the other parts of a drafted item; the text of its question is the only entry of
            `texts`.
    """

    kind: Drafted
    query_id: str
    model: str
    prompt: str
    prompt_hash: str
    texts: tuple[str, ...]
    raw: str
    reason: str | None = None
    subtopic_id: str | None = None
    question_id: str | None = None
    passage_id: str | None = None
    item: DraftedItem | None = None


@dataclass(frozen=True)
class Proposal:
    """A draft of a model, with its origin and its decision.

    Args:
        text: a person's wording, or else the model's wording.
        original: the model's wording.
        question_id: the question of an answer key or rewording, or the question made from the
            proposal; None before it was made.
        edited_by: author of a person's wording; None for the model's wording.
        decided_by, decided_at: who accepted, rejected or reopened the proposal, and when; None
            before a decision.
        item: choices, answer key and other facts of an item.
    """

    key: int
    kind: Drafted
    query_id: str
    text: str
    original: str
    state: State
    subtopic_id: str | None
    question_id: str | None
    passage_id: str | None
    model: str
    prompt: str
    prompt_hash: str
    asked_by: str
    asked_at: datetime
    edited_by: str | None
    decided_by: str | None
    decided_at: datetime | None
    item: DraftedItem | None = None

    @property
    def came_from(self) -> str:
        """Model, prompt and date in one line."""
        return f"{self.model} · {self.prompt} · {self.asked_at:%Y-%m-%d}"


@dataclass(frozen=True)
class EmptyGeneration:
    """A request without a usable reply."""

    query_id: str
    subtopic_id: str | None
    kind: Drafted
    model: str
    prompt: str
    reason: str
    raw: str
    asked_at: datetime


def add_generations(cursor: Cursor, generations: Sequence[Generation], author: str) -> list[int]:
    """Store replies of a model; every draft in them becomes an open proposal.

    Args:
        author: the person who asked the model.

    Returns:
        The keys of the proposals, in order.

    Raises:
        InputError: an unknown query or passage.
    """
    return [
        key for generation in generations for key in _add_generation(cursor, generation, author)
    ]


def _add_generation(cursor: Cursor, drafted: Generation, author: str) -> list[int]:
    query = _find_key(cursor, "query", drafted.query_id)
    passage = (
        None if drafted.passage_id is None else _find_key(cursor, "passage", drafted.passage_id)
    )
    raw = drafted.raw.encode(errors="replace").decode()
    ((generation,),) = cursor.execute(
        "INSERT INTO generations"
        " VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
        " RETURNING generation_key",
        [drafted.kind, query, drafted.subtopic_id, drafted.question_id, passage]
        + [drafted.model, drafted.prompt, drafted.prompt_hash, raw, drafted.reason, author],
    ).fetchall()
    keys = [
        cursor.execute(
            "INSERT INTO proposals (proposal_key, generation_key, text, state)"
            " VALUES (nextval('keys'), ?, ?, 'open') RETURNING proposal_key",
            [generation, text],
        ).fetchall()[0][0]
        for text in drafted.texts
    ]
    if (item := drafted.item) is not None:
        choices = json.dumps(item.choices, ensure_ascii=False)
        for key in keys:
            cursor.execute(
                "INSERT INTO proposed_items VALUES (?, ?, ?, ?, ?, ?)",
                [key, item.question_id, choices, item.answer_key, item.topic, item.shuffle_seed],
            )
    return keys


def _find_key(cursor: Cursor, what: Literal["query", "passage"], name: str) -> int:
    table = {"query": "queries", "passage": "passages"}[what]
    rows = cursor.execute(f"SELECT {what}_key FROM {table} WHERE {what}_id = ?", [name]).fetchall()
    if not rows:
        raise InputError(
            f"unknown-{what}", f"Unknown {what} '{name}'.", f"Import the {what} first."
        )
    return int(rows[0][0])


def clean_line(text: str) -> str:
    """Return a model's text on one line, without control characters and lone surrogates."""
    kept = (c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cs"))
    return " ".join("".join(kept).split())


_COLUMNS = (
    "proposal_key, kind, query_id, coalesce(edited, p.text), p.text, state, subtopic_id,"
    " coalesce(p.question_id, g.question_id), passage_id, model, prompt, prompt_hash, g.author,"
    " asked_at, edited_by,"
    " decided_by, decided_at, i.question_id, i.choices, i.answer_key, i.topic, i.shuffle_seed"
)


def list_proposals(
    project: Project,
    query_id: str | None = None,
    states: Sequence[State] = ("open",),
    keys: Sequence[int] | None = None,
) -> list[Proposal]:
    """Return proposals by query, in the order of their creation, without those behind hidden
    questions.

    Args:
        query_id: restricts the result to this query; None for all.
        states: restricts the result to these states.
        keys: restricts the result to these keys; None for all.
    """
    hidden = hidden_questions(project)
    proposals = [
        _read_proposal(row)
        for row in project.rows(
            f"SELECT {_COLUMNS} FROM proposals p JOIN generations g USING (generation_key)"
            " JOIN queries q USING (query_key) LEFT JOIN passages USING (passage_key)"
            " LEFT JOIN proposed_items i USING (proposal_key)"
            " WHERE ($query IS NULL OR query_id = $query) AND list_contains($states, state)"
            " AND ($keys IS NULL OR list_contains($keys::BIGINT[], proposal_key))"
            " ORDER BY query_key, proposal_key",
            {
                "query": query_id,
                "states": list(states),
                "keys": None if keys is None else list(keys),
            },
        )
    ]
    return [proposal for proposal in proposals if proposal.question_id not in hidden]


def _read_proposal(row: tuple[Any, ...]) -> Proposal:
    *values, question_id, choices, answer_key, topic, seed = row
    item = (
        None
        if choices is None
        else DraftedItem(question_id, tuple(json.loads(choices)), answer_key, topic, seed)
    )
    return Proposal(*[*values, item])


def empty_generations(project: Project, query_id: str) -> list[EmptyGeneration]:
    """Return the requests for a query without a usable reply, the latest first."""
    return [
        EmptyGeneration(*row)
        for row in project.rows(
            "SELECT query_id, subtopic_id, kind, model, prompt, reason, raw, asked_at"
            " FROM generations"
            " JOIN queries USING (query_key) WHERE query_id = ? AND reason IS NOT NULL"
            " ORDER BY generation_key DESC",
            [query_id],
        )
    ]


def edit_proposal(project: Project, key: int, text: str, author: str) -> None:
    """Reword an open proposal. The model's wording is kept, and counts as such again if a person
    enters the same words.

    Raises:
        InputError: the text is empty, or no open proposal has this key.
    """
    text = check_not_empty(
        "empty-proposal",
        "The proposal has no text.",
        "Write the text, or reject the proposal.",
        clean_line(text),
    )
    with project.transaction(
        act="edit questions", queries=lambda: _proposal_queries(project, [key]), author=author
    ) as cursor:
        (proposal,) = _in_state(project, [key], ("open",))
        edited = None if text == proposal.original else text
        cursor.execute(
            "UPDATE proposals SET edited = $text, edited_by = CASE WHEN $text IS NULL THEN NULL"
            " ELSE $author END,"
            " edited_at = CASE WHEN $text IS NULL THEN NULL ELSE now()::TIMESTAMP END"
            " WHERE proposal_key = $key",
            {"text": edited, "author": author, "key": key},
        )


def accept_proposals(project: Project, keys: Sequence[int], author: str) -> list[Question]:
    """Accept proposals into the person's drafts, as one step that can be undone. Saving adds them
    to the bank.

    A question, nugget or item becomes a new question. An answer key or rewording changes its
    question. The note of each question names the model and prompt of the proposal.

    Returns:
        The drafted questions.

    Raises:
        InputError: a proposal is not open, the question of an answer key or rewording is missing,
            or two belong to one question.
    """
    with project.transaction(
        act="edit questions", queries=lambda: _proposal_queries(project, keys), author=author
    ) as cursor:
        chosen = _in_state(project, keys, ("open",))
        keyed = [proposal.question_id for proposal in chosen if proposal.kind in OF_QUESTION]
        if len(set(keyed)) < len(keyed):
            raise InputError(
                "two-keys-for-a-question",
                "Two proposals change the same question.",
                "Accept only one of them.",
            )
        drafts = [_as_question(project, author, proposal) for proposal in chosen]
        # The drafts are committed first, in a transaction of their own. If the process dies between
        # the two commits, nothing is lost: the proposal is still open and marked as a repeat of the
        # draft.
        put_drafts(project, author, drafts)
        for proposal, question in zip(chosen, drafts, strict=True):
            _decide_proposal(cursor, proposal.key, "accepted", author, question.question_id)
    return drafts


def reject_proposals(project: Project, keys: Sequence[int], author: str) -> None:
    """Reject proposals. They are kept, so that the same wording is recognized later.

    Raises:
        InputError: no open proposal has one of these keys.
    """
    _decide_all(project, keys, ("open",), "rejected", author)


def reopen_proposals(project: Project, keys: Sequence[int], author: str) -> None:
    """Reopen accepted or rejected proposals. Drafts made from them stay.

    Raises:
        InputError: no decided proposal has one of these keys.
    """
    _decide_all(project, keys, ("accepted", "rejected"), "open", author)


def _decide_all(
    project: Project, keys: Sequence[int], states: tuple[State, ...], state: State, author: str
) -> None:
    with project.transaction(
        act="edit questions", queries=lambda: _proposal_queries(project, keys), author=author
    ) as cursor:
        for proposal in _in_state(project, keys, states):
            _decide_proposal(cursor, proposal.key, state, author, None)


def _decide_proposal(
    cursor: Cursor, key: int, state: State, author: str, question_id: str | None
) -> None:
    cursor.execute(
        "UPDATE proposals SET state = ?, decided_by = ?, decided_at = now()::TIMESTAMP,"
        " question_id = ? WHERE proposal_key = ?",
        [state, author, question_id, key],
    )


def _proposal_queries(project: Project, keys: Sequence[int]) -> set[str]:
    return {proposal.query_id for proposal in list_proposals(project, states=STATES, keys=keys)}


def _in_state(project: Project, keys: Sequence[int], states: tuple[State, ...]) -> list[Proposal]:
    """Return the proposals with these keys in the given order; refuse keys whose proposal is not in
    these states.
    """
    by_key = {
        proposal.key: proposal for proposal in list_proposals(project, states=STATES, keys=keys)
    }
    for key in keys:
        if key not in by_key:
            raise InputError(
                "unknown-proposal", f"Unknown proposal {key}.", "See exam proposals list."
            )
        if by_key[key].state not in states:
            now = by_key[key]
            said = f" by {now.decided_by}" if now.decided_by else ""
            raise InputError(
                "proposal-closed",
                f"Proposal {key} was already {now.state}{said}.",
                "Choose an open proposal.",
            )
    return [by_key[key] for key in dict.fromkeys(keys)]


def _as_question(project: Project, author: str, proposal: Proposal) -> Question:
    note = proposal_origin(proposal)
    if proposal.kind == "item" and (item := proposal.item) is not None:
        return Question(
            item.question_id,
            proposal.query_id,
            proposal.text,
            "choice",
            answer_key=item.answer_key,
            choices=item.choices,
            note=note,
        )
    if proposal.kind in ("question", "nugget"):
        new = new_question(proposal.query_id, proposal.text, proposal.subtopic_id)
        return replace(new, kind="nugget" if proposal.kind == "nugget" else "question", note=note)
    question = find_question(project, author, str(proposal.question_id))
    noted = f"{question.note}; {note}" if question.note else note
    changed = {"answer_key" if proposal.kind == "answer key" else "text": proposal.text}
    return replace(question, **changed, note=noted)  # type: ignore[arg-type]


def proposal_origin(proposal: Proposal) -> str:
    """Return the origin of a proposal, as a note for its question."""
    what = f"{proposal.kind} drafted" if proposal.kind in OF_QUESTION else "drafted"
    note = f"{what} by {proposal.model}, prompt {proposal.prompt} ({proposal.prompt_hash[:8]})"
    note += f", from passage {proposal.passage_id}" if proposal.passage_id else ""
    note += f", asked by {proposal.asked_by} on {proposal.asked_at:%Y-%m-%d}"
    return note + (
        f"; reworded by {proposal.edited_by} from: {proposal.original}"
        if proposal.edited_by
        else ""
    )


def find_question(project: Project, author: str, question_id: str) -> Question:
    """Return a question from a person's drafts, or else from the newest bank version.

    Raises:
        InputError: the question is in neither.
    """
    draft = list_drafts(project, author).get(question_id)
    question = (
        draft.question
        if draft
        else next(
            (
                q
                for q in readable_questions(project, list_questions(project))
                if q.question_id == question_id
            ),
            None,
        )
    )
    if question is None:
        raise InputError(
            "unknown-question",
            f"Unknown question '{question_id}'.",
            "It may have been an unsaved question that was discarded.",
        )
    return question


def proposed_wordings(project: Project, question_id: str, author: str) -> list[str]:
    """Return the open proposals of new wordings of a question that a person may see, in the order
    of their creation.
    """
    hidden = queries_awaiting_own(project, author)
    return [
        one.text
        for one in list_proposals(project)
        if (one.kind, one.question_id) == ("rewording", question_id) and one.query_id not in hidden
    ]
