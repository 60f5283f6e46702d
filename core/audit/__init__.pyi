from ._audit_data import draw as draw
from ._audit_plan import (
    ALPHA as ALPHA,
    design as design,
    end_audit as end_audit,
    end_batch as end_batch,
    in_batches as in_batches,
    texts as texts,
)
from ._audit_publication import (
    audit_files as audit_files,
    audited_by as audited_by,
    methods as methods,
    notice as notice,
    read_facts as read_facts,
    under_way as under_way,
)
from ._audit_records import (
    AIMS as AIMS,
    Aim as Aim,
    Audit as Audit,
    Batch as Batch,
    Goal as Goal,
    audits as audits,
    batches as batches,
    find_audit as find_audit,
    open_batch as open_batch,
)
from ._audited_leaderboard import AuditBoard as AuditBoard, audit_board as audit_board, board_of as board_of
from ._batch_assignment import (
    Card as Card,
    Hand as Hand,
    audits_to_judge as audits_to_judge,
    deal_ahead as deal_ahead,
    give_back as give_back,
    left as left,
)
from ._calibration import (
    Calibration as Calibration,
    accept_cut_points as accept_cut_points,
    calibration as calibration,
)
from ._grader_cards import (
    Circularity as Circularity,
    GraderCard as GraderCard,
    GraderChoice as GraderChoice,
    Role as Role,
    ScoredGrader as ScoredGrader,
    choose_grader as choose_grader,
    circularity as circularity,
    find_card as find_card,
    make_card as make_card,
)
from ._needed_judgments import (
    Forecast as Forecast,
    Outcome as Outcome,
    forecast as forecast,
    foresee as foresee,
    outcome as outcome,
    outcome_of as outcome_of,
)
from ._verdicts import (
    Assessor as Assessor,
    Verdict as Verdict,
    assessors as assessors,
    judge as judge,
    look as look,
    say as say,
    scale as scale,
    sentence as sentence,
    sheet as sheet,
    take_in as take_in,
)
