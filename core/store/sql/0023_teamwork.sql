-- How assessors are to decide, for the project (query_key is NULL) or for one query. Append-only: what was written last
-- counts; an empty text takes it away.
CREATE TABLE guidelines (
    guideline_key INTEGER PRIMARY KEY,
    query_key INTEGER,
    text VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- Who has said that they are done with a query, or not after all. Append-only: what somebody said last counts.
CREATE TABLE query_marks (
    query_mark_key INTEGER PRIMARY KEY,
    query_key INTEGER NOT NULL,
    author VARCHAR NOT NULL,
    done BOOLEAN NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
