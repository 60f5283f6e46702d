"""Parts of grading: setting graders up, plan, progress, tables, trials, failed pairs."""
