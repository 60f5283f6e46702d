"""Tables of answers: LLM-retEval by run and depth, the system that each evaluation chooses, and
correlations.
"""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from exam_workbench import answers, measures, run_names, study, text
from exam_workbench.store import Project
from pages.parts.answers import answer_settings, cases_desk
from pages.parts.shared import address, html, scoring_settings, ui

KEY = "answers-grid"
MEASURES: dict[answers.Measured, str] = {
    "LLM-retEval": "The answer from the top k passages matches an answer from the gold passages",
    "GPT-Eval": "The answer is right according to the gold answers or an assessor",
    "Recall": "Share of the gold passages that are in the top k",
    "Precision": "Share of the top k passages that are gold",
    "F1": "Harmonic mean of Recall and Precision per query",
}


def draw_grid(project: Project, evaluation: answers.Evaluation) -> None:
    """Draw the table with its downloads, and its missing values."""
    rows = evaluation.rows
    waiting, failed = sum(row.waiting for row in rows), sum(row.failed for row in rows)
    missing = {
        "answers to generate": waiting,
        "failed answers": failed,
        "comparisons to make": sum(row.reteval.waiting for row in rows) - waiting,
        "failed comparisons": sum(row.reteval.failed for row in rows) - failed,
    }
    if parts := [f"{what}: {number:,}" for what, number in missing.items() if number > 0]:
        st.caption(
            f":material/info: Incomplete ({', '.join(parts)}). Missing values are left out, not"
            " counted as wrong."
        )
    _draw_table(project, evaluation)
    st.caption(
        "Means over queries ± one standard error. A bold score is the best of its depth in at"
        " least 95% of resamples.",
        help="A query that a run skipped counts as 0. Failed and waiting queries are left out.",
    )
    failures = answers.count_failures(project, evaluation)
    st.markdown("**Failures**")
    st.dataframe(
        {
            "Run": [run for run, _ in failures],
            "k": [k for _, k in failures],
            "Recall failures (A–C)": [one.recall for one in failures.values()],
            "LLM-retEval failures (D–F)": [one.reteval for one in failures.values()],
            "Confirmed": [one.confirmed for one in failures.values()],
        },
        hide_index=True,
    )
    st.caption("Queries by confirmed case, else by proposed case. The Cases screen lists them.")
    with st.container(horizontal=True):
        name = f"{project.name}-reteval"
        st.download_button(
            "LaTeX",
            answers.reteval_latex(evaluation, failures),
            f"{name}.tex",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "TSV",
            answers.reteval_tsv(evaluation),
            f"{name}.tsv",
            icon=":material/download:",
            on_click="ignore",
        )


@st.fragment
def _draw_table(project: Project, evaluation: answers.Evaluation) -> None:
    """Draw the runs by depth and LLM-retEval; a click on a score lists its queries."""
    best = answers.clear_best(project, evaluation)
    columns = [
        name
        for name in MEASURES
        if name != "GPT-Eval" or any(row.gpteval for row in evaluation.rows)
    ]
    # A run with waiting queries is never at the top: the finished ones may be the easy ones. A run
    # without a mean is below one with the mean 0.
    rows = sorted(
        evaluation.rows,
        key=lambda row: (
            row.k,
            row.reteval.waiting > 0,
            -(-1.0 if row.reteval.mean is None else row.reteval.mean),
            row.run,
        ),
    )
    table = pd.DataFrame(
        [
            {"Run": html.as_shown(row.run), "k": row.k}
            | {name: _format_mean(*answers.row_values(row)[name]) for name in columns}
            | {"Missing values": _missing_counts(row)}
            for row in rows
        ],
        columns=["Run", "k", *columns, "Missing values"],
    )

    def mark_best(scores: pd.Series) -> list[str]:
        leads = [best.get((row.k, str(scores.name))) == row.run for row in rows]
        return ["font-weight: 700" if lead else "" for lead in leads]

    def keep_picked_cell() -> None:
        cells = [
            cases_desk.id_of(measure, rows[at].run, rows[at].k)
            for at, measure in st.session_state[KEY].selection.cells
            if measure in MEASURES
        ]
        address.write_parameters({"cell": "".join(cells)})

    st.dataframe(
        table.style.apply(mark_best, subset=columns),
        hide_index=True,
        key=KEY,
        selection_mode="single-cell",
        on_select=keep_picked_cell,
        column_config={name: st.column_config.TextColumn(help=MEASURES[name]) for name in columns},
    )
    if (ideal := evaluation.ideal) is not None and ideal.mean is not None:
        st.container(key="ideal-retriever").caption(
            "Ideal retriever: answers from gold passages only are right for"
            f" {_format_mean(ideal.mean, ideal.error)} of the {ideal.queries:,} queries with gold"
            " answers (GPT-Eval)."
        )
    _draw_queries(evaluation, str(st.query_params.get("cell", "")))


def _format_mean(mean: float | None, error: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"


def _missing_counts(row: answers.RetEvalRow) -> str:
    counts = [
        (row.reteval.failed, "failed"),
        (row.reteval.waiting, "waiting"),
        (row.reteval.skipped, "skipped"),
    ]
    return ", ".join(f"{number:,} {what}" for number, what in counts if number)


def _draw_queries(evaluation: answers.Evaluation, cell: str) -> None:
    """Draw the queries of the open score, the worst first."""
    place = cases_desk.place_of(cell)
    if place is None or (place[1], place[2]) not in evaluation.lines or place[0] not in MEASURES:
        return
    measure, run, k = place
    values = answers.query_values(evaluation.lines[run, k], measure)
    lines = sorted(
        evaluation.lines[run, k].values(),
        key=lambda line: -1.0 if values.get(line.query_id) is None else values[line.query_id],
    )
    st.markdown(f"**{ui.escape(f'{measure}@{k} of {run}')}**")
    golds = [evaluation.gold[line.query_id] for line in lines]
    chosen = ui.choose_rows(
        {
            "Score": [values.get(line.query_id) for line in lines],
            "Query": [html.as_shown(gold.query.text) for gold in golds],
            "Reason": [_explain_value(line, measure) for line in lines],
            "Answer from the top k passages": [html.as_shown(line.answer or "") for line in lines],
            "Answer from gold passages": [html.as_shown("".join(gold.draws[:1])) for gold in golds],
        },
        "queries of a score",
        placeholder="–",
        column_config={"Score": st.column_config.NumberColumn(format="%.2f", width=70)},
    )
    for at in chosen:
        case = cases_desk.id_of(lines[at].query_id, run, k)
        ui.draw_link("cases", "Show case", **answer_settings.chosen_settings(), at=case)


def _explain_value(line: answers.EvaluatedAnswer, measure: str) -> str:
    if line.state == "skipped":
        return "The run has no passage for the query."
    if measure not in ("LLM-retEval", "GPT-Eval"):
        places = ", ".join(str(place + 1) for place in line.found.places)
        return f"Ranks of gold passages: {places}." if places else "No gold passage in the top k."
    verdict = line.reteval if measure == "LLM-retEval" else line.gpteval
    if verdict.state != "known":
        return ui.shorten_text(verdict.reason or "Waiting.", 120)
    return "Result from an assessor." if measure == "GPT-Eval" and line.by_person else ""


MOST_NAMED = 3
"""Largest number of tied runs that are named."""
REFERENCE = "LLM-retEval"


@ui.errors()
def draw_choices(project: Project, evaluation: answers.Evaluation) -> None:
    """Draw every evaluation of the same runs: the chosen run, its certainty and its cost."""
    ui.require_content(
        len(evaluation.view.runs or ()) > 1,
        "Only one run has answers, so there is nothing to compare.",
        "Import another run, or generate answers from another run.",
        "home",
    )
    ks = evaluation.view.ks
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    k = left.segmented_control(
        "Depth",
        ks,
        default=ks[min(1, len(ks) - 1)],
        format_func=lambda k: f"k = {k}",
        key="depth",
        required=True,
    )
    offered = study.boards_to_choose_by(project, int(k))
    policy = scoring_settings.chosen_policy(project)
    with st.spinner("Computing the coverage of the answers", show_time=False):
        covers = answers.cover_tables(project, evaluation, int(k), policy)
    waiting = answers.waiting_runs(evaluation, int(k))
    answered = [run for run in evaluation.view.runs or () if run not in waiting]
    whole = [name for name, table in covers.items() if set(answered) <= set(table)]
    names_chosen = right.multiselect(
        "Compare with",
        [*covers, *offered],
        default=[*whole, *list(offered)[: study.BESIDE]],
        key=f"beside answers {k}",
        placeholder="No other evaluation",
        help="Other evaluations of the same runs: coverage of the question bank by the answers or"
        " by the passages (EXAM-Cover), assessors' judgments, and graders of passages.",
    )
    offered_tables = {name: offered[name] for name in names_chosen if name in offered}
    tables = answers.choice_tables(evaluation, int(k)) | {
        name: covers[name] for name in names_chosen if name in covers
    }
    key = (
        "choice of answers",
        evaluation.view,
        evaluation.generator.fingerprint,
        k,
        policy,
        tuple(names_chosen),
    )
    compared = project.cached(
        key, lambda: study.compare_choices(project, offered_tables, policy, tables)
    )
    for error in compared.left_out.values():
        ui.show_error(error)
    picks = compared.found
    _draw_choice_table(picks, f"{REFERENCE}@{k}")
    st.container(key="compared-over").caption(
        f"Based on {text.how_many(picks.choices[0].queries, 'queries')} that all evaluations have."
        " Percentages show how often a run ranks first in 1,000 resamples of the queries.",
        help=f"τ, same choice and cost compare a row with {REFERENCE}@{k}. τ is Kendall's τ of the"
        " orders of runs. Same"
        " choice is the share of resamples in which both choose the same run. Cost is the loss by"
        f" {REFERENCE}@{k} if you choose by the row. Intervals are 95%.",
    )
    for run, count in waiting.items():
        st.caption(
            f":material/info: No {REFERENCE}@{k} for {ui.escape(run)}: answers or comparisons are"
            f" missing for {text.how_many(count, 'queries')}. See Generate and compare."
        )
    for name, table in covers.items():
        if name not in whole:
            lacks = [run for run in answered if run not in table]
            st.caption(
                f":material/info: {ui.escape(name)} covers {text.how_many(len(table), 'runs')}."
                f" To add {ui.escape(text.first_few(lacks))}, grade their answers with"
                " `exam answers grade`."
            )


def _draw_choice_table(picks: measures.EvaluationChoices, reference: str) -> None:
    most = {run: max(choice.chance.get(run, 0.0) for choice in picks.choices) for run in picks.runs}
    short = run_names.short_names(picks.runs)
    first = {f"{short[run]} first": run for run in sorted(picks.runs, key=lambda run: -most[run])}
    pairs = {pairing.one: pairing for pairing in picks.pairings if pairing.other == reference}
    paired = [pairs.get(choice.evaluation) for choice in picks.choices]
    scores = [
        choice.scores[choice.chosen[0]] if choice.chosen else (None, None)
        for choice in picks.choices
    ]
    st.dataframe(
        {
            "Evaluation": [choice.evaluation for choice in picks.choices],
            "Chosen run": [_name_chosen(choice.chosen, short) for choice in picks.choices],
            "Mean": [score[0] for score in scores],
            "±": [score[1] for score in scores],
            "τ": [format_interval(pair.kendall) if pair else None for pair in paired],
            "Same choice": [pair.same_chance if pair else None for pair in paired],
            "Cost": [format_interval(pair.loss) if pair else None for pair in paired],
            **{
                title: [round(pairing.chance.get(run, 0.0), 2) for pairing in picks.choices]
                for title, run in first.items()
            },
        },
        hide_index=True,
        placeholder="–",
        column_config={
            "Mean": st.column_config.NumberColumn(format="%.3f"),
            "±": st.column_config.NumberColumn(format="%.3f", help="Standard error"),
            "Same choice": st.column_config.NumberColumn(format="percent"),
            **{
                title: st.column_config.ProgressColumn(format="percent", help=ui.escape(run))
                for title, run in first.items()
            },
        },
    )


def _name_chosen(runs: list[str], short: Mapping[str, str]) -> str:
    """Return the chosen run, or the number of runs if many tie."""
    if len(runs) > MOST_NAMED:
        return f"{len(runs)} runs with equal scores"
    return " = ".join(short[run] for run in runs)


def format_interval(estimate: measures.Interval) -> str:
    """Return a number with its interval as text; a dash if it is undefined."""
    if estimate.value is None:
        return "–"
    bounds = (
        ""
        if estimate.low is None or estimate.high is None
        else f" [{estimate.low:z.2f}, {estimate.high:z.2f}]"
    )
    return f"{estimate.value:z.2f}{bounds}"


def draw_correlation(project: Project, evaluation: answers.Evaluation) -> None:
    """Draw Spearman's correlation of Recall and LLM-retEval over all queries and without failures
    of Recall.
    """
    by: dict[answers.Refined, str] = {
        "confirmed": "Confirmed cases",
        "proposed": "Confirmed and proposed cases",
    }
    chosen = st.segmented_control(
        "Cases A, B and C left out of “refined”",
        list(by),
        default="confirmed",
        format_func=lambda name: by[name],
        key="refined",
        required=True,
    )
    rows = answers.correlate_recall(project, evaluation, chosen)
    st.dataframe(
        {
            "Run": [row.run for row in rows],
            "k": [row.k for row in rows],
            "ρ, all": [format_interval(row.every.spearman) for row in rows],
            "Queries": [row.every.queries for row in rows],
            "ρ, refined": [format_interval(row.refined.spearman) for row in rows],
            "Queries, refined": [row.refined.queries for row in rows],
            "Left out": [row.refined.removed for row in rows],
        },
        hide_index=True,
    )
    for why in dict.fromkeys(
        row.every.spearman.undefined for row in rows if row.every.spearman.undefined
    ):
        st.caption(f"Undefined correlation: {ui.escape(str(why))}.")
    st.caption(
        "Spearman's ρ between Recall (a gold passage was retrieved) and LLM-retEval per query."
        " Refined leaves out queries on which Recall is wrong."
        + (" No assessor has confirmed the proposed cases." if chosen == "proposed" else ""),
        help="For results of 0 and 1, ρ equals φ. Recall is wrong in cases A, B and C.",
    )
