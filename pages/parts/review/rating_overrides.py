"""Parts of the Passages screen: overriding ratings, the effect of overrides, and the list of all
overrides.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench import bank, errors, labels, review, types
from exam_workbench.records import passage_texts
from exam_workbench.store import Project
from pages.parts.shared import (
    actions,
    address,
    html,
    presses,
    scoring_settings,
    seen_labels,
    ui,
    view_choice,
)

OVERRIDES_A_PAGE = 10
OVERRIDE_LIST = "override list"
KEY = "question-ratings"
WITHDRAWN = "Override withdrawn. The grader's rating counts again."


def draw_questions(
    project: Project,
    desk: review.PassageDetails,
    policy: labels.Policy | None,
    grader_names: list[str],
) -> tuple[int | None, int | None] | None:
    """Draw every question with the ratings of graders and people; the one in the URL is open.

    Returns:
        The label before and after the tried ratings; None if no rating is being tried.
    """
    if not desk.asked:
        st.container(key="no-active-question").caption("This query has no active questions.")
        ui.draw_link("question_bank", query=desk.query_id)
        return None
    bench = ratings_tab_state()
    bench.reset_for_passage((desk.query_id, desk.passage_id))
    foretold = (
        (desk.label, review.label_with(project, policy, desk, bench.tried))
        if policy is not None and bench.tried
        else None
    )
    opened = st.query_params.get("question")
    actions.pending_actions(KEY).draw(
        "ratings",
        {
            "at": (desk.query_id, desk.passage_id),
            # The text that a person types belongs to them and the project.
            "tab": f"{project.name}\n{ui.person()}",
            "can": policy is not None and desk.text is not None,
            "several": len(grader_names) > 1,
            "questions": [
                _question_data(asked, grader_names, opened == asked.question.question_id)
                for asked in review.strongest_first(desk.asked)
            ],
            "note": "" if policy is None else _about_scale(project, policy),
            "tried": bench.tried,
            "label": foretold,
            "refused": bench.refused,
            "made": bench.made,
        },
    )
    return foretold


def _about_scale(project: Project, policy: labels.Policy) -> str:
    top = bank.find_grader(project, policy.grader).spec.max_rating
    if top == types.MAX_RATING:
        return ""
    return (
        f"This grader rates from 0 to {top}. {types.ANSWERED} and {types.MAX_RATING} count as"
        f" {top}; lower ratings are scaled down."
    )


@dataclass
class RatingsTabState:
    """The state of a browser tab: one object for all its runs.

    Args:
        refused: number of the latest action, and why it failed; None if it did not.
        place: the passage of the fields below.
        tried: ratings that a person is trying, by question id.
        made: keys of the latest overrides, which can be withdrawn together.
        effect: a passage, and the effect of the ratings that were last tried there.
    """

    refused: dict[str, Any] | None = None
    place: seen_labels.Place | None = None
    tried: dict[str, int] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)
    effect: tuple[seen_labels.Place | None, review.Effect] | None = None

    def reset_for_passage(self, place: seen_labels.Place) -> None:
        """Reset the state if another passage is open now."""
        if self.place != place:
            self.place, self.tried, self.made = place, {}, []


def ratings_tab_state() -> RatingsTabState:
    """Return the bench of this browser tab."""
    return st.session_state.setdefault("override bench", RatingsTabState())


def do_actions(project: Project) -> None:
    """Do the pending actions below the passage once: try, override, withdraw, confirm, or show a
    grader's output.
    """
    bench, asked = ratings_tab_state(), actions.pending_actions(KEY)
    author, acts = ui.person() if asked.acts else "", list(asked.acts)
    if error := asked.do_actions(lambda act: _do_action(project, bench, act, author)):
        bench.refused = error
    if bench.refused is None and any(act["do"] == "withdraw" for act in acts):
        st.toast(WITHDRAWN, icon=":material/undo:")
    if acts and not author and bench.refused:
        ui.author()


def _do_action(project: Project, bench: RatingsTabState, act: actions.Act, author: str) -> None:
    """Do an action of the component.

    The session is not accessed during an action that changes the project, so that the run cannot
    end between the change and its note.

    Raises:
        WorkbenchError: it was refused.
    """
    kind_of_act = act["do"]
    if kind_of_act == "look":
        address.write_parameters({"question": str(act["question"] or "")})
        return
    bench.refused = None
    if kind_of_act != "try" and not author:
        # The page asks for the name. The typed text stays in the browser and can be sent again.
        raise errors.WorkbenchError(
            "no-name", "Your name is missing.", "Enter your name, then try again."
        )
    bench.reset_for_passage((str(act["at"][0]), str(act["at"][1])))
    match kind_of_act:
        case "try":
            bench.tried = ratings_of(act["ratings"])
        case "override":
            ratings, reason = ratings_of(act["ratings"]), str(act["reason"])
            bench.made = labels.override_all(project, str(act["at"][1]), ratings, reason, author)
            bench.tried = {}
        case "confirm":
            labels.confirm_override(project, int(act["keys"][0]), author)
            bench.made = []
        case "withdraw":
            labels.withdraw_all(project, [int(key) for key in act["keys"]], author)
            bench.made = []


def draw_effect(
    project: Project, desk: review.PassageDetails, foretold: tuple[int | None, int | None] | None
) -> None:
    """Draw the effect of tried or saved ratings on the label and the leaderboard."""
    bench, view = ratings_tab_state(), scoring_settings.current_view()
    if foretold is None or view is None:
        if bench.made and bench.effect is not None and bench.effect[0] == bench.place:
            st.container(key="effect made", border=True).caption(
                html.effect_text(
                    bench.effect[1],
                    "Effect of the overrides" if len(bench.made) > 1 else "Effect of the override",
                )
            )
        return
    counted = {one.question.question_id: one.rating for one in desk.asked if one.counts}
    changed = {key: (counted[key], rating) for key, rating in bench.tried.items() if key in counted}
    place = bench.place
    if not changed:
        return
    try:
        with st.spinner("Recomputing the scores"):
            outcome = review.ratings_effect(
                project, view.measure, view.policy, desk.passage_id, changed, view.against
            )
    except errors.WorkbenchError as error:
        st.caption(ui.escape(f"The effect on the leaderboard is unknown: {error}"))
        return
    bench.effect = place, outcome
    st.container(key="effect tried", border=True).caption(
        html.effect_text(outcome, "Expected effect")
    )


def override_list(project: Project, policy: labels.Policy | None) -> None:
    """Draw every override with its state and its effect on the passage's label; each row links to
    its passage.
    """
    if policy is None:
        return
    overrides = labels.find_overrides(project)
    stale = sum(override.stale for override in overrides)
    title = f"All overrides ({len(overrides)}" + (f", {stale} stale)" if stale else ")")
    view_choice.stays_folded(OVERRIDE_LIST)
    # The effects are computed only when the list is open.
    with st.expander(title, key=OVERRIDE_LIST, on_change="rerun") as folded:
        if not folded.open:
            return
        if not overrides:
            st.container(key="no-overrides").caption(
                "No overrides yet. To override a rating, focus a question of a"
                " passage and press 0 to 5."
            )
            return
        listed = review.override_labels(project, policy)
        ui.draw_pager("overrides page", len(listed), OVERRIDES_A_PAGE)
        part = ui.rows_of_page("overrides page", listed, OVERRIDES_A_PAGE)
        texts = passage_texts(project, [override.passage_id for override, _, _ in part])
        for override, without, now in part:
            _override_row(
                project, override, without, now, texts.get(override.passage_id, override.passage_id)
            )


def _override_row(
    project: Project, override: labels.Override, without: int | None, now: int | None, text: str
) -> None:
    text_column, buttons = st.columns([9, 4], vertical_alignment="center")
    text_column.html(
        html.override_html(override, without, now, ui.shorten_text(" ".join(text.split()), 140))
    )
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        if override.stale:
            presses.act_button(
                "Confirm",
                labels.confirm_override,
                project,
                override.key,
                key=f"confirm {override.key}",
                help="Apply the override to the new wording",
            )
        presses.act_button(
            "Withdraw",
            labels.withdraw_by_key,
            project,
            override.key,
            key=f"take back {override.key}",
            type="tertiary",
            message=WITHDRAWN,
        )
        st.button(
            "Open",
            key=f"go to {override.key}",
            icon=":material/arrow_forward:",
            on_click=open_passage,
            args=(override.query_id, override.passage_id, override.question_id),
        )


def open_passage(query_id: str, passage_id: str, question_id: str | None = None) -> None:
    """Go to a passage, from a button's callback; the place is in the URL."""
    question = {} if question_id is None else {"question": question_id}
    # In one update, so that Back never stops at a query with a passage of another query.
    st.query_params.update(query=query_id, passage=passage_id, **question)


def _question_data(
    shown_question: review.AskedQuestion, graders: Collection[str], opened: bool
) -> dict[str, Any]:
    question = shown_question.question
    kind = [] if question.kind == "question" else [question.kind]
    weight = [] if question.weight == 1 else [f"weight {question.weight:g}"]
    avoid = ["counts against the response"] if question.weight < 0 else []
    return {
        "id": question.question_id,
        "number": shown_question.number,
        "words": "The query itself" if shown_question.number == 0 else question.shown_text,
        "about": [*kind, *weight, *avoid],
        "gives": shown_question.gives_label,
        "counts": shown_question.counts,
        "rating": shown_question.override.rating
        if shown_question.override and not shown_question.counts
        else shown_question.rating,
        "said": [_grade_data(name, shown_question.said.get(name), opened) for name in graders],
        "override": None
        if shown_question.override is None
        else _override_data(shown_question.override),
        "stale": [_override_data(old) | {"wording": old.wording} for old in shown_question.stale],
        "opened": opened,
    }


def _grade_data(grader: str, grade: review.GraderResult | None, opened: bool) -> dict[str, Any]:
    if grade is None:
        return {"grader": grader, "status": "not asked"}
    more = [] if grade.confidence is None else [f"confidence {grade.confidence:.0%}"]
    more += [f"entropy {types.entropy(grade.distribution):.2f} bits"] if grade.distribution else []
    more += [part for part in (grade.reason, grade.note) if part]
    about: dict[str, Any] = {
        "grader": grader,
        "status": grade.status,
        "rating": grade.rating,
        "answer": grade.answer,
        "more": more,
    }
    if opened:
        about |= {
            "raw": grade.raw,
            "chances": None if grade.distribution is None else list(grade.distribution),
        }
    return about


def _override_data(override: labels.Override) -> dict[str, Any]:
    return {
        "key": override.key,
        "rating": override.rating,
        "by": f"{override.author}, {override.made_at:%d %B %Y}",
        "reason": override.reason,
        "held": override.held,
    }


def ratings_of(sent_ratings: Mapping[str, Any]) -> dict[str, int]:
    """Return ratings by question id from the browser's data."""
    return {str(question_id): int(rating) for question_id, rating in sent_ratings.items()}
