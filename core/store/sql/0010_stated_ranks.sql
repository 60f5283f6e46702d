-- Runs that came in a graded file: their ranks are those that the file states, gaps and all, whatever their scores say.
CREATE TABLE ranked_runs (run_key INTEGER PRIMARY KEY);
