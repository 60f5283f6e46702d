from ._audit_data import draw_batch as draw_batch
from ._audit_plan import (
    count_texts as count_texts,
    design_audit as design_audit,
    end_audit as end_audit,
    end_batch as end_batch,
    in_batches as in_batches,
)
from ._audit_publication import (
    audit_files as audit_files,
    audit_notice as audit_notice,
    audited_by as audited_by,
    describe_methods as describe_methods,
    read_facts as read_facts,
    under_way as under_way,
)
from ._audit_records import (
    Audit as Audit,
    Batch as Batch,
    Goal as Goal,
    find_audit as find_audit,
    find_audits as find_audits,
    list_batches as list_batches,
    open_batch as open_batch,
)
from ._audited_leaderboard import (
    AuditBoard as AuditBoard,
    audit_board as audit_board,
    board_of as board_of,
)
from ._batch_assignment import (
    AssignedPassage as AssignedPassage,
    AssignedQuery as AssignedQuery,
    audits_to_judge as audits_to_judge,
    count_open_judgments as count_open_judgments,
    deal_ahead as deal_ahead,
    give_back as give_back,
)
from ._calibration import (
    Calibration as Calibration,
    accept_cut_points as accept_cut_points,
    calibrate_labels as calibrate_labels,
)
from ._grader_cards import (
    Circularity as Circularity,
    GraderCard as GraderCard,
    GraderChoice as GraderChoice,
    Role as Role,
    ScoredGrader as ScoredGrader,
    choose_grader as choose_grader,
    find_card as find_card,
    find_circularity as find_circularity,
    make_card as make_card,
    probe_robustness as probe_robustness,
)
from ._needed_judgments import (
    Forecast as Forecast,
    Outcome as Outcome,
    audit_outcome as audit_outcome,
    forecast_audit as forecast_audit,
    forecast_plan as forecast_plan,
    outcome_of as outcome_of,
)
from ._verdicts import (
    Assessor as Assessor,
    Verdict as Verdict,
    import_sentence as import_sentence,
    import_sheet as import_sheet,
    judge_drawn as judge_drawn,
    judgment_scale as judgment_scale,
    list_audit_assessors as list_audit_assessors,
    make_sheet as make_sheet,
    reveal_label as reveal_label,
    store_verdict as store_verdict,
)
