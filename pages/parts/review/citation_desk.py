"""Citations: a sentence of a response beside the passages that it cites, and how far each supports
it.
"""

from functools import partial
from itertools import groupby

import streamlit as st

from exam_workbench.labels import (
    SUPPORT,
    Citation,
    citation_grader,
    list_citations,
    response_support,
    set_support,
)
from exam_workbench.records import pooled_queries
from exam_workbench.store import Project
from pages.parts.shared import actions, html, ui

KEY = "citing"
STYLE = """
.st-key-cited { flex-wrap: wrap; align-items: flex-start; }
.st-key-cited > * { flex: 1 1 20rem; min-width: min(100%, 20rem); }
"""


def draw(project: Project) -> None:
    """Draw the responses, a sentence that cites, and its cited passages side by side; keys 0 to 2
    set the value.

    The grader's rating and the values of other people appear after the person's own value.
    """
    st.html(f"<style>{STYLE}</style>")
    asked = actions.pending_actions(KEY)
    acts = list(asked.acts)
    with ui.errors():
        actions.save_all(asked, acts, project.name, partial(_save_value, project), _name_act)
    grader = citation_grader(project)
    queries = ui.distinct_option_texts(pooled_queries(project))
    responses = [
        (item.run, item.query_id) for item in response_support(project, grader) if item.citations
    ]
    run, query_id = st.selectbox(
        "Response",
        responses,
        key="cited response",
        format_func=lambda item: f"{item[0]}: {queries.get(item[1], item[1])}",
    )
    citation_list = list_citations(project, grader, run, query_id, ui.person())
    sentences = [
        list(cited)
        for _, cited in groupby(citation_list, lambda item: (item.passage_id, item.position))
    ]
    key = f"sentence {project.name} {run} {query_id}"
    at = st.session_state.get(key, 0)
    if acts or key not in st.session_state:
        order = [*range(at, len(sentences)), *range(at)]
        st.session_state[key] = next(
            (i for i in order if any(map(_awaits_value, sentences[i]))), at
        )
    at = st.selectbox(
        "Sentence",
        range(len(sentences)),
        key=key,
        format_func=lambda i: _title_sentence(i, sentences[i]),
    )
    if not any(map(_awaits_value, citation_list)):
        following = responses[(responses.index((run, query_id)) + 1) % len(responses)]
        st.button(
            "Next response",
            key="next response",
            on_click=st.session_state.update,
            args=({"cited response": following},),
            shortcut="n",
        )
    with st.container(horizontal=True, key="cited"):
        with st.container():
            sentence = html.as_html(sentences[at][0].sentence)
            st.html(f'<div class="asked" dir="auto"><b>{sentence}</b></div>')
            ui.draw_link(
                "passages", "Open passage", query=query_id, passage=sentences[at][0].passage_id
            )
        by_key = next((item for item in sentences[at] if _awaits_value(item)), None)
        for item in sentences[at]:
            with st.container():
                _draw_citation(project, item, item is by_key)


def _awaits_value(citation: Citation) -> bool:
    return citation.own is None and citation.text is not None


def _title_sentence(number: int, cited: list[Citation]) -> str:
    done = "" if any(map(_awaits_value, cited)) else "✓ "
    return f"{number + 1}. {done}{ui.shorten_text(cited[0].sentence, 90)}"


def _draw_citation(project: Project, citation: Citation, by_key: bool) -> None:
    """A cited passage with the values to choose from.

    Args:
        by_key: whether the keys 0 to 2 set its value.
    """
    st.caption(ui.escape(f"{citation.place}. {citation.cited_id}"))
    if citation.text is None:
        st.html(
            '<p class="gray">No text imported for this passage, so the citation is unresolved.</p>'
        )
        return
    st.html(html.text_html(citation.text, []))
    cited_place = {
        "home": project.name,
        "passage": citation.passage_id,
        "sentence": citation.position,
        "cited": citation.cited_id,
    }
    with st.container(horizontal=True):
        for value, meaning in SUPPORT.items():
            st.button(
                meaning.capitalize(),
                key=f"support {citation.place} {value}",
                on_click=actions.pending_actions(KEY).note_press,
                args=({"value": value, **cited_place},),
                shortcut=str(value) if by_key else None,
                type="primary" if citation.own == value else "secondary",
            )
        if citation.own is not None:
            st.button(
                "Withdraw",
                key=f"withdraw {citation.place}",
                on_click=actions.pending_actions(KEY).note_press,
                args=({"value": None, **cited_place},),
                type="tertiary",
                icon=":material/undo:",
            )
    if citation.own is not None:
        rating = "none" if citation.rating is None else citation.rating
        counts = (
            "none until the double assignment ends"
            if citation.value is None
            else f"{citation.value}, by {citation.author}"
        )
        st.container(key=f"known support {citation.place}").caption(
            ui.escape(f"Rating of the grader: {rating}. Value that counts: {counts}.")
        )


def _save_value(project: Project, act: actions.Act, author: str) -> str:
    set_support(
        project, str(act["passage"]), int(act["sentence"]), str(act["cited"]), act["value"], author
    )
    return (
        "Value withdrawn."
        if act["value"] is None
        else f"Value saved: {act['value']}, {SUPPORT[act['value']]}."
    )


def _name_act(act: actions.Act) -> str:
    return f"Your value for the support by {act['cited']}"
