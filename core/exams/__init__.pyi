from ._exam_items import (
    Item as Item,
    Responses as Responses,
    answers_csv as answers_csv,
    asked_text as asked_text,
    exam_items as exam_items,
    exam_json as exam_json,
    examinee_responses as examinee_responses,
    examinee_standing as examinee_standing,
    proposed_items as proposed_items,
    retire_exam_items as retire_exam_items,
    retired_in_drafts as retired_in_drafts,
)
from ._exam_results import (
    AnswerTable as AnswerTable,
    Comparison as Comparison,
    ExamineeRow as ExamineeRow,
    Score as Score,
    TopicRow as TopicRow,
    answer_table as answer_table,
    by_topic as by_topic,
    compare_examinees as compare_examinees,
    exam_board as exam_board,
    fit_abilities as fit_abilities,
    leaderboard_grid as leaderboard_grid,
    only_right as only_right,
    plant_bad_items as plant_bad_items,
    propose_shorter_exam as propose_shorter_exam,
)
from ._examinee_setup import (
    READING_RULES as READING_RULES,
    Plan as Plan,
    add_student as add_student,
)
from ._item_filters import (
    SHARE as SHARE,
    VALUE_COLUMNS as VALUE_COLUMNS,
    CheckedItem as CheckedItem,
    ExamStatistics as ExamStatistics,
    Thresholds as Thresholds,
    accept_passing as accept_passing,
    apply_thresholds as apply_thresholds,
    categorize_items as categorize_items,
    item_kinds as item_kinds,
    item_values as item_values,
    last_acceptance as last_acceptance,
    making_of as making_of,
    set_keywords as set_keywords,
    summarize_items as summarize_items,
    usual_thresholds as usual_thresholds,
    value_row as value_row,
)
from ._item_generation import (
    ItemRequest as ItemRequest,
    generate_items as generate_items,
    generation_price as generation_price,
    start_writing as start_writing,
)
from ._item_retrievals import (
    Encode as Encode,
    import_retrieval as import_retrieval,
    kept_vectors as kept_vectors,
    list_retrievals as list_retrievals,
    make_retrieval as make_retrieval,
    rank_passages as rank_passages,
)
from ._sitting import (
    ExamRequest as ExamRequest,
    sit_by_rules as sit_by_rules,
    sit_exam as sit_exam,
    start_sitting as start_sitting,
)
