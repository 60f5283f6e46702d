"""Imported leaderboards, and the sources that can be official."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, unknown_name
from ..store import Cursor, Project, as_act, stage
from ..types import Board
from ._judgments import audited_sources, sources
from ._queries import check_new
from ._replaced_data import Keeper


def write_board(cursor: Cursor, board: Board, keeper: Keeper | None = None) -> None:
    """Write an imported leaderboard; it replaces one of the same name.

    Args:
        keeper: keeps the replaced leaderboard; None discards it.

    Raises:
        InputError: the name of a new leaderboard, or of a run on it, has control characters.
    """
    check_new(cursor, "leaderboard", [board.name])
    check_new(cursor, "run", (row.run for row in board.rows))
    known = cursor.execute("SELECT board_key FROM boards WHERE name = ?", [board.name]).fetchall()
    if known:
        if keeper is not None:
            keeper.keep("leaderboard", board.name, known[0][0])
        for table in ("board_scores", "board_query_scores"):
            cursor.execute(f"DELETE FROM {table} WHERE board_key = ?", [known[0][0]])
        cursor.execute("UPDATE boards SET measure = ? WHERE board_key = ?", [board.measure, known[0][0]])
    else:
        cursor.execute("INSERT INTO boards VALUES (nextval('keys'), ?, ?)", [board.name, board.measure])
    columns: dict[str, list[Any]] = {
        "run": [row.run for row in board.rows],
        "score": [row.score for row in board.rows],
        "std_error": [row.std_error for row in board.rows],
        "rank": [row.rank for row in board.rows],
    }
    types = {"run": "VARCHAR", "score": "DOUBLE", "std_error": "DOUBLE", "rank": "DOUBLE"}
    stage(cursor, "new_board", columns, types)
    cursor.execute(
        "INSERT INTO board_scores SELECT board_key, n.* FROM new_board n, boards WHERE boards.name = ?",
        [board.name],
    )
    cells = [(run, query, score) for run, scores in board.per_query.items() for query, score in scores.items()]
    columns = {name: [cell[at] for cell in cells] for at, name in enumerate(("run", "query_id", "score"))}
    stage(cursor, "new_board", columns, {"run": "VARCHAR", "query_id": "VARCHAR", "score": "DOUBLE"})
    cursor.execute(
        "INSERT INTO board_query_scores SELECT board_key, n.* FROM new_board n, boards WHERE boards.name = ?",
        [board.name],
    )


@as_act("see boards")
def boards(project: Project) -> list[tuple[str, str]]:
    """Return name and measure of every imported leaderboard, in the order of their import."""
    return [(row[0], row[1]) for row in project.rows("SELECT name, measure FROM boards ORDER BY board_key")]


@as_act("see boards")
def official_sources(project: Project) -> list[str]:
    """Return the names of all official sources: judgments, imported leaderboards, then judgments of audits."""
    audited = audited_sources(project)
    whole = [name for name in sources(project) if name not in audited]
    return [*whole, *(name for name, _ in boards(project)), *audited]


@as_act("see boards")
def find_source(project: Project, name: str) -> str:
    """Return the name of a source of judgments or of an imported leaderboard; `judgments` means the first source.

    Raises:
        InputError: unknown source.
    """
    known = official_sources(project)
    if name in known:
        return name
    if name == "judgments" and (judged := sources(project)):
        return judged[0]
    if not known:
        raise InputError(
            "no-official-source",
            "The project has no judgments and no imported leaderboard.",
            "Import one: exam import qrels FILE, or exam import leaderboard FILE.",
        )
    raise unknown_name("unknown-source", "source", name, known)
