"""The panel next to a passage: the person's judgment, the judgments of all sources, the rank in every run."""

import streamlit as st

from exam_workbench.project import (
    SCALE,
    Project,
    doubles,
    guidelines,
    judging,
    judgment_history,
    own_judgment,
    set_guidelines,
    withdraw,
)
from exam_workbench.review import Desk
from pages.parts.review import passage_list
from pages.parts.shared import actions, components, html, presses, ui


def act(project: Project) -> None:
    """Save the pending judgments.

    A key judges the passage that was chosen when it was pressed. A button judges the passage that it was drawn with.

    Raises:
        WorkbenchError: some were not saved; the message names their passages.
    """
    asked = passage_list.judgments()
    acts = list(asked.acts)
    notes = {at: str(st.session_state.get(_note(at)) or "") for at in map(_at, acts)}

    def save(one: actions.Act, author: str) -> str:
        if one["do"] == "withdraw":
            # If another window has withdrawn it already, nothing is left to do.
            if own_judgment(project, *_at(one), author) is not None:
                withdraw(project, *_at(one), author)
            return "Judgment withdrawn."
        value = int(one["value"])
        judging.judge(project, *_at(one), value, author, notes[_at(one)])
        return f"Judgment saved: {value}, {SCALE[value]}."

    def called(one: actions.Act) -> str:
        what = f"Your judgment {one['value']}" if one["do"] == "judge" else "The withdrawal of your judgment"
        return f"{what} for passage {one['passage']}"

    actions.save_all(asked, acts, project.name, save, called)


def _at(act: actions.Act) -> tuple[str, str]:
    return str(act["query"]), str(act["passage"])


def judge(project: Project, desk: Desk) -> None:
    """Draw buttons to give, replace and withdraw the person's judgment."""
    at = desk.query_id, desk.passage_id
    own = own_judgment(project, *at, ui.person()) if ui.person() else None
    asked = passage_list.judgments()
    there = {"home": project.name, "query": at[0], "passage": at[1]}
    # In a narrow window, the judgment stays at the lower edge, in sight with the passage.
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
    st.container(key="known").html(html.known_html(desk, judgment_history(project, desk.query_id, desk.passage_id)))


COOKIE = "exam-workbench-blind"
KEY = "blind"


def is_blind() -> bool:
    """Return whether other people's ratings and judgments are hidden; known before the first drawing, also after a
    reload.
    """
    return bool(st.session_state.setdefault(KEY, remembers_blind()))


def remembers_blind() -> bool:
    """Return whether this browser judged blindly during its last visit."""
    return COOKIE in st.context.cookies


def blind_toggle() -> None:
    """Draw the switch."""
    st.toggle(
        "Blind judging", key=KEY, persist_state="session",
        on_change=lambda: st.session_state.update({"blind chosen": True}),
        help="Hide ratings, labels, ranks and other assessors' judgments until you have judged the passage."
        " This browser keeps the setting until you switch it off.",
    )  # fmt: skip
    chosen = ("yes" if st.session_state[KEY] else "") if "blind chosen" in st.session_state else None
    components.draw("cookie", "remember blind", {"cookie": COOKIE, "value": chosen})


def blind_beside(project: Project, query_id: str, passage_id: str) -> None:
    """Draw a note that other assessors judge the passage, too, if the person takes part in that."""
    mine = [one for one in doubles(project) if one.query_id == query_id and ui.person() in one.present]
    if any(one.holds(passage_id) for one in mine):
        st.caption(
            ":material/visibility_off: Other assessors judge this passage too. Until adjudication, you cannot see each"
            " other's values, and none of them count."
        )


def guidelines_beside(project: Project, query_id: str) -> None:
    """Draw the guidelines, and for organizers a form to edit them; draw nothing without either."""
    found, may = guidelines(project, query_id), project.allows("set guidelines")
    if not (found.project or found.query or may):
        return
    with st.expander("Guidelines", icon=":material/menu_book:", expanded=bool(found.project or found.query)):
        for text in filter(None, (found.project, found.query)):
            st.text(text)
        if not may:
            return
        with st.popover("Edit guidelines", icon=":material/edit:", key="write guidelines"):
            for title, old, about in (
                ("Project guidelines", found.project, None),
                ("Query guidelines", found.query, query_id),
            ):
                new = st.text_area(title, old, key=f"guidelines {about} {hash(old)}", height=160)
                # Always enabled: the text is known after the field loses focus, which the click on the button causes.
                if presses.button(f"Save {title.lower()}", key=f"save guidelines {about}") and new != old:
                    set_guidelines(project, new, ui.author(), about)
                    st.rerun()
