"""Parts of the Disagreements screen: the two sides, the clickable cross table, the coefficients, downloads."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.catalogue import graders
from core.labels import Policy
from core.measures import Coefficient, CrossTable, weighted_kappa
from core.project import Project, pooled_queries, sources
from core.review import Agreement, Cell, Judgments, Labels, Person, Side, machine, people, table_csv, table_latex
from pages.parts.shared import ui
from pages.parts.shared.html import visible

STYLE = """
[class*="st-key-cross-"] { gap: 0.25rem; }
[class*="st-key-cross-"] [data-testid="stHorizontalBlock"] { gap: 0.3rem; align-items: center; }
[class*="st-key-cross-"] button { width: 100%; min-height: 2rem; padding: 0.1rem 0; }
[class*="st-key-cross-"] button p { font-variant-numeric: tabular-nums; font-size: 0.87rem; }
.cross { text-align: right; font-size: 0.87rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cross.head { text-align: center; font-weight: 600; }
.cross.name { text-align: left; font-weight: 600; }
.cross.corner { text-align: left; line-height: 1.2; font-size: 0.8rem; white-space: normal; overflow-wrap: anywhere; }
.cross.gray { opacity: 0.7; }
.pair { line-height: 1.4; overflow-wrap: anywhere; }
.pair .values { font-size: 0.87rem; }
.pair .values b { font-size: 1.15rem; margin-left: 0.35rem; }
.pair .gray { opacity: 0.68; font-size: 0.87rem; }
.pair .text { unicode-bidi: plaintext; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3;
  overflow: hidden; margin: 0.1rem 0; }
.pair .from { unicode-bidi: plaintext; font-size: 0.9rem; }
"""


def sides(project: Project, policy: Policy | None) -> dict[str, tuple[str, Side]]:
    """Everything that can be compared, by what the URL calls it: its name on the screen and the side.

    Args:
        policy: None where nothing has been graded.
    """
    found: dict[str, tuple[str, Side]] = {}
    graded = [grader.spec.name for grader in graders(project) if grader.grades]
    if policy is not None:
        counting = policy.grader or graded[0]
        found["labels"] = (f"Labels of {counting}", Labels(replace(policy, grader=counting)))
    for source in sources(project):
        name = "Judgments" if source == "judgments" else f"Judgments: {source}"
        found[f"judgments {source}"] = (name, Judgments(source, policy.min_judgment if policy else 1))
    if policy is not None:
        for name in graded:
            found[f"grader {name}"] = (f"Grader by itself: {name}", machine(policy, name))
        for author in people(project):
            found[f"person {author}"] = (f"Overrides of {author}", Person(author, policy.min_rating))
    return found


def choose_sides(found: dict[str, tuple[str, Side]]) -> tuple[Side, Side]:
    """Which two sides are compared: the labels and the first judgments, unless others are chosen."""
    names = list(found)
    other = next((at for at, name in enumerate(names) if name.startswith("judgments") and at), 1)
    columns = st.columns(2)
    chosen = []
    for column, title, index in zip(columns, ("Left side (rows)", "Right side (columns)"), (0, other), strict=True):
        chosen.append(
            column.selectbox(
                title, names, index=index, format_func=lambda name: found[name][0], key=title.split()[0].lower(),
                bind="query-params", on_change=drop_cell,
            )
        )  # fmt: skip
    return found[chosen[0]][1], found[chosen[1]][1]


def drop_cell() -> None:
    """Go back from a cell to all disagreements, as what a button does."""
    st.query_params.pop("cell", None)


def chosen_cell(found: Agreement) -> Cell | None:
    """The cell that the URL names; None for none, and for one that these sides do not have."""
    parts = str(st.query_params.get("cell") or "").split(":")
    try:
        rows, columns = ([int(value) for value in part.split(",")] for part in parts)
    except ValueError:
        return None
    fits = set(rows) <= set(found.left.scale) and set(columns) <= set(found.right.scale)
    return (rows, columns) if fits else None


def cell_name(found: Agreement, cell: Cell) -> str:
    """A cell in words."""
    rows, columns = (" or ".join(map(str, values)) for values in cell)
    left, right = found.names
    return f"{left} {rows}, {right} {columns}"


def choose_query(project: Project) -> str | None:
    """The query whose pairs are listed, which the URL names; None for all."""
    texts = ui.told_apart(pooled_queries(project))
    if "query_listed" not in st.session_state:
        # A bound widget would write the query's text into the URL, and links from elsewhere name its id.
        wanted = st.query_params.get("query")
        st.session_state["query_listed"] = wanted if wanted in texts else None
    chosen: str | None = st.selectbox(
        "Query", list(texts), index=None, key="query_listed", placeholder="All queries",
        format_func=lambda query_id: texts.get(query_id) or query_id,
    )  # fmt: skip
    if chosen is None:
        st.query_params.pop("query", None)
    else:
        st.query_params["query"] = chosen
    return chosen


def cross_table(found: Agreement, chosen: Cell | None, merged: bool = False) -> None:
    """The table with its totals and the kappa of each row; every count is a button that lists its pairs."""
    found = found.merged if merged else found
    table = found.table
    prefix = "merged" if merged else "cell"
    widths = [1.3, *[1.0] * len(table.columns), 1.0, 0.9]
    st.html(f"<style>{STYLE}{_heat(table, prefix)}</style>")
    with st.container(key=f"cross-{prefix}"):
        head = st.columns(widths)
        left, right = map(visible, found.names)
        head[0].html(f'<div class="cross corner gray">{left} ↓<br>{right} →</div>')
        for column, name in zip(head[1:], table.column_names, strict=False):
            column.html(f'<div class="cross head">{name}</div>')
        for column, name in zip(head[-2:], ("total", "κ"), strict=True):
            column.html(f'<div class="cross gray">{name}</div>')
        kappas = list(found.per_level.values())
        for at, (name, members) in enumerate(zip(table.row_names, table.row_members, strict=True)):
            line = st.columns(widths)
            line[0].html(f'<div class="cross name">{name}</div>')
            for place, other in enumerate(table.column_members):
                _cell_button(line[1 + place], f"{prefix}-{at}-{place}", int(table.counts[at, place]), chosen,
                             (list(members), list(other)), found)  # fmt: skip
            line[-2].html(f'<div class="cross">{table.row_totals[at]:,}</div>')
            line[-1].html(_kappa(kappas[at]))
        last = st.columns(widths)
        last[0].html('<div class="cross name gray">total</div>')
        for column, total in zip(last[1:], table.column_totals, strict=False):
            column.html(f'<div class="cross head gray">{total:,}</div>')
        last[-2].html(f'<div class="cross gray">{table.n:,}</div>')


def _cell_button(
    column: st.delta_generator.DeltaGenerator, key: str, count: int, chosen: Cell | None, cell: Cell, found: Agreement
) -> None:
    is_open = chosen == cell
    column.button(
        f"{count:,}",
        key=key,
        type="primary" if is_open else "secondary",
        width="stretch",
        disabled=not count,
        help=ui.plain(cell_name(found, cell)),
        on_click=_open_cell,
        args=(None if is_open else cell,),
    )


def _open_cell(cell: Cell | None) -> None:
    if cell is None:
        drop_cell()
    else:
        st.query_params["cell"] = ":".join(",".join(map(str, values)) for values in cell)


def _kappa(found: Coefficient) -> str:
    why = f' title="{found.undefined}"' if found.undefined else ""
    return f'<div class="cross"{why}>{digits(found)}</div>'


def digits(found: Coefficient) -> str:
    """A coefficient with two decimals; a dash where it is undefined."""
    # Rounded, a small negative number would be shown as minus zero; adding zero takes the sign away.
    return ui.number(None if found.value is None else round(found.value, 2) + 0.0, 2)


def _heat(table: CrossTable, prefix: str) -> str:
    """Counts as depth of colour; cells that count as agreement have a frame."""
    most = max(1, int(table.counts.max(initial=0)))
    rules = []
    for row in range(len(table.rows)):
        for column in range(len(table.columns)):
            shade = 0.42 * (int(table.counts[row, column]) / most) ** 0.5
            frame = " border: 2px solid currentColor;" if table.agreeing[row, column] else ""
            rules.append(
                f".st-key-{prefix}-{row}-{column} button:not([kind=primary]) "
                f"{{ background: rgba(59, 115, 185, {shade:.2f});{frame} }}"
            )
    return "\n".join(rules)


def coefficients(found: Agreement) -> None:
    """The coefficients of the whole table, and why those are undefined that are."""
    merged = found.merged
    shown = {
        "κ merged": (merged.kappa, "Cohen's kappa of the merged table: relevant on either side or not"),
        "κ": (found.kappa, "Cohen's kappa of the values as they are"),
        "κ linear": (
            weighted_kappa(found.table, "linear"),
            "Weighted kappa: a disagreement weighs as much as the distance of the values",
        ),
        "κ quadratic": (found.weighted_kappa, "Weighted kappa: a disagreement weighs the square of the distance"),
        "α": (found.alpha, "Krippendorff's alpha, ordinal"),
    }
    columns = [*st.columns(3), *st.columns(3)]
    for column, (name, (value, said)) in zip(columns, shown.items(), strict=False):
        column.metric(name, digits(value), help=said)
    reasons = {name: value.undefined for name, (value, _) in shown.items() if value.undefined}
    for reason in dict.fromkeys(reasons.values()):
        names = ", ".join(name for name, why in reasons.items() if why == reason)
        st.caption(ui.plain(f"Undefined ({names}): {reason}."))


def missing(found: Agreement) -> None:
    """What is in no table because one side has nothing to say of it."""
    about = "question and passage" if "rating" in (found.left.noun, found.right.noun) else "query and passage"
    lines = [f"{found.n:,} pair{'' if found.n == 1 else 's'} of {about} with both values."]
    for count, one in ((found.left_only, found.left), (found.right_only, found.right)):
        if count:
            lines.append(f"{count:,} more only among the {one}, in no table: missing is not zero.")
    if found.n and found.left.scale[:1] != found.right.scale[:1]:
        lines.append("The scales differ: framed cells count as agreement, and κ merged is the one to compare.")
    st.caption(ui.plain(" ".join(lines)))


def downloads(found: Agreement) -> None:
    """Both tables as LaTeX and CSV."""
    with st.popover("Download the tables", icon=":material/download:", type="tertiary"):
        for merged, name in ((False, "agreement"), (True, "agreement-merged")):
            what = "Merged table" if merged else "Table"
            st.download_button(
                f"{what} as LaTeX", table_latex(found, merged), f"{name}.tex", "text/x-tex", on_click="ignore"
            )
            st.download_button(f"{what} as CSV", table_csv(found, merged), f"{name}.csv", "text/csv", on_click="ignore")
