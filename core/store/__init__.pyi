from . import cache as cache, migrations as migrations
from ._acting_person import MEMBERS as MEMBERS
from ._backup_schedule import (
    MOST_HOURS as MOST_HOURS,
    MOST_KEPT as MOST_KEPT,
    SETTING_OF_BACKUPS as SETTING_OF_BACKUPS,
    Schedule as Schedule,
    keep_backups as keep_backups,
    last_failure as last_failure,
    read_schedule as read_schedule,
    schedule as schedule,
    set_schedule as set_schedule,
)
from ._backups import (
    FOLDER as FOLDER,
    STAMP as STAMP,
    Backup as Backup,
    backup as backup,
    backups as backups,
    restore as restore,
    set_aside as set_aside,
    unreadable_tables as unreadable_tables,
    verify as verify,
)
from ._checkpoints import MARK as MARK, log_of as log_of
from ._database import connected as connected, is_open as is_open
from ._door_file import Door as Door, find_door as find_door, make_door as make_door, remove_door as remove_door
from ._engine_errors import first_line as first_line, no_room as no_room
from ._engine_memory import MEMORY as MEMORY, SPILL as SPILL, let_go as let_go, scratch as scratch
from ._opening import check_free as check_free, create as create, new_file as new_file, open_project as open_project
from ._project import (
    SCORELESS as SCORELESS,
    Cursor as Cursor,
    Project as Project,
    as_act as as_act,
    as_name as as_name,
    close_projects as close_projects,
    current_author as current_author,
    log as log,
    record as record,
    recorded_as as recorded_as,
)
from ._query_cache import by_query as by_query
from ._roles import (
    ABOUT_ROLES as ABOUT_ROLES,
    ACTS as ACTS,
    ROLES as ROLES,
    ActName as ActName,
    Member as Member,
    Role as Role,
    outsider as outsider,
)
from ._schema import expected_objects as expected_objects, read_objects as read_objects
from ._settings import put_setting as put_setting, setting as setting
from ._sql_values import (
    as_pattern as as_pattern,
    quoted_name as quoted_name,
    quoted_path as quoted_path,
    quoted_text as quoted_text,
)
from ._staged_columns import (
    array_of as array_of,
    lent as lent,
    numbered as numbered,
    stage as stage,
    table_of as table_of,
)
from .cache import COLLECTION as COLLECTION, JUDGMENTS as JUDGMENTS
