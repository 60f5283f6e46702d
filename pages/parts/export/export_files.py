"""All files of the project except its qrels, with download buttons."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import streamlit as st

from exam_workbench import (
    audit,
    bank,
    board_summary,
    choices,
    exams,
    exchange,
    formats,
    labels,
    text,
)
from exam_workbench.operations.project_report import ReportRequest, make_report
from exam_workbench.records import official_sources, ranking_scores, sealed_questions, terms_of
from exam_workbench.store import Project
from pages.parts.shared import presses, readiness, scoring_settings, ui


def draw_download(
    project: Project,
    label: str,
    what: str,
    file: str,
    make: Callable[[], str | bytes],
    **options: Any,
) -> None:
    """Draw a button that makes its file and logs the download on click.

    Args:
        what: short name of the file for the activity log.
        make: returns the content.
        options: passed to `st.download_button`.
    """
    author = ui.person()
    ui.download(
        label,
        lambda: exchange.record_export(project, author, what, file, make),
        file,
        **{"key": f"download {file}", "on_click": "ignore"} | options,
    )


def draw_other_files(project: Project) -> None:
    """Draw all other files."""
    st.header("Other files", anchor=False)
    for terms in terms_of(project):
        st.caption(
            ui.escape(
                f"Graded file and project have texts of a data set with terms of use. {terms}"
            )
        )
    runs, override_count = len(ranking_scores(project)), len(labels.find_overrides(project))
    boxes: dict[str, Callable[[], object]] = {
        "Report": partial(_draw_report, project),
        "Question bank": partial(_draw_bank, project),
        "Graded file": partial(
            _draw_files,
            project,
            "Pool, grades, judgments and runs in the Autograder/RUBRIC format.",
            ("JSONL.GZ", "graded", "graded.jsonl.gz", partial(exchange.graded_file, project)),
        ),
        "Leaderboard": partial(_draw_board, project)
        if runs
        else partial(st.caption, "No runs yet."),
        "Runs": partial(
            _draw_files,
            project,
            f"{text.how_many(runs, 'runs')} in the TREC format." if runs else "",
            ("ZIP", "runs", "runs.zip", partial(exchange.runs_zip, project)),
        ),
        "Overrides": partial(
            _draw_files,
            project,
            f"{text.how_many(override_count, 'overrides')} with author, reason and state."
            if override_count
            else "",
            ("CSV", "overrides", "overrides.csv", partial(exchange.overrides_csv, project)),
        ),
        "Exam": partial(_draw_exam, project),
    }
    if project.allows("take everything out"):
        boxes["Whole project"] = partial(_draw_project, project)
    with st.container(key="files", horizontal=True):
        for title, draw in boxes.items():
            with st.container(border=True, key=f"file {title}"):
                st.markdown(f"**{title}**")
                draw()


File = tuple[str, str, str, Callable[[], str | bytes]]
"""A file to download: label of the button, name for the activity log, end of the file name, and its
content.
"""


def _draw_files(project: Project, about: str, *files: File) -> None:
    """Draw what some files have, and their buttons; without content yet, only a note."""
    st.caption(about or "No content yet.")
    with st.container(horizontal=True):
        for label, what, ending, make in files if about else ():
            draw_download(project, label, what, f"{project.name}-{ending}", make)


def _draw_bank(project: Project) -> None:
    _draw_files(
        project,
        "All questions of the newest version, including inactive questions.",
        ("JSONL", "bank", "bank.jsonl", partial(exchange.bank_jsonl, project)),
        ("CSV", "bank", "bank.csv", partial(exchange.bank_csv, project)),
    )
    _in_form(project, "bank", list(formats.FORMS), partial(exchange.bank_in_form, project))


def _draw_exam(project: Project) -> None:
    counts = bank.project_counts(project)
    items = text.how_many(counts["items"], "items")
    about = f"{items} with their sources, and the answers of examinees."
    files: list[File] = [("JSON", "exam", "exam.json", partial(exams.exam_json, project))]
    if counts["answers of students"]:
        files.append(
            ("CSV", "responses-matrix", "answers.csv", partial(exams.answers_csv, project))
        )
    _draw_files(project, about if counts["items"] else "", *files)


def _draw_project(project: Project) -> None:
    author = ui.person()
    st.caption(
        "All tables as Parquet files with a manifest. Import the file with `exam import project`."
    )
    if sealed_questions(project):
        st.caption(
            "Questions are sealed. Open them on the Leaderboard, view *Sealed questions*, first."
        )
        return
    ui.download(
        "ZIP",
        lambda: exchange.project_zip(project, author),
        f"{project.name}-project.zip",
        mime="application/zip",
        key="download project",
        on_click="ignore",
    )


def _draw_report(project: Project) -> None:
    view = scoring_settings.require_view()
    against = f"compared with {view.against}" if view.against else "without an official leaderboard"
    st.caption(
        f"Leaderboard by {ui.escape(view.measure)}, {ui.escape(against)}: agreement, methods and"
        " figures in one file that opens offline."
    )
    if not ranking_scores(project):
        st.caption("No runs yet.")
        return
    questions = st.checkbox("With the questions", key="report with questions")
    request = ReportRequest(view.measure, view.policy, view.against, questions)
    draw_download(
        project,
        "HTML",
        "report",
        f"{project.name}-report.html",
        lambda: make_report(project, request),
    )


def _draw_board(project: Project) -> None:
    source = st.selectbox(
        "Source", ["exam", *official_sources(project)], key="board source", bind="query-params"
    )
    measure = scoring_settings.choose_measure(
        "Measure", cover=source == "exam", key="board measure", shares=source == "exam"
    )
    policy = scoring_settings.chosen_policy(project)
    with st.container(horizontal=True):
        for ending, label, write in (
            ("tsv", "TSV", exchange.board_tsv),
            ("json", "JSON", exchange.board_json),
            ("tex", "LaTeX", exchange.board_latex),
        ):
            draw_download(
                project,
                label,
                "leaderboard",
                f"{project.name}-{source}-{measure}.{ending}",
                lambda write=write: write(labels.leaderboard(project, measure, source, policy)),
            )
    _in_form(
        project,
        "leaderboard",
        list(choices.LEADERBOARD_FORMS),
        lambda form: exchange.board_in_form(
            labels.leaderboard(project, measure, source, policy), form
        )[0],
    )


def _in_form(
    project: Project, what: str, forms: list[str], make: Callable[[str], str | bytes]
) -> None:
    """Draw a choice among the forms of other tools, and a download in the chosen one."""
    form = st.selectbox(
        "Form of AutoJudge", forms, index=None, key=f"{what} form", placeholder="Choose a form"
    )
    if form:
        ending = {"trec_eval": "zip", "jsonl": "jsonl"}.get(
            form, "jsonl" if what == "bank" else "txt"
        )
        draw_download(
            project,
            f"Download {form}",
            what,
            f"{project.name}-{what}-{form}.{ending}",
            lambda: make(form),
        )


PUBLICATIONS_A_PAGE = 6


def draw_publishing(
    project: Project, policy: labels.Policy, binary: bool, ready: board_summary.Readiness
) -> None:
    """Draw the checklist, the form that publishes the qrels, alone or in a bundle, and the earlier
    publications.
    """
    st.header("Publish", anchor="publish")
    values = "as binary values" if binary else "with graded values"
    st.caption(
        f"Publishes the labels above {values}, with a manifest of the questions, grades and"
        " settings. You can download the same file again later, even after edits."
    )
    readiness.draw_checklist(project, policy, ready)
    past = exchange.list_publications(project)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # After a publication, the field is another one and empty.
        key = f"publication note {project.name} {len(past)}"
        note = st.text_input("Note", key=key, placeholder="Purpose and audience")
        presses.act_button(
            "Publish qrels",
            partial(exchange.publish_qrels, binary=binary, note=note, readiness=vars(ready)),
            project,
            policy,
            type="primary",
            icon=":material/publish:",
            key="publish",
            message="Qrels published.",
        )
        presses.act_button(
            "Publish as a bundle",
            partial(
                exchange.bundle_publication,
                binary=binary,
                note=note,
                beside=audit.audit_files,
                readiness=vars(ready),
            ),
            project,
            policy,
            icon=":material/folder_zip:",
            disabled=project.read_only,
            key="publish bundle",
            help=(
                "Publishes the qrels in a zip with the manifest, question bank, leaderboards,"
                " overrides and audits."
            ),
            message="Published. Download the bundle below.",
        )
    if not past:
        st.caption("No publications yet.")
        return
    ui.draw_pager("publications page", len(past), PUBLICATIONS_A_PAGE)
    for manifest in ui.rows_of_page("publications page", past, PUBLICATIONS_A_PAGE):
        _draw_publication(project, manifest)


def _describe_readiness(manifest: exchange.Manifest) -> str:
    """Return the audit and the open disagreements that a manifest states."""
    ready = manifest.get("readiness", {"audited": "", "disagreements": None})
    cases = ready["disagreements"]
    parts = [ready["audited"], "" if cases is None else text.how_many(cases, "open disagreements")]
    return "".join(f" · {part}" for part in parts if part)


def _draw_publication(project: Project, manifest: exchange.Manifest) -> None:
    number = manifest["publication"]
    file = f"{project.name}-publication-{number}"
    counts, policy = manifest["counts"], manifest["policy"]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container():
            when = datetime.fromisoformat(manifest["published_at"])
            note = f": {manifest['note']}" if manifest["note"] else ""
            st.container(key=f"published by {number}").markdown(
                f"**{when:%d %B %Y, %H:%M} UTC** by {ui.escape(manifest['published_by'] + note)}"
            )
            rule = scoring_settings.LABEL_RULES.get(policy["label"], policy["label"]).lower()
            st.container(key=f"publication {number}").caption(
                ui.escape(
                    f"{manifest['qrels']['lines']:,} lines, {manifest['qrels']['values']}"
                    f" · bank version {manifest['bank']['version']} ·"
                    f" {manifest['grader']['name']} · {rule}, min rating"
                    f" {min(policy['min_rating'], manifest['grader']['max_rating'])} · pairs:"
                    f" {counts['ungraded']:,} ungraded, {counts['failed']:,} failed,"
                    f" {counts['overridden']:,} overridden{_describe_readiness(manifest)}"
                )
            )
            if files := exchange.bundle_sizes(project).get(number):
                sizes = [
                    f"{file} ({text.file_size(size)})" if size else file
                    for file, size in files.items()
                ]
                st.caption(f":material/folder_zip: Bundle: {ui.escape(', '.join(sizes))}")
        author = ui.person()
        if files:
            ui.download(
                "Download bundle",
                lambda: exchange.reproduce_bundle(project, manifest, author, audit.audit_files),
                f"{project.name}-bundle-{number}.zip",
                mime="application/zip",
                key=f"bundle of {number}",
                icon=":material/download:",
                on_click="ignore",
            )
        ui.download(
            "Download qrels",
            lambda: exchange.reproduce_qrels(project, manifest, author),
            f"{file}.qrels",
            mime="text/plain",
            key=f"qrels of {number}",
            icon=":material/download:",
            on_click="ignore",
            help="Downloads exactly the published file.",
        )
        st.download_button(
            "Download manifest",
            exchange.manifest_json(manifest),
            file_name=f"{file}-manifest.json",
            mime="application/json",
            key=f"manifest of {number}",
            on_click="ignore",
        )
