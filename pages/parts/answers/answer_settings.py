"""Settings of all screens about answers: generator, answer check, gold passages, runs, depths.

The address holds those that differ from the defaults. They are kept while the person visits other
screens.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from exam_workbench import answers, text
from exam_workbench.records import AnswerModel, answer_models, run_names
from exam_workbench.store import Project
from pages.parts.shared import address, ui

NAMES = ("generator", "judge", "threshold", "asked", "gold", "least", "same", "runs", "ks")
"""Parts of the address that hold these settings."""
KEY = "looking at answers"
BETWEEN = "\n"
"""Separator of names in a list in the address; it occurs in no name."""
WHAT = (
    "LLM-retEval evaluates a retriever by the answers that its passages make possible. The same"
    " model answers each query from the top k passages of a run and from the gold passages. An"
    " answer check decides if both answers match. You need queries, runs and gold passages with"
    " texts. Gold answers are optional and add GPT-Eval."
)
"""Introduction for people who see these screens for the first time."""


def explain_missing_inputs(project: Project) -> None:
    """Explain LLM-retEval and its missing inputs and end the screen, if it cannot run yet."""
    inputs = answers.missing_data(project)
    if not inputs.is_blocking:
        return
    missing = [
        words
        for lacks, words in (
            (inputs.queries, "queries with texts"),
            (inputs.runs, "runs (imported rankings, or exam answers rag)"),
            (inputs.gold, "gold passages (imported or from judgments)"),
        )
        if lacks
    ]
    with st.container(border=True, key="lacking"):
        st.markdown(WHAT)
        st.markdown(f"**Missing: {', '.join(missing)}.** Import them on the Home screen.")
        ui.draw_link("home")
    st.stop()


def generator_models(project: Project) -> list[AnswerModel]:
    """Return the models that have answered, the latest first."""
    return answer_models(project, "generator")[::-1]


def choose_evaluation(project: Project) -> answers.Evaluation:
    """Draw the line of the present settings with a popover to change them; return the evaluation.

    Raises:
        InputError: a setting is invalid.
        GradingError: the encoder cannot be loaded.
    """
    models_before = generator_models(project)
    anew = _settings_places().apply_address(project.name)
    with st.container(key="looking-at-answers", horizontal=True, vertical_alignment="center"):
        words = st.empty()
        with st.popover(
            "Change settings",
            type="tertiary",
            help=(
                "Choose the generator, the answer check, the gold passages, the"
                " runs and the depths."
            ),
            key="change answers",
        ):
            view, said = _draw_choices(project, models_before, anew)
    _settings_places().go_to(**said)
    with st.spinner("Comparing answers", show_time=False):
        found = answers.evaluate_answers(project, view)
    words.markdown(f":material/tune: {_in_words(found)}")
    return found


def chosen_settings() -> dict[str, str]:
    """Return the settings as address parameters, for links between the screens."""
    return dict(_settings_places().present_place)


def _settings_places() -> address.ScreenPlaces:
    return address.places_of_screen(KEY, NAMES)


def _draw_choices(
    project: Project, models_offered: Sequence[AnswerModel], anew: bool
) -> tuple[answers.RetEvalChoices, dict[str, str]]:
    """Draw the widgets; return the view, and the settings that differ from the defaults."""
    choices_kept = chosen_settings()

    def take_setting(name: str, default: Any, read: Callable[[str], Any] = str) -> str:
        key = f"answers {name}"
        if anew or key not in st.session_state:
            st.session_state[key] = default
            with suppress(ValueError):
                st.session_state[key] = (
                    read(choices_kept[name]) if name in choices_kept else default
                )
        return key

    def take_several(name: str, default: list[Any], options: Sequence[Any]) -> str:
        by_text = {str(option): option for option in options}
        return take_setting(
            name,
            default,
            lambda text: [by_text[option] for option in text.split(BETWEEN) if option in by_text],
        )

    names = [known_model.name for known_model in models_offered]
    generator = str(st.selectbox("Generator", names, key=take_setting("generator", names[0])))
    asked_runs, asked_ks = answers.asked_for(
        project,
        next(known_model for known_model in models_offered if known_model.name == generator),
    )

    usual = answers.usual_judge(project)
    judge = str(
        st.selectbox(
            "Answer check",
            list(answers.JUDGES),
            list(answers.JUDGES).index(usual),
            format_func=lambda name: answers.JUDGES[name].title,
            key=take_setting("judge", usual),
            help="Decides whether two answers match.",
        )
    )
    judge_facts = answers.JUDGES[judge]
    model = None
    if judge_facts.needs == "model":
        models = [
            known_model.name
            for known_model in answer_models(project, "judge")
            if known_model.parameters.get("judge") == judge
        ][::-1]
        if models:
            key = take_setting("asked", models[0])
            model = str(st.selectbox("Model of the answer check", models, key=key))
    threshold = None
    if judge_facts.graded:
        key = take_setting("threshold", judge_facts.threshold, float)
        # Each answer check has its own scale and default threshold.
        if not anew and st.session_state.get("answers threshold of", judge) != judge:
            st.session_state[key] = judge_facts.threshold
        st.session_state["answers threshold of"] = judge
        st.session_state[key] = min(max(float(st.session_state[key]), 0.0), judge_facts.top)
        threshold = st.slider(
            "Threshold",
            0.0,
            judge_facts.top,
            step=judge_facts.top / 100,
            key=key,
            help="Lowest score of a right answer.",
        )

    sources = answers.gold_sources(project)
    gold = st.multiselect(
        "Sources of gold passages",
        sources,
        key=take_several("gold", sources[:1], sources),
        placeholder=sources[0],
        help="An assessor's judgments count only if the assessor is chosen here.",
    )
    least = int(
        st.number_input(
            "Lowest judgment of gold passages",
            1,
            3,
            key=take_setting("least", 1, lambda text: min(3, max(1, int(text)))),
        )
    )
    runs_known = run_names(project)
    runs = st.multiselect(
        "Runs",
        runs_known,
        key=take_several("runs", [], runs_known),
        placeholder=f"All with answers ({len(asked_runs)})",
    )
    offered = sorted({1, 5, 10, 20, *asked_ks})
    ks = st.multiselect(
        "Depths k",
        offered,
        key=take_several("ks", [], offered),
        placeholder=", ".join(map(str, asked_ks)),
    )
    same = st.toggle(
        "Count near-equal texts as gold",
        key=take_setting("same", False, lambda text: text == "yes"),
        help=(
            "A gold passage counts as retrieved if a retrieved text is almost"
            " identical to it (case B)."
        ),
    )
    view = answers.RetEvalChoices(
        tuple(runs) or asked_runs,
        tuple(sorted(ks)) or asked_ks,
        generator,
        judge=judge,
        judge_model=model,
        threshold=threshold,
        gold=answers.Gold(tuple(gold) or None, least),
        same_text=same,
    )
    settings = {
        "generator": generator if generator != names[0] else "",
        "judge": judge if judge != usual else "",
        "asked": model if model and model != models[0] else "",
        "threshold": f"{threshold:g}"
        if threshold is not None and threshold != judge_facts.threshold
        else "",
        "gold": BETWEEN.join(gold) if gold != sources[:1] else "",
        "least": str(least) if least != 1 else "",
        "same": "yes" if same else "",
        "runs": BETWEEN.join(runs),
        "ks": BETWEEN.join(map(str, ks)),
    }
    return view, {name: value for name, value in settings.items() if value}


def _in_words(evaluation: answers.Evaluation) -> str:
    judge_facts = answers.JUDGES[evaluation.view.judge]
    judge = evaluation.judge_model.name if evaluation.judge_model is not None else judge_facts.title
    limit = (
        f", threshold {evaluation.view.threshold:.2f}"
        if evaluation.view.threshold is not None
        else ""
    )
    gold = evaluation.view.gold.against
    by = f", gold from {ui.escape(' and '.join(gold))}" if gold else ""
    alike = ", near-equal texts included" if evaluation.view.same_text else ""
    return (
        f"Answers by **{ui.escape(evaluation.generator.name)}** · checked by"
        f" **{ui.escape(judge)}**{limit} ·"
        f" {text.how_many(len(evaluation.gold), 'queries')} with gold passages{by}{alike}"
    )
