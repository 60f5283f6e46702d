"""Parts of the Disagreements screen: both sides, the cross table, coefficients, downloads."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from exam_workbench import bank, labels, measures, records, review, text
from exam_workbench.store import Project
from pages.parts.review import disagreements_address
from pages.parts.shared import address, presses, ui

NamedSides = dict[str, tuple[str, review.Side]]
"""Displayed name and side, by the name in the URL."""


def list_sides(project: Project, policy: labels.Policy | None) -> NamedSides:
    """Return everything that can be compared.

    Args:
        policy: the scoring settings; None if nothing has been graded.
    """
    min_judgment = policy.min_judgment if policy else 1
    judged: NamedSides = {
        f"judgments {source}": (
            "Judgments" if source == "judgments" else f"Judgments: {source}",
            review.Judgments(source, min_judgment),
        )
        for source in records.judgment_sources(project)
    }
    if policy is None:
        return judged
    graded = [grader.spec.name for grader in bank.label_graders(project) if grader.grades]
    counting = policy.grader or graded[0]
    labelled: NamedSides = {
        "labels": (f"Labels: {counting}", review.Labels(replace(policy, grader=counting)))
    }
    machines: NamedSides = {
        f"grader {name}": (
            f"Labels: {name}, without overrides",
            review.machine_labels(policy, name),
        )
        for name in graded
    }
    people: NamedSides = {
        f"person {author}": (f"Overrides by {author}", review.Person(author, policy.min_rating))
        for author in review.people(project)
    }
    return labelled | judged | machines | people


def choose_sides(offered: NamedSides, anew: bool) -> tuple[review.Side, review.Side]:
    """Draw the choice of the two sides and return them; by default the labels and the first
    judgments.

    Args:
        anew: whether to set the choice from the address.
    """
    names = list(offered)
    other = next((at for at, name in enumerate(names) if name.startswith("judgments") and at), 1)
    chosen = []
    for key, title, usual in (
        ("left", "Compare (rows)", names[0]),
        ("right", "With (columns)", names[other]),
    ):
        if anew or st.session_state.get(key) not in names:
            disagreements_address.set_widget(key, names, usual)
        name = str(st.selectbox(title, names, format_func=lambda name: offered[name][0], key=key))
        if name != (disagreements_address.place_part(key) or usual):
            # Another side has other cells and other cases.
            disagreements_address.change_place(cell="", case="", at="")
        disagreements_address.change_place(**{key: "" if name == usual else name})
        chosen.append(offered[name][1])
    return chosen[0], chosen[1]


def chosen_cell(agreement: review.Agreement) -> review.Cell | None:
    """Return the cell in the address; None without a cell, and for a cell that these sides do not
    have.
    """
    parts = disagreements_address.place_part("cell").split(":")
    try:
        rows, columns = ([int(value) for value in part.split(",")] for part in parts)
    except ValueError:
        return None
    fits = set(rows) <= set(agreement.left.scale) and set(columns) <= set(agreement.right.scale)
    return (rows, columns) if fits else None


def cell_name(agreement: review.Agreement, cell: review.Cell) -> str:
    """Return a description of a cell."""
    rows, columns = (" or ".join(map(str, values)) for values in cell)
    left, right = agreement.names
    return f"{left} {rows}, {right} {columns}"


def tables_data(agreement: review.Agreement, chosen: review.Cell | None) -> list[dict[str, Any]]:
    """Return the cross tables of all values and of merged ones, with totals and the kappa of each
    row.

    Args:
        chosen: the selected cell.
    """
    return [
        _table_data(agreement, chosen) | {"title": "All values"},
        _table_data(agreement.merged, chosen) | {"title": "Relevant or not"},
    ]


def _table_data(agreement: review.Agreement, chosen: review.Cell | None) -> dict[str, Any]:
    table = agreement.table
    most = max(1, int(table.counts.max(initial=0)))
    rows = []
    levels = zip(table.row_names, table.row_members, agreement.per_level.values(), strict=True)
    for at, (name, members, kappa) in enumerate(levels):
        cells = []
        for place_of, other in enumerate(table.column_members):
            cell: review.Cell = (list(members), list(other))
            count = int(table.counts[at, place_of])
            cells.append(
                {
                    "cell": address.of_cell(cell),
                    "count": count,
                    "says": cell_name(agreement, cell),
                    "depth": round((count / most) ** 0.5, 2),
                    "agrees": bool(table.agreeing[at, place_of]),
                    "open": chosen == cell,
                }
            )
        rows.append(
            {
                "name": name,
                "cells": cells,
                "total": int(table.row_totals[at]),
                "kappa": format_coefficient(kappa),
                "why": kappa.undefined or "",
            }
        )
    matches = list(zip(table.column_names, table.agreeing.T, strict=True))
    framed = [
        f"{', '.join(np.array(table.row_names)[agrees])} with {name}"
        for name, agrees in matches
        if agrees.any()
    ]
    without = [name for name, agrees in matches if not agrees.any()]
    hint = (
        f" No {agreement.names[0]} agrees with {', '.join(without)}: resolve such cases by comment."
    )
    return {
        "columns": list(table.column_names),
        "rows": rows,
        "totals": table.counts.sum(axis=0).tolist(),
        "framed": f"Framed cells count as agreement: {'; '.join(framed)}.{hint * bool(without)}",
        "all": table.n,
    }


RELEVANT_KAPPA = "Kappa (relevant or not)"
"""Name of the kappa of the merged table."""


def format_coefficient(coefficient: measures.Coefficient) -> str:
    """Return a coefficient with two decimals; a dash if it is undefined."""
    # Adding zero turns a rounded minus zero into zero.
    return ui.as_number(None if coefficient.value is None else round(coefficient.value, 2) + 0.0, 2)


def list_coefficients(agreement: review.Agreement) -> list[dict[str, str]]:
    """Return the coefficients of the whole table: name, value, description, and why it is
    undefined.
    """
    coefficients = {
        RELEVANT_KAPPA: (agreement.merged.kappa, "Cohen's kappa of relevant or not"),
        "Kappa": (agreement.kappa, "Cohen's kappa of all values"),
        "Kappa, linear weights": (
            measures.weighted_kappa(agreement.table, "linear"),
            "Weighted kappa: a disagreement counts by the distance between the values",
        ),
        "Kappa, quadratic weights": (
            agreement.weighted_kappa,
            "Weighted kappa: a disagreement counts by the squared distance",
        ),
        "Alpha": (agreement.alpha, "Krippendorff's alpha of ordered values"),
    }
    return [
        {
            "name": name,
            "value": format_coefficient(value),
            "says": says,
            "why": value.undefined or "",
        }
        for name, (value, says) in coefficients.items()
    ]


def scales_differ(agreement: review.Agreement) -> bool:
    """Return whether the scales of the two sides differ, so that only the merged table compares
    equal meanings.
    """
    return agreement.left.scale[:1] != agreement.right.scale[:1]


def describe_basis(agreement: review.Agreement) -> str:
    """Return how many pairs are compared, and how many are left out because a value is missing."""
    rated = "rating" in (agreement.left.noun, agreement.right.noun)
    things = "question–passage pairs" if rated else "passages"
    lines = [f"Compared: {text.how_many(agreement.n, things)} with values on both sides."]
    alone = ((agreement.left_only, agreement.right), (agreement.right_only, agreement.left))
    lines += [
        f"Left out: {text.how_many(count, things)} without a value in {other}."
        for count, other in alone
        if count
    ]
    if agreement.n and scales_differ(agreement):
        lines.append(
            f"The scales differ, so compare {RELEVANT_KAPPA[0].lower()}{RELEVANT_KAPPA[1:]}."
        )
    return " ".join(lines)


def hold_out(project: Project) -> None:
    """Draw the share of the judgments that are held out; organizers can change it."""
    stored = records.hold_out(project)
    if not project.allows("organize"):
        return
    with st.popover(
        "Hold out",
        icon=":material/visibility_off:",
        type="tertiary",
        key="hold out",
        help="Keep a share of the judgments for confirmation",
    ):
        st.caption(
            "Held-out judgments are not shown in the impact of edits and on this screen. The"
            " agreement is reported on them, so that people cannot tune the question bank to them."
        )
        share = st.number_input(
            "Share of the judgments of each query, in %",
            0,
            90,
            0 if stored is None else round(stored.share * 100),
            5,
            key="hold out share",
        )
        seed = st.number_input(
            "Seed (empty: random)", 0, None, stored.seed if stored else None, 1, key="hold out seed"
        )
        presses.act_button(
            "Save",
            partial(records.set_hold_out, seed=seed),
            project,
            share / 100,
            key="save hold out",
            type="primary",
        )


def draw_agreement(project: Project, left: review.Side, right: review.Side) -> None:
    """Draw the coefficients, their basis, and downloads of both tables as LaTeX and CSV; all of it
    is made on demand.
    """
    agreement = review.side_agreement(project, left, right)
    with st.popover(
        "Agreement",
        icon=":material/table_chart:",
        type="tertiary",
        key="tables",
        on_change="rerun",
        help="Agreement coefficients, and the tables as LaTeX or CSV",
    ) as box:
        if not box.open:
            return
        coefficients = list_coefficients(agreement)
        st.dataframe(
            {
                "Coefficient": [one["name"] for one in coefficients],
                "Value": [one["value"] for one in coefficients],
                "About": [one["why"] or one["says"] for one in coefficients],
            },
            hide_index=True,
        )
        confirmation = review.find_confirmation(project, left, right) or ""
        st.container(key="compared-pairs").caption(
            ui.escape(f"{describe_basis(agreement)} {confirmation}".strip())
        )
        for compared, name, what in (
            (agreement, "agreement", "Export table"),
            (agreement.merged, "agreement-merged", "Export merged table"),
        ):
            st.download_button(
                f"{what} as LaTeX",
                review.table_latex(compared),
                f"{name}.tex",
                "text/x-tex",
                on_click="ignore",
                key=f"{name}.tex",
            )
            st.download_button(
                f"{what} as CSV",
                review.table_csv(compared),
                f"{name}.csv",
                "text/csv",
                on_click="ignore",
                key=f"{name}.csv",
            )
