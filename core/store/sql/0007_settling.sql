-- What people did about disagreements between two sides, as "labels of X" and "judgments of Y". Append-only: the last
-- act for a case says whether it is settled. Values are those that the sides had then.
CREATE TABLE settlings (
    settling_key INTEGER PRIMARY KEY,
    left_side VARCHAR NOT NULL,
    right_side VARCHAR NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    -- Where people's ratings are compared; otherwise the sides differ on the passage as a whole.
    question_key INTEGER,
    left_value SMALLINT NOT NULL,
    right_value SMALLINT NOT NULL,
    act VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    -- The question that was overridden, with the rating given, or that is to be reworded.
    touched_question_key INTEGER,
    rating TINYINT,
    -- The judgment that is disputed.
    source VARCHAR,
    value SMALLINT
);
-- Whether the two sides stand left and right or the other way round, the case is the same. One that was settled by
-- an override is open again once that is withdrawn; a rating confirmed for a new wording is a new override.
CREATE VIEW settled_cases AS
SELECT * EXCLUDE (side_a, side_b) FROM (
    SELECT s.*, least(left_side, right_side) AS side_a, greatest(left_side, right_side) AS side_b FROM settlings s
    QUALIFY row_number() OVER (
        PARTITION BY least(left_side, right_side), greatest(left_side, right_side), query_key, passage_key, question_key
        ORDER BY settling_key DESC) = 1) c
WHERE act <> 'reopen' AND (act <> 'override' OR EXISTS (
    SELECT * FROM overrides o WHERE o.question_key = c.touched_question_key AND o.passage_key = c.passage_key
    AND o.withdrawn_at IS NULL));
