"""Publishing the qrels, alone or in a bundle, and earlier publications."""

from datetime import datetime

import streamlit as st

from exam_workbench.audit import audit_files
from exam_workbench.exchange import Manifest, bundle, bundled, manifest_json, publications, publish, reproduce
from exam_workbench.labels import Policy
from exam_workbench.project import Project
from exam_workbench.text import file_size
from pages.parts.shared import policy_widgets, presses, ui

PUBLICATIONS_A_PAGE = 6
LOOK = 1.0
"""Seconds between two checks of whether a bundle is ready."""
PATIENCE = 120
"""Number of checks after which the screen stops waiting for a bundle."""


def publishing(project: Project, policy: Policy, binary: bool) -> None:
    """Draw the form that publishes the qrels, alone or in a bundle, and the earlier publications."""
    st.header("Publish", anchor=False)
    values = "as binary values" if binary else "with graded values"
    st.caption(
        f"Publishes the labels above {values}, with a manifest of the questions, grades and settings. You can download"
        " the same file again later, even after edits."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = st.session_state.get("published", 0)
        note = st.text_input("Note", key=f"publication note {number}", placeholder="Purpose and audience")
        if presses.button("Publish qrels", type="primary", icon=":material/publish:", key="publish"):
            with ui.errors():
                with st.spinner("Publishing"):
                    publish(project, policy, ui.author(), binary, note)
                st.session_state["published"] = number + 1
                st.toast("Qrels published.", icon=":material/publish:")
                st.rerun()
        author = ui.person()
        ui.download(
            "Publish as a bundle",
            lambda: bundle(project, policy, author, binary, note, audit_files),
            f"{project.name}-bundle.zip",
            mime="application/zip",
            icon=":material/folder_zip:",
            on_click=_await_bundle,
            args=(len(publications(project)),),
            disabled=project.read_only,
            key="publish bundle",
            help="Publishes the qrels in a zip with the manifest, question bank, leaderboards, overrides and audits.",
        )
    past = publications(project)
    if (before := st.session_state.get("publications before the bundle")) is not None:
        if len(past) == before:
            _look(project, before)
        else:
            st.session_state.pop("publications before the bundle")
            _say_bundled(project, past[0])
    if not past:
        st.caption("No publications yet.")
        return
    pages = -(-len(past) // PUBLICATIONS_A_PAGE)
    page = st.pagination(pages, key="publications page") if pages > 1 else 1
    for manifest in past[(page - 1) * PUBLICATIONS_A_PAGE : page * PUBLICATIONS_A_PAGE]:
        _publication(project, manifest)


def _await_bundle(before: int) -> None:
    st.session_state["publications before the bundle"] = before
    st.session_state["looks for the bundle"] = 0


@st.fragment(run_every=LOOK)
def _look(project: Project, before: int) -> None:
    """Poll: the browser fetches a bundle by itself, and the page does not hear when it has it."""
    st.caption(":material/hourglass_top: Publishing and creating the bundle …")
    st.session_state["looks for the bundle"] += 1
    if st.session_state["looks for the bundle"] > PATIENCE:
        st.session_state.pop("publications before the bundle", None)
    if len(publications(project)) > before or st.session_state["looks for the bundle"] > PATIENCE:
        st.rerun()


def _say_bundled(project: Project, manifest: Manifest) -> None:
    """Draw the content of a new bundle."""
    files = bundled(project).get(manifest["publication"], {})
    st.container(key="bundled").success(
        f"Published. Your browser downloads {ui.plain(project.name)}-bundle.zip with these files:"
        f" {ui.plain(_files(files))}.",
        icon=":material/folder_zip:",
    )


def _files(files: dict[str, int | None]) -> str:
    return ", ".join(name if size is None else f"{name} ({file_size(size)})" for name, size in files.items())


def _publication(project: Project, manifest: Manifest) -> None:
    number = manifest["publication"]
    file = f"{project.name}-publication-{number}"
    counts, policy = manifest["counts"], manifest["policy"]
    open_pairs = counts["ungraded"] + counts["failed"]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container():
            when = datetime.fromisoformat(manifest["published_at"])
            note = f": {manifest['note']}" if manifest["note"] else ""
            st.container(key=f"published by {number}").markdown(
                f"**{when:%d %B %Y, %H:%M} UTC** by {ui.plain(manifest['published_by'] + note)}"
            )
            rule = policy_widgets.LABEL_RULES.get(policy["label"], policy["label"]).lower()
            st.container(key=f"publication {number}").caption(
                ui.plain(
                    f"{manifest['qrels']['lines']:,} lines, {manifest['qrels']['values']} · bank version"
                    f" {manifest['bank']['version']} · {manifest['grader']['name']} · {rule}, min rating"
                    f" {min(policy['min_rating'], manifest['grader']['max_rating'])} · pairs: {open_pairs:,} ungraded"
                    f" or failed, {counts['overridden']:,} overridden"
                )
            )
            if files := bundled(project).get(number):
                st.caption(f":material/folder_zip: Bundle: {ui.plain(_files(files))}")
        author = ui.person()
        ui.download(
            "Download qrels",
            lambda: reproduce(project, manifest, author),
            f"{file}.qrels",
            mime="text/plain",
            key=f"qrels of {number}",
            icon=":material/download:",
            on_click="ignore",
            help="Downloads exactly the published file.",
        )
        st.download_button(
            "Download manifest",
            manifest_json(manifest),
            file_name=f"{file}-manifest.json",
            mime="application/json",
            key=f"manifest of {number}",
            on_click="ignore",
        )
