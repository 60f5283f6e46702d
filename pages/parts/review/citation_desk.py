"""Citations: a sentence of a response beside the passages that it cites, and how far each supports it."""

from __future__ import annotations

from functools import partial
from itertools import groupby

import streamlit as st

from exam_workbench.labels import SUPPORT, Citation, citation_grader, citations, response_support, set_support
from exam_workbench.records import pooled_queries
from exam_workbench.store import Project
from pages.parts.shared import ui
from pages.parts.shared.actions import Act, asked_of, save_all
from pages.parts.shared.html import text_html, visible

KEY = "citing"
STYLE = """
.st-key-cited { flex-wrap: wrap; align-items: flex-start; }
.st-key-cited > * { flex: 1 1 20rem; min-width: min(100%, 20rem); }
"""


def draw(project: Project) -> None:
    """Draw the responses, a sentence that cites, and its cited passages side by side; keys 0 to 2 set the value.

    The grader's rating and the values of other people appear after the person's own value.
    """
    st.html(f"<style>{STYLE}</style>")
    asked = asked_of(KEY)
    acts = list(asked.acts)
    with ui.errors():
        save_all(asked, acts, project.name, partial(_save, project), _called)
    grader = citation_grader(project)
    queries = ui.told_apart(pooled_queries(project))
    responses = [(one.run, one.query_id) for one in response_support(project, grader) if one.citations]
    run, query_id = st.selectbox(
        "Response", responses, key="cited response", format_func=lambda one: f"{one[0]}: {queries.get(one[1], one[1])}"
    )
    found = citations(project, grader, run, query_id, ui.person())
    sentences = [list(cited) for _, cited in groupby(found, lambda one: (one.passage_id, one.position))]
    key = f"sentence {project.name} {run} {query_id}"
    at = st.session_state.get(key, 0)
    if acts or key not in st.session_state:
        order = [*range(at, len(sentences)), *range(at)]
        st.session_state[key] = next((i for i in order if any(map(_waits, sentences[i]))), at)
    at = st.selectbox("Sentence", range(len(sentences)), key=key, format_func=lambda i: _title(i, sentences[i]))
    if not any(map(_waits, found)):
        following = responses[(responses.index((run, query_id)) + 1) % len(responses)]
        st.button(
            "Next response", key="next response", on_click=st.session_state.update,
            args=({"cited response": following},), shortcut="n",
        )  # fmt: skip
    with st.container(horizontal=True, key="cited"):
        with st.container():
            st.html(f'<div class="asked" dir="auto"><b>{visible(sentences[at][0].sentence)}</b></div>')
            ui.go("passages", "Open passage", query=query_id, passage=sentences[at][0].passage_id)
        by_key = next((one for one in sentences[at] if _waits(one)), None)
        for one in sentences[at]:
            with st.container():
                _cited(project, one, one is by_key)


def _waits(one: Citation) -> bool:
    return one.own is None and one.text is not None


def _title(number: int, cited: list[Citation]) -> str:
    done = "" if any(map(_waits, cited)) else "✓ "
    return f"{number + 1}. {done}{ui.shortened(cited[0].sentence, 90)}"


def _cited(project: Project, one: Citation, by_key: bool) -> None:
    """A cited passage with the values to choose from.

    Args:
        by_key: whether the keys 0 to 2 set its value.
    """
    st.caption(ui.plain(f"{one.place}. {one.cited_id}"))
    if one.text is None:
        st.html('<p class="gray">No text imported for this passage, so the citation is unresolved.</p>')
        return
    st.html(text_html(one.text, []))
    there = {"home": project.name, "passage": one.passage_id, "sentence": one.position, "cited": one.cited_id}
    with st.container(horizontal=True):
        for value, meaning in SUPPORT.items():
            st.button(
                meaning.capitalize(),
                key=f"support {one.place} {value}",
                on_click=asked_of(KEY).press,
                args=({"value": value, **there},),
                shortcut=str(value) if by_key else None,
                type="primary" if one.own == value else "secondary",
            )
        if one.own is not None:
            st.button(
                "Withdraw", key=f"withdraw {one.place}", on_click=asked_of(KEY).press,
                args=({"value": None, **there},), type="tertiary", icon=":material/undo:",
            )  # fmt: skip
    if one.own is not None:
        rating = "none" if one.rating is None else one.rating
        counts = "none until the double assignment ends" if one.value is None else f"{one.value}, by {one.author}"
        st.container(key=f"known support {one.place}").caption(
            ui.plain(f"Rating of the grader: {rating}. Value that counts: {counts}.")
        )


def _save(project: Project, act: Act, author: str) -> str:
    set_support(project, str(act["passage"]), int(act["sentence"]), str(act["cited"]), act["value"], author)
    return "Value withdrawn." if act["value"] is None else f"Value saved: {act['value']}, {SUPPORT[act['value']]}."


def _called(act: Act) -> str:
    return f"Your value for the support by {act['cited']}"
