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
-- Questions whose text is hidden from everyone but their authors, from drafting and from exports until they are opened. They
-- were drawn at random with this seed, so that the questions of a query that are not sealed are comparable.
CREATE TABLE seals (
    seal_key INTEGER PRIMARY KEY,
    question_key INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    author VARCHAR NOT NULL,
    sealed_at TIMESTAMP NOT NULL,
    opened_by VARCHAR,
    opened_at TIMESTAMP
);
-- Answers of a grader to changed passages, and the rating of the pair without the change. They are no grades. rating is NULL for a
-- failure. All rows of a probe have its number.
CREATE TABLE probe_answers (
    grader_key INTEGER NOT NULL,
    probe INTEGER NOT NULL,
    change VARCHAR NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    before TINYINT NOT NULL,
    rating TINYINT,
    author VARCHAR NOT NULL,
    asked_at TIMESTAMP NOT NULL
);
-- The card of a grader as it was made. marks: numbers that change with judgments, questions and overrides; with others, the card is
-- stale. content and marks: JSON.
CREATE TABLE grader_cards (
    grader_card_key INTEGER PRIMARY KEY,
    grader_key INTEGER NOT NULL,
    content VARCHAR NOT NULL,
    marks VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
-- Tests of rewordings of a question on held-out pairs. Each test spends a part of the question's error.
CREATE TABLE repairs (
    repair_key INTEGER PRIMARY KEY,
    question_key INTEGER NOT NULL,
    grader_key INTEGER NOT NULL,
    wording VARCHAR NOT NULL,
    pairs INTEGER NOT NULL,
    gains INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    p DOUBLE NOT NULL,
    level DOUBLE NOT NULL,
    accepted BOOLEAN NOT NULL,
    author VARCHAR NOT NULL,
    tested_at TIMESTAMP NOT NULL
);
