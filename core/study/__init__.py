"""Studies of measures, graders, questions and systems: correlation, selection, significance, unjudged, diagnosis."""

from __future__ import annotations

from .diagnostics import QueryDiagnosis, QuestionDiagnosis, bank_summary, diagnose
from .evaluations import BESIDE, boards_to_choose_by, compare_choices
from .figures import (
    PANEL_MEASURES,
    BoardChoice,
    Panel,
    QueryPoints,
    SystemPoint,
    board_name,
    make_board,
    offered_boards,
    outstanding,
    panel,
    query_points,
    system_points,
)
from .groups import Alike, alike
from .item_response import BankWorth, Examinees, QuestionWorth, bank_worth
from .meta_export import TITLES, UNDEFINED, caption, meta_latex, meta_tsv
from .meta_rows import MIN_RATINGS, choose_rows, methods
from .meta_table import (
    COEFFICIENTS,
    META_MEASURES,
    Cell,
    MetaTable,
    TableRow,
    cell_comparison,
    full_name,
    meta_table,
)
from .question_verdicts import MEANINGS
from .selection import DEFAULT_TOP_K, SELECTION_MEASURES, VerdictCounts, select
from .significance import (
    CORRECTIONS,
    TESTS,
    Correction,
    Difference,
    Test,
    compare_neighbours,
    compare_systems,
    remembered_pairs,
)
from .unjudged import LISTED, ToGrade, Unjudged, labelled, to_grade, unjudged

__all__ = [
    "BESIDE",
    "COEFFICIENTS",
    "CORRECTIONS",
    "DEFAULT_TOP_K",
    "LISTED",
    "MEANINGS",
    "META_MEASURES",
    "MIN_RATINGS",
    "PANEL_MEASURES",
    "SELECTION_MEASURES",
    "TESTS",
    "TITLES",
    "UNDEFINED",
    "Alike",
    "BankWorth",
    "BoardChoice",
    "Cell",
    "Correction",
    "Difference",
    "Examinees",
    "MetaTable",
    "Panel",
    "QueryDiagnosis",
    "QueryPoints",
    "QuestionDiagnosis",
    "QuestionWorth",
    "SystemPoint",
    "TableRow",
    "Test",
    "ToGrade",
    "Unjudged",
    "VerdictCounts",
    "alike",
    "bank_summary",
    "bank_worth",
    "board_name",
    "boards_to_choose_by",
    "caption",
    "cell_comparison",
    "choose_rows",
    "compare_choices",
    "compare_neighbours",
    "compare_systems",
    "diagnose",
    "full_name",
    "labelled",
    "make_board",
    "meta_latex",
    "meta_table",
    "meta_tsv",
    "methods",
    "offered_boards",
    "outstanding",
    "panel",
    "query_points",
    "remembered_pairs",
    "select",
    "system_points",
    "to_grade",
    "unjudged",
]
