-- Live targets as they were asked. A freeze is open until it was kept as a run or responses: then ended_at is NULL.
-- name: of what it becomes. asked: a digest of all that decides what is sent and how the answer is read. system: its
-- run of responses; NULL where it has none. queries, failed: how many were asked and how many of these gave nothing
-- usable; NULL while it is open.
CREATE TABLE freezes (
    freeze_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    url VARCHAR NOT NULL,
    asked VARCHAR NOT NULL,
    system VARCHAR,
    queries INTEGER,
    failed INTEGER,
    author VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP
);
-- What a target gave for the queries of an open freeze, so that nothing is asked twice; gone when it ends, since the run
-- has it then. words: of the query as it was asked. given: JSON with the passages (id, text, score) and the answer.
CREATE TABLE frozen_queries (
    freeze_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    words VARCHAR NOT NULL,
    given VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL
);
