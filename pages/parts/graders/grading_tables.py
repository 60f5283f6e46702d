"""The tables of the Grading screen: all jobs, all graders, and the prices of models."""

from typing import Any

import pandas as pd
import streamlit as st

from exam_workbench import bank, errors, graders, grading, grouping, jobs
from exam_workbench.store import Project
from pages.parts.shared import html, job_plan, look, presses, ui

COUNTS = (
    *("Pairs", "Graded", "Failed", "Grades", "Failed attempts", "Calls"),
    *("Input tokens", "Cached tokens", "Output tokens", "Thinking tokens", "Estimated tokens"),
)
MODEL, READ, WRITTEN = "Model", "Price per million input tokens", "Price per million output tokens"
CACHED, BATCH = "Price per million cached tokens", "Share of the price in a batch"


def draw_past_jobs(project: Project) -> None:
    """Draw the table of all jobs."""
    if past := jobs.find_jobs(project, "grading"):
        st.header("Jobs", anchor=False)
        estimates = dict.fromkeys((job.key for job in past), None) | {
            bill.job: bill.told["input_tokens"] + bill.told["output_tokens"]
            for bill in grading.list_bills(project)
        }
        _draw_table(
            {
                "Started": [job.started_at for job in past],
                "Grader": [job.name for job in past],
                "State": [job.state for job in past],
                "Pairs": [job.total or None for job in past],
                "Graded": [job.done for job in past],
                "Failed": [job.failed for job in past],
                "Calls": [job.calls or None for job in past],
                "Input tokens": [job.input_tokens or None for job in past],
                "Cached tokens": [job.cached_tokens or None for job in past],
                "Output tokens": [job.output_tokens or None for job in past],
                "Thinking tokens": [job.thinking_tokens or None for job in past],
                "Estimated tokens": [estimates[job.key] for job in past],
                "Cost": [job.cost or None for job in past],
                "Estimated cost": [(job.request.get("told") or {}).get("cost") for job in past],
                "Started by": [job.author for job in past],
                "Message": [job.message or None for job in past],
            }
        )


def _draw_table(columns: dict[str, list[Any]]) -> None:
    """Draw a table without columns that are empty in every row, so that the others are in sight."""
    filled = {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
    }
    st.dataframe(
        filled,
        column_config={
            "Started": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
            **{
                name: st.column_config.NumberColumn(format="%.4f")
                for name in ("Cost", "Estimated cost")
            },
            **{name: st.column_config.NumberColumn(format="localized") for name in COUNTS},
        },
        hide_index=True,
        placeholder="–",
    )


def draw_known_graders(project: Project) -> None:
    """Draw every grader with grades in this project."""
    stored = bank.stored_graders(project)
    if not stored:
        return
    past = grouping.group_pairs((job.name, job) for job in jobs.find_jobs(project, "grading"))
    of_grader = [past.get(grader.spec.name, []) for grader in stored]
    st.header("Graders", anchor=False)
    _draw_table(
        {
            "Grader": [g.spec.name for g in stored],
            "Grades": [g.grades for g in stored],
            "Failed attempts": [g.failures for g in stored],
            "Calls": [sum(job.calls or 0 for job in done) or None for done in of_grader],
            "Cost": [sum(job.cost or 0.0 for job in done) or None for done in of_grader],
            "Method": [g.spec.method for g in stored],
            "Prompt": [g.spec.prompt or None for g in stored],
            "Model": [g.spec.model for g in stored],
            "Fingerprint": [g.spec.fingerprint for g in stored],
        }
    )


def price_table(project: Project) -> None:
    """Draw the prices of models, editable in place."""
    with st.expander("Price table"):
        st.caption(
            "Model prices in a currency of your choice, used for cost estimates and cost limits."
            " Use each model name exactly as in its grader."
        )
        prices = bank.model_prices(project)
        key = f"prices {sorted((model, str(price)) for model, price in prices.items())}"
        amount = st.column_config.NumberColumn(min_value=0.0, format="%.4g", required=True)
        edited = st.data_editor(
            pd.DataFrame(
                {
                    # Without explicit types, the columns of an empty table could not be edited.
                    MODEL: pd.Series(list(prices), dtype=str),
                    READ: pd.Series([price.input for price in prices.values()], dtype=float),
                    WRITTEN: pd.Series([price.output for price in prices.values()], dtype=float),
                    CACHED: pd.Series([price.cached for price in prices.values()], dtype=float),
                    BATCH: pd.Series([price.batch for price in prices.values()], dtype=float),
                }
            ),
            column_config={
                MODEL: st.column_config.TextColumn(required=True),
                READ: amount,
                WRITTEN: amount,
                CACHED: st.column_config.NumberColumn(
                    min_value=0.0, format="%.4g", help="Empty: the price of other input tokens."
                ),
                BATCH: st.column_config.NumberColumn(
                    min_value=0.0,
                    max_value=1.0,
                    format="%.4g",
                    default=graders.BATCH_SHARE,
                    help="Most services charge half the price (0.5).",
                ),
            },
            num_rows="dynamic",
            hide_index=True,
            key=key,
        )
        if any(st.session_state[key].values()):
            presses.act_button(
                "Save prices",
                _save_prices,
                project,
                prices,
                edited,
                type="primary",
                key="save prices",
            )


def _save_prices(
    project: Project, prices_before: dict[str, graders.Price], edited: pd.DataFrame, author: str
) -> None:
    rows = edited.astype(object).where(edited.notna(), None).to_dict("records")
    for model in prices_before.keys() - {row[MODEL] for row in rows}:
        bank.set_price(project, model, None, author)
    for row in rows:
        if row[READ] is None or row[WRITTEN] is None:
            raise errors.InputError(
                "invalid-price",
                f"Incomplete price for {row[MODEL] or 'a model'}.",
                "Enter the input and output prices. Use 0 for a free model.",
            )
        share = graders.BATCH_SHARE if row[BATCH] is None else row[BATCH]
        price = graders.Price(row[READ], row[WRITTEN], row[CACHED], share)
        if prices_before.get(row[MODEL]) != price:
            bank.set_price(project, row[MODEL] or "", price, author)


def waiting_batches(project: Project) -> None:
    """Draw the waiting batches that no job of this process is watching."""
    for name in sorted({job.name for job in jobs.find_jobs(project, "grading", state="waiting")}):
        spec = bank.find_grader(project, name).spec
        with st.container(border=True), ui.errors():
            st.container(key=f"batches {spec.fingerprint}").markdown(
                f"**{ui.escape(name)}** has batches at the endpoint. "
                f"{ui.escape(grading.batch_standing(project, spec).description)}."
            )
            st.caption("State at the last check. Check again to import new answers.")
            if presses.button(
                "Check batches", icon=":material/refresh:", key=f"look {spec.fingerprint}"
            ):
                if (grader := bank.grader_again(project, spec)) is not None:
                    # A limit of 0 only resumes the waiting batches and sends no new ones.
                    request = grading.Request(grading.Scope(limit=0), batch=True)
                    presses.run_act(grading.start_job, project, grader, request)
                else:
                    st.warning(
                        "The settings of this grader are missing. Set it up"
                        " above as it was before.",
                        icon=":material/warning:",
                    )


PAIRS_A_PAGE = 10
REASONS = 12
"""Number of reasons to choose from, since many errors differ only in a number."""
TITLES: dict[grading.Which, str] = {"failed": "Failed", "defaulted": "Default ratings"}
ABOUT: dict[grading.Which, str] = {
    "failed": "The grader gave no usable rating: an error, a refusal, a number off the scale or a"
    " cut-off answer. These pairs have no rating, which is not the same as 0.",
    "defaulted": "The answer has no number. The rating is 0 if the answer says that the question is"
    " unanswerable, else 1. These pairs are not graded again.",
}


def draw_failed_pairs(project: Project, running: bool) -> None:
    """Draw the section, if a grader has such pairs.

    Args:
        running: whether a job runs, so that no other can start.
    """
    version = bank.latest_version(project)
    failing = {
        grader.spec.name: (grader, _count_reasons(project, grader, version))
        for grader in bank.stored_graders(project)
    }
    failing = {
        name: (grader, counts) for name, (grader, counts) in failing.items() if any(counts.values())
    }
    if not failing:
        return
    st.header("Failed and default ratings", anchor=False)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    name = left.selectbox("Grader", list(failing), key="failed_of", bind="query-params")
    grader, counts = failing[name]
    totals = {which: sum(number for _, number in listed) for which, listed in counts.items()}
    kinds: list[grading.Which] = [which for which in TITLES if totals[which]]
    which = right.segmented_control(
        "Pairs",
        kinds,
        default=kinds[0],
        required=True,
        label_visibility="collapsed",
        format_func=lambda kind: f"{TITLES[kind]}: {totals[kind]:,}",
        key=f"which pairs {kinds}",
    )
    st.caption(ABOUT[which])
    if which == "failed":
        _draw_retry(project, grader, totals["failed"], running)
    listed = counts[which]
    by_reason = dict(listed[:REASONS])
    reason = (
        st.selectbox(
            "Reason",
            list(by_reason),
            index=None,
            placeholder=f"All {len(listed):,} reasons",
            format_func=lambda text: f"{by_reason[text]:,} × {text}",
            key=f"reason {name} {which}",
        )
        if len(listed) > 1
        else None
    )
    total = by_reason[reason] if reason else totals[which]
    page = ui.draw_pager(f"failed page {name} {which} {reason}", total, PAIRS_A_PAGE)
    offset = (page - 1) * PAIRS_A_PAGE
    for pair in grading.doubtful_pairs(
        project, grader, which, version, reason, offset, PAIRS_A_PAGE
    ):
        _draw_failed_pair(pair)


def _count_reasons(
    project: Project, grader: bank.StoredGrader, version: int
) -> dict[grading.Which, list[tuple[str, int]]]:
    # Most graders have never failed; for those there is no need to search the bank and the pool.
    among: dict[grading.Which, int] = {"failed": grader.failures, "defaulted": grader.grades}
    return {
        which: grading.count_reasons(project, grader, which, version) if among[which] else []
        for which in TITLES
    }


def _draw_retry(project: Project, stored: bank.StoredGrader, failed: int, running: bool) -> None:
    grader = bank.grader_again(project, stored.spec)
    if grader is None:
        st.container(key="not-asked-again").caption(
            ":material/info: This grader cannot run from here: its grades were imported, or its"
            " model is missing. To retry, set it up above with the same model and prompt."
        )
        return
    with st.expander("Retry of failed pairs"):
        request = grading.Request(grading.Scope(only_failed=True, sentences=None))
        job_plan.draw_tag(project, grader, request, failed, " failed")
        request = job_plan.draw_budget(project, grader, request, "failed")
        if running:
            st.caption("A job is running. Wait until it ends, or cancel it.")
        presses.act_button(
            f"Retry failed pairs ({failed:,})",
            grading.start_job,
            project,
            grader,
            request,
            type="primary",
            disabled=running,
            key="ask failed",
        )


def _draw_failed_pair(pair: grading.DoubtfulPair) -> None:
    times = f" · {pair.attempts:,} attempts" if pair.attempts > 1 else ""
    question, passage = (
        ui.shorten_text(pair.asked.text, 70),
        ui.shorten_text(" ".join(pair.passage.split()), 60),
    )
    label = f"**{ui.escape(question)}** {ui.escape(passage)}"
    with st.expander(label), st.container(key=f"failed {hash((pair.asked, pair.passage_id))}"):
        reason = pair.reason[:1].upper() + pair.reason[1:].rstrip(".")
        if pair.rating is None:
            st.text(f"{reason} · no rating{times}")
        else:
            st.html(f"{look.rating_html(pair.rating, 'Rating')} {html.as_html(reason + times)}")
        if pair.asked.text != question:
            st.text(pair.asked.text)
        if pair.asked.text != pair.query:
            st.caption(f"Query: {ui.escape(pair.query)}")
        if pair.asked.answer_key:
            st.caption(f"Answer key: {ui.escape(pair.asked.answer_key)}")
        st.caption("Answer of the grader" if pair.raw else "No answer")
        if pair.raw:
            st.code(pair.raw, language=None, wrap_lines=True)
        st.caption("Passage")
        st.text(pair.passage)
        ui.draw_link("passages", "Open passage", query=pair.query_id, passage=pair.passage_id)
