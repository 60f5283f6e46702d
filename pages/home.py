"""Home: choose or create a project, import files, see what it holds and what to do next."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.bank import counts, next_step
from core.errors import WorkbenchError
from core.exchange import IMPORTERS, Group, Imported, Options, import_groups, make_demo, qrels, recorded
from core.formats import KINDS_OF_FILE, Source, detect
from core.project import Project, create, projects_folder
from core.text import how_many
from pages.parts.shared import policy_widgets, presses, ui

SHOWN = ("queries", "passages", "runs", "judgments", "questions", "grades")
NOTES_SHOWN = 8


def choose(name: str) -> None:
    """Make a project the open one, from the next run of the script on."""
    st.session_state["opened"] = name
    st.rerun()


def creation() -> None:
    """Two ways to a new project: an empty one, or the demo."""
    left, right = st.columns(2)
    with left, st.form("create", border=True):
        st.markdown("**New project**")
        # File systems allow 255 bytes; a character takes up to four.
        name = st.text_input("Name", placeholder="e.g. our-shared-task-2026", max_chars=60)
        if st.form_submit_button("Create", type="primary"):
            path = projects_folder() / f"{name.strip().replace(' ', '-')}.duckdb"
            if not name.strip() or set(name) & {"/", "\\"} or name.strip().startswith("."):
                st.error("Give the project a name without slashes.")
            else:
                create(path).close()
                choose(path.stem)
    with right, st.container(border=True):
        st.markdown("**Demo**")
        st.text(
            "Nine queries with questions, passages, judgments and runs of good and bad systems,"
            " graded on this machine in under a minute."
        )
        path = projects_folder() / "demo.duckdb"
        if path.exists():
            st.caption("The demo project is there: choose it on the left.")
        elif presses.button("Make the demo project"):
            with st.status("Making the demo project", expanded=True) as box:
                make_demo(path, ui.author(), True, st.text)
                box.update(state="complete")
            choose("demo")


def at_a_glance(project: Project) -> None:
    """What the project holds, what needs attention, and the next step."""
    found = counts(project)
    for column, name in zip(st.columns(len(SHOWN)), SHOWN, strict=True):
        column.metric(name.capitalize(), f"{found[name]:,}")
    for name, sentence in (
        ("passages without text", "{:,} passages are known by id only: import their texts to grade them."),
        (
            "questions without text",
            "{:,} questions are known by id only: import the bank that has their texts.",
        ),
        ("failed pairs", "{:,} pairs were asked and gave no usable rating: see Grading."),
    ):
        if found[name]:
            st.caption(f":material/info: {sentence.format(found[name])}")
    st.caption(
        "Questions say what a relevant passage answers. A grader rates every pooled passage 0 to 5 on each question;"
        " the ratings become labels, and labels rank the systems."
    )
    step = next_step(found)
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Next** {step.sentence}")
        if step.screen != "home":
            ui.go(step.screen)
        if found["grades"]:
            qrels_download(project)


def qrels_download(project: Project) -> None:
    """The labels of the policy as qrels in one click; the Export screen says what they rest on."""
    policy, author, file = policy_widgets.chosen(project), ui.person(), f"{project.name}.qrels"
    st.download_button(
        "Download qrels",
        lambda: recorded(project, author, "qrels", file, lambda: qrels(project, policy)),
        file_name=file,
        mime="text/plain",
        icon=":material/download:",
        on_click="ignore",
        disabled=not author,
        help="The labels of the newest bank version. Export says what they rest on, and has more kinds of files.",
    )


def imports(project: Project) -> None:
    """Drag files in, see what was understood or refused, then import all of it or nothing."""
    st.subheader("Import files")
    uploads = st.file_uploader(
        f"{', '.join(KINDS_OF_FILE[kind].title for kind in IMPORTERS).capitalize()}; .gz too",
        accept_multiple_files=True,
        key=f"uploads {st.session_state.get('imports', 0)}",
    )
    if not uploads:
        return
    sources = [Source(name=upload.name, data=upload.getvalue()) for upload in uploads]
    kinds = _choose_kinds(sources)
    chosen = [(source, KINDS_OF_FILE[kind]) for source, kind in zip(sources, kinds, strict=True) if kind]
    judged = [kind.source_name(source) for source, kind in chosen if kind.judges]
    name = st.text_input("Name of the source of judgments", value=judged[0]) if len(judged) == 1 else None
    skip = not {"runs", "responses", "qrels"}.isdisjoint(kinds)
    skip = skip and st.checkbox("Leave out lines about queries that are not in the project")
    gold = "responses" in kinds and st.checkbox("The responses are gold texts, one a query")
    if None in kinds:
        st.warning("Say what each file is, or remove it.", icon=":material/help:")
        return
    groups = [
        Group(
            kind,
            [source for source, its in chosen if its.name == kind],
            Options(name if KINDS_OF_FILE[kind].judges else None, skip, gold),
        )
        for kind in IMPORTERS
        if kind in kinds
    ]
    try:
        results = _preview(project, groups)
    except WorkbenchError as error:
        ui.show_error(error)
        st.caption("Nothing has been imported.")
        return
    replaced = [str(one) for result in results for one in result.replaced]
    meant = not replaced or _replacing(replaced)
    if presses.button("Import", type="primary", icon=":material/upload:", disabled=not meant) and meant:
        asked = [replace(group, options=replace(group.options, replace=bool(replaced))) for group in groups]
        with st.spinner("Importing"):
            import_groups(project, asked, ui.author())
        st.session_state["imports"] = st.session_state.get("imports", 0) + 1
        st.toast("Imported.")
        st.rerun()


def _replacing(replaced: list[str]) -> bool:
    """What goes, and whether that is meant."""
    st.warning("This import replaces what the project has of the same names:", icon=":material/swap_horiz:")
    for one in replaced[:NOTES_SHOWN]:
        st.text(one)
    if (rest := len(replaced) - NOTES_SHOWN) > 0:
        st.text(f"and {rest} more")
    # Another list is another question.
    return st.checkbox("Replace it", key=f"replace {replaced}", help="What goes is kept: Activity can bring it back.")


def _size(octets: int) -> str:
    return f"{octets / 1e6:,.1f} MB" if octets >= 1e5 else f"{octets / 1e3:,.1f} KB"


def _choose_kinds(sources: list[Source]) -> list[str | None]:
    kinds: list[str | None] = []
    options = list(IMPORTERS)
    for number, source in enumerate(sources):
        left, right = st.columns([3, 2], vertical_alignment="center")
        left.text(f"{source.name}  ({_size(len(source.data or b''))})")
        guess = detect(source)
        kinds.append(
            right.selectbox(
                "Kind of file",
                options,
                index=options.index(guess) if guess in options else None,
                format_func=lambda kind: KINDS_OF_FILE[kind].title,
                placeholder="What is this file?",
                key=f"kind {number} {source.name}",
                label_visibility="collapsed",
            )
        )
    return kinds


def _preview(project: Project, groups: list[Group]) -> list[Imported]:
    key = (
        str(project.path),
        project.state(),
        tuple((g.kind, tuple(s.name for s in g.sources), g.options) for g in groups),
    )
    known = st.session_state.get("preview")
    if known is None or known[0] != key:
        with st.spinner("Reading the files"):
            known = (key, import_groups(project, groups, ui.person(), preview=True))
        st.session_state["preview"] = known
    results: list[Imported] = known[1]
    for result in results:
        with st.container(border=True):
            st.markdown(f"**{KINDS_OF_FILE[result.kind].title}** from {ui.plain(', '.join(result.files))}")
            st.text(", ".join(how_many(count, name) for name, count in result.counts.items()))
            for note in result.notes[:NOTES_SHOWN]:
                st.caption(f":material/info: {ui.plain(str(note))}")
            if (rest := len(result.notes) - NOTES_SHOWN) > 0:
                st.caption(f"and {rest} more notes")
    return results


ui.begin()
try:
    project = ui.chosen_project()
except WorkbenchError as error:
    ui.show_error(error)
    st.text("Choose another project on the left, or make a new one.")
    creation()
    st.stop()
if project is None:
    st.text(
        "People define relevance by curating exam questions; a machine grades the passages;"
        " labels, leaderboards and qrels follow at once."
    )
    creation()
else:
    at_a_glance(project)
    imports(project)
    # Whether it is open is kept here and not in the browser, which forgets it where the page is drawn anew.
    with st.expander("Create another project", key="create another", on_change="rerun"):
        creation()
