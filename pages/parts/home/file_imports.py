"""Importing uploaded files: the recognized kind or the fault of each, and one import of all files or none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import errors, exchange, formats, text
from exam_workbench.project import Project
from pages.parts.shared import html, presses, request_guard, ui

NOTES_SHOWN = 8


@dataclass
class Row:
    """An uploaded file.

    Args:
        key: distinguishes files of the same name.
        kind: None if it is unknown.
        left_out: whether the person excluded it.
        place: container for further messages about it.
    """

    key: str
    source: formats.Source
    kind: str | None
    left_out: bool
    place: DeltaGenerator


def imports(project: Project) -> None:
    """Draw the upload, the recognized or refused files, and the import of all files or none."""
    st.header("Import files", anchor=False)
    uploads = st.file_uploader(
        f"{', '.join(formats.KINDS_OF_FILE[kind].title for kind in exchange.IMPORTERS).capitalize()}; .gz too",
        accept_multiple_files=True,
        key=f"uploads {st.session_state.get('imports', 0)}",
    )
    if not uploads:
        name, said = st.session_state.get("imported last", ("", ""))
        if name == project.name:
            st.container(key="imported").success(f"Imported: {ui.plain(said)}.", icon=":material/check:")
        return
    st.session_state.pop("imported last", None)
    every = [_row(upload.file_id, formats.Source(name=upload.name, data=upload.getvalue())) for upload in uploads]
    rows = [row for row in every if not row.left_out]
    kinds = {row.kind for row in rows}
    if not rows:
        st.text("All files are excluded. Include a file, or choose other files.")
        return
    if None in kinds:
        for row in rows:
            if row.kind is None:
                _mark(row, f"Not recognised. {formats.unrecognised(row.source)}")
        st.container(key="which-files").warning("Choose the kind of each file, or exclude it.", icon=":material/help:")
        st.expander("Recognised file formats").container(key="recognised").markdown(
            "\n".join(f"- {ui.plain(kind)}" for kind in formats.looked_for())
        )
        return
    groups = _groups(rows)
    try:
        results = _preview(project, rows, groups)
    except errors.WorkbenchError as error:
        _mark_broken(rows, error)
        ui.show_error(error)
        st.caption("No file was imported.")
        return
    replaced = [str(one) for result in results for one in result.replaced]
    meant = not replaced or _replacing(replaced)
    if presses.button("Import", type="primary", icon=":material/upload:", disabled=not meant, key="import") and meant:
        asked = [replace(group, options=replace(group.options, replace=bool(replaced))) for group in groups]
        with st.spinner("Importing"):
            imported = exchange.import_groups(project, asked, ui.author())
        request_guard.forget(uploads)
        st.session_state["imports"] = st.session_state.get("imports", 0) + 1
        st.session_state["imported last"] = project.name, "; ".join(map(_counted, imported))
        st.rerun()


def _counted(result: exchange.Imported) -> str:
    return ", ".join(text.how_many(count, name.replace("student", "examinee")) for name, count in result.counts.items())


def _groups(rows: Sequence[Row]) -> list[exchange.Group]:
    """Return the files grouped by kind, with the options of their kinds."""
    kinds = {row.kind for row in rows}
    judging = [row for row in rows if formats.KINDS_OF_FILE[str(row.kind)].judges]
    name = student = None
    if len(judging) == 1:
        proposed = formats.KINDS_OF_FILE[str(judging[0].kind)].source_name(judging[0].source)
        name = st.container(key="source name").text_input("Name of the judgment source", value=proposed)
    if [row.kind for row in rows].count("lm-eval") == 1:
        student = st.text_input("Name of the examinee", placeholder="Same as the file name") or None
    skip = not {"runs", "responses", "qrels"}.isdisjoint(kinds)
    skip = skip and st.checkbox("Skip lines of queries that are not in the project")
    gold = "responses" in kinds and st.checkbox("The responses are gold passages, one per query")
    form = None
    if "leaderboard" in kinds:
        form = st.selectbox(
            "Form of the leaderboard", list(formats.BOARD_FORMS), index=None, key="board form",
            placeholder="Recognised from the file",
        )  # fmt: skip
    return [
        exchange.Group(
            kind,
            [row.source for row in rows if row.kind == kind],
            exchange.Options(
                name if formats.KINDS_OF_FILE[kind].judges else student if kind == "lm-eval" else None,
                skip,
                gold,
                form=form if kind == "leaderboard" else None,
            ),
        )
        for kind in exchange.IMPORTERS
        if kind in kinds
    ]


def _row(file_id: str, source: formats.Source) -> Row:
    """Draw a file with its recognized kind, and a button that excludes or includes it; return its row."""
    left_out: set[str] = st.session_state.setdefault("files left out", set())
    out = file_id in left_out
    left, middle, right = st.columns([6, 4, 2], vertical_alignment="center")
    left.container(key=f"file {file_id}{' left out' * out}").text(
        f"{source.name}  ({text.file_size(len(source.data or b''))}){', excluded' if out else ''}"
    )
    kind = None
    if not out:
        options, guess = list(exchange.IMPORTERS), formats.detect(source)
        kind = middle.selectbox(
            "Kind of file",
            options,
            index=options.index(guess) if guess in options else None,
            format_func=lambda kind: formats.KINDS_OF_FILE[kind].title,
            placeholder="Choose a kind",
            key=f"kind {file_id}",
            label_visibility="collapsed",
        )
    right.button(
        "Include" if out else "Exclude",
        key=f"leave out {file_id}",
        type="tertiary",
        icon=":material/add:" if out else ":material/close:",
        on_click=left_out.discard if out else left_out.add,
        args=(file_id,),
    )
    return Row(file_id, source, kind, out, left)


def _mark(row: Row, words: str) -> None:
    """Show a fault in the row of a file."""
    row.place.html(f'<div class="asked" role="alert"><span class="failed">{html.visible(words)}</span></div>')


def _mark_broken(rows: Sequence[Row], error: errors.WorkbenchError) -> None:
    """Mark the files that caused the refusal of an import."""
    if isinstance(error, errors.FileError):
        first = {problem.file: problem for problem in reversed(error.problems)}
    else:
        # Errors about conflicts with the project begin with the names of their files.
        first = {row.source.name: None for row in rows if error.message.startswith(f"{row.source.name}: ")}
    for row in rows:
        if (name := text.one_line(row.source.name, errors.LONGEST_FILE)) in first:
            problem = first[name]
            line = "" if problem is None or problem.line is None else f"line {problem.line}: "
            _mark(row, "Refused" if problem is None else f"Refused: {line}{problem.reason}")


def _replacing(replaced: list[str]) -> bool:
    """Draw the content that an import replaces; return whether the person confirmed it."""
    st.warning("This import replaces content of the project:", icon=":material/swap_horiz:")
    shown = st.container(key="replaced")
    for one in replaced[:NOTES_SHOWN]:
        shown.text(one)
    if (rest := len(replaced) - NOTES_SHOWN) > 0:
        st.text(f"and {rest} more")
    # The key contains the list, so that another list needs another confirmation.
    return st.checkbox(
        "Replace this content",
        key=f"replace {replaced}",
        help="You can restore the replaced content on the Activity screen.",
    )


def _preview(project: Project, rows: Sequence[Row], groups: list[exchange.Group]) -> list[exchange.Imported]:
    key = (
        str(project.path),
        project.version(),
        tuple((row.key, row.kind) for row in rows),
        tuple(group.options for group in groups),
    )
    known = st.session_state.get("preview")
    if known is None or known[0] != key:
        with st.spinner("Reading the files"):
            known = (key, exchange.import_groups(project, groups, ui.person(), preview=True))
        st.session_state["preview"] = known
    results: list[exchange.Imported] = known[1]
    for result in results:
        with st.container(border=True, key=f"preview {result.kind}"):
            st.markdown(f"**{formats.KINDS_OF_FILE[result.kind].title}** from {ui.plain(', '.join(result.files))}")
            st.text(_counted(result))
            for note in result.notes[:NOTES_SHOWN]:
                st.caption(f":material/info: {ui.plain(str(note))}")
            if (rest := len(result.notes) - NOTES_SHOWN) > 0:
                st.caption(f"and {rest} more notes")
    return results
