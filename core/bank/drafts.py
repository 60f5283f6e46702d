"""Drafts: what a person has changed in the bank and not saved, kept in the project at every step."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from ..errors import InputError
from ..project import Cursor, Project, log
from ..text import clean_text, how_many
from ..types import Question
from . import draft_notes
from .items import take_accepted
from .questions import history, latest_version
from .questions import questions as bank_questions
from .saving import check_ids, check_weight, clean_questions, is_wordless, save_questions

DRAFTS = "draft"
"""In the names of the tables that drafts are in: an edit leaves known whatever does not ask about drafts."""


@dataclass(frozen=True)
class Draft:
    """One question as a person has changed it.

    Args:
        question: what it would be after saving.
        base_version: the bank version that the person saw when the change began.
    """

    question: Question
    base_version: int


@dataclass(frozen=True)
class Conflict:
    """A question that somebody else saved after a person began to change it.

    Args:
        base: as it was when the change began; None where it was not there.
        theirs: as it is saved now.
        mine: as the draft has it.
    """

    base: Question | None
    theirs: Question
    mine: Question
    their_author: str
    their_note: str


class CrossedEdit(InputError):
    """A field that the same person changed in another window, after this window showed it.

    Args:
        stored: what the other window left in the field.
        given: what was to be stored in its place; it is not.
    """

    def __init__(self, stored: object, given: object) -> None:
        super().__init__("crossed-edit", "You have changed this in another window.", "Choose the version to keep.")
        self.stored = stored
        self.given = given


class _Whatever:
    """In the place of what a person saw in a field: whatever is there."""


WHATEVER = _Whatever()

_NAME = re.compile("[0-9a-f]{12}")
"""What the id of a new question ends in."""

Mark = tuple[int, int, int, datetime | None]
"""Steps, steps undone, drafts, and the last change of a draft: two equal marks are the same drafts."""


def new_question(query_id: str, text: str = "", subtopic_id: str | None = None) -> Question:
    """A question with an id of its own, to be written by a person."""
    return Question(f"{query_id}/{uuid.uuid4().hex[:12]}", query_id, text, subtopic_id=subtopic_id)


def begin_question(project: Project, author: str, query_id: str, name: str) -> None:
    """Draft a new question whose words are still to be written; once, however often that is asked for.

    Args:
        name: what its id ends in: twelve digits and letters from a to f.

    Raises:
        InputError: another name, or an unknown query.
    """
    if not _NAME.fullmatch(name):
        raise InputError("invalid-name", f"Invalid id {name!r} for a new question.", "Add the question again.")
    begun = replace(new_question(query_id), question_id=f"{query_id}/{name}")
    if begun.question_id not in drafts(project, author) and not history(project, begun.question_id):
        put_draft(project, author, begun)


def drafts(project: Project, author: str) -> dict[str, Draft]:
    """The drafts of a person by question id, in the order in which they were begun."""
    return {
        question_id: Draft(_read(content), base)
        for question_id, content, base in project.rows(
            "SELECT question_id, content, base_version FROM drafts WHERE author = ? ORDER BY rowid", [author]
        )
    }


def authors(project: Project) -> list[str]:
    """Everybody who has drafts."""
    return [author for (author,) in project.rows("SELECT DISTINCT author FROM drafts ORDER BY author")]


def others(project: Project, author: str, query_id: str | None = None) -> dict[str, int]:
    """How many drafts everybody else has, by name; those of one query, or all.

    Args:
        author: whose own are left out.
    """
    return dict(
        project.rows(
            "SELECT author, count(*) FROM drafts JOIN queries USING (query_key)"
            " WHERE author <> ? AND (?::VARCHAR IS NULL OR query_id = ?) GROUP BY author ORDER BY author",
            [author, query_id, query_id],
        )
    )


def mark(project: Project, author: str) -> Mark:
    """Where a person's drafts stand: what a window remembers, to notice that another window changed them."""
    made, undone = steps(project, author)
    count, latest = project.rows("SELECT count(*), max(changed_at) FROM drafts WHERE author = ?", [author])[0]
    return made, undone, count, latest


def _read(content: str) -> Question:
    values: dict[str, Any] = json.loads(content)
    values["choices"] = tuple(values["choices"])
    return Question(**values)


def _written(draft: Draft | None) -> str | None:
    return None if draft is None else json.dumps(asdict(draft), ensure_ascii=False)


def put_draft(project: Project, author: str, question: Question) -> None:
    """Store a change of one question; see `put_drafts`."""
    put_drafts(project, author, [question])


def change_draft(
    project: Project,
    author: str,
    question: Question,
    field: str,
    value: object,
    over: object = WHATEVER,
    join: bool = False,
) -> None:
    """Store one changed field on top of whatever the draft holds by now: two edits may arrive together.

    Args:
        question: as the person saw it; counts where there is no draft yet. What somebody else saved
            since is a conflict.
        over: what the person saw in the field.
        join: whether it goes on with the edit that was the last step, as typing does after a pause: both
            are one step then, and none where they come to nothing.

    Raises:
        CrossedEdit: the draft holds something that the person has not seen there; nothing is stored.
        InputError: a weight that is no number or too large.
    """
    key, value, over = question.question_id, _clean(value), _clean(over)
    with project.transaction(DRAFTS, "edit questions", [question.query_id], author) as cursor:
        draft = drafts(project, author).get(key)
        # The place stays the bank's until the person moves the question: others may move it meanwhile.
        now = replace(question, position=None) if draft is None else draft.question
        if draft is not None and over is not WHATEVER and getattr(now, field) not in (over, value):
            raise CrossedEdit(getattr(now, field), value)
        changed = replace(now, **{field: value})  # type: ignore[arg-type]
        _step(cursor, project, author, {key: changed}, [key], _version_seen(project, question), join)


def _clean(value: object) -> object:
    """What a field would hold of a value, so that what was given is known again in what is stored."""
    if isinstance(value, tuple):
        return tuple(map(_clean, value))
    return clean_text(value) if isinstance(value, str) else value


def seen(project: Project, question: Question, field: str, value: object) -> Question:
    """A question as a person saw it who saw a value in one of its fields.

    Args:
        question: as they saw it, by what is known; an earlier saved wording counts where it does not say that.
    """
    if getattr(question, field) == value:
        return question
    saved = (revision.question for revision in history(project, question.question_id))
    return next((old for old in saved if getattr(old, field) == value), question)


def _version_seen(project: Project, question: Question) -> int | None:
    """The version that left the question as a person saw it; None where it is so still, or never was."""
    revisions = history(project, question.question_id)
    seen = next((revision for revision in revisions if revision.question == question), None)
    return None if seen is None or seen is revisions[0] else seen.version


def put_drafts(project: Project, author: str, questions: Sequence[Question]) -> None:
    """Store changes as one step that can be undone; what is as the bank has it is no draft any more.

    Raises:
        InputError: a question of an unknown query, or a weight that is no number or too large.
    """
    after = {question.question_id: question for question in questions}
    with project.transaction(DRAFTS, "edit questions", {one.query_id for one in questions}, author) as cursor:
        _step(cursor, project, author, after, list(after))


def take_back(project: Project, author: str, question_ids: Sequence[str] | None = None) -> None:
    """Drop drafts of a person, those of the named questions or all, as one step that can be undone."""
    ids = list(drafts(project, author)) if question_ids is None else list(question_ids)
    with project.transaction(DRAFTS, "edit questions", author=author) as cursor:
        _step(cursor, project, author, {}, ids)


def _step(
    cursor: Cursor,
    project: Project,
    author: str,
    after: Mapping[str, Question],
    ids: Sequence[str],
    seen: int | None = None,
    join: bool = False,
) -> None:
    """Write one step: drafts as in `after`, and none for the other ids.

    Args:
        seen: the bank version that new drafts begin from; the newest for None.
        join: whether it goes on with the last step, where that left one question as this one finds it.
    """
    for question in after.values():
        # What is drafted is scored at once, by the impact beside it.
        check_weight(question)
    check_ids(cursor, list(after.values()))
    known = drafts(project, author)
    clean = dict(zip(after, clean_questions(cursor, list(after.values())), strict=True))
    begun = latest_version(project) if seen is None else seen
    changed = {}
    for key in ids:
        old, new = known.get(key), None
        if key in after and not _is_saved(project, clean[key]):
            new = Draft(clean[key], begun if old is None else old.base_version)
        if _written(old) != _written(new):
            changed[key] = (_written(old), _written(new))
    if not changed:
        return
    if steps(project, author)[1]:
        cursor.execute("DELETE FROM draft_steps WHERE author = ? AND undone", [author])
    last = cursor.execute(
        "SELECT step, question_id, before, after FROM draft_steps WHERE author = $author"
        " AND step = (SELECT max(step) FROM draft_steps WHERE author = $author)",
        {"author": author},
    ).fetchall()
    if join and _joined(cursor, author, last, changed):
        return
    step = last[0][0] + 1 if last else 1
    for key, (was, becomes) in changed.items():
        cursor.execute("INSERT INTO draft_steps VALUES (?, ?, ?, ?, ?, false)", [author, step, key, was, becomes])
        _put(cursor, author, key, becomes)


def _joined(
    cursor: Cursor,
    author: str,
    last: Sequence[tuple[int, str, str | None, str | None]],
    changed: Mapping[str, tuple[str | None, str | None]],
) -> bool:
    """Make a change part of the last step; whether it goes on with that.

    Args:
        last: the rows of the last step: its number, then question, before and after of each.
    """
    if len(last) != 1 or [(key, was) for key, (was, _) in changed.items()] != [(last[0][1], last[0][3])]:
        return False
    step, key, before, _ = last[0]
    becomes = changed[key][1]
    if becomes == before:
        cursor.execute("DELETE FROM draft_steps WHERE author = ? AND step = ?", [author, step])
    else:
        cursor.execute("UPDATE draft_steps SET after = ? WHERE author = ? AND step = ?", [becomes, author, step])
    _put(cursor, author, key, becomes)
    return True


def _is_saved(project: Project, question: Question) -> bool:
    """Whether the bank says the same, at the same place."""
    saved = {q.question_id: q for q in bank_questions(project, query_id=question.query_id)}
    same = saved.get(question.question_id)
    return same is not None and same == question and question.position in (None, same.position)


def _put(cursor: Cursor, author: str, question_id: str, written: str | None) -> None:
    if written is None:
        cursor.execute("DELETE FROM drafts WHERE author = ? AND question_id = ?", [author, question_id])
        return
    draft = json.loads(written)
    query_id = draft["question"]["query_id"]
    # A draft that is there keeps its base: a conflict may have been settled since the step.
    stored = cursor.execute(
        "INSERT INTO drafts SELECT ?, ?, query_key, ?, ?, now()::TIMESTAMP FROM queries WHERE query_id = ?"
        " ON CONFLICT (author, question_id) DO UPDATE SET content = excluded.content,"
        " changed_at = excluded.changed_at",
        [author, question_id, draft["base_version"], json.dumps(draft["question"], ensure_ascii=False), query_id],
    ).fetchall()
    if not stored[0][0]:
        raise InputError("unknown-query", f"Unknown query '{query_id}'.", "Import the query first.")


def undo(project: Project, author: str) -> bool:
    """Take the last step back; whether there was one."""
    return _move(project, author, "undo")


def redo(project: Project, author: str) -> bool:
    """Do the step again that was undone last; whether there was one."""
    return _move(project, author, "redo")


def steps(project: Project, author: str) -> tuple[int, int]:
    """How many steps can be undone, and how many done again."""
    rows = dict(
        project.rows("SELECT undone, count(DISTINCT step) FROM draft_steps WHERE author = ? GROUP BY 1", [author])
    )
    return rows.get(False, 0), rows.get(True, 0)


def _move(project: Project, author: str, way: Literal["undo", "redo"]) -> bool:
    wanted = "max(step)" if way == "undo" else "min(step)"
    content = "before" if way == "undo" else "after"
    with project.transaction(DRAFTS, "edit questions", author=author) as cursor:
        step = cursor.execute(
            f"SELECT {wanted} FROM draft_steps WHERE author = ? AND undone = ?", [author, way == "redo"]
        ).fetchall()[0][0]
        if step is None:
            return False
        for question_id, stored in cursor.execute(
            f"SELECT question_id, {content} FROM draft_steps WHERE author = ? AND step = ?", [author, step]
        ).fetchall():
            _put(cursor, author, question_id, stored)
        cursor.execute("UPDATE draft_steps SET undone = ? WHERE author = ? AND step = ?", [way == "undo", author, step])
    return True


def drafted_bank(project: Project, author: str, query_id: str) -> list[Question]:
    """The questions of a query as the person's drafts would leave them; new ones at the end."""
    mine = {key: draft.question for key, draft in drafts(project, author).items()}
    saved = bank_questions(project, query_id=query_id)
    place = {question.question_id: question.position for question in saved}
    now = [mine.pop(question.question_id, question) for question in saved]
    now += [question for question in mine.values() if question.query_id == query_id]

    def order(question: Question) -> float:
        own = question.position if question.position is not None else place.get(question.question_id)
        return float("inf") if own is None else own

    return sorted(now, key=order)


def drafted_edits(project: Project, author: str) -> dict[str, list[Question]]:
    """Every query that has drafts, with all its questions as they would be; empty new ones left out."""
    queries = dict.fromkeys(draft.question.query_id for draft in drafts(project, author).values())
    return {query: [q for q in drafted_bank(project, author, query) if not is_wordless(q)] for query in queries}


def conflicts(project: Project, author: str) -> list[Conflict]:
    """Drafts of questions that somebody else has saved differently since the person began."""
    mine = drafts(project, author)
    found = []
    for question_id, draft in mine.items():
        revisions = history(project, question_id)
        newer = [revision for revision in revisions if revision.version > draft.base_version]
        older = [revision for revision in revisions if revision.version <= draft.base_version]
        if newer and newer[0].question != draft.question and (not older or newer[0].question != older[0].question):
            base = older[0].question if older else None
            theirs = newer[0]
            found.append(Conflict(base, theirs.question, draft.question, theirs.author, theirs.note))
    return found


def settle(project: Project, author: str, question_id: str, keep: Literal["mine", "theirs"]) -> None:
    """Settle a conflict: keep the draft on top of what is saved now, or drop it for what is saved."""
    if keep == "theirs":
        take_back(project, author, [question_id])
        return
    with project.transaction(DRAFTS, "edit questions", author=author) as cursor:
        cursor.execute(
            "UPDATE drafts SET base_version = (SELECT max(version) FROM bank_versions), changed_at = now()::TIMESTAMP"
            " WHERE author = ? AND question_id = ?",
            [author, question_id],
        )


def note_written(project: Project, author: str) -> str:
    """The note that a save gets where the person writes none: what their drafts change."""
    mine = [draft.question for draft in drafts(project, author).values()]
    queries = dict.fromkeys(question.query_id for question in mine)
    saved = {same.question_id: same for query in queries for same in bank_questions(project, query_id=query)}
    return draft_notes.note(project, [(saved.get(question.question_id), question) for question in mine])


def save_drafts(project: Project, author: str, note: str = "") -> int | None:
    """Save all drafts of a person as a new bank version, and end them.

    What others saved meanwhile stays: a version holds only the questions that it changes.

    Args:
        note: what changed and why; where it is empty, it says what changed.

    Returns:
        The new version, or None where nothing differs from the newest.

    Raises:
        InputError: a question has no words or could not be scored, or somebody else saved one of the questions
            differently meanwhile.
    """
    with project.transaction(
        act="save the bank",
        queries=lambda: {one.question.query_id for one in drafts(project, author).values()},
        author=author,
    ) as cursor:
        if open_conflicts := conflicts(project, author):
            raise InputError(
                "open-conflicts",
                f"Another person has changed {len(open_conflicts):,} of the questions that you changed.",
                "Choose a version of each question first (exam bank resolve).",
            )
        mine = [draft.question for draft in drafts(project, author).values()]
        known = {question.question_id for question in bank_questions(project)}
        if empty := [q for q in mine if q.question_id not in known and not (q.text or "").strip()]:
            raise InputError(
                "new-question-without-words",
                f"{how_many(len(empty), 'new questions')} without text (query {empty[0].query_id}).",
                "Write the text, or undo adding the question.",
            )
        note = note.strip() or note_written(project, author)
        version = save_questions(cursor, mine, note, author)
        take_accepted(cursor)
        cursor.execute("DELETE FROM drafts WHERE author = ?", [author])
        cursor.execute("DELETE FROM draft_steps WHERE author = ?", [author])
        if version is not None:
            log(cursor, author, "save bank", version=version, note=note)
    return version
