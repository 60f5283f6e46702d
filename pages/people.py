"""People: roles, the queries of assessors with due dates, and agreement between people."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from exam_workbench import bank, errors, review
from exam_workbench.records import change_member, queries_of, remove_member, set_member, undo_member
from exam_workbench.store import ABOUT_ROLES, ROLES, Member, Project
from pages.parts.people import assignments
from pages.parts.shared import login, presses, ui

# The data of a person are on one line if they fit, otherwise below each other.
STYLE = """
[class*="st-key-person-"] { flex-wrap: wrap; }
[class*="st-key-person-"] > :first-child { flex: 1 1 14rem; }
"""
DONE = "people done"


def apply_change(identity: str, message: str, do: Callable[[], Any]) -> None:
    """Change a person's role, and keep the result for the next run."""
    try:
        do()
        st.session_state[DONE] = message, identity, None
    except errors.WorkbenchError as error:
        st.session_state[DONE] = "", identity, error


def draw_last_change() -> None:
    """Draw the result of the last change, with a button to undo it."""
    message, identity, error = st.session_state.get(DONE, ("", "", None))
    if error is not None:
        ui.show_error(error)
    if message:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(message)
            st.button(
                "Undo",
                type="tertiary",
                icon=":material/undo:",
                key="undo person",
                on_click=apply_change,
                args=(identity, "", lambda: undo_member(project, identity, ui.author())),
            )


def draw_member(project: Project, member: Member, texts: dict[str, str]) -> None:
    """Draw a person: name and identity, the role, the queries of an assessor, and a button to
    remove them.
    """
    author, stamp = ui.person(), f"{member.identity} {member.role} {member.queries}"

    def change_field(key: str, **what: Callable[[Any], Any]) -> None:
        value = st.session_state[key]
        new_values = {name: read(value) for name, read in what.items()}
        apply_change(
            member.identity,
            f"Changed the role or queries of {member.name}.",
            lambda: change_member(project, member.identity, author, **new_values),
        )

    with st.container(
        key=f"person-{member.identity}", horizontal=True, vertical_alignment="bottom", border=True
    ):
        # Markdown would turn an e-mail address into a link.
        with st.container(gap=None):
            st.markdown(f"**{ui.escape(member.name)}**")
            st.text(member.identity)
        key = f"role {stamp}"
        st.selectbox(
            "Role",
            ROLES,
            ROLES.index(member.role),
            key=key,
            width=150,
            on_change=change_field,
            args=(key,),
            kwargs={"role": str},
        )
        if member.role == "assessor":
            key = f"queries {stamp}"
            query_count = len(member.queries or ())
            st.multiselect(
                # The number is shown because the box is wide enough for only one or two queries.
                f"Queries ({query_count} of {len(texts)})" if query_count else "Queries",
                list(texts),
                [q for q in member.queries or () if q in texts],
                key=key,
                placeholder="All queries",
                format_func=lambda query: texts[query],
                on_change=change_field,
                args=(key,),
                width=360,
                kwargs={
                    "queries": lambda chosen: chosen or None,
                    "all_queries": lambda chosen: not chosen,
                },
            )
        st.button(
            "Remove",
            type="tertiary",
            icon=":material/person_remove:",
            key=f"remove {member.identity}",
            on_click=apply_change,
            args=(
                member.identity,
                f"Removed {member.name}.",
                lambda: remove_member(project, member.identity, author),
            ),
        )


def draw_adding_form(project: Project, texts: dict[str, str]) -> None:
    """Draw a form that gives a person a role."""
    form = presses.form_key("add person")
    with st.form(form), st.container(horizontal=True, vertical_alignment="bottom"):
        identity = st.text_input(
            "Login e-mail address",
            placeholder="ann@example.org",
            max_chars=200,
            key=f"{form} identity",
        )
        name = st.text_input(
            "Name", placeholder="For the activity log", max_chars=60, key=f"{form} name"
        )
        role = st.selectbox("Role", ROLES, ROLES.index("assessor"), width=150)
        if st.form_submit_button(
            "Add", type="primary", icon=":material/person_add:", key="give role"
        ):
            author = ui.author()

            def add_person() -> None:
                set_member(project, identity, role, author, name or None)
                presses.clear_form("add person")

            apply_change(identity, f"{name or identity} now has the role {role}.", add_person)
            st.rerun()


project = ui.require_project(STYLE)
project.require("manage people")
for role, about in ABOUT_ROLES.items():
    st.caption(f"**{role.capitalize()}**: {about}.")
if not login.is_required():
    st.container(key="no-logins").info(
        "Login is off. Anyone who can open this server has full access. Roles apply"
        " only if login is on."
    )
draw_last_change()
texts = ui.distinct_option_texts({query.query_id: query.text for query in queries_of(project)})
for one in project.members().values():
    draw_member(project, one, texts)
draw_adding_form(project, texts)
exams = bank.exam_queries(project, bank.latest_version(project))
judged = {query_id: text for query_id, text in texts.items() if query_id not in exams}
if found := review.assessor_shares(project):
    st.header("Progress of assessors", anchor=False)
    assignments.draw_due_dates(project, judged, found)
assignments.draw_doubles(
    project, judged, [one.name for one in project.members().values() if one.role != "viewer"]
)
assignments.agreement_between(project)
