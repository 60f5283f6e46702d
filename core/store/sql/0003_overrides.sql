-- A person's rating for a question and a passage, in the wording that the question had. Withdrawn, not deleted.
CREATE TABLE overrides (
    override_key INTEGER PRIMARY KEY,
    question_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    rating TINYINT NOT NULL,
    reason VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    withdrawn_by VARCHAR,
    withdrawn_at TIMESTAMP
);
-- What counts for a pair of texts: the last override that nobody withdrew.
CREATE VIEW current_overrides AS
SELECT question_text_key, passage_text_key, arg_max(rating, override_key) AS rating
FROM overrides WHERE withdrawn_at IS NULL GROUP BY ALL;
