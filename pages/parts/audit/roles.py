"""Roles of models: authors of the questions, graders, and systems that use the same models."""

import streamlit as st

from exam_workbench import audit as room
from exam_workbench.audit import Audit, Role
from exam_workbench.project import Project, state_families
from pages.parts.shared import presses, ui

HOW = "Model families, separated by commas (gpt, llama). Write “no model” if no model was used."
NONE = "no model"


def draw(project: Project, audit: Audit) -> None:
    """Draw the roles, warnings if a model has two roles, and the audit's estimate of favouritism."""
    found = room.circularity(project, audit.policy, audit.runs)
    warnings = st.container(key="double-roles")
    for warning in found.warnings:
        warnings.warning(ui.plain(warning), icon=":material/sync_problem:")
    if not found.warnings:
        st.container(key="no-double-roles").caption("No model has two roles, as far as stated.")
    if (favour := room.audit_board(project, audit).favour) is not None:
        st.markdown(f"**{ui.plain(favour.says)}**")
    st.caption(HOW)
    with st.container(horizontal=True):
        questions = st.text_input(
            "Models that wrote the questions", _said(found.questions), key="roles-questions", placeholder="not stated",
            width=280, help=_from(found.questions),
        )  # fmt: skip
        grader = st.text_input(
            "Models of the grader", _said(found.grader), key="roles-grader", placeholder="not stated", width=280,
            help=_from(found.grader),
        )  # fmt: skip
    edited = st.data_editor(
        {
            "System": [role.name for role in found.runs],
            "Models": [_said(role) for role in found.runs],
            "Two roles": ["yes" if role.name in found.kin else "" for role in found.runs],
        },
        hide_index=True, disabled=["System", "Two roles"], key="roles-runs",
        column_config={"Models": st.column_config.TextColumn(help=HOW, width="medium")},
    )  # fmt: skip
    if not presses.button("Save models", type="primary", key="state roles"):
        return
    changed = [
        ("run", role.name, str(said or ""))
        for role, said in zip(found.runs, edited["Models"], strict=True)
        if str(said or "") != _said(role)
    ]
    if questions != _said(found.questions):
        changed.append(("questions", "", questions))
    if grader != _said(found.grader):
        changed.append(("grader", audit.graders[0], grader))
    with ui.errors():
        for part, name, said in changed:
            state_families(project, part, name, _families(said), ui.author())
        st.rerun()


def _said(role: Role) -> str:
    if role.families is None:
        return ""
    return ", ".join(role.families) or NONE


def _from(role: Role) -> str:
    if role.stated:
        return "Entered in this project."
    return f"Derived from the model name: {ui.plain(', '.join(role.models))}." if role.models else "Not stated yet."


def _families(said: str) -> list[str]:
    return [] if said.strip() == NONE else [one.strip() for one in said.split(",") if one.strip()]
