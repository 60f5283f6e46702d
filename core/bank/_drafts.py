"""Drafts: unsaved changes of a person to the bank, stored in the project at every step, and their
descriptions.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from ..errors import InputError
from ..records import refuse_hidden
from ..store import Cursor, Project, log_action
from ..text import clean_text, how_many
from ..types import Question
from ._item_facts import take_accepted
from ._questions import latest_version, list_questions as bank_questions, question_history
from ._saving import check_ids, check_weight, clean_questions, is_wordless, save_questions

SHOWN_QUERY = 60
"""Maximum number of characters of a query's text in a note."""

DONE: dict[str, Callable[[Question, Question], bool]] = {
    "reworded": lambda before, after: after.text != before.text,
    "reweighted": lambda before, after: after.weight != before.weight,
    "retired": lambda before, after: before.active and not after.active,
    "restored": lambda before, after: after.active and not before.active,
    "moved": lambda before, after: after.position not in (None, before.position),
}
"""By kind of change to a question, a test for it; the most important kind is first."""

ADDED, OTHERWISE = "added", "changed in detail"


def kinds_of_change(before: Question | None, after: Question) -> list[str]:
    """Return the kinds of change to a question, such as "reworded" and "retired".

    Args:
        before: the saved question; None if it is new.
        after: the question in the draft.
    """
    if before is None:
        return [ADDED]
    return [name for name, is_done in DONE.items() if is_done(before, after)] or [OTHERWISE]


def summary_of_changes(
    project: Project, changes: Sequence[tuple[Question | None, Question]]
) -> str:
    """Return a line that summarizes changes, such as "2 reworded, 1 added in effects of green tea".

    Args:
        changes: the saved question (None if new) and the drafted question, for every changed
            question. Each question counts once, under its most important kind of change.
    """
    counted = Counter(kinds_of_change(before, after)[0] for before, after in changes)
    counts = ", ".join(
        f"{counted[name]} {name}" for name in (*DONE, OTHERWISE, ADDED) if counted[name]
    )
    queries = list(dict.fromkeys(after.query_id for _, after in changes))
    return f"{counts} in {_describe_queries(project, queries)}" if counts else ""


def _describe_queries(project: Project, queries: list[str]) -> str:
    if len(queries) > 1:
        return f"{len(queries)} queries"
    text = str(project.value("SELECT text FROM queries WHERE query_id = ?", queries))
    return text if len(text) <= SHOWN_QUERY else text[: SHOWN_QUERY - 1].rsplit(" ", 1)[0] + "…"


@dataclass(frozen=True)
class Draft:
    """An unsaved change of a question.

    Args:
        question: the question after saving.
        base_version: the bank version that the person saw when the change began.
    """

    question: Question
    base_version: int


@dataclass(frozen=True)
class Conflict:
    """A question that another person saved after this person began to change it.

    Args:
        base: the question when the change began; None if it did not exist.
        theirs: the question as now saved.
        mine: the question in the draft.
    """

    base: Question | None
    theirs: Question
    mine: Question
    their_author: str
    their_note: str


class CrossedEdit(InputError):
    """Error if the same person changed the field in another window after this window showed it.

    Args:
        stored: the value from the other window, which stays.
        given: the value from this window, which is not stored.
    """

    def __init__(self, stored: object, given: object) -> None:
        super().__init__(
            "crossed-edit",
            "You have changed this in another window.",
            "Choose the version to keep.",
        )
        self.stored = stored
        self.given = given


WHATEVER = object()
"""Allows an edit to replace any value of a field."""

_NAME = re.compile("[0-9a-f]{12}")
"""Pattern of the last part of a new question's id."""

Mark = tuple[int, int, int, datetime | None]
"""Numbers of steps, undone steps and drafts, and time of the last change. Equal marks mean equal
drafts.
"""


def new_question(query_id: str, text: str = "", subtopic_id: str | None = None) -> Question:
    """Return a new question with a new id."""
    return Question(f"{query_id}/{uuid.uuid4().hex[:12]}", query_id, text, subtopic_id=subtopic_id)


def begin_question(project: Project, author: str, query_id: str, name: str) -> None:
    """Draft a new question without text. Repeated calls have no effect.

    Args:
        name: last part of the question's id: twelve digits and letters from a to f.

    Raises:
        InputError: the name is invalid, or the query is unknown.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            "invalid-name", f"Invalid id {name!r} for a new question.", "Add the question again."
        )
    begun = replace(new_question(query_id), question_id=f"{query_id}/{name}")
    if begun.question_id not in list_drafts(project, author) and not question_history(
        project, begun.question_id
    ):
        put_draft(project, author, begun)


def list_drafts(project: Project, author: str) -> dict[str, Draft]:
    """Return the drafts of a person by question id, in the order of their creation."""
    return {
        question_id: Draft(_read_question(content), base)
        for question_id, content, base in project.rows(
            "SELECT question_id, content, base_version FROM drafts WHERE author = ? ORDER BY rowid",
            [author],
        )
    }


def draft_authors(project: Project) -> list[str]:
    """Return the names of all people who have drafts."""
    return [
        author for (author,) in project.rows("SELECT DISTINCT author FROM drafts ORDER BY author")
    ]


def count_others_drafts(
    project: Project, author: str, query_id: str | None = None
) -> dict[str, int]:
    """Return the number of drafts by author, for everyone except one person.

    Args:
        author: the person to leave out.
        query_id: restricts the count to drafts of this query; None for all.
    """
    return dict(
        project.rows(
            "SELECT author, count(*) FROM drafts JOIN queries USING (query_key)"
            " WHERE author <> ? AND (?::VARCHAR IS NULL OR query_id = ?) GROUP BY author"
            " ORDER BY author",
            [author, query_id, query_id],
        )
    )


def draft_mark(project: Project, author: str) -> Mark:
    """Return the current mark of a person's drafts. A window compares marks to detect changes in
    other windows.
    """
    step_count, undone = count_steps(project, author)
    count, latest = project.rows(
        "SELECT count(*), max(changed_at) FROM drafts WHERE author = ?", [author]
    )[0]
    return step_count, undone, count, latest


def _read_question(content: str) -> Question:
    values: dict[str, Any] = json.loads(content)
    values["choices"] = tuple(values["choices"])
    return Question(**values)


def _write_draft(draft: Draft | None) -> str | None:
    return None if draft is None else json.dumps(asdict(draft), ensure_ascii=False)


def put_draft(project: Project, author: str, question: Question) -> None:
    """Store the change of one question; see `put_drafts`."""
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
    """Store one changed field in the stored draft. Its other fields stay, because two edits may
    arrive together.

    Args:
        question: the question that the person saw, from which a new draft begins. If another person
            saved the question since then, the draft has a conflict.
        over: the value of the field that the person saw.
        join: whether to merge this edit into the last step, as for typing after a pause. Edits that
            cancel each other leave no step.

    Raises:
        CrossedEdit: the draft has another value than `over`; nothing is stored.
        InputError: the weight is not a number or is too large.
    """
    key, value, over = question.question_id, _clean_value(value), _clean_value(over)
    with project.transaction("edit questions", [question.query_id], author) as cursor:
        draft = list_drafts(project, author).get(key)
        # Other people may move the question meanwhile, so the draft has no position until this
        # person moves it.
        now = replace(question, position=None) if draft is None else draft.question
        if draft is not None and over is not WHATEVER and getattr(now, field) not in (over, value):
            raise CrossedEdit(getattr(now, field), value)
        changed = replace(now, **{field: value})  # type: ignore[arg-type]
        _write_step(
            cursor, project, author, {key: changed}, [key], _version_seen(project, question), join
        )


def _clean_value(value: object) -> object:
    """Clean a value in the same way as stored fields, so that the two can be compared."""
    if isinstance(value, tuple):
        return tuple(map(_clean_value, value))
    return clean_text(value) if isinstance(value, str) else value


def seen_version(project: Project, question: Question, field: str, value: object) -> Question:
    """Return the version of a question that a person saw, given the value that they saw in a field.

    Args:
        question: returned if it has the value; otherwise an earlier saved version with the value is
            returned.
    """
    if getattr(question, field) == value:
        return question
    saved = (revision.question for revision in question_history(project, question.question_id))
    return next((old for old in saved if getattr(old, field) == value), question)


def _version_seen(project: Project, question: Question) -> int | None:
    """Return the bank version in which a seen question was saved; None if it is the latest or was
    never saved.
    """
    revisions = question_history(project, question.question_id)
    seen = next((revision for revision in revisions if revision.question == question), None)
    return None if seen is None or seen is revisions[0] else seen.version


def put_drafts(project: Project, author: str, questions: Sequence[Question]) -> None:
    """Store changes as one step that can be undone. A draft that equals the saved question is
    removed.

    Raises:
        InputError: the query of a question is unknown, or a weight is not a number or is too large.
    """
    after = {question.question_id: question for question in questions}
    with project.transaction(
        "edit questions", {one.query_id for one in questions}, author
    ) as cursor:
        _write_step(cursor, project, author, after, list(after))


def take_back(project: Project, author: str, question_ids: Sequence[str] | None = None) -> None:
    """Discard a person's drafts of the given questions, or all of them, as one step that can be
    undone.
    """
    ids = list(list_drafts(project, author)) if question_ids is None else list(question_ids)
    with project.transaction("edit questions", author=author) as cursor:
        _write_step(cursor, project, author, {}, ids)


def _write_step(
    cursor: Cursor,
    project: Project,
    author: str,
    after: Mapping[str, Question],
    ids: Sequence[str],
    base_version: int | None = None,
    join: bool = False,
) -> None:
    """Write a step: store the drafts in `after`, and remove the drafts of all other `ids`.

    Args:
        base_version: the bank version that new drafts are based on; None for the newest.
        join: whether to merge the change into the last step, if that step left the same question in
            this state.
    """
    refuse_hidden(project, list(after))
    for question in after.values():
        # The screen computes the impact of drafts immediately, so a bad weight must not be stored.
        check_weight(question)
    check_ids(cursor, list(after.values()))
    drafts_before = list_drafts(project, author)
    clean = dict(zip(after, clean_questions(cursor, list(after.values())), strict=True))
    begun = latest_version(project) if base_version is None else base_version
    drafted = {
        key: Draft(question, drafts_before[key].base_version if key in drafts_before else begun)
        for key, question in clean.items()
        if not _is_saved(project, question)
    }
    written = {
        key: (_write_draft(drafts_before.get(key)), _write_draft(drafted.get(key))) for key in ids
    }
    changed = {key: (was, becomes) for key, (was, becomes) in written.items() if was != becomes}
    if not changed:
        return
    if count_steps(project, author)[1]:
        cursor.execute("DELETE FROM draft_steps WHERE author = ? AND undone", [author])
    last = cursor.execute(
        "SELECT step, question_id, before, after FROM draft_steps WHERE author = $author"
        " AND step = (SELECT max(step) FROM draft_steps WHERE author = $author)",
        {"author": author},
    ).fetchall()
    if join and _join_last_step(cursor, author, last, changed):
        return
    step = last[0][0] + 1 if last else 1
    for key, (was, becomes) in changed.items():
        cursor.execute(
            "INSERT INTO draft_steps VALUES (?, ?, ?, ?, ?, false)",
            [author, step, key, was, becomes],
        )
        _store_draft(cursor, author, key, becomes)


def _join_last_step(
    cursor: Cursor,
    author: str,
    last: Sequence[tuple[int, str, str | None, str | None]],
    changed: Mapping[str, tuple[str | None, str | None]],
) -> bool:
    """Merge a change into the last step; return whether that was possible.

    Args:
        last: rows of the last step: number of the step, question id, draft before, draft after.
    """
    if len(last) != 1 or [(key, was) for key, (was, _) in changed.items()] != [
        (last[0][1], last[0][3])
    ]:
        return False
    step, key, before, _ = last[0]
    becomes = changed[key][1]
    if becomes == before:
        cursor.execute("DELETE FROM draft_steps WHERE author = ? AND step = ?", [author, step])
    else:
        cursor.execute(
            "UPDATE draft_steps SET after = ? WHERE author = ? AND step = ?",
            [becomes, author, step],
        )
    _store_draft(cursor, author, key, becomes)
    return True


def _is_saved(project: Project, question: Question) -> bool:
    """Return whether the bank has the same question at the same position."""
    saved = {q.question_id: q for q in bank_questions(project, query_id=question.query_id)}
    same = saved.get(question.question_id)
    return same is not None and same == question and question.position in (None, same.position)


def _store_draft(cursor: Cursor, author: str, question_id: str, written: str | None) -> None:
    if written is None:
        cursor.execute(
            "DELETE FROM drafts WHERE author = ? AND question_id = ?", [author, question_id]
        )
        return
    draft = json.loads(written)
    query_id = draft["question"]["query_id"]
    # An existing draft keeps its base version, because a conflict may have been settled after this
    # step.
    stored = cursor.execute(
        "INSERT INTO drafts SELECT ?, ?, query_key, ?, ?, now()::TIMESTAMP FROM queries"
        " WHERE query_id = ?"
        " ON CONFLICT (author, question_id) DO UPDATE SET content = excluded.content,"
        " changed_at = excluded.changed_at",
        [
            author,
            question_id,
            draft["base_version"],
            json.dumps(draft["question"], ensure_ascii=False),
            query_id,
        ],
    ).fetchall()
    if not stored[0][0]:
        raise InputError("unknown-query", f"Unknown query '{query_id}'.", "Import the query first.")


def undo_step(project: Project, author: str) -> bool:
    """Undo the last step; return False if there was no step."""
    return _move_step(project, author, "undo")


def redo_step(project: Project, author: str) -> bool:
    """Redo the step that was undone last; return False if there was no such step."""
    return _move_step(project, author, "redo")


def count_steps(project: Project, author: str) -> tuple[int, int]:
    """Return the numbers of steps that can be undone and redone."""
    rows = dict(
        project.rows(
            "SELECT undone, count(DISTINCT step) FROM draft_steps WHERE author = ? GROUP BY 1",
            [author],
        )
    )
    return rows.get(False, 0), rows.get(True, 0)


def _move_step(project: Project, author: str, way: Literal["undo", "redo"]) -> bool:
    step_sql = "max(step)" if way == "undo" else "min(step)"
    content = "before" if way == "undo" else "after"
    with project.transaction("edit questions", author=author) as cursor:
        step = cursor.execute(
            f"SELECT {step_sql} FROM draft_steps WHERE author = ? AND undone = ?",
            [author, way == "redo"],
        ).fetchall()[0][0]
        if step is None:
            return False
        for question_id, stored in cursor.execute(
            f"SELECT question_id, {content} FROM draft_steps WHERE author = ? AND step = ?",
            [author, step],
        ).fetchall():
            _store_draft(cursor, author, question_id, stored)
        cursor.execute(
            "UPDATE draft_steps SET undone = ? WHERE author = ? AND step = ?",
            [way == "undo", author, step],
        )
    return True


def drafted_bank(project: Project, author: str, query_id: str) -> list[Question]:
    """Return the questions of a query with the person's drafts applied; new ones are last."""
    drafted = {key: draft.question for key, draft in list_drafts(project, author).items()}
    saved = bank_questions(project, query_id=query_id)
    place = {question.question_id: question.position for question in saved}
    now = [drafted.pop(question.question_id, question) for question in saved]
    now += [question for question in drafted.values() if question.query_id == query_id]

    def sort_key(question: Question) -> float:
        own = (
            question.position if question.position is not None else place.get(question.question_id)
        )
        return float("inf") if own is None else own

    return sorted(now, key=sort_key)


def drafted_edits(project: Project, author: str) -> dict[str, list[Question]]:
    """Return, for every query with drafts, all questions with the drafts applied, except empty new
    questions.
    """
    queries = dict.fromkeys(
        draft.question.query_id for draft in list_drafts(project, author).values()
    )
    return {
        query: [q for q in drafted_bank(project, author, query) if not is_wordless(q)]
        for query in queries
    }


def list_conflicts(project: Project, author: str) -> list[Conflict]:
    """Return drafts of questions that another person saved differently since the draft began."""
    mine = list_drafts(project, author)
    differing = []
    for question_id, draft in mine.items():
        revisions = question_history(project, question_id)
        newer = [revision for revision in revisions if revision.version > draft.base_version]
        older = [revision for revision in revisions if revision.version <= draft.base_version]
        if (
            newer
            and newer[0].question != draft.question
            and (not older or newer[0].question != older[0].question)
        ):
            base = older[0].question if older else None
            theirs = newer[0]
            differing.append(
                Conflict(base, theirs.question, draft.question, theirs.author, theirs.note)
            )
    return differing


def settle_conflict(
    project: Project, author: str, question_id: str, keep: Literal["mine", "theirs"]
) -> None:
    """Settle a conflict: base the draft on the saved question, or discard the draft."""
    if keep == "theirs":
        take_back(project, author, [question_id])
        return
    with project.transaction("edit questions", author=author) as cursor:
        cursor.execute(
            "UPDATE drafts SET base_version = (SELECT max(version)"
            " FROM bank_versions), changed_at = now()::TIMESTAMP"
            " WHERE author = ? AND question_id = ?",
            [author, question_id],
        )


def note_written(project: Project, author: str) -> str:
    """Return the automatic note for a save: a summary of the person's changes."""
    drafted = [draft.question for draft in list_drafts(project, author).values()]
    queries = dict.fromkeys(question.query_id for question in drafted)
    saved = {
        same.question_id: same
        for query in queries
        for same in bank_questions(project, query_id=query)
    }
    return summary_of_changes(
        project, [(saved.get(question.question_id), question) for question in drafted]
    )


def save_drafts(project: Project, author: str, note: str = "") -> int | None:
    """Save all drafts of a person as a new bank version, and remove the drafts.

    Changes that other people saved meanwhile stay, because a version contains only the questions
    that it changes.

    Args:
        note: what changed and why; if empty, a summary of the changes is used.

    Returns:
        The new version, or None if nothing differs from the newest.

    Raises:
        InputError: a question has no text or is invalid, or another person saved one of the
            questions differently meanwhile.
    """
    with project.transaction(
        act="save the bank",
        queries=lambda: {one.question.query_id for one in list_drafts(project, author).values()},
        author=author,
    ) as cursor:
        if open_conflicts := list_conflicts(project, author):
            raise InputError(
                "open-conflicts",
                f"Another person has changed {len(open_conflicts):,} of the"
                " questions that you changed.",
                "Choose a version of each question first (exam bank resolve).",
            )
        drafted = [draft.question for draft in list_drafts(project, author).values()]
        known = {question.question_id for question in bank_questions(project)}
        if empty := [
            q for q in drafted if q.question_id not in known and not (q.text or "").strip()
        ]:
            raise InputError(
                "new-question-without-words",
                f"{how_many(len(empty), 'new questions')} without text (query"
                f" {empty[0].query_id}).",
                "Write the text, or undo adding the question.",
            )
        note = note.strip() or note_written(project, author)
        version = save_questions(cursor, drafted, note, author)
        take_accepted(cursor)
        cursor.execute("DELETE FROM drafts WHERE author = ?", [author])
        cursor.execute("DELETE FROM draft_steps WHERE author = ?", [author])
        if version is not None:
            log_action(cursor, author, "save bank", version=version, note=note)
    return version
