"""Home: an introduction, the state of the project, three doors to its tasks, and imports."""

from datetime import timedelta
from functools import partial

import streamlit as st

from exam_workbench import bank, board_summary, errors, exchange, labels, review
from exam_workbench.store import Project
from pages.parts.export import export_files
from pages.parts.home import creation, file_imports, panels, tour
from pages.parts.shared import readiness, scoring_settings, ui

WHAT_THIS_IS = (
    "People write exam questions. A grader, often an LLM judge, rates how well passages answer"
    " them. Relevance labels, qrels and leaderboards are derived from the ratings."
)
SAID_FOR = timedelta(days=7)
"""Time for which Home announces a new default grader."""
# The doors are side by side if they fit, otherwise below each other.
STYLE = """
.st-key-doors { flex-wrap: wrap; align-items: stretch; }
.st-key-doors > * { flex: 1 1 18rem; min-width: min(100%, 18rem); }
.st-key-standing { min-height: 26rem; }
"""


def boards_alone(project: Project) -> None:
    """Draw the state of the project for a viewer who may see only its leaderboards."""
    view = scoring_settings.current_view()
    board = (
        board_summary.find_summary(project, view.policy, view.measure, view.against)
        if view
        else None
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="next"):
        st.markdown(
            "You can see the leaderboards of this project. Only assessors and organizers see its"
            " questions and grades."
        )
        ui.draw_link("leaderboard")
    readiness.draw(project)
    panels.draw(
        "state", [panels.board_panel(board), panels.contents_panel(bank.project_counts(project))]
    )


def next_line(step: bank.NextStep) -> None:
    """Draw the next step with a link to its screen."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="next"):
        st.container(key=f"next {step.screen}", width="content").markdown(
            f"**Next:** {ui.escape(step.sentence)}"
        )
        if step.screen != "home":
            ui.draw_link(step.screen)


def draw_project_state(project: Project, counts: dict[str, int], lead: bool) -> None:
    """Draw three doors with their open tasks, and a picture of the project's state.

    Args:
        counts: the counts of the project.
        lead: whether to begin with the next step.
    """
    person = ui.person()
    progress: labels.Progress | None = None
    agreement, board = None, None
    stale: list[labels.Override] = []
    if (view := scoring_settings.current_view()) is not None:
        # Cached results appear at once.
        with st.spinner("Reading the grades", show_time=False):
            progress = labels.grading_progress(project, labels.basis(project, view.policy))
            agreement = review.agreement_status(project, view.policy)
            board = board_summary.find_summary(project, view.policy, view.measure, view.against)
            stale = review.stale_overrides(project) if progress.stale_overrides else []
    work, graded = review.to_curate(project, progress, person), progress is not None
    unsaved = sum(one.count for one in work.drafts)
    grader = scoring_settings.current_grader(project)
    asked = "query" if grader and grader.method == "direct" else "question"
    if lead:
        next_line(
            bank.next_step(counts, progress.ungraded if progress else 0, unsaved, len(stale), asked)
        )
    readiness.draw(project)
    if view is not None and (
        said := scoring_settings.describe_succession(project, view.policy.grader, SAID_FOR)
    ):
        st.container(key="succeeded").caption(f":material/info: {ui.escape(said)}")
    with st.container(key="doors", horizontal=True):
        for name, door in (
            (
                "curate",
                panels.curate_door(
                    work, person, counts["queries"] - counts["exams"], counts["items"], graded
                ),
            ),
            ("review", panels.review_door(agreement, stale, counts["judgments"], graded)),
            (
                "publish",
                panels.publish_door(
                    progress, len(stale), next(iter(exchange.list_publications(project)), None)
                ),
            ),
        ):
            with st.container(border=True, key=f"door-{name}"):
                panels.draw(f"door {name}", [door], framed=False)
                if name == "publish" and progress is not None:
                    qrels_download(project)
    panels_shown = [
        panels.grading_panel(progress, counts["failed pairs"]),
        panels.agreement_panel(agreement),
        panels.board_panel(board),
    ]
    panels.draw(
        "state", [*panels_shown, panels.latest_panel(project), panels.contents_panel(counts)]
    )


def qrels_download(project: Project) -> None:
    """Draw a button that downloads the labels as qrels in one click; the Export screen shows their
    basis.
    """
    export_files.draw_download(
        project,
        "Download qrels",
        "qrels",
        f"{project.name}.qrels",
        partial(exchange.qrels_text, project, scoring_settings.chosen_policy(project)),
        mime="text/plain",
        icon=":material/download:",
        help=(
            "Labels of the newest bank version. The Export screen shows their basis"
            " and has more files."
        ),
        key="download qrels",
    )


st.html(f"<style>{STYLE}</style>")
st.markdown(WHAT_THIS_IS)
creation.undo_removal()
try:
    project = ui.chosen_project()
except errors.WorkbenchError as error:
    ui.show_error(error)
    st.text("Choose another project on the left, or create a new one.")
    creation.draw_creation(may=False)
    st.stop()
if project is None:
    creation.draw_creation(may=False)
else:
    reads = project.allows("read the bank")
    if reads and exchange.is_demo(project):
        tour.draw_greeting()
    found = bank.project_counts(project)
    imports_first = reads and project.allows("import files") and bank.lacks_passages(found)
    if imports_first:
        next_line(bank.next_step(found))
        file_imports.draw_imports(project, found)
    drawn = st.container() if imports_first else st.container(key="standing")
    if project.allows("import files") and not imports_first:
        file_imports.draw_imports(project)
    if project.allows("organize"):
        # The server keeps whether the expander is open: the browser forgets it when the page is
        # redrawn.
        with st.expander("Create another project", key="create another", on_change="rerun"):
            creation.draw_creation()
        creation.rename_or_remove(project)
    if project.allows("take everything out"):
        creation.draw_backups(project)
    # Last, so that the rest of the screen appears before a large set of grades is read.
    with drawn:
        if not reads:
            boards_alone(project)
        elif not imports_first or any(found[name] for name in panels.COUNTED):
            draw_project_state(project, found, lead=not imports_first)
