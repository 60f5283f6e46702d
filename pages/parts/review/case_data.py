"""Data of the queue for the browser: the rows of a page, the open case, and descriptions of settlements."""

from typing import Any
from urllib.parse import urlencode

from exam_workbench.labels import Policy
from exam_workbench.project import Project, pooled_queries
from exam_workbench.review import (
    Agreement,
    Cell,
    Check,
    CheckNext,
    Giving,
    Order,
    Queue,
    Row,
    Settling,
    Side,
    side_name,
)
from exam_workbench.text import how_many
from pages.parts.review import place, settling, table
from pages.parts.shared import address, ui
from pages.parts.shared.html import as_shown

CASES_A_PAGE = 25
SNIPPET = 170
LONGEST = 400_000
"""Largest number of shown characters of a passage."""
QUESTIONS_NAMED = 3
GONE = "The case that {} is no longer in this list. Another case is shown instead."


def at_of_address() -> int:
    """Return the position of the open case in the queue, from the address."""
    said = place.named("at")
    return int(said) if said.isdecimal() else 0


def id_of(row: Row) -> str:
    """Return the id of a case in the queue."""
    return name_of(row.pair.query_id, row.pair.passage_id, row.pair.question_id)


def name_of(query_id: str, passage_id: str, question_id: str | None) -> str:
    """Return the address's name of a case; ids of queries and passages contain no blanks."""
    return " ".join((query_id, passage_id, question_id or "")).rstrip()


def _open_row(listed: Queue) -> int | None:
    """Return the open row of the page: the wanted case, otherwise the one at its former position."""
    if not listed.rows:
        return None
    wanted = place.open_case()
    found = (at for at, row in enumerate(listed.rows) if wanted and id_of(row) == wanted)
    return next(found, min(max(0, at_of_address() - listed.first), len(listed.rows) - 1))


def shown(
    project: Project,
    left: Side,
    right: Side,
    found: Agreement,
    cell: Cell | None,
    listed: Queue,
    policy: Policy | None,
    order: Order,
) -> dict[str, Any]:
    """Return the data for the browser.

    Args:
        found: agreement of the two sides.
        cell: the selected cell of the table; None for all disagreements.
        listed: the page of the queue with the open case.
        policy: the scoring settings; None if nothing has been graded.
        order: order of the queue.
    """
    at, wanted = _open_row(listed), place.open_case()
    gone = GONE.format("the link names" if place.named("case") == wanted else "was open")
    queries = pooled_queries(project)
    query_id = place.named("query")
    filters = []
    if cell is not None:
        filters.append({"what": "cell", "says": table.cell_name(found, cell)})
    if query_id:
        filters.append({"what": "query", "says": as_shown(ui.shortened(queries.get(query_id) or query_id, 90))})
    what = "disagreements" if cell is None else "pairs"
    return {
        # The displayed names of the sides would not do: they change with the first override.
        "home": f"{project.name} {side_name(project, left)} {side_name(project, right)}",
        "names": [as_shown(name) for name in found.names],
        "tables": table.tables(found, cell),
        "coefficients": table.coefficients(found),
        "to_merge": table.scales_differ(found),
        "missing": as_shown(table.missing(found)),
        "filters": filters,
        "count": how_many(listed.total, what),
        "hidden": f"{listed.hidden:,} resolved (hidden)" if listed.hidden else "",
        "total": listed.total,
        "first": listed.first,
        "page": CASES_A_PAGE,
        "explains": "" if listed.next_up is None else as_shown(explain_order(listed.next_up, order, found)),
        "rows": [_row(row) for row in listed.rows],
        "open": None if at is None else _case(project, left, right, found, listed, at, policy),
        "gone": gone if at is not None and wanted not in ("", id_of(listed.rows[at])) else "",
        "empty": "" if listed.rows else _why_empty(found, bool(listed.hidden), order, bool(query_id), cell),
    }


def _row(row: Row) -> dict[str, Any]:
    one = row.pair
    text = one.passage_text
    snippet = (
        f"No text imported for passage {one.passage_id}." if text is None else " ".join(text[: 4 * SNIPPET].split())
    )
    return {
        "id": id_of(row),
        "values": [one.left, one.right],
        "query": as_shown(ui.shortened(one.query_text, 120)),
        "text": as_shown(ui.shortened(snippet, SNIPPET)),
        "settled": row.settling is not None,
    }


def _case(
    project: Project,
    left: Side,
    right: Side,
    found: Agreement,
    listed: Queue,
    at: int,
    policy: Policy | None,
) -> dict[str, Any]:
    """Return the open case with all data needed to settle it."""
    row = listed.rows[at]
    one = row.pair
    blamed = one.question_id or next((g.question_id for g in (*row.left_from, *row.right_from)), None)
    there = {"project": project.name, **address.travelling(), "query": one.query_id, "passage": one.passage_id}
    data: dict[str, Any] = {
        **_row(row),
        "at": listed.first + at,
        "query": as_shown(one.query_text),
        "query_id": one.query_id,
        "passage_id": one.passage_id,
        "passage": None if one.passage_text is None else as_shown(one.passage_text[:LONGEST]),
        "question": None if one.question_text is None else as_shown(one.question_text),
        "blamed": blamed,
        "givers": [
            {"side": as_shown(name), **_giving(given)}
            for name, given in zip(found.names, (row.left_from, row.right_from), strict=True)
            if given
        ],
        "check": "" if row.check is None else as_shown(_check(row.check, found)),
        "read": "passages?" + urlencode(there | ({"question": blamed} if blamed else {})),
        "bank": "question_bank?" + urlencode(there),
        "settling": None if row.settling is None else _settled(row.settling),
    }
    if row.settling is None:
        data |= settling.offer(project, left, right, row, policy)
        for asked in data["asked"]:
            asked["text"] = as_shown(asked["text"])
    return data


def _giving(given: tuple[Giving, ...]) -> dict[str, Any]:
    shown = [{"text": as_shown(one.text), "rating": one.rating} for one in given[:QUESTIONS_NAMED]]
    return {"questions": shown, "more": max(0, len(given) - QUESTIONS_NAMED)}


def _settled(one: Settling) -> dict[str, Any]:
    return {
        "words": as_shown(f"Resolved by {one.author}, {one.made_at:%d %B %Y}: {act_words(one)}"),
        "reason": as_shown(one.reason),
        "override": one.act == "override",
        "rating": one.rating,
    }


ACTS = {
    "override": "override",
    "edit": "question edit",
    "dispute": "dispute",
    "comment": "comment",
    "reopen": "case reopened",
}


def act_words(one: Settling) -> str:
    """Return a description of a settlement."""
    if one.act == "dispute":
        return f"{ACTS[one.act]}: {one.source} judged {one.value}"
    words = ACTS[one.act] if one.rating is None else f"{ACTS[one.act]} with rating {one.rating}"
    if one.touched is None:
        return words
    more = f" and {one.others} more" if one.others else ""
    return f"{words}: “{ui.shortened(one.question_text or one.touched, 160)}”{more}"


def explain_order(found: CheckNext, by: str, agreed: Agreement) -> str:
    """Return an explanation of the orders by effect, and of the number of tested cases.

    Args:
        by: "board" or "kappa".
    """
    rater = agreed.left if found.side == "left" else agreed.right
    said = (
        f"Effect on the leaderboard ({found.measure}) and on merged kappa if the {rater.noun} of one pair changes to"
        " match the other side."
    )
    if (tried := len(found.checks)) < found.disagreements:
        which = "runs rank highest" if by == "board" else "change kappa most"
        said += f" Only {tried:,} of {found.disagreements:,} disagreements were tested: those that {which}."
    return said


def _check(check: Check, found: Agreement) -> str:
    noun = found.left.noun if found.left.noun == "label" else found.right.noun
    noun = noun if "label" in (found.left.noun, found.right.noun) else "judgment"
    if check.value == check.target:
        return f"The {noun} {check.value} is already the closest value on its scale."
    swaps = how_many(check.swaps, "rank swaps")
    moved = f"scores of {how_many(check.moved, 'systems')} change by {check.shift:.4f} in total"
    kappa = (
        "kappa undefined" if check.kappa is None else f"kappa {check.kappa:+.5f}" if check.kappa else "kappa unchanged"
    )
    return f"If the {noun} were {check.target}: {' · '.join((swaps, moved, kappa))}"


def _why_empty(found: Agreement, some_settled: bool, order: Order, of_query: bool, cell: Cell | None) -> str:
    if not found.n:
        return "No pair has a value on both sides. Choose other sides."
    if of_query:
        return "No cases for this query. Clear the query filter to see all cases."
    if some_settled:
        return "All cases are resolved."
    if cell is not None and order != "worst":
        return "No pairs of this cell in this order. Choose another order or clear the filter."
    return "No disagreements: the values of all pairs agree." if order == "worst" else "No cases in this order."
