"""Importing uploaded files: a row for each kind with its files, and one import of all files or
none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from exam_workbench import choices, errors, exchange, formats, text
from exam_workbench.store import Project
from pages.parts.shared import html, presses, streamlit_bridge, ui

REPLACED_SHOWN = 8
BASIC = {
    "queries": "queries",
    "passages": "passages",
    "runs": "runs",
    "qrels": "judgments",
    "bank": "questions",
}
"""The kinds that a new project needs, each with its name in `bank.project_counts`."""
THERE, MISSING, REFUSED = ":green[:material/check:]", ":gray[–]", ":red[:material/error:]"


@dataclass
class UploadRow:
    """An uploaded file.

    Args:
        key: distinguishes files of the same name.
        guess: the recognized kind; None for an unknown one.
        kind: the recognized or chosen kind; None if it is unknown.
        left_out: whether the person excluded it.
        fault: why it cannot be imported; empty if it can.
    """

    key: str
    source: formats.Source
    guess: str | None
    kind: str | None
    left_out: bool
    fault: str = ""


def draw_imports(project: Project, lacking: Mapping[str, int] | None = None) -> None:
    """Draw the upload, a row for each kind of file, and the import of all files or none.

    Args:
        lacking: the counts of a project that needs an import first: the kinds that it needs are
            listed, too.
    """
    st.header("Import files", anchor=False)
    kinds = ", ".join(formats.KINDS_OF_FILE[kind].title for kind in exchange.IMPORTERS).capitalize()
    uploads = st.file_uploader(
        "Drop all files here together. Their kinds are recognized.",
        accept_multiple_files=True,
        key=presses.form_key("uploads"),
        help=f"{kinds}; .gz too",
    )
    if not uploads:
        name, said = st.session_state.get("imported last", ("", ""))
        if name == project.name:
            st.container(key="imported").success(
                f"Imported: {ui.escape(said)}.", icon=":material/check:"
            )
        _draw_kinds([], [], lacking)
        return
    st.session_state.pop("imported last", None)
    every = [
        _make_row(upload.file_id, formats.Source(name=upload.name, data=upload.getvalue()))
        for upload in uploads
    ]
    rows = [row for row in every if not row.left_out]
    listed = st.container()
    results: list[exchange.Imported] = []
    refused = None
    if not rows:
        st.text("All files are excluded. Include a file, or choose other files.")
    elif all(row.kind for row in rows):
        groups = _group_files(rows)
        try:
            with listed:
                results = _preview_import(project, rows, groups)
        except errors.WorkbenchError as error:
            refused = error
            _find_broken(rows, error)
    # Only now: the heading of a row says what its files would add, or which file is refused.
    with listed:
        _draw_kinds(every, results, lacking)
    if refused is not None:
        ui.show_error(refused)
        st.caption("No file was imported.")
    if any(row.kind is None for row in rows):
        st.container(key="which-files").warning(
            "Choose the kind of each file, or exclude it.", icon=":material/help:"
        )
        st.expander("Recognised file formats").container(key="recognised").markdown(
            "\n".join(f"- {ui.escape(kind)}" for kind in formats.list_kinds())
        )
    if not results:
        return
    replaced = [str(one) for result in results for one in result.replaced]
    meant = not replaced or _confirm_replacing(replaced)
    if (
        presses.button(
            "Import", type="primary", icon=":material/upload:", disabled=not meant, key="import"
        )
        and meant
    ):
        chosen_groups = [
            replace(group, options=replace(group.options, replace=bool(replaced)))
            for group in groups
        ]
        with st.spinner(
            "Importing. You can close this tab: the import finishes, or changes nothing."
        ):
            imported = exchange.import_groups(project, chosen_groups, ui.author())
        for upload in uploads:
            streamlit_bridge.forget_upload(upload.file_id)
        presses.clear_form("uploads")
        st.session_state["imported last"] = project.name, "; ".join(map(_describe_counts, imported))
        st.rerun()


def _draw_kinds(
    rows: Sequence[UploadRow],
    results: Sequence[exchange.Imported],
    lacking: Mapping[str, int] | None,
) -> None:
    """Draw the files of unknown kind, a row for each kind, and the excluded files.

    Args:
        results: what the files of each kind would add; empty if this is unknown.
    """
    for row in rows:
        if row.kind is None and not row.left_out:
            row.fault = f"Not recognised. {formats.describe_unrecognised(row.source)}"
            _draw_file(row)
    by_kind = {result.kind: result for result in results}
    for kind in exchange.IMPORTERS:
        if files := [row for row in rows if row.kind == kind and not row.left_out]:
            _draw_kind(kind, files, by_kind.get(kind))
        elif lacking is not None and kind in BASIC:
            present = lacking[BASIC[kind]]
            title = f"**{formats.KINDS_OF_FILE[kind].title}**"
            line = f"{THERE} {title} ({present:,})" if present else f"{MISSING} {title}"
            st.container(key=f"kind {kind} {'there' if present else 'missing'}").markdown(line)
    for row in rows:
        if row.left_out:
            _draw_file(row)


def _draw_kind(kind: str, files: Sequence[UploadRow], result: exchange.Imported | None) -> None:
    """Draw what the files of a kind would add, with the files and the notes on them folded."""
    faulty = any(row.fault for row in files)
    words = f"**{formats.KINDS_OF_FILE[kind].title}** ({len(files)})"
    if result is not None:
        words = f"{THERE} {words}: {ui.escape(_describe_counts(result))}"
        words += f" · {ui.escape(_in_short(result.notes))}" if result.notes else ""
    elif faulty:
        words = f"{REFUSED} {words}"
    with st.container(key=f"preview {kind}"), st.expander(words, expanded=faulty):
        for row in files:
            _draw_file(row)
        for note in () if result is None else result.notes:
            st.caption(f":material/info: {ui.escape(str(note))}")


def _in_short(notes: Sequence[errors.Problem]) -> str:
    """Return the most frequent note with its number of files, and the number of other notes."""
    ((code, files), *_) = Counter(note.code for note in notes).most_common(1)
    reasons = [note.reason.partition(" (")[0] for note in notes if note.code == code]
    # Reasons of several files may differ in a name before a colon.
    ends = {reason.partition(": ")[2] for reason in reasons}
    what = ends.pop() if len(set(reasons)) > len(ends) == 1 else ""
    rest = f"; {text.how_many(len(notes) - files, 'other notes')}" if files < len(notes) else ""
    return f"{text.how_many(files, 'files')}: {what or reasons[0]}{rest}"


def _describe_counts(result: exchange.Imported) -> str:
    return ", ".join(
        text.how_many(count, name.replace("student", "examinee"))
        for name, count in result.counts.items()
    )


def _group_files(rows: Sequence[UploadRow]) -> list[exchange.Group]:
    """Return the files grouped by kind, with the options of their kinds."""
    kinds = {row.kind for row in rows}
    judging = [row for row in rows if formats.KINDS_OF_FILE[str(row.kind)].judges]
    name = student = None
    if len(judging) == 1:
        proposed = formats.KINDS_OF_FILE[str(judging[0].kind)].source_name(judging[0].source)
        name = st.container(key="source name").text_input(
            "Name of the judgment source", value=proposed
        )
    if [row.kind for row in rows].count("lm-eval") == 1:
        student = st.text_input("Name of the examinee", placeholder="Same as the file name") or None
    skip = not {"runs", "responses", "qrels"}.isdisjoint(kinds)
    skip = skip and st.checkbox("Skip lines of queries that are not in the project")
    gold = "responses" in kinds and st.checkbox("The responses are gold passages, one per query")
    form = (
        st.selectbox(
            "Form of the leaderboard",
            list(choices.LEADERBOARD_FORMS),
            index=None,
            key="board form",
            placeholder="Recognised from the file",
        )
        if "leaderboard" in kinds
        else None
    )
    return [
        exchange.Group(
            kind,
            [row.source for row in rows if row.kind == kind],
            exchange.Options(
                name
                if formats.KINDS_OF_FILE[kind].judges
                else student
                if kind == "lm-eval"
                else None,
                skip,
                gold,
                form=form if kind == "leaderboard" else None,
            ),
        )
        for kind in exchange.IMPORTERS
        if kind in kinds
    ]


def _make_row(file_id: str, source: formats.Source) -> UploadRow:
    """Return a file with the kind that the person chose, or else the recognized one."""
    detected = formats.detect_kind(source)
    guess = detected if detected in exchange.IMPORTERS else None
    out = file_id in st.session_state.setdefault("files left out", set())
    return UploadRow(file_id, source, guess, st.session_state.get(f"kind {file_id}", guess), out)


def _draw_file(row: UploadRow) -> None:
    """Draw a file with its fault, the choice of its kind, and a button that excludes or includes
    it.
    """
    left_out: set[str] = st.session_state["files left out"]
    left, middle, right = st.columns([6, 4, 2], vertical_alignment="center")
    left.container(key=f"file {row.key}{' left out' * row.left_out}").text(
        f"{row.source.name} "
        f" ({text.file_size(len(row.source.data or b''))}){', excluded' if row.left_out else ''}"
    )
    if row.fault:
        left.html(
            '<div class="asked" role="alert"><span'
            f' class="failed">{html.as_html(row.fault)}</span></div>'
        )
    if not row.left_out:
        options = list(exchange.IMPORTERS)
        middle.selectbox(
            "Kind of file",
            options,
            index=None if row.guess is None else options.index(row.guess),
            format_func=lambda kind: formats.KINDS_OF_FILE[kind].title,
            placeholder="Choose a kind",
            key=f"kind {row.key}",
            label_visibility="collapsed",
        )
    right.button(
        "Include" if row.left_out else "Exclude",
        key=f"leave out {row.key}",
        type="tertiary",
        icon=":material/add:" if row.left_out else ":material/close:",
        on_click=left_out.discard if row.left_out else left_out.add,
        args=(row.key,),
    )


def _find_broken(rows: Sequence[UploadRow], error: errors.WorkbenchError) -> None:
    """Note the faults of the files that caused the refusal of an import."""
    if isinstance(error, errors.FileError):
        first = {problem.file: problem for problem in reversed(error.problems)}
    else:
        # Errors about conflicts with the project begin with the names of their files.
        first = {
            row.source.name: None
            for row in rows
            if error.message.startswith(f"{row.source.name}: ")
        }
    for row in rows:
        if (name := text.one_line(row.source.name, errors.LONGEST_FILE)) in first:
            problem = first[name]
            line = "" if problem is None or problem.line is None else f"line {problem.line}: "
            row.fault = "Refused" if problem is None else f"Refused: {line}{problem.reason}"


def _confirm_replacing(replaced: list[str]) -> bool:
    """Draw the content that an import replaces; return whether the person confirmed it."""
    st.warning("This import replaces content of the project:", icon=":material/swap_horiz:")
    shown = st.container(key="replaced")
    for one in replaced[:REPLACED_SHOWN]:
        shown.text(one)
    if (rest := len(replaced) - REPLACED_SHOWN) > 0:
        st.text(f"and {rest} more")
    # The key contains the list, so that another list needs another confirmation.
    return st.checkbox(
        "Replace this content",
        key=f"replace {replaced}",
        help="You can restore the replaced content on the Activity screen, except components.",
    )


def _preview_import(
    project: Project, rows: Sequence[UploadRow], groups: list[exchange.Group]
) -> list[exchange.Imported]:
    key = (
        str(project.path),
        project.version(),
        tuple((row.key, row.kind) for row in rows),
        tuple(group.options for group in groups),
    )
    preview = st.session_state.get("preview")
    if preview is None or preview[0] != key:
        with st.spinner("Reading the files"):
            preview = (key, exchange.import_groups(project, groups, ui.person(), preview=True))
        st.session_state["preview"] = preview
    return preview[1]
