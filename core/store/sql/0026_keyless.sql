-- The tables that grow with what is imported have no index: a transaction holds all of one in memory until it ends, so that
-- an import took more of it the larger its file was. As for grades, the one writer anti-joins before it inserts, and what
-- should be there once is looked at by exam check. The rows stay in their order.
ALTER TABLE passage_texts RENAME TO keyed_passage_texts;
CREATE TABLE passage_texts (text_key INTEGER NOT NULL, text VARCHAR NOT NULL);
INSERT INTO passage_texts FROM keyed_passage_texts ORDER BY rowid;
DROP TABLE keyed_passage_texts;

ALTER TABLE passages RENAME TO keyed_passages;
CREATE TABLE passages (passage_key INTEGER NOT NULL, passage_id VARCHAR NOT NULL, text_key INTEGER);
INSERT INTO passages FROM keyed_passages ORDER BY rowid;
DROP TABLE keyed_passages;

ALTER TABLE question_texts RENAME TO keyed_question_texts;
CREATE TABLE question_texts (text_key INTEGER NOT NULL, text VARCHAR, placeholder VARCHAR);
INSERT INTO question_texts FROM keyed_question_texts ORDER BY rowid;
DROP TABLE keyed_question_texts;

ALTER TABLE questions RENAME TO keyed_questions;
CREATE TABLE questions (question_key INTEGER NOT NULL, question_id VARCHAR NOT NULL, query_key INTEGER NOT NULL);
INSERT INTO questions FROM keyed_questions ORDER BY rowid;
DROP TABLE keyed_questions;

ALTER TABLE question_revisions RENAME TO keyed_question_revisions;
CREATE TABLE question_revisions (
    revision_key INTEGER NOT NULL,
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
INSERT INTO question_revisions FROM keyed_question_revisions ORDER BY rowid;
DROP TABLE keyed_question_revisions;
