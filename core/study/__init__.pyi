from ._figure_data import (
    BESIDE as BESIDE,
    PANEL_MEASURES as PANEL_MEASURES,
    BoardChoice as BoardChoice,
    Panel as Panel,
    QueryPoints as QueryPoints,
    SystemPoint as SystemPoint,
    board_name as board_name,
    boards_to_choose_by as boards_to_choose_by,
    compare_choices as compare_choices,
    make_board as make_board,
    make_board_panel as make_board_panel,
    offered_boards as offered_boards,
    outstanding_systems as outstanding_systems,
    query_points as query_points,
    system_points as system_points,
)
from ._meta_export import (
    TITLES as TITLES,
    UNDEFINED as UNDEFINED,
    make_caption as make_caption,
    meta_latex as meta_latex,
    meta_tsv as meta_tsv,
)
from ._meta_table import (
    Cell as Cell,
    MetaTable as MetaTable,
    TableRow as TableRow,
    cell_comparison as cell_comparison,
    choose_rows as choose_rows,
    full_name as full_name,
    list_methods as list_methods,
    meta_table as meta_table,
)
from ._question_statistics import (
    BankWorth as BankWorth,
    Examinees as Examinees,
    QueryDiagnosis as QueryDiagnosis,
    QuestionDiagnosis as QuestionDiagnosis,
    QuestionWorth as QuestionWorth,
    bank_summary as bank_summary,
    bank_worth as bank_worth,
    diagnose_questions as diagnose_questions,
    verdict_meaning as verdict_meaning,
)
from ._retriever_selection import (
    VerdictCounts as VerdictCounts,
    compare_selection as compare_selection,
)
from ._subsampling import (
    FEWEST_QUERIES as FEWEST_QUERIES,
    SAMPLE_LIMITS as SAMPLE_LIMITS,
    SampleSize as SampleSize,
    queries_sentence as queries_sentence,
    questions_sentence as questions_sentence,
    sample_queries as sample_queries,
    sample_questions as sample_questions,
)
from ._system_significance import (
    Difference as Difference,
    SealedCoverage as SealedCoverage,
    SealedSystem as SealedSystem,
    UnseparatedSystems as UnseparatedSystems,
    compare_neighbours as compare_neighbours,
    compare_systems as compare_systems,
    group_alike as group_alike,
    remembered_pairs as remembered_pairs,
    sealed_coverage as sealed_coverage,
)
from ._unjudged import (
    JudgedShare as JudgedShare,
    MissingGrades as MissingGrades,
    Unjudged as Unjudged,
    judged_shares as judged_shares,
    labelled_shares as labelled_shares,
    to_grade as to_grade,
    unjudged_shares as unjudged_shares,
)
