-- A person's value for a sentence of a response (as a text that graders are asked) and the text of a passage that it cites:
-- 0 no support, 1 partial, 2 full. Append-only: the last value of a person counts; it is NULL after a withdrawal.
CREATE TABLE support_values (
    support_value_key INTEGER PRIMARY KEY,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    value TINYINT,
    reason VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- The value of each person.
CREATE VIEW personal_support AS
SELECT question_text_key, passage_text_key, author, arg_max_null(value, support_value_key) AS value, max(support_value_key) AS support_value_key
FROM support_values GROUP BY ALL HAVING arg_max_null(value, support_value_key) IS NOT NULL;
-- The value that replaces a grader's rating: the one that a person gave last.
CREATE VIEW current_support AS
SELECT question_text_key, passage_text_key, arg_max(value, support_value_key) AS value, arg_max(author, support_value_key) AS author
FROM personal_support GROUP BY ALL;
