"""Agreement of answer checks with people or with a model, and the best threshold."""

import streamlit as st

from exam_workbench import answers, charts, exchange, formats, text
from exam_workbench.store import Project
from pages.parts.answers import answer_job_forms, answer_settings, answer_tables
from pages.parts.shared import presses, ui
from pages.parts.shared.chart_display import draw_chart

MODEL = "judge"


def truth(project: Project) -> tuple[str, list[answers.PeopleSaid]] | None:
    """Draw the choice of a reference for the answer checks; return it with its results, or None without any."""
    sources = answers.verdict_sources(project)
    options = {name: name for name, _ in sources}
    if len(sources) > 1:
        options = {"": "All people"} | options
    said: list[answers.PeopleSaid] = []
    # People's results need no runs; a model's comparisons do.
    if answer_settings.generators(project) and not answers.lacking(project).stops:
        evaluation = answer_settings.look(project)
        model = evaluation.judge_model
        if model is not None and (said := answers.said_by_judge(project, evaluation)):
            options[f"{MODEL}:{model.name}"] = f"Model {model.name}"
    if not options:
        return None
    chosen = str(
        st.selectbox("Compare with", list(options), format_func=options.__getitem__, key="beside", bind="query-params",
                     width=420)
    )  # fmt: skip
    if chosen.startswith(f"{MODEL}:"):
        return chosen, said
    return chosen, answers.people_said(project, chosen or None)


def missing(project: Project) -> None:
    """Explain that people have given no results yet, and how to get some."""
    with st.container(border=True, key="no-verdicts"):
        st.markdown("**No results from people yet.**")
        st.markdown(
            "This screen shows how well each answer check agrees with people, and which threshold is best. Import a"
            " JSONL file with `query_id`, `answer` and `acceptable` on each line, for queries with gold answers. Or use"
            " the results of a model instead."
        )
        ui.go("answers", "Compare answers with a model", view="Generate and compare")


def imports(project: Project) -> None:
    """Draw the import of a file with people's results, and its report."""
    with st.popover("Import results", icon=":material/upload:", key="import verdicts"):
        st.caption("JSONL with query_id, answer and acceptable on each line.")
        file = st.file_uploader("File with results", key=presses.form_key("verdicts"))
        name = st.text_input("Source of the results", key="verdicts by", placeholder="File name").strip()

        def take(author: str) -> None:
            sources = [formats.Source(name=file.name, data=file.getvalue())]
            group = exchange.Group("answer-verdicts", sources, exchange.Options(source=name or None))
            exchange.import_groups(project, [group], author)
            presses.empty("verdicts")

        if file is not None:
            presses.doing("Import results", take, type="primary", key="verdicts import", said="Results imported.")


def table(project: Project, beside: str, said: list[answers.PeopleSaid]) -> list[answers.AgreementRow]:
    """Draw every answer check with accuracy, kappa, precision and recall; return the rows."""
    with st.spinner("Comparing the answer checks", show_time=False):
        rows = project.cached(("judges of answers", beside, tuple(said)), lambda: answers.agreement(project, said))
    st.dataframe(
        {
            "Answer check": [_named(row) for row in rows],
            "Threshold": [row.threshold for row in rows],
            **{
                name.capitalize(): [answer_tables.interval(getattr(row.against, name)) for row in rows]
                for name in charts.VALUES
            },
            "Answers": [row.against.answers for row in rows],
            "Failed": [row.against.failed for row in rows],
            "Waiting": [row.waiting for row in rows],
            "Best threshold": [row.tested.threshold if row.tested else None for row in rows],
            "Held-out kappa": [answer_tables.interval(row.tested.tested.kappa) if row.tested else "" for row in rows],
        },
        hide_index=True,
        placeholder="–",
        column_config={name: st.column_config.NumberColumn(format="%.2f") for name in ("Threshold", "Best threshold")},
    )
    accepted = sum(one.acceptable for one in said)
    st.container(key="verdicts-held").caption(
        f"Based on {text.how_many(len(said), 'answers')}, {ui.percent(accepted / len(said))} of them right. Intervals"
        " are 95%, from 1,000 resamples of questions.",
        help="The best threshold has the highest kappa on a random half of the questions. “Held-out kappa” is its kappa"
        " on the other half.",
    )
    return rows


def _named(row: answers.AgreementRow) -> str:
    return row.judge.title + (f" ({row.model})" if row.model else "")


def curve(rows: list[answers.AgreementRow]) -> None:
    """Draw the agreement of an answer check at each threshold, with a slider."""
    graded = {_named(row): row for row in rows if row.curve}
    if not graded:
        return
    st.subheader("Thresholds", anchor=False)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    row = graded[str(left.selectbox("Answer check", list(graded), key="curve of"))]
    top = row.judge.top
    limit = right.slider("Threshold", 0.0, top, float(row.threshold), top / 100, key=f"limit {row.judge.name}")
    # The curve has points between the scores; at the usual threshold the exact numbers are in the table above.
    near = min(row.curve, key=lambda point: abs(point.threshold - limit))
    usual = limit == row.threshold
    values = {name: getattr(row.against, name).value if usual else getattr(near, name) for name in charts.VALUES}
    ui.metrics(*((name, name.capitalize(), ui.number(value), None) for name, value in values.items()))
    draw_chart(charts.threshold_chart(row, limit))
    if row.tested is not None:
        told = row.tested
        st.caption(
            f"Best threshold on half of the questions: {told.threshold:.2f} ({told.chosen_on:,} answers). Kappa on the"
            f" other {told.tested_on:,} answers: {ui.number(told.tested.kappa.value)}, and"
            f" {ui.number(told.usual.kappa.value)} at the usual threshold."
        )


def ask_model(project: Project, said: list[answers.PeopleSaid]) -> None:
    """Draw a form to check the answers that people judged with a model; the table then includes this model."""
    with st.expander("Compare these answers with a model"), ui.errors():
        answer_job_forms.compare(project, [one.pair for one in said], "judge people")
