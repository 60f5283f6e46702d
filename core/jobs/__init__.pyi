from ._background_jobs import (
    BackgroundJob as BackgroundJob,
    Report as Report,
    current_job as current_job,
    running_jobs as running_jobs,
    start_background as start_background,
)
from ._job_run import (
    ALL_MISSING as ALL_MISSING,
    LONGEST_PATIENCE as LONGEST_PATIENCE,
    PATIENCE as PATIENCE,
    UNCAPPED as UNCAPPED,
    Caps as Caps,
    Carrier as Carrier,
    Extent as Extent,
    Progress as Progress,
    carry as carry,
    find_job as find_job,
    job_control as job_control,
    jobs as jobs,
    record_usage as record_usage,
    trial_control as trial_control,
    usage_of as usage_of,
)
