"""The plan of a grading job: its size, cost and limits, and starting it."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import streamlit as st

from exam_workbench import bank, choices, graders, grading, jobs, text, types
from exam_workbench.records import pool_depth, run_names, set_pool_depth
from exam_workbench.store import Project, cache
from pages.parts.shared import presses, ui

PRICED_AT_ONCE = 200_000
"""Number of pairs up to which the price tag is drawn without a click; it has to list all pairs."""
MOST_IN_FLIGHT = 1024
FIRST_CALLS = 1000
"""Default call limit of the first job of a grader that asks an endpoint."""
MINUTE = 60
NEEDED = (
    "Active questions × pooled passages. Equal wordings and equal texts count once. Other screens"
    " count pairs per query and can show other numbers."
)
LEFT_OUT = {
    "other_kind": "{} of a kind that the grader does not support",
    "no_text": "{} without text",
    "no_answer_key": "{} without an answer key",
    "no_choices": "{} without choices",
}


@dataclass(frozen=True)
class ChosenGrader:
    """A grader, and the kind and parameters that make it."""

    grader: graders.Grader
    kind: str
    parameters: dict[str, Any]

    @property
    def address(self) -> str | None:
        """Address of the endpoint for ratings or answer checks; None if the grader asks no
        endpoint.
        """
        given = self.parameters
        asks = "openai" in (graders.back_end_name(given), given.get("verify_back_end"))
        return str(given.get("base_url") or graders.usual_address()) if asks else None


def draw_plan(project: Project, grader: graders.Grader) -> grading.Request | None:
    """Draw the plan of a job; return the request to start, or None."""
    version = bank.latest_version(project)
    exams = bank.exam_queries(project, version)
    queries = {
        query.query_id: ui.shorten_text(query.text, ui.LISTED)
        for query in bank.query_overviews(project)
        if query.query_id not in exams
    }
    if exams:
        ui.draw_note(
            ":material/info: Exam items are not graded. Examinees answer them.",
            "students",
            key="items-not-graded",
        )
        if not queries:
            return None
    chosen = st.multiselect(
        "Queries",
        list(queries),
        format_func=queries.__getitem__,
        placeholder="All queries",
        key="queries",
        persist_state="session",
    )
    top = st.number_input(
        "Top passages per run",
        1,
        project.read(pool_depth),
        None,
        key="top",
        placeholder="The whole pool",
        disabled=not run_names(project),
        persist_state="session",
        help="Grades only the passages within this rank of at least one run. This is enough for"
        " coverage and precision"
        " with this cutoff. nDCG, AP and recall need the whole pool. You can grade the remaining"
        " passages later.",
    )
    scope = grading.Scope(queries=tuple(chosen) or None, top=top)
    with st.spinner("Counting pairs", show_time=False):
        tally = cached_plan(project, grader, scope)
    again = st.container(key="plan again")
    if tally.failed and again.checkbox(
        f"Grade {text.how_many(tally.failed, 'failed pairs')} again"
    ):
        scope = replace(scope, retry_failed=True)
        tally = cached_plan(project, grader, scope)
    ui.draw_metrics(
        ("needed", "Pairs needed", f"{tally.needed:,}", NEEDED),
        ("known", "Already graded", f"{tally.known:,}", None),
        (
            "failed",
            "Failed",
            f"{tally.failed:,}",
            "The grader gave no usable rating. This is not a rating of 0.",
        ),
        ("to grade", "To grade", f"{tally.to_grade:,}", None),
    )
    without = project.cached(
        ("left out", grader.spec.fingerprint, scope.queries),
        lambda: grading.count_skipped(project, grader.spec, version, scope.queries),
        cache.LABELS | {"sent_pairs", "settings"},
    )
    _passed_over(tally, without, grader.spec)
    ui.require_content(
        tally.needed,
        "Nothing to grade.",
        "Add questions, and import runs or judgments.",
        "home",
        code="nothing-to-grade",
    )
    ui.draw_speaking(len(bank.speaking_passages(project, version)))
    if not tally.to_grade:
        where = (
            "this bank version"
            if scope == grading.Scope(retry_failed=scope.retry_failed)
            else "your selection"
        )
        if tally.failed:
            st.info(
                f"No ungraded pairs in {where}, but {text.how_many(tally.failed, 'failed pairs')}."
                " See the list below.",
                icon=":material/info:",
            )
        else:
            st.container(key="all-graded").success(
                f"All pairs in {where} are graded.", icon=":material/check:"
            )
        return None
    request = grading.Request(scope)
    draw_tag(project, grader, request, tally.to_grade)
    return in_batches(project, grader, draw_budget(project, grader, request, "plan"))


def in_batches(
    project: Project, grader: graders.Grader, request: grading.Request
) -> grading.Request:
    """Draw the choice of batches for a grader that asks an endpoint, and return the request with
    it.
    """
    if not graders.is_remote(grader):
        return request
    price = bank.model_prices(project).get(grader.spec.model) or graders.Price()
    cheaper = (
        "half the price"
        if price.batch == graders.BATCH_SHARE
        else f"{price.batch:.0%} of the price"
    )
    as_batch = st.checkbox(
        f"Send as a batch ({cheaper}, takes up to 24 hours)",
        key="plan batch",
        persist_state="session",
        help="Sends the calls as files to endpoints with a batch API, such as OpenAI's. You can"
        " close the app: sent batches continue. Results are read when you check the batches here.",
    )
    return replace(request, batch=bool(as_batch))


def cached_plan(project: Project, grader: graders.Grader, scope: grading.Scope) -> grading.Plan:
    """Return the counts of a job, cached."""
    # Cached, since every click reruns the screen and counting takes half a second for 20 million
    # pairs.
    return project.cached(
        ("plan", grader.spec.fingerprint, scope),
        lambda: grading.make_plan(project, grader.spec, bank.latest_version(project), scope),
        cache.LABELS | {"sent_pairs", "settings"},
    )


def _passed_over(
    tally: grading.Plan, without: grading.SkippedCounts, spec: types.GraderSpec
) -> None:
    if tally.weightless:
        st.caption(
            f":material/info: Pairs with a question weight of 0 or less: {tally.weightless:,}. The"
            " grader rates them too, but labels do not use them."
        )
    if tally.without_text:
        st.caption(
            f":material/info: {text.how_many(tally.without_text, 'pooled passages')} without text"
            " cannot be graded."
        )
    if without.total:
        nouns = (
            ("query is", "queries are")
            if spec.method == "direct"
            else ("question is", "questions are")
        )
        counts = {name: getattr(without, name) for name in LEFT_OUT}
        reasons = ", ".join(
            LEFT_OUT[name].format(f"{count:,}") for name, count in counts.items() if count
        )
        st.container(key="left-out").caption(
            f":material/info: {without.total:,} {nouns[without.total > 1]} left out: {reasons}."
        )


def draw_tag(
    project: Project, grader: graders.Grader, request: grading.Request, pairs: int, place: str = ""
) -> None:
    """Draw the price tag of a request, or a button for it if it takes long.

    Args:
        place: distinguishes a second price tag on the screen.
    """
    price = price_tag(project, grader, request, pairs)
    if price is None:
        return
    if not isinstance(grader, graders.ReadingGrader):
        if price.seconds is not None:
            st.container(key=f"free-of-charge{place}").caption(
                f"Estimated time from earlier jobs: {ui.as_estimate(price.seconds)}. No model"
                " calls and no cost."
            )
        return
    show_tag(price, grader.spec.model, place)
    more = (
        f"Estimated time from earlier jobs: {ui.as_estimate(price.seconds)}."
        if price.seconds
        else "",
        f"Output tokens for thinking: {as_count(price.thinking_tokens)}."
        if price.thinking_tokens
        else "",
        f"Input tokens that the endpoint may cache: {as_count(price.cached_tokens)}."
        if price.cached_tokens
        else "",
        f"Included: {as_count(price.sentinels)} repeated pairs, which show a changed model."
        if price.sentinels
        else "",
        "" if price.batch_cost is None else f"Estimated cost as a batch: {price.batch_cost:,.2f}.",
    )
    if any(more):
        st.container(key=f"plan-more{place}").caption(" ".join(filter(None, more)))


def show_tag(price: grading.PriceTag, model: str, place: str = "") -> None:
    """Draw the calls, tokens and cost of requests to a model.

    Args:
        model: its name in the price table.
        place: distinguishes a second price tag on the screen.
    """
    about, how = (
        ("", "Counted by the model's tokenizer on a sample.")
        if price.counted
        else ("≈ ", "Estimated from a sample, because the model's tokenizer is not available.")
    )
    unpriced = f"No price for {ui.escape(model)}. Set it in the price table on the Grading screen."
    cost, currency = (
        ("–", unpriced)
        if price.cost is None
        else (f"≈ {price.cost:,.2f}", "In the currency of the price table.")
    )
    ui.draw_metrics(
        (f"calls{place}", "Calls", f"{price.calls:,}", "Model calls without retries."),
        (f"tokens read{place}", "Input tokens", f"{about}{as_count(price.input_tokens)}", how),
        ("", "Output tokens", f"≈ {as_count(price.output_tokens)}", None),
        (f"cost{place}", "Estimated cost", cost, currency),
    )


def price_tag(
    project: Project, grader: graders.Grader, request: grading.Request, pairs: int
) -> grading.PriceTag | None:
    """Return the price tag of a request; draw a button for it and return None if it takes long."""
    counting = (
        isinstance(grader, graders.ReadingGrader) and grader.back_end.count_tokens("") is not None
    )
    key = ("price tag", grader.spec.fingerprint, request, counting)
    if pairs > PRICED_AT_ONCE and key not in st.session_state:
        st.button(
            "Estimate the cost",
            icon=":material/sell:",
            key="estimate",
            on_click=st.session_state.update,
            args=({key: True},),
        )
        return None
    return project.cached(
        key,
        lambda: grading.price_tag(
            project, grader, request.bank_version or bank.latest_version(project), request.scope
        ),
    )


def as_count(number: int) -> str:
    """Return a large number in a few characters: 950, 12.3 k, 4.6 M."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e6:,.1f} M" if number >= 1_000_000 else f"{number / 1e3:,.1f} k"


def draw_budget(
    project: Project, grader: graders.Grader, request: grading.Request, key: str
) -> grading.Request:
    """Draw the limits of a job of a grader that asks a model; return the request with them; see
    `draw_limits`.
    """
    if not isinstance(grader, graders.ReadingGrader):
        return request
    remote = is_endpoint(grader.spec)
    first = FIRST_CALLS if remote and grading.has_only_samples(project, grader.spec) else None
    return draw_limits(project, request, key, grader.spec.model, remote, first)


C = TypeVar("C", bound=jobs.Caps)


def draw_limits(
    project: Project,
    caps: C,
    key: str,
    model: str | None = None,
    remote: bool = False,
    first: int | None = None,
) -> C:
    """Draw the limits of a job, and for an endpoint the parallel calls and the patience; return the
    caps with them.

    Args:
        key: distinguishes the widgets of several jobs.
        model: its name in the price table; None if the job may ask several models.
        remote: whether the job asks an endpoint.
        first: default call limit, for the first job of an endpoint.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        calls = st.number_input(
            "Call limit",
            1,
            None,
            first,
            key=f"{key} calls{' at first' * (first is not None)}",
            placeholder="No limit",
            persist_state="session",
            help="Retries count. The job stops at the limit, and you can start it again. The first"
            " job of an endpoint has a limit; clear the field to remove it.",
        )
        priced = model is None or model in bank.model_prices(project)
        money = st.number_input(
            "Cost limit",
            0.0,
            None,
            None,
            key=f"{key} money",
            placeholder="No limit",
            persist_state="session",
            disabled=not priced,
            help=None if priced else "Set a price for the model on the Grading screen first.",
        )
        caps = replace(caps, max_calls=calls, max_cost=money if priced else None)
        if not remote:
            return caps
        flying = st.number_input(
            "Parallel calls",
            1,
            MOST_IN_FLIGHT,
            caps.concurrency,
            key=f"{key} flying",
            persist_state="session",
            help="You can change this while the job runs.",
        )
        minutes = st.number_input(
            "Wait for the endpoint (minutes)",
            0,
            round(choices.LONGEST_PATIENCE / MINUTE),
            round(caps.patience / MINUTE),
            key=f"{key} patience",
            persist_state="session",
            help=(
                "If the endpoint is unavailable, the job waits this long. It continues when the"
                " endpoint is back."
            ),
        )
    return replace(caps, concurrency=flying, patience=float(MINUTE * minutes))


def is_endpoint(spec: types.GraderSpec) -> bool:
    """Return whether the grader asks an endpoint, so that calls can run in parallel."""
    return spec.parameters.get("back_end") == "openai"


def remember_and_start(
    project: Project, chosen: ChosenGrader, request: grading.Request, author: str
) -> None:
    """Save the settings of a grader, so that other screens offer it later, and start the job."""
    bank.remember_settings(project, chosen.grader, chosen.kind, chosen.parameters, author)
    grading.start_job(project, chosen.grader, request, author)


def draw_pool(project: Project) -> None:
    """Draw the depth of the pool."""
    with st.expander("Pool"):
        st.caption(
            "The pool has the judged passages, the passages of imported graded files, and"
            " the top of every run."
        )
        depth = project.read(pool_depth)
        depth_typed = st.container(key="pool depth").number_input(
            "Pool depth (passages per run and query)", 1, 1000, depth
        )
        # Always enabled: the value is known after the field loses focus, which the click on the
        # button causes.
        if presses.button("Rebuild the pool", key="pool again") and depth_typed != depth:
            with ui.errors(rerun=True), project.transaction() as cursor:
                set_pool_depth(cursor, int(depth_typed), ui.author())
