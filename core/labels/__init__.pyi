from ._basis import (
    MISSING as MISSING,
    Basis as Basis,
    Ratings as Ratings,
    basis as basis,
    check_rating_rule as check_rating_rule,
    coverage_of as coverage_of,
    graded_pairs as graded_pairs,
    graded_sql as graded_sql,
    label_sql as label_sql,
    labels_of as labels_of,
    overriding_sql as overriding_sql,
    ratings as ratings,
    weights_of as weights_of,
    weights_that_count as weights_that_count,
)
from ._citation_support import (
    SUPPORT as SUPPORT,
    Citation as Citation,
    citation_grader as citation_grader,
    list_citations as list_citations,
    response_support as response_support,
    set_support as set_support,
    support_agreement as support_agreement,
    support_board as support_board,
)
from ._coverage import (
    RANKED as RANKED,
    Scores as Scores,
    coverage_by_rank as coverage_by_rank,
    coverage_of_union as coverage_of_union,
    coverage_scores as coverage_scores,
    covered_sql as covered_sql,
    first_answers as first_answers,
    reference_coverage as reference_coverage,
)
from ._grading_progress import (
    IMPORTED_SQL as IMPORTED_SQL,
    Progress as Progress,
    Readiness as Readiness,
    failed_pairs as failed_pairs,
    grades_table as grades_table,
    grading_progress as grading_progress,
    label_readiness as label_readiness,
    pairs_needed as pairs_needed,
    pool_summary as pool_summary,
    seen_in_query as seen_in_query,
)
from ._labels import (
    from_answers as from_answers,
    label_pairs as label_pairs,
    label_qrels as label_qrels,
    list_labels as list_labels,
    pooled_labels as pooled_labels,
    pooled_passages as pooled_passages,
)
from ._leaderboard import (
    FEWEST_COMPLETE as FEWEST_COMPLETE,
    FEWEST_GRADED as FEWEST_GRADED,
    Leaderboard as Leaderboard,
    QueryScore as QueryScore,
    System as System,
    counted_queries as counted_queries,
    graded_sentence as graded_sentence,
    graded_share as graded_share,
    inspect_query as inspect_query,
    order_systems as order_systems,
    per_query_scores as per_query_scores,
    queries_with_ungraded as queries_with_ungraded,
)
from ._leaderboard_making import (
    ScoresByMeasure as ScoresByMeasure,
    board_without_lengths as board_without_lengths,
    judged_scores as judged_scores,
    label_board as label_board,
    label_scores as label_scores,
    leaderboard as leaderboard,
    score_runs as score_runs,
)
from ._leaderboard_variants import (
    CoverCurves as CoverCurves,
    NuggetBoardRow as NuggetBoardRow,
    complete_curves as complete_curves,
    cover_curves as cover_curves,
    leaderboard_per as leaderboard_per,
    nugget_board as nugget_board,
)
from ._official_comparison import (
    Comparison as Comparison,
    CorrelationShift as CorrelationShift,
    Queries as Queries,
    QueryChoice as QueryChoice,
    align_boards as align_boards,
    board_over as board_over,
    compare as compare,
    compare_boards as compare_boards,
    correlation_shift as correlation_shift,
    kendall_interval as kendall_interval,
    official_board as official_board,
)
from ._overrides import (
    Override as Override,
    add_override as add_override,
    confirm_override as confirm_override,
    find_overrides as find_overrides,
    override_all as override_all,
    queries_of_questions as queries_of_questions,
    withdraw_all as withdraw_all,
    withdraw_by_key as withdraw_by_key,
    write_override as write_override,
    write_withdrawal as write_withdrawal,
)
from ._parquet_leaderboards import (
    GradeFiles as GradeFiles,
    leaderboard_of_files as leaderboard_of_files,
)
from ._policy import (
    DEFAULT_POLICY as DEFAULT_POLICY,
    SETTING_OF_MIN_JUDGMENT as SETTING_OF_MIN_JUDGMENT,
    Policy as Policy,
    Skipped as Skipped,
    usual_min_judgment as usual_min_judgment,
)
from ._query_ratings import (
    QueryRatings as QueryRatings,
    coverage_measure as coverage_measure,
    gradable_questions as gradable_questions,
    graded_wording as graded_wording,
    labels_under as labels_under,
    load_ratings as load_ratings,
    query_scores as query_scores,
    ratings_beside as ratings_beside,
)
