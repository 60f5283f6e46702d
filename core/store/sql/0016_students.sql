-- Who sits an exam: a model with the way in which it is given context, or a rule that needs no model. What a file says of
-- students that sat elsewhere is kept the same way; model, retrieval, k and icl are NULL where it does not say them.
-- retrieval: closed-book, oracle, or the name of a retrieval.
CREATE TABLE students (
    student_key INTEGER PRIMARY KEY,
    fingerprint VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL UNIQUE,
    model VARCHAR,
    retrieval VARCHAR,
    k INTEGER,
    icl INTEGER,
    parameters VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);
-- Further components of a student, by name. Append-only: what was said last of a student and a factor counts.
CREATE TABLE student_factors (
    student_key INTEGER NOT NULL,
    factor VARCHAR NOT NULL,
    level VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- Jobs in which one student answers what it has not answered.
CREATE TABLE sittings (
    sitting_key INTEGER PRIMARY KEY,
    student_key INTEGER NOT NULL,
    asked VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    total INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    message VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    calls BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE
);
-- What a student said of an item, never edited, never deleted. item_text_key: what was asked, with its key and choices.
-- context: digest of all other texts that the student was given; empty where a file does not say them.
-- correct is NULL where nothing usable came: then reason says why, and a later attempt is a row of its own.
-- chosen: position of the choice, from 0. scores: what was compared, for each choice. sitting_key: NULL for an import.
CREATE TABLE answers (
    student_key INTEGER NOT NULL,
    item_text_key INTEGER NOT NULL,
    context VARCHAR NOT NULL,
    correct BOOLEAN,
    reason VARCHAR,
    chosen TINYINT,
    scores DOUBLE[],
    raw VARCHAR,
    note VARCHAR,
    sitting_key INTEGER
);
