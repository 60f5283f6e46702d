"""Actions of the question bank's browser components, by name; none of them reads the session state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exam_workbench import bank
from exam_workbench.bank import (
    begin_question,
    change_draft,
    drafted_bank,
    duplicated,
    moved,
    put_drafts,
    seen,
    take_back,
)
from exam_workbench.errors import InputError
from exam_workbench.review import settle_by_edit
from exam_workbench.text import how_many
from exam_workbench.types import KINDS, Question
from pages.parts.shared.awaited_edits import AwaitedEdit, awaited

if TYPE_CHECKING:
    from pages.parts.bank.window import Shown, Window

Act = Mapping[str, Any]

ANOTHER = "Your other window made changes, which are now shown here. Press again to continue."
UNSETTLED = "Not done. First choose a wording for each conflict below."
UNSTORED = "Not saved. Correct the red fields of “{}”."
OPTIONAL = ("subtopic_id", "answer_key", "note")
"""Fields that may be empty."""
DIALOGS_TO_CHANGE = ("paste", "several", "split")
"""Dialogs that need the person's name."""


def do(here: Window, act: Act) -> None:
    """Do an action that the browser sent from a window.

    Raises:
        WorkbenchError: the action failed.
    """
    name = str(act.get("act"))
    shown = here.shown.get((str(act.get("project")), str(act.get("author"))))
    if name not in ACTS:
        return
    if shown is None:
        raise InputError(
            "other-project-or-name",
            "This action belongs to another project or name.",
            "Open that project under that name, then try again.",
        )
    changes = name in CHANGES or (name == "dialog" and act.get("name") in DIALOGS_TO_CHANGE)
    if changes and not shown.author:
        here.nameless = True
        return
    ACTS[name](here, shown, act)
    if name != "edit":
        here.stint = None


def _edit(here: Window, shown: Shown, act: Act) -> None:
    key, field, visit = str(act.get("id")), str(act.get("field")), (act.get("id"), act.get("field"), act.get("stint"))
    question = _question(shown, key)
    unknown = field == "text" and question.text is None
    value, before = _read(field, act.get("value"), unknown), _read(field, act.get("base"), unknown)
    if mine := act.get("mine"):
        # A reloaded tab may not have heard of its own earlier actions. It has seen the values that it sent itself.
        stored = getattr(_there(shown, key) or question, field)
        before = stored if stored in [_read(field, typed, unknown) for typed in mine] else before
    as_seen = seen(shown.project, question, field, before)
    join = visit[2] is not None and here.stint == visit and shown.is_current
    here.did(shown, change_draft, as_seen, field, value, before, join)
    here.stint = visit


def _there(shown: Shown, key: str) -> Question | None:
    """Return a question as in the person's present drafts; None if it no longer exists."""
    query_id = shown.questions[key].query_id if key in shown.questions else key.rpartition("/")[0]
    every = drafted_bank(shown.project, shown.author, query_id)
    return next((one for one in every if one.question_id == key), None)


def _question(shown: Shown, key: str) -> Question:
    """Return a question as the window showed it, or from the person's drafts if it is newer."""
    if found := shown.questions.get(key) or _there(shown, key):
        return found
    raise InputError("unknown-question", "This question no longer exists.", "Add it again.")


def _read(field: str, value: Any, unknown: bool) -> object:
    """Return the value to store for the content of a field.

    Args:
        unknown: whether the question has no known text; an emptied box then leaves it without one.
    """
    if field == "weight" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if field == "active" and isinstance(value, bool):
        return value
    if field == "kind" and value in KINDS:
        return str(value)
    if (field == "text" or field in OPTIONAL) and isinstance(value, str | None):
        return (value or "").strip() or None if unknown or field in OPTIONAL else value or ""
    raise InputError("invalid-field", f"Invalid {field}: {value!r}.", "Enter another value.")


def _add(here: Window, shown: Shown, act: Act) -> None:
    query_id, name = str(act.get("query")), str(act.get("name"))
    here.did(shown, begin_question, query_id, name)
    # Its first edit may arrive before the question has been shown.
    shown.questions.setdefault(f"{query_id}/{name}", Question(f"{query_id}/{name}", query_id, ""))


def _back(here: Window, shown: Shown, act: Act) -> None:
    here.did(shown, take_back, [str(act.get("id"))])


def _duplicate(here: Window, shown: Shown, act: Act) -> None:
    copy = duplicated(_now(shown, act))
    here.did(shown, put_drafts, [copy])
    here.go_to(copy)


def _move(here: Window, shown: Shown, act: Act) -> None:
    one = _now(shown, act)
    every = drafted_bank(shown.project, shown.author, one.query_id)
    here.did(shown, put_drafts, moved(every, one.question_id, -1 if act.get("up") else 1))


def _now(shown: Shown, act: Act) -> Question:
    """Return the question of an action from the person's present drafts, otherwise as it was shown."""
    key = str(act.get("id"))
    return _there(shown, key) or _question(shown, key)


def _on_all(what: Callable[..., Any], said: str = "") -> Callable[[Window, Shown, Act], None]:
    """Wrap an action on all drafts; it is refused if the window has not shown all of them."""

    def do_it(here: Window, shown: Shown, act: Act) -> None:
        if not shown.is_current:
            here.said = ANOTHER
            return
        here.did(shown, what)
        here.said = said

    return do_it


def _unless_unsettled(what: Callable[[Window, Shown, Act], None]) -> Callable[[Window, Shown, Act], None]:
    """Wrap an action that is refused while conflicts with other people's saved changes are open."""

    def do_it(here: Window, shown: Shown, act: Act) -> None:
        if bank.conflicts(shown.project, shown.author):
            here.said = UNSETTLED
        else:
            what(here, shown, act)

    return do_it


def _save(here: Window, shown: Shown, act: Act) -> None:
    # A question that was removed since needs no correction.
    if waits := next(filter(None, (_there(shown, key) for key in here.unstored(shown))), None):
        here.said = UNSTORED.format(waits.shown)
        here.go_to(waits)
    elif not (mine := bank.drafts(shown.project, shown.author)):
        here.said = "No changes to save."
    elif not shown.is_current:
        here.said = ANOTHER
    else:
        # Saving refuses questions without text and gives the reason. The question may be out of sight or of another
        # query.
        if wordless := next((one.question for one in mine.values() if bank.is_wordless(one.question)), None):
            here.go_to(wordless)
        # Read before the save, since reading the session state may end the run.
        waiting = awaited()
        version = here.did(shown, bank.save_drafts, str(act.get("note") or ""))
        here.saved = (shown.project.name, version) if version else None
        if version:
            _settle_cases(here, shown, waiting, [draft.question for draft in mine.values()])


def _settle_cases(here: Window, shown: Shown, waiting: list[AwaitedEdit], edited: Sequence[Question]) -> None:
    """Settle the disagreements that waited for one of these edits."""
    fitting = [one for one in waiting if any(one.fits(shown.project.name, each) for each in edited)]
    for one in fitting:
        waiting.remove(one)
        settle_by_edit(shown.project, one.case, one.question_id, one.reason, shown.author, first=True)
    if fitting:
        here.said = f"This edit resolved {how_many(len(fitting), 'disagreements')}."


def _open(here: Window, shown: Shown, act: Act) -> None:
    here.query, here.subtopic = str(act.get("query")), None


def _dialog(here: Window, shown: Shown, act: Act) -> None:
    here.dialog = str(act.get("name")), str(act.get("id") or "")


def _near(here: Window, shown: Shown, act: Act) -> None:
    here.near = act.get("on") is True


def _subtopic(here: Window, shown: Shown, act: Act) -> None:
    here.subtopic = str(act.get("chosen") or "")


def _look(here: Window, shown: Shown, act: Act) -> None:
    """Redraw a window that came to the front, to show the changes of other windows."""


CHANGES: dict[str, Callable[[Window, Shown, Act], None]] = {
    "edit": _edit,
    "add": _add,
    "take back": _back,
    "duplicate": _duplicate,
    "move": _move,
    "undo": _on_all(bank.undo),
    "redo": _on_all(bank.redo),
    "save": _unless_unsettled(_save),
    "discard": _unless_unsettled(_on_all(bank.take_back, "Changes discarded. Press Undo to restore them.")),
}
"""Actions that change a person's drafts, and need the person's name."""

ACTS = CHANGES | {
    "open": _open,
    "dialog": _dialog,
    "near": _near,
    "subtopic": _subtopic,
    "look": _look,
    "leave": _look,
}
"""All actions of a window; "leave" only stops the browser from sending a refused edit again."""
