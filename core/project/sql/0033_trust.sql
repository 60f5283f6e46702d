-- Answers of a grader that was asked again about pairs that it had graded, to notice a change of its model. They are no grades
-- and never enter labels. Round 0 measures its noise; each later round is a check. rating is NULL for a failure.
CREATE TABLE sentinel_answers (
    grader_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    round INTEGER NOT NULL,
    rating TINYINT,
    asked_at TIMESTAMP NOT NULL
);
