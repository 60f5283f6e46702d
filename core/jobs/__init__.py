"""Background jobs that ask models: limits, control, progress, records and threads."""

from __future__ import annotations

from .background import BackgroundJob, Report, current_job, start_background
from .caps import ALL_MISSING, LONGEST_PATIENCE, PATIENCE, UNCAPPED, Caps, Extent, job_control, trial_control
from .carrying import Carrier, Progress, carry, find_job, jobs, record_usage, usage_of

__all__ = [
    "ALL_MISSING",
    "LONGEST_PATIENCE",
    "PATIENCE",
    "UNCAPPED",
    "BackgroundJob",
    "Caps",
    "Carrier",
    "Extent",
    "Progress",
    "Report",
    "carry",
    "current_job",
    "find_job",
    "job_control",
    "jobs",
    "record_usage",
    "start_background",
    "trial_control",
    "usage_of",
]
