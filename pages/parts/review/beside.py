"""The panel next to a passage: the person's judgment, the judgments of all sources, the rank in every run."""

import streamlit as st

from exam_workbench.project import SCALE, Project, judging, judgment_history, own_judgment, withdraw
from exam_workbench.review import Desk
from pages.parts.review import passage_list
from pages.parts.shared import ui
from pages.parts.shared.acting import Act, save_all
from pages.parts.shared.html import known_html


def act(project: Project) -> None:
    """Save the pending judgments.

    A key judges the passage that was chosen when it was pressed. A button judges the passage that it was drawn with.

    Raises:
        WorkbenchError: some were not saved; the message names their passages.
    """
    asked = passage_list.judgments()
    acts = list(asked.acts)
    notes = {at: str(st.session_state.get(_note(at)) or "") for at in map(_at, acts)}

    def save(one: Act, author: str) -> str:
        if one["do"] == "withdraw":
            # If another window has withdrawn it already, nothing is left to do.
            if own_judgment(project, *_at(one), author) is not None:
                withdraw(project, *_at(one), author)
            return "Judgment withdrawn."
        value = int(one["value"])
        judging.judge(project, *_at(one), value, author, notes[_at(one)])
        return f"Judgment saved: {value}, {SCALE[value]}."

    def called(one: Act) -> str:
        what = f"Your judgment {one['value']}" if one["do"] == "judge" else "The withdrawal of your judgment"
        return f"{what} for passage {one['passage']}"

    save_all(asked, acts, project.name, save, called)


def _at(act: Act) -> tuple[str, str]:
    return str(act["query"]), str(act["passage"])


def judge(project: Project, desk: Desk) -> None:
    """Draw buttons to give, replace and withdraw the person's judgment."""
    at = desk.query_id, desk.passage_id
    own = own_judgment(project, *at, ui.person()) if ui.person() else None
    asked = passage_list.judgments()
    there = {"home": project.name, "query": at[0], "passage": at[1]}
    # In a narrow window it stays at the lower edge, in sight with the passage.
    with st.container(key="desk-judge"):
        st.markdown("**Your judgment**", width="content")
        st.text_input(
            "Note", key=_note(at), placeholder="Note (optional)", label_visibility="collapsed", persist_state="session"
        )
        for value, meaning in SCALE.items():
            st.button(
                meaning.capitalize(),
                key=f"judge {value}",
                on_click=asked.press,
                args=({"do": "judge", "value": value, **there},),
                shortcut=str(value),
                type="primary" if own == value else "secondary",
                width="stretch",
                disabled=desk.text is None,
            )
        if own is not None:
            st.button(
                "Withdraw judgment",
                key="withdraw judgment",
                on_click=asked.press,
                args=({"do": "withdraw", **there},),
                type="tertiary",
                icon=":material/undo:",
            )


def _note(at: tuple[str, str]) -> str:
    return f"note {at[0]} {at[1]}"


def known(project: Project, desk: Desk) -> None:
    """Draw the judgments by source with their history, and the rank in every run."""
    st.container(key="known").html(known_html(desk, judgment_history(project, desk.query_id, desk.passage_id)))
