from ._background_jobs import (
    BackgroundJob as BackgroundJob,
    Report as Report,
    current_job as current_job,
    running_jobs as running_jobs,
    start_background as start_background,
)
from ._job_caps import (
    ALL_MISSING as ALL_MISSING,
    LONGEST_PATIENCE as LONGEST_PATIENCE,
    PATIENCE as PATIENCE,
    UNCAPPED as UNCAPPED,
    Caps as Caps,
    Extent as Extent,
    job_control as job_control,
    trial_control as trial_control,
)
from ._job_run import (
    Carrier as Carrier,
    Progress as Progress,
    carry as carry,
    find_job as find_job,
    jobs as jobs,
    record_usage as record_usage,
    usage_of as usage_of,
)
