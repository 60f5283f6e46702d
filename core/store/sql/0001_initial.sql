-- Texts have dense integer keys, so that a grade is three small numbers and a rating.
CREATE SEQUENCE keys START 1;

CREATE TABLE settings (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);

CREATE TABLE queries (
    query_key INTEGER PRIMARY KEY,
    query_id VARCHAR NOT NULL UNIQUE,
    text VARCHAR NOT NULL,
    narrative VARCHAR
);
CREATE TABLE subtopics (
    query_key INTEGER NOT NULL,
    subtopic_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    position INTEGER NOT NULL
);

CREATE TABLE passage_texts (text_key INTEGER PRIMARY KEY, text VARCHAR NOT NULL);
-- A run may name a passage whose text has not been imported yet: text_key is NULL until then.
CREATE TABLE passages (
    passage_key INTEGER PRIMARY KEY,
    passage_id VARCHAR NOT NULL UNIQUE,
    text_key INTEGER
);

CREATE TABLE runs (
    run_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    tag VARCHAR NOT NULL,
    file VARCHAR NOT NULL
);
-- rank is recomputed at import from the scores, in trec_eval's order.
CREATE TABLE rankings (
    run_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    score DOUBLE NOT NULL
);

CREATE TABLE sources (source_key INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE);
CREATE TABLE judgments (
    source_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    value SMALLINT NOT NULL
);

-- Passages that a graded file lists under a query belong to its pool whether judged, ranked or neither.
CREATE TABLE listed (query_key INTEGER NOT NULL, passage_key INTEGER NOT NULL, position INTEGER NOT NULL);
-- Cache of (listed, judged, top of every run); rebuilt with what it derives from.
CREATE TABLE pool (
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    text_key INTEGER,
    position INTEGER NOT NULL
);

CREATE TABLE boards (board_key INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, measure VARCHAR NOT NULL);
CREATE TABLE board_scores (
    board_key INTEGER NOT NULL,
    run VARCHAR NOT NULL,
    score DOUBLE NOT NULL,
    std_error DOUBLE,
    rank DOUBLE
);

-- A question that a graded file names by id only has its id as placeholder and no text yet.
CREATE TABLE question_texts (text_key INTEGER PRIMARY KEY, text VARCHAR, placeholder VARCHAR);
CREATE TABLE questions (
    question_key INTEGER PRIMARY KEY,
    question_id VARCHAR NOT NULL UNIQUE,
    query_key INTEGER NOT NULL
);
CREATE TABLE bank_versions (
    version INTEGER PRIMARY KEY,
    note VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    saved_at TIMESTAMP NOT NULL
);
-- Append-only. The bank at version v is, per question, its last revision of a version <= v.
CREATE TABLE question_revisions (
    revision_key INTEGER PRIMARY KEY,
    question_key INTEGER NOT NULL,
    version INTEGER NOT NULL,
    text_key INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    weight DOUBLE NOT NULL,
    active BOOLEAN NOT NULL,
    subtopic_id VARCHAR,
    answer_key VARCHAR,
    choices VARCHAR NOT NULL,
    note VARCHAR,
    position INTEGER NOT NULL,
    parent_revision INTEGER
);
-- What a person has changed and not saved yet: one row a changed or added question.
CREATE TABLE drafts (
    author VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    query_key INTEGER NOT NULL,
    base_version INTEGER NOT NULL,
    content VARCHAR NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    PRIMARY KEY (author, question_id)
);

CREATE TABLE graders (
    grader_key INTEGER PRIMARY KEY,
    fingerprint VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL UNIQUE,
    method VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    parameters VARCHAR NOT NULL,
    kinds VARCHAR NOT NULL,
    max_rating TINYINT NOT NULL
);
-- Usable grades, one per (grader, question text, passage text), never edited, never deleted.
-- No index: the one writer anti-joins, and five million rows stay small and quick to append.
CREATE TABLE grades (
    grader_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    rating TINYINT NOT NULL,
    defaulted BOOLEAN NOT NULL,
    confidence FLOAT,
    answer VARCHAR,
    raw VARCHAR,
    job_key INTEGER NOT NULL
);
-- Every attempt that gave nothing usable. A pair has failed where it is here and not in grades.
CREATE TABLE failures (
    grader_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    reason VARCHAR NOT NULL,
    raw VARCHAR,
    job_key INTEGER NOT NULL
);

CREATE TABLE jobs (
    job_key INTEGER PRIMARY KEY,
    grader_key INTEGER NOT NULL,
    asked VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    total INTEGER NOT NULL,
    graded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    message VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP
);

CREATE TABLE activity (
    activity_key INTEGER PRIMARY KEY,
    happened_at TIMESTAMP NOT NULL,
    author VARCHAR NOT NULL,
    act VARCHAR NOT NULL,
    detail VARCHAR NOT NULL
);
