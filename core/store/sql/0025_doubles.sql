-- Queries, or some of their passages, that several assessors judge without seeing what the others gave. No passage of a
-- query is in two that are open. passage_keys is NULL for all of the query's passages; adjudicator is NULL for any organizer.
CREATE TABLE doubles (
    double_key INTEGER PRIMARY KEY,
    query_key INTEGER NOT NULL,
    passage_keys INTEGER[],
    wanted TINYINT NOT NULL,
    adjudicator VARCHAR,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL,
    ended_by VARCHAR,
    ended_at TIMESTAMP
);
-- Who was asked to take part, claimed it, declined, or was released. Append-only: what was last said of somebody counts.
CREATE TABLE double_turns (
    double_turn_key INTEGER PRIMARY KEY,
    double_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    act VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- What was decided on a passage (question_key is NULL) or on a question and a passage. Append-only: the last one counts;
-- value is NULL where a decision was taken back. override_key: the override that a decided rating is.
CREATE TABLE adjudications (
    adjudication_key INTEGER PRIMARY KEY,
    double_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    question_key INTEGER,
    value SMALLINT,
    override_key INTEGER,
    reason VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- Until when a query is to be done: by one person, or by all whose query it is (name is NULL). Append-only: what was
-- said last counts; due is NULL where the day was taken back.
CREATE TABLE dues (
    due_key INTEGER PRIMARY KEY,
    query_key INTEGER NOT NULL,
    name VARCHAR,
    due DATE,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);

-- Whoever takes part in a double assignment, or did so: what they gave in it is evidence, and no decision.
CREATE VIEW double_people AS
SELECT double_key, name, arg_max(act, double_turn_key) IN ('asked', 'claimed') AS present
FROM double_turns GROUP BY ALL HAVING bool_or(act IN ('asked', 'claimed'));

-- The decisions that stand: a decided rating as long as nobody withdrew its override.
CREATE VIEW standing_adjudications AS
SELECT a.* FROM (FROM adjudications
    QUALIFY row_number() OVER (PARTITION BY double_key, passage_key, question_key ORDER BY adjudication_key DESC) = 1) a
LEFT JOIN overrides o USING (override_key)
WHERE a.value IS NOT NULL AND (a.override_key IS NULL OR o.withdrawn_at IS NULL);

-- Overrides that were given in a double assignment, as long as it is open: what was decided counts in their place.
CREATE VIEW held_overrides AS
SELECT o.override_key, d.double_key
FROM overrides o JOIN questions q USING (question_key) JOIN doubles d USING (query_key)
JOIN double_people p ON p.double_key = d.double_key AND p.name = o.author
WHERE d.ended_at IS NULL AND o.override_key > d.double_key
AND (d.passage_keys IS NULL OR list_contains(d.passage_keys, o.passage_key));

CREATE OR REPLACE VIEW current_overrides AS
SELECT question_text_key, passage_text_key, arg_max(rating, override_key) AS rating
FROM overrides WHERE withdrawn_at IS NULL AND override_key NOT IN (SELECT override_key FROM held_overrides) GROUP BY ALL;
