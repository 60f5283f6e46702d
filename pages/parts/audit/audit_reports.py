"""Reports of an audit: the meaning of labels, graders, the roles of models, and exports for papers
and assessors.
"""

import streamlit as st

from exam_workbench import audit as room, bank, choices, formats
from exam_workbench.measures.audit import Rate
from exam_workbench.records import state_families
from exam_workbench.store import Project
from pages.parts.shared import presses, ui


def draw_labels(project: Project, audit: room.Audit) -> None:
    """Draw the meaning of each label, the effect of each min rating, and proposals that can be
    applied.
    """
    with ui.or_empty(code="empty"):
        calibration = room.calibrate_labels(project, audit)
    st.subheader("Judgments by label", anchor=False)
    st.caption(
        "For each label: the estimated share of its passages with each judgment, and its interval.",
        help=(
            "These shares are estimates for the whole pool. They may differ for the top"
            " passages of one system."
        ),
    )
    values = sorted({value for meaning in calibration.meanings for value in meaning.chances})
    meanings = calibration.meanings[::-1]
    st.dataframe(
        {
            "Label": [meaning.label for meaning in meanings],
            "Passages": [meaning.passages for meaning in meanings],
            "Judged": [meaning.judged for meaning in meanings],
            **{
                f"Judged {value}": [_share_text(meaning.chances.get(value)) for meaning in meanings]
                for value in values
            },
            "Mean": [ui.as_number(meaning.mean, 2) for meaning in meanings],
        },
        hide_index=True,
        key="judgments by label",
    )
    st.subheader("Label quality by min rating", anchor=False)
    _draw_min_ratings(calibration)
    _take_min_rating(calibration)
    if calibration.cuts or calibration.new_cuts:
        _draw_cut_points(project, audit, calibration)


def _share_text(share: Rate | None) -> str:
    """Return a percentage with its interval."""
    if share is None or share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def _draw_min_ratings(calibration: room.Calibration) -> None:
    rows = []
    for tested in calibration.min_ratings:
        quality = tested.quality
        kappa = quality.kappa
        rows.append(
            {
                "Min rating": tested.rating,
                "Current": tested.rating == calibration.min_rating,
                "Balanced": tested.rating == calibration.balanced,
                "Precision": _share_text(quality.precision),
                "Recall": _share_text(quality.recall),
                "Accuracy": _share_text(quality.accuracy),
                "Kappa": "–"
                if kappa.value is None
                else f"{kappa.value:z.2f} [{kappa.low:z.2f}, {kappa.high:z.2f}]",
            }
        )
    st.dataframe(rows, hide_index=True, key="quality by min rating")


def _take_min_rating(calibration: room.Calibration) -> None:
    if calibration.balanced is None:
        st.caption("Precision and recall are undefined at every min rating. Judge more passages.")
    elif calibration.balanced == calibration.min_rating:
        st.container(key="balanced").caption(
            f"Precision and recall are closest at {calibration.balanced}, the min"
            " rating of this audit."
        )
    else:
        closest, use = (
            f"Precision and recall are closest at **{calibration.balanced}**.",
            f"Use min rating {calibration.balanced}",
        )
        ui.draw_note(closest, "leaderboard", use, "balanced", tau=str(calibration.balanced))


def _draw_cut_points(project: Project, audit: room.Audit, calibration: room.Calibration) -> None:
    st.subheader("Cut points of the embedding grader", anchor=False)
    st.markdown(f"Current: {_list_cut_points(calibration.cuts)}.")
    if not calibration.new_cuts:
        st.caption(ui.escape(calibration.why_no_cuts))
        return
    st.markdown(f"Fitted to the judgments: **{_list_cut_points(calibration.new_cuts)}**.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Name of the new grader", f"Embedding, {audit.name}", key="cuts-name", width=320
        )
        accepted = presses.button("Add grader", icon=":material/add:", key="accept cuts")
    if accepted:
        with ui.errors():
            room.accept_cut_points(project, audit, name, ui.author())
            st.success(
                ui.escape(f"Added the grader {name}. To grade with it: {bank.grade_command(name)}")
            )
            ui.draw_link("grading", "Grade with this grader")


def _list_cut_points(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.3f}" for cut in cuts)


HOW = "Model families, separated by commas (gpt, llama). Write “no model” if no model was used."
NONE = "no model"


def draw_roles(project: Project, audit: room.Audit) -> None:
    """Draw the roles, warnings if a model has two, and the audit's estimate of favouritism."""
    circularity = room.find_circularity(project, audit.policy, audit.runs)
    warnings = st.container(key="double-roles")
    for warning in circularity.warnings:
        warnings.warning(ui.escape(warning), icon=":material/sync_problem:")
    if not circularity.warnings:
        st.container(key="no-double-roles").caption("No model has two roles, as far as stated.")
    if (favour := room.audit_board(project, audit).favour) is not None:
        st.markdown(f"**{ui.escape(favour.description)}**")
    st.caption(HOW)
    with st.container(horizontal=True):
        questions = st.text_input(
            "Models that wrote the questions",
            _families_text(circularity.questions),
            key="roles-questions",
            placeholder="not stated",
            width=280,
            help=_explain_origin(circularity.questions),
        )
        grader = st.text_input(
            "Models of the grader",
            _families_text(circularity.grader),
            key="roles-grader",
            placeholder="not stated",
            width=280,
            help=_explain_origin(circularity.grader),
        )
    edited = st.data_editor(
        {
            "System": [role.name for role in circularity.runs],
            "Models": [_families_text(role) for role in circularity.runs],
            "Two roles": [
                "yes" if role.name in circularity.kin else "" for role in circularity.runs
            ],
        },
        hide_index=True,
        disabled=["System", "Two roles"],
        key="roles-runs",
        column_config={"Models": st.column_config.TextColumn(help=HOW, width="medium")},
    )
    if not presses.button("Save models", type="primary", key="state roles"):
        return
    entries = [
        ("questions", "", circularity.questions, questions),
        ("grader", audit.graders[0], circularity.grader, grader),
        *(
            ("run", role.name, role, str(entry or ""))
            for role, entry in zip(circularity.runs, edited["Models"], strict=True)
        ),
    ]
    with ui.errors(rerun=True):
        for part, name, role, entry in entries:
            if entry != _families_text(role):
                families = [family.strip() for family in entry.split(",") if family.strip()]
                stated = [] if entry.strip() == NONE else families
                state_families(project, part, name, stated, ui.author())


def _families_text(role: room.Role) -> str:
    return "" if role.families is None else ", ".join(role.families) or NONE


def _explain_origin(role: room.Role) -> str:
    if role.stated:
        return "Entered in this project."
    return (
        f"Derived from the model name: {ui.escape(', '.join(role.models))}."
        if role.models
        else "Not stated yet."
    )


FORMS: dict[choices.SheetForm, str] = {"tsv": "TSV, for a spreadsheet", "jsonl": "JSONL"}


def draw_paper(project: Project, audit: room.Audit) -> None:
    """Draw the paragraph, the sheets, the bundle, and the button that ends the audit."""
    st.subheader("Methods", anchor=False)
    st.code(room.describe_methods(project, audit), language=None, wrap_lines=True)
    ui.draw_note(
        "A bundle contains the design, seed, probabilities and judgments of the audit, so its"
        " results are reproducible.",
        "export",
        "Export bundle",
    )
    st.subheader("Judging outside the app", anchor=False)
    if (waiting := None if audit.ended else room.open_batch(project, audit)) is None:
        st.container(key="no-batch").caption("No open batch: nothing to judge.")
    else:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            who = st.text_input(
                "Assessor",
                "",
                key="sheet-who",
                placeholder="Any assessor",
                width=220,
                help=(
                    "Reserves the queries of the sheet for this assessor until you upload it or"
                    " release the queries."
                ),
            )
            most = st.number_input(
                "Passages (about)", 1, None, None, key="sheet-most", placeholder="All", width=190
            )
            form = st.selectbox(
                "Format", list(FORMS), format_func=FORMS.__getitem__, key="sheet-form", width=220
            )
            ui.download(
                "Download sheet",
                lambda: room.make_sheet(project, audit, form, who.strip() or None, most).text,
                f"{audit.name}-batch-{waiting.number}.{form}",
                icon=":material/download:",
                on_click="ignore",
                key="sheet out",
            )
        uploaded = st.file_uploader(
            "Judged sheet or qrels file",
            ["tsv", "jsonl", "txt", "qrels"],
            key=f"sheet of {audit.key}",
        )
        if uploaded is not None and presses.button(
            "Import judgments", type="primary", key="take in sheet"
        ):
            with ui.errors():
                result = room.import_sheet(
                    project,
                    audit,
                    formats.Source(uploaded.name, data=uploaded.getvalue()),
                    ui.author(),
                )
                st.success(room.import_sentence(result))
    if not audit.ended:
        st.subheader("End the audit", anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                "You keep the leaderboard and judgments, but can draw and judge no more passages."
                " You cannot undo this.",
                width="content",
            )
            presses.confirm_button(
                "End audit",
                "Another audit with the same source can reuse the judgments.",
                room.end_audit,
                project,
                audit,
                now="End audit now",
                now_key="end audit",
                key="ending audit",
            )


def draw_graders(project: Project, audit: room.Audit) -> None:
    """Draw the graders by their correlation with the audited leaderboard."""
    with ui.or_empty(code="empty"):
        choice = room.choose_grader(project, audit)
    st.container(key="chosen-grader").markdown(ui.escape(choice.description))
    st.dataframe(
        {
            "Grader": [scored.grader for scored in choice.graders],
            "Labelled": [scored.labelled for scored in choice.graders],
            "Correlation": [scored.correlation for scored in choice.graders],
            "Behind the chosen": [
                "–"
                if scored.low is None
                else f"{scored.behind:z.3f} [{scored.low:z.3f}, {scored.high:z.3f}]"
                for scored in choice.graders
            ],
            "Not separated": [scored.kept for scored in choice.graders],
        },
        hide_index=True,
        column_config={
            "Labelled": st.column_config.NumberColumn(
                format="percent", help="Share of the audit's passages"
            ),
            "Correlation": st.column_config.NumberColumn(
                format="%.3f",
                help=(
                    "Pearson's correlation of the grader's leaderboard with the audited leaderboard"
                ),
            ),
            "Behind the chosen": st.column_config.TextColumn(
                help=f"Difference, with its {choice.confidence:.0%} interval"
            ),
            "Not separated": st.column_config.CheckboxColumn(
                help="No other grader is significantly better."
            ),
        },
    )
    ui.draw_link(
        "leaderboard", f"Show the leaderboard of {ui.escape(choice.chosen)}", grader=choice.chosen
    )
    st.caption(
        f"{choice.judged:,} judgments. Noise of the sample lowers all correlations by the same"
        " factor, so compare the differences."
    )
