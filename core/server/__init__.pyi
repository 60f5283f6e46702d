from ._access_control import (
    check_host as check_host,
    check_origin as check_origin,
)
from ._api import PREFIX as PREFIX, make_api as make_api
from ._open_projects import (
    close_all_projects as close_all_projects,
    hold_project as hold_project,
    open_doors as open_doors,
    projects_with_role as projects_with_role,
    release_project as release_project,
)
from ._routes import routes as routes
from ._shutdown import stop_commands_on_signal as stop_commands_on_signal
from ._tcp_settings import send_at_once as send_at_once
