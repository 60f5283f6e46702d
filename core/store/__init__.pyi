from . import cache as cache, migrations as migrations
from ._backups import (
    FOLDER as FOLDER,
    MOST_HOURS as MOST_HOURS,
    MOST_KEPT as MOST_KEPT,
    SETTING_OF_BACKUPS as SETTING_OF_BACKUPS,
    STAMP as STAMP,
    Backup as Backup,
    Schedule as Schedule,
    backup as backup,
    backups as backups,
    keep_backups as keep_backups,
    last_failure as last_failure,
    read_schedule as read_schedule,
    restore as restore,
    schedule as schedule,
    set_aside as set_aside,
    set_schedule as set_schedule,
    unreadable_tables as unreadable_tables,
    verify as verify,
)
from ._database import (
    MARK as MARK,
    close_projects as close_projects,
    connected as connected,
    has_log as has_log,
    is_open as is_open,
    log_of as log_of,
)
from ._engine import (
    MEMORY as MEMORY,
    SPILL as SPILL,
    first_line as first_line,
    let_go as let_go,
    no_room as no_room,
    scratch as scratch,
)
from ._opening import (
    Door as Door,
    check_free as check_free,
    create as create,
    find_door as find_door,
    make_door as make_door,
    new_file as new_file,
    open_project as open_project,
    remove_door as remove_door,
)
from ._project import (
    SCORELESS as SCORELESS,
    Cursor as Cursor,
    Project as Project,
    as_act as as_act,
    as_name as as_name,
    by_query as by_query,
    cached as cached,
    current_author as current_author,
    log as log,
    put_setting as put_setting,
    record as record,
    recorded_as as recorded_as,
    setting as setting,
)
from ._roles import (
    ABOUT_ROLES as ABOUT_ROLES,
    ACTS as ACTS,
    MEMBERS as MEMBERS,
    ROLES as ROLES,
    ActName as ActName,
    Member as Member,
    Role as Role,
    outsider as outsider,
)
from ._sql_values import (
    ParquetBuffer as ParquetBuffer,
    array_of as array_of,
    as_pattern as as_pattern,
    lent as lent,
    numbered as numbered,
    quoted_name as quoted_name,
    quoted_path as quoted_path,
    quoted_text as quoted_text,
    stage as stage,
    stage_rows as stage_rows,
    table_of as table_of,
)
from .cache import COLLECTION as COLLECTION, JUDGMENTS as JUDGMENTS
from .migrations import expected_objects as expected_objects, read_objects as read_objects
