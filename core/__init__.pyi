from .errors import WorkbenchError as WorkbenchError
from .face import (
    Project as Project,
    create as create,
    demo as demo,
    measure as measure,
    open as open,
)
from .labels import Policy as Policy

__version__: str
