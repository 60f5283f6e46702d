-- What every step of editing changed, so that it can be undone and done again: the drafts before and
-- after, NULL where there was none. A step may touch several questions.
CREATE TABLE draft_steps (
    author VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    question_id VARCHAR NOT NULL,
    before VARCHAR,
    after VARCHAR,
    undone BOOLEAN NOT NULL
);
