from . import cache as cache, migrations as migrations
from ._backups import (
    FOLDER as FOLDER,
    MOST_HOURS as MOST_HOURS,
    MOST_KEPT as MOST_KEPT,
    SETTING_OF_BACKUPS as SETTING_OF_BACKUPS,
    STAMP as STAMP,
    Backup as Backup,
    Schedule as Schedule,
    back_up_project as back_up_project,
    find_backups as find_backups,
    find_schedule as find_schedule,
    keep_backups as keep_backups,
    last_failure as last_failure,
    list_earlier_copies as list_earlier_copies,
    read_schedule as read_schedule,
    restore_backup as restore_backup,
    set_backup_schedule as set_backup_schedule,
    unreadable_tables as unreadable_tables,
    verify_backup as verify_backup,
)
from ._database import (
    MARK as MARK,
    close_projects as close_projects,
    database_connection as database_connection,
    has_log as has_log,
    is_open as is_open,
    log_of as log_of,
)
from ._engine import (
    MEMORY as MEMORY,
    SPILL as SPILL,
    first_line as first_line,
    no_room as no_room,
    release_memory as release_memory,
    scratch_database as scratch_database,
)
from ._opening import (
    Door as Door,
    check_name_free as check_name_free,
    create_project as create_project,
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
    attach_face as attach_face,
    by_query as by_query,
    cached as cached,
    current_author as current_author,
    log_action as log_action,
    log_readonly_action as log_readonly_action,
    put_setting as put_setting,
    read_setting as read_setting,
    recorded_as as recorded_as,
)
from ._roles import (
    ABOUT_ROLES as ABOUT_ROLES,
    ACTS as ACTS,
    MEMBERS as MEMBERS,
    ROLES as ROLES,
    ActName as ActName,
    Member as Member,
    Role as Role,
    hold_value as hold_value,
    no_server_role_error as no_server_role_error,
)
from ._sql_values import (
    ParquetBuffer as ParquetBuffer,
    array_of as array_of,
    as_pattern as as_pattern,
    lend_table as lend_table,
    number_table as number_table,
    quoted_name as quoted_name,
    quoted_path as quoted_path,
    quoted_text as quoted_text,
    stage_columns as stage_columns,
    stage_rows as stage_rows,
    table_of as table_of,
)
from .cache import COLLECTION as COLLECTION, JUDGMENTS as JUDGMENTS
from .migrations import expected_objects as expected_objects, read_objects as read_objects
