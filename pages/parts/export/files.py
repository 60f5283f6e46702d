"""All files of the project except its qrels, with download buttons."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from exam_workbench.bank import counts
from exam_workbench.exchange import (
    bank_csv,
    bank_jsonl,
    board_json,
    board_latex,
    board_tsv,
    graded_file,
    overrides_csv,
    project_zip,
    recorded,
    runs_zip,
)
from exam_workbench.labels import overrides
from exam_workbench.leaderboard import leaderboard
from exam_workbench.pipelines import answers_csv, exam_json
from exam_workbench.project import Project, official_sources, rankings, terms_of
from exam_workbench.text import how_many
from pages.parts.shared import policy_widgets, ui


def download(
    project: Project,
    label: str,
    what: str,
    file: str,
    make: Callable[[], str | bytes],
    author: str,
    primary: bool = False,
) -> None:
    """Draw a button that makes its file and logs the download on click.

    Args:
        what: short name of the file for the activity log.
        make: returns the content.
        author: name of the person; empty if they still have to enter it.
    """
    ui.download(
        label,
        lambda: recorded(project, author, what, file, make),
        file,
        type="primary" if primary else "secondary",
        icon=":material/download:" if primary else None,
        key=f"download {file}",
        on_click="ignore",
    )


@contextmanager
def _kind(title: str) -> Iterator[None]:
    with st.container(border=True, key=f"file {title}"):
        st.markdown(f"**{title}**")
        yield


def others(project: Project) -> None:
    """Draw all other files."""
    st.header("Other files", anchor=False)
    author, name = ui.person(), project.name
    for terms in terms_of(project):
        st.caption(ui.plain(f"Graded file and project have texts of a data set with terms of use. {terms}"))
    with st.container(key="files", horizontal=True):
        with _kind("Question bank"):
            st.caption("All questions of the newest version, including inactive questions.")
            with st.container(horizontal=True):
                download(project, "JSONL", "bank", f"{name}-bank.jsonl", lambda: bank_jsonl(project), author)
                download(project, "CSV", "bank", f"{name}-bank.csv", lambda: bank_csv(project), author)
        with _kind("Graded file"):
            st.caption("Pool, grades, judgments and runs in the Autograder/RUBRIC format.")
            download(project, "JSONL.GZ", "graded", f"{name}-graded.jsonl.gz", lambda: graded_file(project), author)
        with _kind("Leaderboard"):
            _board(project, author)
        with _kind("Runs"):
            found = len(rankings(project))
            st.caption(f"{how_many(found, 'runs')} in the TREC format." if found else "No runs yet.")
            if found:
                download(project, "ZIP", "runs", f"{name}-runs.zip", lambda: runs_zip(project), author)
        with _kind("Overrides"):
            given = len(overrides(project))
            st.caption(
                f"{how_many(given, 'overrides')} with author, reason and state." if given else "No overrides yet."
            )
            if given:
                download(project, "CSV", "overrides", f"{name}-overrides.csv", lambda: overrides_csv(project), author)
        with _kind("Exam"):
            _exam(project, author)
        if not project.allows("take everything out"):
            return
        with _kind("Whole project"):
            st.caption("All tables as Parquet files with a manifest. Import the file with `exam import project`.")
            ui.download(
                "ZIP",
                lambda: project_zip(project, author),
                f"{name}-project.zip",
                mime="application/zip",
                key="download project",
                on_click="ignore",
            )


def _board(project: Project, author: str) -> None:
    if not rankings(project):
        st.caption("No runs yet.")
        return
    source = st.selectbox("Source", ["exam", *official_sources(project)], key="board source")
    measure = policy_widgets.measure("Measure", cover=source == "exam", key="board measure", shares=source == "exam")
    policy = policy_widgets.chosen(project)
    with st.container(horizontal=True):
        for ending, label, write in (
            ("tsv", "TSV", board_tsv),
            ("json", "JSON", board_json),
            ("tex", "LaTeX", board_latex),
        ):
            download(
                project, label, "leaderboard", f"{project.name}-{source}-{measure}.{ending}",
                lambda write=write: write(leaderboard(project, measure, source, policy)), author,
            )  # fmt: skip


def _exam(project: Project, author: str) -> None:
    found = counts(project)
    if not found["items"]:
        st.caption("No exam yet.")
        return
    st.caption(f"{how_many(found['items'], 'items')} with their sources, and the answers of examinees.")
    with st.container(horizontal=True):
        download(project, "JSON", "exam", f"{project.name}-exam.json", lambda: exam_json(project), author)
        if found["answers of students"]:
            file = f"{project.name}-answers.csv"
            download(project, "CSV", "responses-matrix", file, lambda: answers_csv(project), author)
