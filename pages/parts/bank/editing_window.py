"""One of perhaps several browser windows in which a person edits the bank; each action is done
exactly once.

Streamlit ends a run, including its callbacks, as soon as the next message arrives. Any access to
the session state may be the last. So no important action relies on a callback, nor on a run that
reaches its end. The browser numbers the actions and keeps each one until it hears that the server
has done it (`channel.js`). Every run receives all pending actions as the state of a component. A
run first does the new actions in the order of their numbers, and reports this with the data that it
draws.
"""

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench import bank, errors, review, text, types
from exam_workbench.store import Project
from pages.parts.shared import awaited_edits, ui

KEY = "bank"
"""Key of the component whose state holds the actions of the browser."""


@dataclass
class ShownBank:
    """The parts of the bank that a window has shown to a person.

    Args:
        author: the person's name; empty for a reader without one.
        questions: by id.
        drafts: the state of the person's drafts when this window last showed them; None before
            that.
    """

    project: Project
    author: str
    questions: dict[str, types.Question] = field(default_factory=dict)
    drafts: bank.Mark | None = None

    @property
    def is_current(self) -> bool:
        """Whether no other window has changed the drafts since this one showed them."""
        return self.drafts == bank.draft_mark(self.project, self.author)


@dataclass
class EditingWindow:
    """The state of a window: one object for all its runs, also for overlapping ones.

    Args:
        token: names the window; after a restart of the server, actions of an older window are not
            done.
        lock: held while an action is done and noted.
        sent: the pending actions of the browser, by number.
        done: number of the last action that was done.
        refused: the reason by number of each action that could not be stored; None if another
            window had changed the same value.
        shown: by project and author.
        stint: the visit of a field that was last typed in.
        query: the query to open next; empty for none in particular.
        dialog: the dialog to open, with its question.
        focus: id of the question to edit next; `turns` counts these choices.
        repaired: id of the question whose new wordings a person wants to test.
        saved: project and version of the last save, until there are new changes.
        said: result of the last action, if it is not visible otherwise.
        error: why the last action failed.
        told: state of the drafts when `said` and `error` were first shown; None before that.
        nameless: whether a person without a name tried to change something.
    """

    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    lock: threading.RLock = field(default_factory=threading.RLock)
    sent: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    done: int = 0
    refused: dict[int, str | None] = field(default_factory=dict)
    shown: dict[tuple[str, str], ShownBank] = field(default_factory=dict)
    stint: object = None
    query: str = ""
    dialog: tuple[str, str] | None = None
    focus: str = ""
    turns: int = 0
    repaired: str = ""
    near: bool = False
    subtopic: str | None = None
    saved: tuple[str, int] | None = None
    said: str = ""
    error: errors.WorkbenchError | None = None
    told: object = None
    nameless: bool = False

    def do_action_once(self, act: Mapping[str, Any]) -> None:
        """Do an action of the browser unless it is done already; try refused ones again."""
        number = act["n"]
        with self.lock:
            # If another window had changed the same value, a person has to choose first.
            again = self.refused.get(number) is not None
            if number <= self.done and not again:
                return
            self.refused.pop(number, None)
            if number > self.done:
                self.error, self.said, self.told = None, "", None
            try:
                do_action(self, act)
            except bank.CrossedEdit:
                self.refused[number] = None
            except errors.WorkbenchError as error:
                if act.get("act") == "edit":
                    self.refused[number] = str(error)
                else:
                    # Also in the bar, which is in sight everywhere on the page.
                    self.error, self.said = error, error.message
            finally:
                self.done = max(self.done, number)

    def apply_change(self, shown_bank: ShownBank, what: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a change to a person's drafts and return its result; the window has then seen its
        own change.

        Args:
            what: a function of the project, the author and the arguments.
        """
        with self.lock:
            current = shown_bank.is_current
            result = what(shown_bank.project, shown_bank.author, *arguments)
            if current:
                shown_bank.drafts = bank.draft_mark(shown_bank.project, shown_bank.author)
        return result

    def get_shown(self, project: Project, author: str) -> ShownBank:
        """Return what this window has shown to a person in a project."""
        shown = self.shown.setdefault((project.name, author), ShownBank(project, author))
        shown.project = project
        return shown

    def go_to(self, question: types.Question) -> None:
        """Open the query of a question and move the caret to the question."""
        self.query, self.focus, self.turns = question.query_id, question.question_id, self.turns + 1

    def list_refused_edits(self, shown_bank: ShownBank) -> list[str]:
        """Return ids of questions with a refused edit that the person has neither corrected nor
        given up.
        """
        place = shown_bank.project.name, shown_bank.author
        return [
            str(act.get("id"))
            for number, act in self.sent.items()
            if (act.get("project"), act.get("author")) == place
            and self.refused.get(number) is not None
        ]

    def drop_old_result(self, project: Project, author: str) -> None:
        """Forget the result of the last action if the drafts have changed since: the problem was
        settled elsewhere.
        """
        with self.lock:
            now = project.name, author, bank.draft_mark(project, author)
            if self.told is None:
                self.told = now
            elif self.told != now:
                self.error, self.said = None, ""

    def describe_state(self) -> dict[str, Any]:
        """Return the window's state that every component of the bank needs."""
        return {
            "window": self.token,
            "done": self.done,
            "refused": {str(number): why for number, why in self.refused.items()},
        }


def current_window() -> EditingWindow:
    """Return the window that this run draws."""
    return st.session_state.setdefault("bank window", EditingWindow())


def take_in() -> None:
    """Do the actions of the browser that are not done yet."""
    window = current_window()
    state = st.session_state.get(KEY)
    sent = state.get("acts") if isinstance(state, Mapping) else None
    acts_by_number = {
        act["n"]: act
        for act in (sent if isinstance(sent, list) else ())
        if isinstance(act, Mapping)
        and isinstance(act.get("n"), int)
        and act.get("window") == window.token
    }
    window.sent = acts_by_number
    for number in sorted(acts_by_number):
        window.do_action_once(acts_by_number[number])
    with window.lock:
        # The browser has given up refused actions that it no longer sends. On screens without the
        # bank it sends nothing.
        if sent is not None:
            window.refused = {
                number: why for number, why in window.refused.items() if number in acts_by_number
            }
    if window.nameless:
        window.nameless = False
        ui.author()


def open_for(project: Project) -> None:
    """Register a project with the window before anything is drawn, since the browser may send
    actions early.
    """
    current_window().get_shown(project, ui.person())


def note_shown(project: Project, questions: list[types.Question]) -> None:
    """Record that this window shows a person's questions, and the present state of their drafts."""
    shown = current_window().get_shown(project, ui.person())
    shown.questions.update((question.question_id, question) for question in questions)
    shown.drafts = bank.draft_mark(project, shown.author)


def change_drafts(
    project: Project, what: Callable[..., object], *arguments: object, author: str
) -> None:
    """Apply a change that no component asked for, such as one from a dialog, to the author's
    drafts.

    Args:
        what: a function of the project, the author and the arguments.
    """
    here = current_window()
    # The session is not accessed below, so that the run cannot end between the change and its note.
    here.apply_change(here.get_shown(project, author), what, *arguments)


Act = Mapping[str, Any]

ANOTHER = "Your other window made changes, which are now shown here. Press again to continue."
UNSETTLED = "Not done. First choose a wording for each conflict below."
UNSTORED = "Not saved. Correct the red fields of “{}”."
OPTIONAL = ("subtopic_id", "answer_key", "note")
"""Fields that may be empty."""
DIALOGS_TO_CHANGE = ("paste", "split")
"""Dialogs that need the person's name."""


CHANGES = frozenset(
    ("edit", "add", "take back", "duplicate", "move", "several", "undo", "redo", "save", "discard")
)
"""Actions that change a person's drafts, and need the person's name."""
STEPS: dict[str, Callable[[Project, str], object]] = {
    "undo": bank.undo_step,
    "redo": bank.redo_step,
    "discard": bank.take_back,
}
"""Actions on all drafts except saving, with their functions."""
DISCARDED = "Changes discarded. Press Undo to restore them."


def do_action(window: EditingWindow, act: Act) -> None:
    """Do an action that the browser sent from a window.

    "look" only redraws a window that came to the front, to show the changes of other windows.
    "leave" only stops the browser from sending a refused edit again.

    Raises:
        WorkbenchError: the action failed.
    """
    name, key = str(act.get("act")), str(act.get("id") or "")
    shown_bank = window.shown.get((str(act.get("project")), str(act.get("author"))))
    if shown_bank is None:
        raise errors.InputError(
            "other-project-or-name",
            "This action belongs to another project or name.",
            "Open that project under that name, then try again.",
        )
    changes = name in CHANGES or (name == "dialog" and act.get("name") in DIALOGS_TO_CHANGE)
    if changes and not shown_bank.author:
        window.nameless = True
        return
    match name:
        case "edit":
            _edit_question(window, shown_bank, act)
        case "add":
            query_id, added = str(act.get("query")), f"{act.get('query')}/{act.get('name')}"
            window.apply_change(shown_bank, bank.begin_question, query_id, str(act.get("name")))
            # Its first edit may arrive before the question has been shown.
            shown_bank.questions.setdefault(added, types.Question(added, query_id, ""))
        case "take back":
            window.apply_change(shown_bank, bank.take_back, [key])
        case "duplicate":
            copy = bank.duplicate_question(_present_question(shown_bank, key))
            window.apply_change(shown_bank, bank.put_drafts, [copy])
            window.go_to(copy)
        case "move":
            query_id = _present_question(shown_bank, key).query_id
            every = bank.drafted_bank(shown_bank.project, shown_bank.author, query_id)
            moved = bank.move_question(every, key, -1 if act.get("up") else 1)
            window.apply_change(shown_bank, bank.put_drafts, moved)
        case "several":
            _change_several(window, shown_bank, act)
        case "undo" | "redo" | "discard" | "save":
            _change_all(window, shown_bank, name, str(act.get("note") or ""))
        case "open":
            window.query, window.subtopic = str(act.get("query")), None
        case "dialog":
            window.dialog = str(act.get("name")), key
        case "near":
            window.near = act.get("on") is True
        case "subtopic":
            window.subtopic = str(act.get("chosen") or "")
    if name != "edit":
        window.stint = None


def _edit_question(window: EditingWindow, shown_bank: ShownBank, act: Act) -> None:
    key, field, visit = (
        str(act.get("id")),
        str(act.get("field")),
        (act.get("id"), act.get("field"), act.get("stint")),
    )
    question = _find_shown(shown_bank, key)
    unknown = field == "text" and question.text is None
    value, before = (
        _read_field(field, act.get("value"), unknown),
        _read_field(field, act.get("base"), unknown),
    )
    if typed_before := act.get("mine"):
        # A reloaded tab may not have heard of its own earlier actions. It has seen the values that
        # it sent itself.
        stored = getattr(_find_drafted(shown_bank, key) or question, field)
        before = (
            stored
            if stored in [_read_field(field, typed, unknown) for typed in typed_before]
            else before
        )
    as_seen = bank.seen_version(shown_bank.project, question, field, before)
    join = visit[2] is not None and window.stint == visit and shown_bank.is_current
    window.apply_change(shown_bank, bank.change_draft, as_seen, field, value, before, join)
    window.stint = visit


def _find_drafted(shown_bank: ShownBank, key: str) -> types.Question | None:
    """Return a question as in the person's present drafts; None if it no longer exists."""
    query_id = (
        shown_bank.questions[key].query_id
        if key in shown_bank.questions
        else key.rpartition("/")[0]
    )
    every = bank.drafted_bank(shown_bank.project, shown_bank.author, query_id)
    return next((one for one in every if one.question_id == key), None)


def _find_shown(shown_bank: ShownBank, key: str) -> types.Question:
    """Return a question as the window showed it, or from the person's drafts if it is newer."""
    if question := shown_bank.questions.get(key) or _find_drafted(shown_bank, key):
        return question
    raise errors.InputError("unknown-question", "This question no longer exists.", "Add it again.")


def _read_field(field: str, value: Any, unknown: bool) -> object:
    """Return the value to store for the content of a field.

    Args:
        unknown: whether the question has no known text; an emptied box then leaves it without one.
    """
    if field == "weight" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if field == "active" and isinstance(value, bool):
        return value
    if field == "kind" and value in types.KINDS:
        return str(value)
    if (field == "text" or field in OPTIONAL) and isinstance(value, str | None):
        return (value or "").strip() or None if unknown or field in OPTIONAL else value or ""
    raise errors.InputError("invalid-field", f"Invalid {field}: {value!r}.", "Enter another value.")


def _change_several(window: EditingWindow, shown_bank: ShownBank, act: Act) -> None:
    """Merge, retire, restore or reweight several questions of a query."""
    picked = [_present_question(shown_bank, str(key)) for key in act.get("ids") or ()]
    kind_of_change = act.get("what")
    if kind_of_change == "merge":
        changed = bank.editing.merge_questions(
            picked, " ".join(one.text for one in picked if one.text)
        )
        window.go_to(changed[0])
    elif kind_of_change == "weight":
        value = _read_field("weight", act.get("value"), False)
        changed = bank.reweight_questions(picked, float(str(value)))
    else:
        changed = bank.retire_questions(picked, active=kind_of_change == "restore")
    window.apply_change(shown_bank, bank.put_drafts, changed)


def _present_question(shown_bank: ShownBank, key: str) -> types.Question:
    """Return a question from the person's present drafts, or else as shown."""
    return _find_drafted(shown_bank, key) or _find_shown(shown_bank, key)


def _change_all(window: EditingWindow, shown_bank: ShownBank, name: str, note: str) -> None:
    """Save, discard, undo or redo, unless a conflict is open, or the window has not shown all
    drafts.
    """
    if name in ("save", "discard") and bank.list_conflicts(shown_bank.project, shown_bank.author):
        window.said = UNSETTLED
    elif name == "save":
        _save_bank(window, shown_bank, note)
    elif not shown_bank.is_current:
        window.said = ANOTHER
    else:
        window.apply_change(shown_bank, STEPS[name])
        window.said = DISCARDED if name == "discard" else ""


def _save_bank(window: EditingWindow, shown_bank: ShownBank, note: str) -> None:
    # A question that was removed in the meantime needs no correction.
    if waits := next(
        filter(
            None, (_find_drafted(shown_bank, key) for key in window.list_refused_edits(shown_bank))
        ),
        None,
    ):
        window.said = UNSTORED.format(waits.shown_text)
        window.go_to(waits)
    elif not (drafts := bank.list_drafts(shown_bank.project, shown_bank.author)):
        window.said = "No changes to save."
    elif not shown_bank.is_current:
        window.said = ANOTHER
    else:
        # Saving refuses questions without text and gives the reason. The question may be out of
        # sight or of another query.
        if wordless := next(
            (
                edited_draft.question
                for edited_draft in drafts.values()
                if bank.is_wordless(edited_draft.question)
            ),
            None,
        ):
            window.go_to(wordless)
        # Read before the save, since reading the session state may end the run.
        waiting = awaited_edits.list_awaited()
        version = window.apply_change(shown_bank, bank.save_drafts, note)
        window.saved = (shown_bank.project.name, version) if version else None
        if version:
            _settle_cases(
                window, shown_bank, waiting, [draft.question for draft in drafts.values()]
            )


def _settle_cases(
    window: EditingWindow,
    shown_bank: ShownBank,
    waiting: list[awaited_edits.AwaitedEdit],
    edited: Sequence[types.Question],
) -> None:
    """Settle the disagreements that waited for one of these edits."""
    fitting = [
        edit
        for edit in waiting
        if any(edit.is_settled_by(shown_bank.project.name, each) for each in edited)
    ]
    for edit in fitting:
        waiting.remove(edit)
        review.settle_by_edit(
            shown_bank.project,
            edit.case,
            edit.question_id,
            edit.reason,
            shown_bank.author,
            first=True,
        )
    if fitting:
        window.said = f"This edit resolved {text.how_many(len(fitting), 'disagreements')}."
