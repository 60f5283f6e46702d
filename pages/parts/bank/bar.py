"""The bar above the question bank: unsaved changes, undo, saving with a note, and keyboard shortcuts."""

from typing import Any

import streamlit as st

from exam_workbench import bank
from exam_workbench.bank import QueryOverview, conflicts, latest_version, note_written, others, steps
from exam_workbench.project import Project
from pages.parts.bank import review as bank_review
from pages.parts.bank import window as bank_window
from pages.parts.shared import ui
from pages.parts.shared.components import component

_bar = component("bar_of_the_bank", "bank/bar.css", "bank/channel.js", "bank/bar.js")

WHOSE = (
    "Only these people can save or discard them. If you made them under another name, enter that name in the sidebar."
)


def bar(project: Project, query: QueryOverview, previous: str, following: str) -> None:
    """Draw the person's unsaved changes in all queries, and the conflicts that prevent saving.

    Args:
        query: the open query.
        previous, following: ids of its neighbours; empty at an end.
    """
    here, person = bank_window.window(), ui.person()
    here.outlived(project, person)
    mine = bank.drafts(project, person)
    undoable, redoable = steps(project, person)
    open_conflicts = conflicts(project, person) if mine else []
    name, saved = here.saved or ("", 0)
    data: dict[str, Any] = here.tells() | {
        "project": project.name,
        "author": person,
        "version": latest_version(project),
        "saved": saved if name == project.name else 0,
        "unsaved": len(mine),
        "queries": len({draft.question.query_id for draft in mine.values()}),
        "undo": undoable > 0,
        "redo": redoable > 0,
        "note": note_written(project, person) if mine else "",
        "said": here.said,
        "others": _others(project, person, query),
        "help": WHOSE,
        "conflicts": len(open_conflicts),
        "previous": previous,
        "next": following,
    }
    # `take_in` reads the state of the component under this key.
    _bar(key=bank_window.KEY, data=data, on_acts_change=lambda: None)
    # This container is there even when empty. If the elements below moved up, the browser would recreate them and the
    # caret would be lost.
    with st.container():
        if here.error is not None:
            ui.show_error(here.error)
        if open_conflicts:
            bank_review.settle(project, open_conflicts)


def _others(project: Project, person: str, query: QueryOverview) -> str:
    """Return the names of people who have unsaved changes; the person's actions do not touch those."""
    every = others(project, person)
    here = others(project, person, query.query_id) if every else {}
    said = [
        f"{name} {count}" + (f" ({here[name]} in this query)" if name in here else "") for name, count in every.items()
    ]
    return f"Other people's unsaved changes: {', '.join(said)}." if said else ""
