-- People judge an answer to a query: two queries with the same words keep verdicts apart, and a query that is reworded keeps
-- its own. question_text_key is the wording that was judged; query_key is NULL if no query has this wording at the upgrade.
ALTER TABLE answer_verdicts RENAME TO worded_answer_verdicts;
CREATE TABLE answer_verdicts (
    query_key INTEGER,
    question_text_key INTEGER NOT NULL,
    answer_text_key INTEGER NOT NULL,
    source VARCHAR NOT NULL,
    acceptable BOOLEAN,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
INSERT INTO answer_verdicts SELECT q.query_key, v.* FROM worded_answer_verdicts v
JOIN question_texts t ON t.text_key = v.question_text_key LEFT JOIN queries q ON q.text = t.text
ORDER BY v.rowid, q.query_key;
DROP TABLE worded_answer_verdicts;
