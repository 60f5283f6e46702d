"""Forms that start jobs for answers and comparisons: model, passages, and estimated cost."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from exam_workbench import answers, choices, graders, grading, jobs, text
from exam_workbench.records import AnswerModel, answer_models, run_names
from exam_workbench.store import Project
from pages.parts.answers import answer_settings
from pages.parts.shared import job_plan, model_place, presses, ui

RULE, EXTRACTIVE, LOCAL, ENDPOINT = "nearest-sentence", "extractive", "transformers", "openai"
KINDS = {
    RULE: "Most similar sentence (no model)",
    EXTRACTIVE: "Extractive model on this computer",
    LOCAL: "Model on this computer",
    ENDPOINT: "Model at an endpoint",
}
AGAIN = "as before: "
JUDGE_KINDS = {"llm": "Yes or no", "graded": "0 to 5"}
START = {"type": "primary", "icon": ":material/play_arrow:"}
"""Style of the buttons that start a job."""
ROLES = {"generator": "Generator", "judge": "Answer check"}


def draw_forms(project: Project, evaluation: answers.Evaluation | None) -> None:
    """Draw both forms, and the models that have answered and compared so far.

    Args:
        evaluation: the evaluation under the present choices; None before the first answer.
    """
    if "answers" in jobs.running_jobs(project):
        st.caption("A job is running. You can start another job when it has ended.")
        return
    st.subheader("Generate answers", anchor=False)
    _draw_generating(project)
    if evaluation is not None:
        st.subheader("Compare answers with a model", anchor=False)
        draw_comparing(project, evaluation.pairs, "compare")
    _draw_models_so_far(project)


def _draw_models_so_far(project: Project) -> None:
    if models_before := answers.answering_so_far(project):
        st.subheader("Models used so far", anchor=False)
        st.dataframe(
            {
                "Role": [ROLES[model.role] for model in models_before],
                "Name": [model.name for model in models_before],
                "Model": [model.model for model in models_before],
                "Prompt": [model.prompt for model in models_before],
                "Results": [model.written for model in models_before],
                "Failed": [model.failed for model in models_before],
            },
            hide_index=True,
        )


@ui.errors()
def _draw_generating(project: Project) -> None:
    models_before = {
        AGAIN + model.name: model
        for model in answer_settings.generator_models(project)
        if not model.from_elsewhere
    }
    left, right = st.columns(2)
    with left:
        kind = str(
            st.selectbox(
                "Generator",
                [*models_before, *KINDS],
                key="answers by",
                persist_state="session",
                format_func=lambda name: KINDS.get(name) or name.removeprefix(AGAIN),
            )
        )
        ready = (
            answers.generator_again(project, models_before[kind])
            if kind in models_before
            else _choose_generator(project, kind)
        )
    if ready is None:
        return
    with right:
        runs = st.multiselect(
            "Runs",
            run_names(project),
            key="answers from",
            placeholder="All runs",
            persist_state="session",
        )
        ks = st.multiselect(
            "Depths k",
            sorted({*answers.KS, 3, 20}),
            list(answers.KS),
            key="answers at",
            persist_state="session",
        )
        draws, temperature = choices.GOLD_DRAWS, choices.GOLD_TEMPERATURE
        if ready.draws_differ:
            draws = int(
                st.number_input(
                    "Answers per query from gold passages",
                    1,
                    20,
                    choices.GOLD_DRAWS,
                    key="answers draws",
                )
            )
            temperature = float(
                st.number_input(
                    "Temperature of these answers",
                    0.0,
                    2.0,
                    choices.GOLD_TEMPERATURE,
                    0.1,
                    key="answers temperature",
                )
            )
    request = answers.WantedAnswers(
        tuple(runs) or None, tuple(sorted(ks)), True, draws=draws, temperature=temperature
    )
    planned = answers.plan_answers(project, ready, request)
    retried = _choose_retry(planned.failed, "failed answers", "answers again")
    caps = jobs.JobScope(retry_failed=retried)
    if retried:
        planned = answers.plan_answers(project, ready, request, caps)
    repeats = f"Equal contexts need one answer ({planned.shared:,} repeats)."
    ui.draw_metrics(
        (
            "needed",
            "Answers needed",
            f"{planned.needed:,}",
            f"Answers from gold passages are included. {repeats}",
        ),
        ("", "Already answered", f"{planned.known:,}", None),
        ("", "Failed", f"{planned.failed:,}", "Calls without a usable answer."),
        ("to generate", "To generate", f"{len(planned.to_ask):,}", None),
    )
    left_out = [
        (planned.skipped, "the run has no passage"),
        (planned.without_text, "no passage has a text"),
    ]
    for number, why in left_out:
        if number:
            st.caption(
                f":material/info: {text.how_many(number, 'answers')} left out because {why}."
            )
    if not planned.to_ask:
        st.container(key="all-answered").success(
            "All requested answers exist.", icon=":material/check:"
        )
        return
    price = answers.answers_price(project, ready, planned) if ready.needs_model else None
    caps = _draw_cost(project, ready.model, price, caps, "answers")
    presses.act_button(
        "Generate answers",
        partial(answers.start_answering, caps=caps),
        project,
        ready,
        request,
        key="answers begin",
        **START,
    )


def _choose_retry(failed: int, things: str, key: str) -> bool:
    """Draw the choice to retry failed things, if there are any, and return it."""
    return failed > 0 and st.checkbox(f"Retry {text.how_many(failed, things)}", key=key)


def _choose_generator(project: Project, kind: str) -> answers.ReadyGenerator | None:
    """Draw the settings of the generator and return it; None if no model is chosen yet."""
    if kind == RULE:
        st.caption(
            "Returns the sentence that is most similar to the question. This is only a demo: use a"
            " model before you draw conclusions."
        )
        return answers.make_generator(project, answers.GeneratorPlan(rule=RULE))
    settings = model_place.choose_model_place(
        kind, "generator", default="" if kind == EXTRACTIVE else graders.LOCAL_MODEL
    )
    if _lacks_model(kind, settings):
        return None
    if kind == EXTRACTIVE:
        # Without a model, the rule has a default one.
        given = {"model": settings["model"]} if settings["model"] else {}
        return answers.make_generator(project, answers.GeneratorPlan(given, EXTRACTIVE))
    n_tokens = int(
        st.number_input(
            "Answer length in the prompt (tokens)",
            1,
            1000,
            choices.STATED_TOKENS,
            key="answers tokens",
        )
    )
    order: choices.PassageOrder = st.selectbox(
        "Order of the passages",
        list(choices.PASSAGE_ORDERS),
        format_func=str.capitalize,
        key="answers order",
        help="  \n".join(
            f"**{name.capitalize()}**: {what}" for name, what in choices.PASSAGE_ORDERS.items()
        ),
    )
    longest = max(choices.MOST_ANSWER_TOKENS, 4 * n_tokens)
    return answers.make_generator(
        project, answers.GeneratorPlan(settings, n_tokens=n_tokens, max_tokens=longest, order=order)
    )


@ui.errors()
def draw_comparing(project: Project, pairs: Sequence[answers.Pair], key: str) -> None:
    """Draw the form that has a model compare answers: model, estimated size, and the job.

    Args:
        key: distinguishes the widgets of several such forms.
    """
    before = [model for model in answer_models(project, "judge") if model.parameters]
    models_before = {AGAIN + model.name: model for model in reversed(before)}
    left, right = st.columns(2)
    kind = str(
        left.selectbox(
            "Model for the comparison",
            [*models_before, LOCAL, ENDPOINT],
            key=f"{key} by",
            persist_state="session",
            index=None,
            placeholder="Choose a model",
            format_func=lambda name: KINDS.get(name) or name.removeprefix(AGAIN),
        )
        or ""
    )
    if not kind:
        st.caption(
            "A model also recognizes equal meaning in different words. The other answer checks"
            " need no setup here."
        )
        return
    with left:
        ready = (
            answers.judge_again(project, models_before[kind])
            if kind in models_before
            else _choose_judge(project, kind, key, right)
        )
    if ready is None:
        return
    failed = len(answers.pairs_to_compare(project, ready, pairs, jobs.JobScope(only_failed=True)))
    caps = jobs.JobScope(retry_failed=_choose_retry(failed, "failed comparisons", f"{key} again"))
    to_compare = answers.pairs_to_compare(project, ready, pairs, caps)
    if not to_compare:
        st.success("All these answers are compared.", icon=":material/check:")
        return
    st.markdown(f"Comparisons to make: **{len(to_compare):,}**. Equal texts are compared once.")
    caps = _draw_cost(
        project, ready.model, answers.comparing_price(project, ready, to_compare), caps, key
    )
    presses.act_button(
        "Compare answers",
        partial(answers.start_comparing, caps=caps),
        project,
        ready,
        pairs,
        key=f"{key} begin",
        **START,
    )


def _choose_judge(project: Project, kind: str, key: str, beside: Any) -> answers.ReadyJudge | None:
    """Draw the settings of the answer check and return it; None if no model is chosen yet."""
    says = beside.selectbox(
        "Result", list(JUDGE_KINDS), format_func=JUDGE_KINDS.__getitem__, key=f"{key} says"
    )
    settings = model_place.choose_model_place(kind, key)
    return (
        None
        if _lacks_model(kind, settings)
        else answers.make_judge(project, answers.JudgePlan(str(says), settings))
    )


def _lacks_model(kind: str, settings: dict[str, Any]) -> bool:
    """Return whether a model must still be chosen, and show a note if so."""
    if kind == EXTRACTIVE or settings["model"]:
        return False
    st.caption(":material/info: Choose a model first.")
    return True


def _draw_cost(
    project: Project,
    model: AnswerModel,
    price: grading.PriceTag | None,
    caps: jobs.JobScope,
    key: str,
) -> jobs.JobScope:
    """Draw the price of a job and its limits; return the caps with them. A rule has no price."""
    if price is None:
        st.container(key="free-of-charge").caption("No calls, no tokens, no cost.")
        return caps
    job_plan.show_tag(price, model.model, f" of {key}")
    remote = model.parameters.get("at") == "openai"
    return job_plan.draw_limits(project, caps, key, model.model, remote)
