"""Agreement of answer checks with people or with a model, and the best threshold."""

import streamlit as st

from exam_workbench import answers, charts, exchange, formats, text
from exam_workbench.store import Project
from pages.parts.answers import answer_job_forms, answer_settings, answer_tables
from pages.parts.shared import chart_display, presses, ui

MODEL = "judge"


def choose_reference(project: Project) -> list[answers.PeopleVerdict] | None:
    """Draw the choice of a reference for the answer checks; return its results, or None without
    any.
    """
    sources = answers.verdict_sources(project)
    everyone = {"": "All people"} if len(sources) > 1 else {}
    options = everyone | {name: name for name, _ in sources}
    verdicts: list[answers.PeopleVerdict] = []
    # People's results need no runs; a model's comparisons do.
    if answer_settings.generator_models(project) and not answers.missing_data(project).is_blocking:
        evaluation = answer_settings.choose_evaluation(project)
        model = evaluation.judge_model
        if model is not None and (verdicts := answers.answer_check_verdicts(project, evaluation)):
            options[f"{MODEL}:{model.name}"] = f"Model {model.name}"
    if not options:
        return None
    chosen = str(
        st.selectbox(
            "Compare with",
            list(options),
            format_func=options.__getitem__,
            key="beside",
            bind="query-params",
            width=420,
        )
    )
    if chosen.startswith(f"{MODEL}:"):
        return verdicts
    return answers.people_verdicts(project, chosen or None)


def explain_missing(project: Project) -> None:
    """Explain that people have given no results yet, and how to get some."""
    with st.container(border=True, key="no-verdicts"):
        st.markdown("**No results from people yet.**")
        st.markdown(
            "This screen shows how well each answer check agrees with people, and which threshold"
            " is best. Import a JSONL file with `query_id`, `answer` and `acceptable` on each line,"
            " for queries with gold answers. Or use the results of a model instead."
        )
        ui.draw_link("answers", "Compare answers with a model", view="Generate and compare")


def draw_import(project: Project) -> None:
    """Draw the import of a file with people's results, and its report."""
    with st.popover("Import results", icon=":material/upload:", key="import verdicts"):
        st.caption("JSONL with query_id, answer and acceptable on each line.")
        file = st.file_uploader("File with results", key=presses.form_key("verdicts"))
        name = st.text_input(
            "Source of the results", key="verdicts by", placeholder="File name"
        ).strip()

        def import_verdicts(author: str) -> None:
            sources = [formats.Source(name=file.name, data=file.getvalue())]
            group = exchange.Group(
                "answer-verdicts", sources, exchange.Options(source=name or None)
            )
            exchange.import_groups(project, [group], author)
            presses.clear_form("verdicts")

        if file is not None:
            presses.act_button(
                "Import results",
                import_verdicts,
                type="primary",
                key="verdicts import",
                message="Results imported.",
            )


def draw_agreement(
    project: Project, verdicts: list[answers.PeopleVerdict]
) -> list[answers.AgreementRow]:
    """Draw every answer check with accuracy, kappa, precision and recall; return the rows."""
    with st.spinner("Comparing the answer checks", show_time=False):
        rows = project.cached(
            ("judges of answers", tuple(verdicts)),
            lambda: answers.agreement_with_people(project, verdicts),
        )
    st.dataframe(
        {
            "Answer check": [_name_check(row) for row in rows],
            "Threshold": [row.threshold for row in rows],
            **{
                name.capitalize(): [
                    answer_tables.format_interval(getattr(row.against, name)) for row in rows
                ]
                for name in charts.VALUES
            },
            "Answers": [row.against.answers for row in rows],
            "Failed": [row.against.failed for row in rows],
            "Waiting": [row.waiting for row in rows],
            "Best threshold": [row.tested.threshold if row.tested else None for row in rows],
            "Held-out kappa": [
                answer_tables.format_interval(row.tested.tested.kappa) if row.tested else ""
                for row in rows
            ],
        },
        hide_index=True,
        placeholder="–",
        column_config={
            name: st.column_config.NumberColumn(format="%.2f")
            for name in ("Threshold", "Best threshold")
        },
    )
    accepted = sum(verdict.acceptable for verdict in verdicts)
    st.container(key="verdicts-held").caption(
        f"Based on {text.how_many(len(verdicts), 'answers')},"
        f" {ui.as_percent(accepted / len(verdicts))} of them right. "
        "Intervals are 95%, from 1,000 resamples of questions.",
        help="The best threshold has the highest kappa on a random half of the questions. “Held-out"
        " kappa” is its kappa on the other half.",
    )
    return rows


def _name_check(row: answers.AgreementRow) -> str:
    return row.judge.title + (f" ({row.model})" if row.model else "")


def draw_threshold_curve(rows: list[answers.AgreementRow]) -> None:
    """Draw the agreement of an answer check at each threshold, with a slider."""
    # The answer checks that compare texts have a curve in any case.
    graded = {_name_check(row): row for row in rows if row.curve}
    st.subheader("Thresholds", anchor=False)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    row = graded[str(left.selectbox("Answer check", list(graded), key="curve of"))]
    top = row.judge.top
    limit = right.slider(
        "Threshold", 0.0, top, float(row.threshold), top / 100, key=f"limit {row.judge.name}"
    )
    # The curve has points between the scores; at the usual threshold the exact numbers are in the
    # table above.
    near = min(row.curve, key=lambda point: abs(point.threshold - limit))
    usual = limit == row.threshold
    values = {
        name: getattr(row.against, name).value if usual else getattr(near, name)
        for name in charts.VALUES
    }
    ui.draw_metrics(
        *((name, name.capitalize(), ui.as_number(value), None) for name, value in values.items())
    )
    chart_display.draw_chart(charts.threshold_chart(row, limit))
    if row.tested is not None:
        test = row.tested
        st.caption(
            f"Best threshold on half of the questions: {test.threshold:.2f} ({test.chosen_on:,}"
            " answers). Kappa on the"
            f" other {test.tested_on:,} answers: {ui.as_number(test.tested.kappa.value)}, and"
            f" {ui.as_number(test.usual.kappa.value)} at the usual threshold."
        )


def ask_model(project: Project, verdicts: list[answers.PeopleVerdict]) -> None:
    """Draw a form to check the answers that people judged with a model; the table then includes
    this model.
    """
    with st.expander("Compare these answers with a model"):
        answer_job_forms.draw_comparing(
            project, [verdict.pair for verdict in verdicts], "judge people"
        )
