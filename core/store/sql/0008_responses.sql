-- Generated responses: the run that each belongs to, and its length in words as it came.
CREATE TABLE responses (run_key INTEGER NOT NULL, query_key INTEGER NOT NULL, words INTEGER NOT NULL);
-- The sentences of the passages that responses were split into: from and to which character, and what each cites.
CREATE TABLE response_sentences (
    passage_key INTEGER NOT NULL,
    position INTEGER NOT NULL,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    citations VARCHAR[] NOT NULL
);
-- Gold texts, one a query, split as responses are; no system. Or a run that stands for them: at most one row.
CREATE TABLE gold_passages (query_key INTEGER NOT NULL, passage_key INTEGER NOT NULL, position INTEGER NOT NULL);
CREATE TABLE gold_runs (run_key INTEGER NOT NULL);
