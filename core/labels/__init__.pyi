from ._basis import Basis as Basis, basis as basis, check_rating_rule as check_rating_rule
from ._citation_support import (
    Citation as Citation,
    citation_grader as citation_grader,
    citations as citations,
    response_support as response_support,
    support_agreement as support_agreement,
    support_board as support_board,
)
from ._citation_values import SUPPORT as SUPPORT, set_support as set_support
from ._cover_measure import coverage_measure as coverage_measure
from ._coverage import (
    RANKED as RANKED,
    Scores as Scores,
    coverage as coverage,
    coverage_by_rank as coverage_by_rank,
    covered as covered,
    first_answers as first_answers,
    reference_coverage as reference_coverage,
)
from ._coverage_curves import (
    DEFAULT_MAX_K as DEFAULT_MAX_K,
    MAX_K as MAX_K,
    CoverCurves as CoverCurves,
    cover_curves as cover_curves,
)
from ._grading_progress import (
    Progress as Progress,
    failed_pairs as failed_pairs,
    grades_table as grades_table,
    progress as progress,
    ungraded_pairs as ungraded_pairs,
)
from ._labels import (
    from_answers as from_answers,
    label_pairs as label_pairs,
    label_qrels as label_qrels,
    labels as labels,
    pooled_labels as pooled_labels,
    pooled_passages as pooled_passages,
)
from ._leaderboard import (
    FEWEST_GRADED as FEWEST_GRADED,
    Leaderboard as Leaderboard,
    System as System,
    graded_share as graded_share,
    order_systems as order_systems,
    queries_with_ungraded as queries_with_ungraded,
)
from ._leaderboard_making import label_board as label_board, leaderboard as leaderboard
from ._measure_needs import pairs_needed as pairs_needed, seen_by as seen_by
from ._nugget_leaderboards import NuggetBoardRow as NuggetBoardRow, nugget_board as nugget_board
from ._official_comparison import (
    DEFAULT_MEASURE as DEFAULT_MEASURE,
    Comparison as Comparison,
    Queries as Queries,
    QueryChoice as QueryChoice,
    Shift as Shift,
    compare as compare,
    compare_boards as compare_boards,
    correlation_shift as correlation_shift,
    official_board as official_board,
    over as over,
    sides as sides,
)
from ._overrides import (
    Override as Override,
    confirm as confirm,
    override as override,
    override_all as override_all,
    overrides as overrides,
    queries_of_questions as queries_of_questions,
    withdraw as withdraw,
    withdraw_all as withdraw_all,
    write_override as write_override,
    write_withdrawal as write_withdrawal,
)
from ._parquet_leaderboards import GradeFiles as GradeFiles, leaderboard_of_files as leaderboard_of_files
from ._policy import (
    SETTING_OF_MIN_JUDGMENT as SETTING_OF_MIN_JUDGMENT,
    Policy as Policy,
    Skipped as Skipped,
    usual_min_judgment as usual_min_judgment,
)
from ._pool_summary import pool_summary as pool_summary
from ._query_ratings import (
    QueryRatings as QueryRatings,
    labels_under as labels_under,
    load_ratings as load_ratings,
    ratings_beside as ratings_beside,
    scored as scored,
    wording as wording,
)
from ._query_scores import query_scores as query_scores
from ._ratings import graded as graded, graded_pairs as graded_pairs, overriding as overriding, ratings as ratings
from ._readiness import Readiness as Readiness, readiness as readiness
from ._rules import (
    MISSING as MISSING,
    Ratings as Ratings,
    coverage_of as coverage_of,
    label_sql as label_sql,
    labels_of as labels_of,
    weights_of as weights_of,
)
from ._run_scores import judged_scores as judged_scores, label_scores as label_scores, score_runs as score_runs
from ._score_details import (
    QueryScore as QueryScore,
    inspect_query as inspect_query,
    per_query_scores as per_query_scores,
)
from ._subtopic_leaderboards import PERS as PERS, Per as Per, leaderboard_per as leaderboard_per
from ._union_coverage import coverage_of_union as coverage_of_union
