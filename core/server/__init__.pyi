from ._access_control import TooMuch as TooMuch, check_host as check_host, check_origin as check_origin
from ._api import PREFIX as PREFIX, made_api as made_api
from ._open_projects import (
    giving_up as giving_up,
    hold as hold,
    let_go as let_go,
    open_doors as open_doors,
    with_role as with_role,
)
from ._routes import routes as routes
from ._shutdown import stopping_commands as stopping_commands
from ._tcp_settings import send_at_once as send_at_once
