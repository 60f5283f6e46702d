from ._diagnostics import (
    QueryDiagnosis as QueryDiagnosis,
    QuestionDiagnosis as QuestionDiagnosis,
    bank_summary as bank_summary,
    diagnose as diagnose,
)
from ._evaluations import (
    BESIDE as BESIDE,
    boards_to_choose_by as boards_to_choose_by,
    compare_choices as compare_choices,
)
from ._figure_data import (
    PANEL_MEASURES as PANEL_MEASURES,
    BoardChoice as BoardChoice,
    Panel as Panel,
    QueryPoints as QueryPoints,
    SystemPoint as SystemPoint,
    board_name as board_name,
    make_board as make_board,
    offered_boards as offered_boards,
    outstanding as outstanding,
    panel as panel,
    query_points as query_points,
    system_points as system_points,
)
from ._meta_export import (
    TITLES as TITLES,
    UNDEFINED as UNDEFINED,
    caption as caption,
    meta_latex as meta_latex,
    meta_tsv as meta_tsv,
)
from ._meta_rows import MIN_RATINGS as MIN_RATINGS, choose_rows as choose_rows, methods as methods
from ._meta_table import (
    COEFFICIENTS as COEFFICIENTS,
    META_MEASURES as META_MEASURES,
    Cell as Cell,
    MetaTable as MetaTable,
    TableRow as TableRow,
    cell_comparison as cell_comparison,
    full_name as full_name,
    meta_table as meta_table,
)
from ._question_response import (
    BankWorth as BankWorth,
    Examinees as Examinees,
    QuestionWorth as QuestionWorth,
    bank_worth as bank_worth,
)
from ._question_verdicts import MEANINGS as MEANINGS
from ._retriever_selection import (
    DEFAULT_TOP_K as DEFAULT_TOP_K,
    SELECTION_MEASURES as SELECTION_MEASURES,
    VerdictCounts as VerdictCounts,
    select as select,
)
from ._sealed_coverage import (
    SealedCoverage as SealedCoverage,
    SealedSystem as SealedSystem,
    sealed_coverage as sealed_coverage,
)
from ._subsampling import (
    FEWEST_QUERIES as FEWEST_QUERIES,
    SampleSize as SampleSize,
    sample_queries as sample_queries,
    sample_questions as sample_questions,
    says_queries as says_queries,
    says_questions as says_questions,
)
from ._summary import Summary as Summary, summarize as summarize
from ._system_groups import Alike as Alike, alike as alike
from ._system_significance import (
    CORRECTIONS as CORRECTIONS,
    TESTS as TESTS,
    Correction as Correction,
    Difference as Difference,
    Test as Test,
    compare_neighbours as compare_neighbours,
    compare_systems as compare_systems,
    remembered_pairs as remembered_pairs,
)
from ._unjudged import (
    LISTED as LISTED,
    ToGrade as ToGrade,
    Unjudged as Unjudged,
    labelled as labelled,
    to_grade as to_grade,
    unjudged as unjudged,
)
