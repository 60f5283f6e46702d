"""The tables of the Grading screen: all jobs, all graders, and the prices of models."""

from typing import Any

import pandas as pd
import streamlit as st

from exam_workbench import catalogue, errors, grading, jobs
from exam_workbench.graders import BATCH_SHARE, Price
from exam_workbench.project import Project
from pages.parts.shared import job_plan, presses, ui

COUNTS = (
    *("Pairs", "Graded", "Failed", "Grades", "Failed attempts", "Calls"),
    *("Input tokens", "Cached tokens", "Output tokens", "Thinking tokens", "Estimated tokens"),
)
MODEL, READ, WRITTEN = "Model", "Price per million input tokens", "Price per million output tokens"
CACHED, BATCH = "Price per million cached tokens", "Share of the price in a batch"


def past_jobs(project: Project) -> None:
    """Draw the table of all jobs."""
    found = jobs.jobs(project, "grading")
    if not found:
        return
    st.header("Jobs", anchor=False)
    told = dict.fromkeys((job.key for job in found), None) | {
        bill.job: bill.told["input_tokens"] + bill.told["output_tokens"] for bill in grading.bills(project)
    }
    _table(
        {
            "Started": [job.started_at for job in found],
            "Grader": [job.name for job in found],
            "State": [job.state for job in found],
            "Pairs": [job.total or None for job in found],
            "Graded": [job.done for job in found],
            "Failed": [job.failed for job in found],
            "Calls": [job.calls or None for job in found],
            "Input tokens": [job.input_tokens or None for job in found],
            "Cached tokens": [job.cached_tokens or None for job in found],
            "Output tokens": [job.output_tokens or None for job in found],
            "Thinking tokens": [job.thinking_tokens or None for job in found],
            "Estimated tokens": [told[job.key] for job in found],
            "Cost": [job.cost or None for job in found],
            "Estimated cost": [(job.request.get("told") or {}).get("cost") for job in found],
            "Started by": [job.author for job in found],
            "Message": [job.message or None for job in found],
        }
    )


def _table(columns: dict[str, list[Any]]) -> None:
    """Draw a table without columns that are empty in every row, so that the others are in sight."""
    said = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    st.dataframe(
        said,
        column_config={
            "Started": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
            **{name: st.column_config.NumberColumn(format="%.4f") for name in ("Cost", "Estimated cost")},
            **{name: st.column_config.NumberColumn(format="localized") for name in COUNTS},
        },
        hide_index=True,
        placeholder="–",
    )


def known_graders(project: Project) -> None:
    """Draw every grader with grades in this project."""
    found = catalogue.graders(project)
    if not found:
        return
    calls: dict[str, int] = {}
    cost: dict[str, float] = {}
    for job in jobs.jobs(project, "grading"):
        calls[job.name] = calls.get(job.name, 0) + (job.calls or 0)
        cost[job.name] = cost.get(job.name, 0.0) + (job.cost or 0.0)
    st.header("Graders", anchor=False)
    _table(
        {
            "Grader": [g.spec.name for g in found],
            "Grades": [g.grades for g in found],
            "Failed attempts": [g.failures for g in found],
            "Calls": [calls.get(g.spec.name) or None for g in found],
            "Cost": [cost.get(g.spec.name) or None for g in found],
            "Method": [g.spec.method for g in found],
            "Prompt": [g.spec.prompt or None for g in found],
            "Model": [g.spec.model for g in found],
            "Fingerprint": [g.spec.fingerprint for g in found],
        }
    )


def price_table(project: Project) -> None:
    """Draw the prices of models, editable in place."""
    with st.expander("Price table"):
        st.caption(
            "Model prices in a currency of your choice, used for cost estimates and cost limits. Use each model name "
            "exactly as in its grader."
        )
        known = catalogue.prices(project)
        key = f"prices {sorted((model, str(price)) for model, price in known.items())}"
        amount = st.column_config.NumberColumn(min_value=0.0, format="%.4g", required=True)
        st.data_editor(
            pd.DataFrame(
                {
                    # Without explicit types, the columns of an empty table could not be edited.
                    MODEL: pd.Series(list(known), dtype=str),
                    READ: pd.Series([price.input for price in known.values()], dtype=float),
                    WRITTEN: pd.Series([price.output for price in known.values()], dtype=float),
                    CACHED: pd.Series([price.cached for price in known.values()], dtype=float),
                    BATCH: pd.Series([price.batch for price in known.values()], dtype=float),
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
                    default=BATCH_SHARE,
                    help="Most services charge half the price (0.5).",
                ),
            },
            num_rows="dynamic",
            hide_index=True,
            key=key,
        )
        changes: dict[str, Any] = st.session_state[key]
        if any(changes.values()) and presses.button("Save prices", type="primary", key="save prices"):
            with ui.errors():
                _save(project, list(known), changes)
                st.rerun()


def _save(project: Project, models: list[str], changes: dict[str, Any]) -> None:
    """Save the changes of the editor."""
    known = catalogue.prices(project)
    for row in changes["deleted_rows"]:
        catalogue.set_price(project, models[row], None, ui.author())
    for row, cells in changes["edited_rows"].items():
        before = models[int(row)]
        price = known[before]
        stored = {READ: price.input, WRITTEN: price.output, CACHED: price.cached, BATCH: price.batch}
        _set(project, {MODEL: before, **stored} | cells)
        if cells.get(MODEL, before) != before:
            catalogue.set_price(project, before, None, ui.author())
    for cells in changes["added_rows"]:
        _set(project, cells)


def _set(project: Project, cells: dict[str, Any]) -> None:
    read, written = cells.get(READ), cells.get(WRITTEN)
    if read is None or written is None:
        raise errors.InputError(
            "invalid-price",
            f"Incomplete price for {cells.get(MODEL) or 'a model'}.",
            "Enter the input and output prices. Use 0 for a free model.",
        )
    cached, batch = cells.get(CACHED), cells.get(BATCH)
    price = Price(
        float(read), float(written), None if cached is None else float(cached), BATCH_SHARE if batch is None else batch
    )
    catalogue.set_price(project, str(cells.get(MODEL) or ""), price, ui.author())


def waiting_batches(project: Project) -> None:
    """Draw the waiting batches that no job of this process is watching."""
    for name in sorted({job.name for job in jobs.jobs(project, "grading", state="waiting")}):
        spec = catalogue.find_grader(project, name).spec
        with st.container(border=True), ui.errors():
            st.container(key=f"batches {spec.fingerprint}").markdown(
                f"**{ui.plain(name)}** has batches at the endpoint. {ui.plain(grading.standing(project, spec).said)}."
            )
            st.caption("State at the last check. Check again to import new answers.")
            if presses.button("Check batches", icon=":material/refresh:", key=f"look {spec.fingerprint}"):
                if (grader := catalogue.grader_again(project, spec)) is not None:
                    # A limit of 0 only resumes the waiting batches and sends no new ones.
                    job_plan.start(project, grader, grading.Request(grading.Scope(limit=0), batch=True))
                else:
                    st.warning(
                        "The settings of this grader are missing. Set it up above as it was before.",
                        icon=":material/warning:",
                    )
