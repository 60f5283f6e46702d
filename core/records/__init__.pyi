from . import judging as judging
from ._access_tokens import (
    acting_with as acting_with,
    find_token as find_token,
    make_token as make_token,
    tokens as tokens,
    withdraw_token as withdraw_token,
)
from ._activity_log import (
    Act as Act,
    Sought as Sought,
    acted_since as acted_since,
    activity as activity,
    activity_csv as activity_csv,
    kinds_of_act as kinds_of_act,
    latest_act as latest_act,
    people as people,
)
from ._answer_cases import (
    CasePlace as CasePlace,
    ConfirmedCase as ConfirmedCase,
    add_gold_answer as add_gold_answer,
    confirm as confirm,
    confirmed_cases as confirmed_cases,
    withdraw_case as withdraw_case,
    withdraw_gold_answer as withdraw_gold_answer,
)
from ._answer_models import (
    AnswerModel as AnswerModel,
    answer_models as answer_models,
    answer_models_of as answer_models_of,
    find_answer_model as find_answer_model,
    put_answer_model as put_answer_model,
)
from ._double_assignments import (
    MOST_WANTED as MOST_WANTED,
    TURNS as TURNS,
    Double as Double,
    Dues as Dues,
    assign_double as assign_double,
    check_undecided as check_undecided,
    claim_double as claim_double,
    decline_double as decline_double,
    double_of as double_of,
    doubles as doubles,
    doubles_of as doubles_of,
    dues as dues,
    release_double as release_double,
    sample_of as sample_of,
    set_due as set_due,
    write_end as write_end,
)
from ._examinees import (
    CLOSED_BOOK as CLOSED_BOOK,
    ELSEWHERE as ELSEWHERE,
    NOT_RETRIEVED as NOT_RETRIEVED,
    ORACLE as ORACLE,
    Answer as Answer,
    Student as Student,
    add_answers as add_answers,
    answers_of as answers_of,
    elsewhere as elsewhere,
    find_students as find_students,
    fingerprint_of as fingerprint_of,
    put_student as put_student,
    state_factors as state_factors,
    students as students,
    students_of as students_of,
    verdicts as verdicts,
)
from ._freezes import (
    Freeze as Freeze,
    FrozenQuery as FrozenQuery,
    add_frozen as add_frozen,
    begin_freeze as begin_freeze,
    drop_freeze as drop_freeze,
    end_freeze as end_freeze,
    freezes as freezes,
    frozen_so_far as frozen_so_far,
)
from ._generated_answers import (
    GOLD_RUN as GOLD_RUN,
    AnswerPlace as AnswerPlace,
    Comparison as Comparison,
    Generated as Generated,
    add_comparisons as add_comparisons,
    add_generated as add_generated,
    answer_text_keys as answer_text_keys,
    answer_texts as answer_texts,
    answer_verdicts as answer_verdicts,
    comparisons_of as comparisons_of,
    generated_of as generated_of,
    put_answer_verdicts as put_answer_verdicts,
)
from ._gold import (
    GOLD as GOLD,
    IMPORTED as IMPORTED,
    gold_name as gold_name,
    gold_texts as gold_texts,
    mark_gold as mark_gold,
    write_gold as write_gold,
)
from ._held_out import (
    HOLD_OUT as HOLD_OUT,
    HOLD_OUT_FORM as HOLD_OUT_FORM,
    HoldOut as HoldOut,
    for_confirming as for_confirming,
    for_tuning as for_tuning,
    hold_out as hold_out,
    set_hold_out as set_hold_out,
)
from ._imported_leaderboards import (
    boards as boards,
    find_source as find_source,
    official_sources as official_sources,
    write_board as write_board,
)
from ._job_records import (
    JOB_SUBJECTS as JOB_SUBJECTS,
    Job as Job,
    JobKind as JobKind,
    add_job as add_job,
    asked_models as asked_models,
    close_interrupted as close_interrupted,
    count_results as count_results,
    end_job as end_job,
    recorded_jobs as recorded_jobs,
    set_usage as set_usage,
    wait_for_batches as wait_for_batches,
    written_results as written_results,
)
from ._judgments import (
    Qrels as Qrels,
    judged_values as judged_values,
    judgments as judgments,
    put_judgment as put_judgment,
    sources as sources,
    stage_judgments as stage_judgments,
    write_judged_keys as write_judged_keys,
    write_judgments as write_judgments,
)
from ._members import (
    change_member as change_member,
    identity_of as identity_of,
    remove_member as remove_member,
    set_member as set_member,
    undo_member as undo_member,
)
from ._model_families import PARTS as PARTS, state_families as state_families, stated_families as stated_families
from ._original_objects import keep_objects as keep_objects, kept_objects as kept_objects
from ._passage_buffer import PassageFiles as PassageFiles
from ._passages import (
    add_kept_passages as add_kept_passages,
    add_passages as add_passages,
    kept_as_they_are as kept_as_they_are,
    name_passages_of as name_passages_of,
    passage_texts as passage_texts,
)
from ._pool import (
    DEFAULT_POOL_DEPTH as DEFAULT_POOL_DEPTH,
    list_keys as list_keys,
    pool_depth as pool_depth,
    pool_rows as pool_rows,
    pooled_queries as pooled_queries,
    refresh_pool as refresh_pool,
    set_pool_depth as set_pool_depth,
)
from ._project_moves import (
    RemovedProject as RemovedProject,
    remove_project as remove_project,
    removed_projects as removed_projects,
    rename_project as rename_project,
    restore_removed as restore_removed,
)
from ._queries import (
    add_queries as add_queries,
    check_new as check_new,
    check_queries as check_queries,
    queries_of as queries_of,
    unknown_queries as unknown_queries,
)
from ._ranking_buffer import RankingFile as RankingFile, write_stated_rankings as write_stated_rankings
from ._replaced_data import Keeper as Keeper, Replaced as Replaced
from ._response_lengths import Length as Length, lengths as lengths
from ._responses import (
    count_words as count_words,
    known_responses as known_responses,
    response_runs as response_runs,
    split_response as split_response,
    write_responses as write_responses,
)
from ._restoring import bring_back as bring_back
from ._retrievals import put_retrieval as put_retrieval, retrieved as retrieved
from ._role_lookup import peek_members as peek_members
from ._runs import (
    Runs as Runs,
    by_rank as by_rank,
    check_runs as check_runs,
    clear_runs as clear_runs,
    deepest_rank as deepest_rank,
    ranked_keys as ranked_keys,
    rankings as rankings,
    run_names as run_names,
    run_sizes as run_sizes,
    stage_rankings as stage_rankings,
    write_runs as write_runs,
)
from ._sealed_questions import (
    SEALED as SEALED,
    add_seals as add_seals,
    hidden_questions as hidden_questions,
    open_seals as open_seals,
    readable_texts as readable_texts,
    readable_versions as readable_versions,
    refuse_hidden as refuse_hidden,
    refuse_sealed as refuse_sealed,
    sealed_questions as sealed_questions,
)
from ._teamwork import (
    LONGEST_GUIDELINES as LONGEST_GUIDELINES,
    done_queries as done_queries,
    guidelines as guidelines,
    mark_done as mark_done,
    set_guidelines as set_guidelines,
)
from ._terms_of_use import (
    SETTING_OF_TERMS as SETTING_OF_TERMS,
    Terms as Terms,
    keep_terms as keep_terms,
    read_terms as read_terms,
    terms_of as terms_of,
)
from ._visible import visible as visible
from .judging import (
    ADJUDICATED as ADJUDICATED,
    JUDGE as JUDGE,
    PREFIX as PREFIX,
    SCALE as SCALE,
    WITHDRAW as WITHDRAW,
    JudgmentAct as JudgmentAct,
    assessed as assessed,
    blind_judgments as blind_judgments,
    judged_pairs as judged_pairs,
    judgment_history as judgment_history,
    own_judgment as own_judgment,
    source_of as source_of,
    withdraw as withdraw,
)
