"""Question bank: queries on the left, a query's questions in the middle, narrative and impact on
the right.
"""

from urllib.parse import urlencode

import streamlit as st

from exam_workbench import bank, study, text
from exam_workbench.records import for_tuning
from exam_workbench.store import Project
from pages.parts.bank import bank_panels, editing_window, impact_panel, question_rows
from pages.parts.shared import (
    actions,
    address,
    awaited_edits,
    people_here,
    scoring_settings,
    streamlit_bridge,
    ui,
)

QUERIES = "queries"
"""Key of the list of queries."""

STYLE = streamlit_bridge.fill_style("""
/* What is unsaved stays in sight, and so do the queries, what is asked, and the impact. */
${header} { background: var(--ew-ground); }
${app} { --ew-ground: light-dark(#ffffff, #16191c); }
.st-key-bank { position: sticky; top: 2.5rem; z-index: 90; }
.st-key-bank::after { content: ""; position: absolute; inset: -0.4rem -0.5rem; z-index: -1;
  background: var(--ew-ground); }
${layoutWrapper}:has(> :is(.st-key-queries-side, .st-key-impact)) { position: sticky; top: 6.6rem; }
.st-key-impact { max-height: calc(100vh - 7.2rem); overflow-y: auto; gap: 0.45rem; }
.st-key-queries-side { --pick-height: calc(100vh - 10.2rem); }
/* What is told in passing does not lie over the buttons that are in sight. */
${toastContainer} { top: auto !important; bottom: 1rem; }
.asked-for { font-size: 0.92rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: plaintext; max-height: round(down, 30vh, 1.45em); overflow-y: auto;
  margin: 0.2rem 0 0;
  background: linear-gradient(var(--ew-ground) 0 0) bottom / 100% 1.45em no-repeat local,
    linear-gradient(transparent, var(--ew-line)) bottom / 100% 1em no-repeat; }
.what-is-asked summary { cursor: pointer; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.what-is-asked span { color: var(--ew-dim); font-size: 0.87rem; }
.what-is-asked[open] span { display: none; }
/* One line a flip: the whole passage is a click away. */
[class*="st-key-flips-"] { gap: 0; }
[class*="st-key-flips-"] button { min-height: 1.65rem; padding: 0.05rem 0; }
[class*="st-key-flips-"] button :is(div, span) { min-width: 0; }
[class*="st-key-flips-"] button p {
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.moves { max-height: 16rem; overflow-y: auto; }
.moves table { width: 100%; border-collapse: collapse; font-size: 0.85rem; table-layout: fixed; }
.moves :is(th, td) { text-align: right; padding: 0.15rem 0.2rem;
  border-bottom: 1px solid var(--ew-line); width: 4.4rem; font-variant-numeric: tabular-nums; }
.moves :is(th, td):first-child { text-align: left; width: auto; overflow-wrap: anywhere; }
.moves th { color: var(--ew-dim); font-weight: 400; }
.moves .moved td:last-child { color: var(--ew-flipped); font-weight: 600; }
@media (max-width: 1150px) {
  .st-key-bank-columns > div > ${horizontalBlock} { flex-wrap: wrap; }
  .st-key-bank-columns > div > ${horizontalBlock} > :nth-child(1) { flex: 1 1 100%; }
  .st-key-bank-columns > div > ${horizontalBlock} > :nth-child(2) { flex: 3 1 0; min-width: 0; }
  .st-key-bank-columns > div > ${horizontalBlock} > :nth-child(3) { flex: 2 1 0; min-width: 0; }
  ${layoutWrapper}:has(> .st-key-queries-side) { position: static; }
  .st-key-queries-side { --pick-height: 7rem; }
  ${layoutWrapper}:has(> .st-key-impact) { top: 8.9rem; }
  .st-key-impact { max-height: calc(100vh - 9.5rem); }
}
@media (max-width: 700px) {
  .st-key-bank-columns > div > ${horizontalBlock} > :nth-child(n) { flex: 1 1 100%; }
  ${layoutWrapper}:has(> .st-key-impact) { position: static; }
  .st-key-impact { max-height: none; }
}
""")


def find_open_position(project: Project, overviews: list[bank.QueryOverview]) -> int:
    """Return the position of the query that was chosen, is in the URL, or was last open; by default
    the first.
    """
    window = editing_window.current_window()
    if (to_edit := st.session_state.pop(awaited_edits.TO_EDIT, None)) is not None:
        window.go_to(bank.find_question(project, ui.person(), to_edit))
    picked = actions.pending_actions(QUERIES).acts
    if chosen := picked[-1]["choice"] if picked else window.query:
        address.write_parameters({"query": chosen, "subtopic": ""})
        picked.clear()
        window.query = ""
    named = st.query_params.get("query")
    query_id = named or st.session_state.get("last query")
    at = next((i for i, q in enumerate(overviews) if q.query_id == query_id), None)
    # After a change of the project, the address still names a query of the former one, which is not
    # a request.
    if st.session_state.get("project of bank", project.name) != project.name:
        st.session_state["query left behind"] = named
    st.session_state["project of bank"] = project.name
    left_behind = named == st.session_state.get("query left behind")
    if at is None and named and not left_behind:
        st.container(key="another-query").warning(
            f"Unknown query {ui.escape(str(query_id))}. The first query is shown instead.",
            icon=":material/info:",
        )
    st.session_state["last query"] = overviews[at or 0].query_id
    if not named or (at is None and left_behind):
        address.begin_at(query=overviews[at or 0].query_id)
    return at or 0


def query_list(
    project: Project, overviews: list[bank.QueryOverview], chosen: bank.QueryOverview
) -> None:
    """Draw the queries with their counts and alerts."""
    edited = {draft.question.query_id for draft in bank.list_drafts(project, ui.person()).values()}
    unsaved = {"kind": "changed", "sign": "✎", "says": "has unsaved changes"}
    idle = {"kind": "alert", "sign": "▲", "says": "no active questions, so nothing can be graded"}
    rows = [
        {
            "id": query.query_id,
            "text": ui.shorten_text(query.text, ui.LISTED),
            "href": "?" + urlencode({"project": project.name, "query": query.query_id}),
            "about": (
                f"{text.how_many(query.active, 'questions')} ·"
                f" {text.how_many(query.pooled, 'passages')}"
            ),
            # A query without pooled passages needs no questions, such as a topic without judgments.
            "marks": [unsaved] * (query.query_id in edited)
            + [idle] * (query.pooled > 0 and not query.active),
        }
        for query in overviews
    ]
    actions.pending_actions(QUERIES).draw("picks", {"rows": rows, "chosen": chosen.query_id})


# Judgments that are held out are not read here, so that people cannot tune the questions to them.
project = for_tuning(ui.require_project(STYLE))
queries = bank.query_overviews(project)
ui.require_content(
    queries, "No queries yet.", "Import queries on the Home screen.", "home", code="no-queries"
)
view = scoring_settings.current_view()
editing_window.open_for(project)
with st.container():
    at = find_open_position(project, queries)
query = queries[at]
place = {
    "at": at + 1,
    "of": len(queries),
    "previous": queries[at - 1].query_id if at else "",
    "next": queries[at + 1].query_id if at + 1 < len(queries) else "",
}
question_rows.draw_bar(project, query, str(place["previous"]), str(place["next"]))
left, middle, right = st.container(key="bank-columns").columns([3, 8, 5], gap="medium")
with left, st.container(key="queries-side"):
    query_list(project, queries, query)
with right, st.container(key="impact"):
    people_here.draw_people(project, query.query_id)
    impact_panel.draw_query_effect(project, query, view)
with middle:
    diagnosis, grader = None, scoring_settings.current_grader(project)
    whole = grader.name if grader and grader.method == "direct" else None
    # Without pooled passages, as for exam items, there is nothing to diagnose.
    if view is not None and whole is None and query.pooled:
        drafted = bank.drafted_bank(project, ui.person(), query.query_id)
        diagnosis = study.diagnose_questions(
            project,
            view.policy,
            query.query_id,
            drafted,
            scoring_settings.judged_by(project, view.against),
        )
    question_rows.draw_editor(project, query, diagnosis, place, whole)
    bank_panels.draw_more_tasks(project, query, diagnosis, view.policy if view else None)
    bank_panels.repair_form(project, query.query_id, view.policy if view else None)
