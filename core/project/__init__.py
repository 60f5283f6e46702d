"""One DuckDB file: its log, and the collection in it (queries, passages, runs, judgments and so on)."""

from __future__ import annotations

from core.project import judging
from core.project.activity import Act, Sought, activity, activity_csv, kinds_of_act, people
from core.project.boards import boards, find_source, official_sources, write_board
from core.project.bringing_back import bring_back
from core.project.checkpoints import MARK
from core.project.database import CONFIG
from core.project.engine_errors import first_line, no_room
from core.project.gold import GOLD, IMPORTED, gold_name, gold_texts, mark_gold, write_gold
from core.project.judging import (
    JUDGE,
    PREFIX,
    SCALE,
    WITHDRAW,
    assessed,
    judged_pairs,
    judgment_history,
    own_judgment,
    source_of,
    withdraw,
)
from core.project.judgments import Qrels, judged_values, judgments, sources, stage_judgments, write_judgments
from core.project.kept_passages import PassageFiles
from core.project.lengths import Length, lengths
from core.project.migrations import MIGRATIONS, applied, upgrade
from core.project.passages import add_passages, kept_as_they_are, name_passages, name_passages_of, passage_texts
from core.project.pool import list_passages, pool_depth, pooled_queries, refresh_pool, set_pool_depth
from core.project.project import (
    Cursor,
    Project,
    as_name,
    close_projects,
    create,
    current_author,
    log,
    open_project,
    projects_folder,
    record,
    stage,
    stage_table,
)
from core.project.queries import add_queries, check_new, queries_of, unknown_queries
from core.project.replacing import Keeper, Replaced
from core.project.responses import count_words, known_responses, response_runs, write_responses
from core.project.runs import (
    RANKED,
    Runs,
    check_runs,
    clear_runs,
    deepest_rank,
    ranked_table,
    rankings,
    run_names,
    stage_ranked,
    state_ranks,
    unstage_ranking,
    write_runs,
    write_stated_ranks,
)

__all__ = [
    "CONFIG",
    "GOLD",
    "IMPORTED",
    "JUDGE",
    "MARK",
    "MIGRATIONS",
    "PREFIX",
    "RANKED",
    "SCALE",
    "WITHDRAW",
    "Act",
    "Cursor",
    "Keeper",
    "Length",
    "PassageFiles",
    "Project",
    "Qrels",
    "Replaced",
    "Runs",
    "Sought",
    "activity",
    "activity_csv",
    "add_passages",
    "add_queries",
    "applied",
    "as_name",
    "assessed",
    "boards",
    "bring_back",
    "check_new",
    "check_runs",
    "clear_runs",
    "close_projects",
    "count_words",
    "create",
    "current_author",
    "deepest_rank",
    "find_source",
    "first_line",
    "gold_name",
    "gold_texts",
    "judged_pairs",
    "judged_values",
    "judging",
    "judgment_history",
    "judgments",
    "kept_as_they_are",
    "kinds_of_act",
    "known_responses",
    "lengths",
    "list_passages",
    "log",
    "mark_gold",
    "name_passages",
    "name_passages_of",
    "no_room",
    "official_sources",
    "open_project",
    "own_judgment",
    "passage_texts",
    "people",
    "pool_depth",
    "pooled_queries",
    "projects_folder",
    "queries_of",
    "ranked_table",
    "rankings",
    "record",
    "refresh_pool",
    "response_runs",
    "run_names",
    "set_pool_depth",
    "source_of",
    "sources",
    "stage",
    "stage_judgments",
    "stage_ranked",
    "stage_table",
    "state_ranks",
    "unknown_queries",
    "unstage_ranking",
    "upgrade",
    "withdraw",
    "write_board",
    "write_gold",
    "write_judgments",
    "write_responses",
    "write_runs",
    "write_stated_ranks",
]
