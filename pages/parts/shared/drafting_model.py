"""Choosing the model that drafts, on this computer or at an endpoint; the last choice is the default."""

import streamlit as st

from exam_workbench.graders import BACK_ENDS, LOCAL_MODEL
from exam_workbench.grading import usual_settings
from exam_workbench.project import Project
from pages.parts.shared import model_place, ui

WHERE = {"transformers": "On this computer", "openai": "At an endpoint"}
LAST = "drafter"
"""Session key of the latest model's settings."""


def choose(project: Project, key: str) -> dict[str, str] | None:
    """Draw the choice of a model and return its settings; without a valid choice, show an error and return None.

    The default is the last choice here, else the model for grading.

    Args:
        key: prefix of the widgets' keys.
    """
    with ui.errors():
        return _chosen(project, key)
    return None


def remember(settings: dict[str, str]) -> None:
    """Remember a model as the next default."""
    st.session_state[LAST] = settings


def _chosen(project: Project, key: str) -> dict[str, str]:
    usual: dict[str, str] = st.session_state.get(LAST) or usual_settings(project)
    where = st.segmented_control(
        "Where the model runs", BACK_ENDS, default=usual["back_end"],
        format_func=WHERE.__getitem__, required=True, key=f"{key} where",
    )  # fmt: skip
    known = usual if where == usual["back_end"] else {}
    settings = {"back_end": str(where)}
    stored = known.get("model", "")
    if where == "openai":
        address, endpoint = model_place.choose_endpoint(known, key, bound=False)
        settings |= address
        settings["model"] = model_place.choose_model(stored, endpoint, f"{key} model openai")
    else:
        settings["model"] = model_place.choose_local(stored, LOCAL_MODEL, f"{key} model {where}", bound=False)
    return {name: value for name, value in settings.items() if value}
