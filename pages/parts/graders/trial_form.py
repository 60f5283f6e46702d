"""Trying a grader: on one pair, with the prompt and how the answer is read, and on a few judged
passages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from exam_workbench import bank, errors, graders, grading, jobs, review, text, types
from exam_workbench.records import judgment_sources, passage_texts
from exam_workbench.store import Project
from pages.parts.shared import html, job_plan, look, presses, scoring_settings, ui

PASSAGES = 500
"""Largest number of a query's passages to choose from."""
LABEL = 75
"""Characters of a text in a list, which fit a narrow window."""
USUAL_TIMEOUT = 60
"""Default seconds for a call of an endpoint."""


@dataclass(frozen=True)
class Pair:
    """A question and a passage to try a grader or a prompt on."""

    question: types.Question
    passage: str

    @property
    def asked(self) -> types.GraderInput:
        """The question in the form that graders get."""
        return types.GraderInput(
            self.question.text or "", self.question.answer_key or "", self.question.choices
        )


def choose_pair(
    project: Project, questions: Callable[[str], Sequence[types.Question]], key: str
) -> Pair | None:
    """Draw the choice of a query, a question and a passage; return None and show why if one is
    missing.

    Args:
        questions: gives the questions of a query to choose from.
        key: distinguishes the widgets of several panels.
    """
    queries = ui.distinct_option_texts(
        {query.query_id: query.text for query in bank.query_overviews(project)}
    )
    if not queries:
        st.caption("No queries yet. Import queries to run a trial.")
        return None
    query = st.selectbox(
        "Query",
        list(queries),
        format_func=queries.__getitem__,
        key=f"{key} query",
        persist_state="session",
    )
    questions_by_id = {question.question_id: question for question in questions(query)}
    if not questions_by_id:
        st.container(key="nothing-to-ask").caption(
            "This query has no suitable question. Choose another query."
        )
        return None
    if list(questions_by_id) != [query]:
        texts = ui.distinct_option_texts(
            {
                name: ui.shorten_text(one.text or name, LABEL)
                for name, one in questions_by_id.items()
            }
        )
        question = st.selectbox(
            "Question",
            list(questions_by_id),
            format_func=texts.__getitem__,
            key=f"{key} question of {query}",
            persist_state="session",
        )
    else:
        question = query
    page = review.search_passages(
        project, None, review.Filters(query_id=query), PASSAGES, page=1
    ).rows
    excerpts = ui.distinct_option_texts(
        {row.passage_id: ui.shorten_text(row.excerpt, LABEL) for row in page if row.excerpt}
    )
    if not excerpts:
        st.caption("This query has no passages with text. Import passages first.")
        return None
    passage = st.selectbox(
        "Passage",
        list(excerpts),
        format_func=excerpts.__getitem__,
        key=f"{key} passage of {query}",
        persist_state="session",
    )
    return Pair(questions_by_id[question], passage_texts(project, [passage])[passage])


def draw_trial(project: Project, chosen: job_plan.ChosenGrader, pair: Pair, key: str) -> None:
    """Draw the button that starts a trial, and its result while grader and pair stay the same."""
    grader = chosen.grader
    about = (grader.spec.fingerprint, chosen.address, pair.asked, pair.passage)
    if presses.button(
        "Start trial",
        key=f"{key} ask",
        icon=":material/play_arrow:",
        disabled=not project.allows("ask models"),
    ):
        with st.spinner(describe_wait(chosen, datetime.now()), show_time=True):
            st.session_state[f"{key} answer"] = (about, _try_pair(project, grader, pair))
    held, answer = st.session_state.get(f"{key} answer", (None, None))
    if held != about:
        return
    if isinstance(answer, errors.WorkbenchError):
        ui.show_error(answer)
        if chosen.address and chosen.address not in f"{answer.message} {answer.hint}":
            st.caption(f":material/cloud: {ui.escape(f'Endpoint: {chosen.address}')}")
    elif isinstance(answer, graders.PairTrial):
        show_trial(answer, chosen)


def describe_wait(chosen: job_plan.ChosenGrader, since: datetime) -> str:
    """Return Markdown that states the awaited model and the start time."""
    spec, begun = chosen.grader.spec, f"since {since:%H:%M:%S}"
    if chosen.address is not None:
        longest = chosen.parameters.get("timeout_s", USUAL_TIMEOUT)
        return ui.escape(
            f"Waiting {begun} for {spec.model} at {chosen.address} (limit: {longest:g} s per call)"
        )
    loading = (
        ". The model may have to be loaded first"
        if isinstance(chosen.grader, graders.ReadingGrader)
        else ""
    )
    return ui.escape(f"Waiting {begun} for {spec.model} on this computer{loading}")


def _try_pair(
    project: Project, grader: graders.Grader, pair: Pair
) -> graders.PairTrial | errors.WorkbenchError:
    try:
        return graders.try_pair(
            grader, pair.asked, pair.passage, jobs.trial_control(project, grader)
        )
    except errors.WorkbenchError as error:
        return error


def show_messages(messages: graders.Messages) -> None:
    """Draw a filled-in prompt verbatim."""
    if messages.system:
        st.caption("System")
        st.code(messages.system, language=None, wrap_lines=True)
        st.caption("User")
    st.code(messages.user, language=None, wrap_lines=True)


def show_trial(trial: graders.PairTrial, chosen: job_plan.ChosenGrader) -> None:
    """Draw the grade, then the full answers and prompts behind it."""
    show_grade(trial.grade, chosen.grader.spec.max_rating, chosen.address)
    if chosen.address and trial.exchanges and trial.exchanges[-1].completion.error is not None:
        st.caption("Check that the endpoint is running, accepts such calls, and has this address.")
    for number, exchange in enumerate(trial.exchanges, 1):
        which = f" {number} of {len(trial.exchanges)}" if len(trial.exchanges) > 1 else ""
        st.container(key=f"answered {number}").caption(f"Full answer{which}")
        if exchange.completion.error is not None:
            st.text(f"No answer: {exchange.completion.error}")
        elif exchange.call.form == "likelihood":
            st.text("No text: the choices are compared by their likelihood.")
        else:
            st.code(exchange.completion.text or " ", language=None, wrap_lines=True)
        if exchange.messages is not None:
            with st.expander(f"Full prompt{which}: {exchange.call.prompt.name}"):
                show_messages(exchange.messages)


STYLE = """<style>
.ew-grade { display: flex; flex-wrap: wrap; gap: 0.2rem 0.7rem; align-items: baseline; }
.ew-grade > span:not(.ew-rating) { color: var(--ew-dim); }
.ew-grade > .ew-rating { font-size: 1.25rem; }
.ew-spread { border-collapse: collapse; margin-top: 0.5rem; font-size: 0.9rem; }
.ew-spread :is(th, td) { padding: 0.1rem 0.6rem 0.1rem 0; text-align: start; font-weight: 400; }
.ew-spread td:last-child { text-align: end; font-variant-numeric: tabular-nums; }
.ew-spread .track { width: 12rem; }
.ew-spread .bar { height: 0.7rem; border-radius: 0.2rem; outline: 1px solid var(--ew-line); }
</style>"""
DEFAULTED = (
    "default rating: the answer has no number (0 if it says that the question is"
    " unanswerable, else 1)"
)


def show_grade(grade: types.Grade, top: int, address: str | None = None) -> None:
    """Draw a grade: rating, status, confidence, and the probability of each rating if known.

    Args:
        top: the highest rating of the grader.
        address: address of the endpoint, shown with a failure; None for a model on this computer.
    """
    if grade.status == "failed":
        place = f" at {address}" if address else ""
        st.container(key="grade failed").error(
            ui.escape(f"Failed{place}: {(grade.reason or 'no usable rating').rstrip('.')}.")
            + " The pair has no rating.",
            icon=":material/error:",
        )
    else:
        words = [f"of {top}", DEFAULTED if grade.status == "defaulted" else grade.status]
        if grade.confidence is not None:
            words.append(f"model's confidence {ui.as_percent(grade.confidence)}")
        if grade.distribution:
            words.append(f"entropy {types.entropy(grade.distribution):.2f} bits")
        said = "".join(f"<span>{html.as_html(word)}</span>" for word in words)
        st.html(
            f'{STYLE}<div class="ew-grade">{look.rating_html(grade.rating)}{said}</div>'
            f"{_spread_html(grade.distribution or ())}"
        )
    if grade.answer:
        st.caption("Answer")
        st.text(grade.answer)
    if grade.note:
        st.caption(f":material/info: {ui.escape(grade.note)}")


def _spread_html(probabilities: Sequence[float]) -> str:
    """Return the probability of every rating, as bars."""
    if not probabilities:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{look.rating_html(rating)}</th>'
        f'<td class="track"><div class="bar" style="width: {share:.1%}; background:'
        f' var(--ew-r{rating})"></div></td>'
        f"<td>{share:.0%}</td></tr>"
        for rating, share in enumerate(probabilities)
    )
    return f'<table class="ew-spread" aria-label="Probability of each rating">{rows}</table>'


SIZE = 10


def try_sample(project: Project, chosen: job_plan.ChosenGrader) -> None:
    """Draw the button that grades the sample, and the result for this grader."""
    judged = judgment_sources(project)
    grader = chosen.grader
    sample = grading.judged_sample(project, grader.spec, judged[0], SIZE) if judged else []
    if not sample:
        st.container(key="no-sample").caption(
            "No judged passages with questions. Import judgments to compare this"
            " grader with assessors."
        )
        return
    scope = grading.Scope(
        passages=tuple((query, passage) for query, passage, _ in sample), retry_failed=True
    )
    plan = job_plan.cached_plan(project, grader, scope)
    if plan.to_grade:
        # A person waits for the result, so the job does not wait long for an endpoint that is down.
        request = grading.Request(scope, patience=0.0)
        tag = job_plan.price_tag(project, grader, request, plan.to_grade)
        calls = f" Calls: {tag.calls:,}." if tag and tag.calls else ""
        cost = f" Estimated cost: {tag.cost:,.4f}." if tag and tag.cost else ""
        sample_size = text.how_many(len(sample), "judged passages")
        st.caption(
            f"{sample_size} of {ui.escape(judged[0])}, spread over the judgments."
            f" To grade: {text.how_many(plan.to_grade, 'pairs')}.{calls}{cost} The grades are kept."
        )
        retry = f"Retry {text.how_many(plan.to_grade, 'failed pairs')}"
        label = retry if plan.failed == plan.to_grade else f"Grade {sample_size}"
        presses.act_button(
            label,
            job_plan.remember_and_start,
            project,
            chosen,
            request,
            icon=":material/science:",
            key="grade sample",
            disabled=not project.allows("grade"),
        )
    outcome = grading.sample_outcome(
        project, grader.spec, sample, scoring_settings.chosen_policy(project)
    )
    if outcome is not None:
        _draw_outcome(project, outcome, chosen)


def _draw_outcome(
    project: Project, sample: grading.SampleOutcome, chosen: job_plan.ChosenGrader
) -> None:
    with st.container(key="sample-outcome"):
        st.markdown(
            f"**{sample.agreeing:,} of {text.how_many(sample.labelled, 'passages')} agree** with"
            " the assessors on"
            f" relevance (label from {sample.min_rating}, judgment from {sample.min_judgment})."
        )
        if sample.calls:
            rest = job_plan.cached_plan(
                project, chosen.grader, grading.Scope(retry_failed=True)
            ).to_grade
            cost, whole = sample.cost, sample.cost_of(rest)
            money = (
                "No price is set for this model."
                if cost is None or whole is None
                else f"Cost: {cost:,.4f}. At this price, the remaining"
                f" {text.how_many(rest, 'pairs')} cost {whole:,.2f}."
            )
            st.caption(
                f"Calls: {sample.calls:,}. Failed pairs: {sample.failed:,} of"
                f" {sample.pairs:,}. {money}"
            )
    texts = passage_texts(project, [tried.passage_id for tried in sample.passages])
    st.dataframe(
        {
            "Judgment": [tried.judgment for tried in sample.passages],
            "Label": [tried.label for tried in sample.passages],
            "Query": [tried.query_id for tried in sample.passages],
            "Passage": [texts.get(tried.passage_id, tried.passage_id) for tried in sample.passages],
        },
        hide_index=True,
        key="sample table",
        placeholder="–",
        column_config={"Passage": st.column_config.TextColumn(width="large")},
    )
