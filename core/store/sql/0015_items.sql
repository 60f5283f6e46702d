-- What is kept of an item of an exam beside its question, which the bank has with its words, choices and key: at most one
-- row a question. raw: what a model wrote, word for word. shuffle_seed: by which its choices were put into their order;
-- NULL where they stand as a person or a file gave them.
CREATE TABLE items (
    question_key INTEGER NOT NULL,
    source_passage_key INTEGER,
    topic VARCHAR,
    raw VARCHAR,
    shuffle_seed BIGINT
);
-- The rest of a proposal that is an item: the id of the question that it becomes, its choices in their order, as a JSON
-- list, and the text of the right one.
CREATE TABLE proposed_items (
    proposal_key INTEGER NOT NULL,
    question_id VARCHAR NOT NULL,
    choices VARCHAR NOT NULL,
    answer_key VARCHAR NOT NULL,
    topic VARCHAR,
    shuffle_seed BIGINT
);
-- Categories that a person gave an item in the place of the computed ones; at most one row a question and scheme.
CREATE TABLE item_categories (
    question_key INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    categories VARCHAR[] NOT NULL,
    author VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL
);
-- Rankings of passages for items, apart from the runs of systems: items are no queries, so that no board of systems and
-- no pool changes with them. Append-only: another ranking is another retrieval.
CREATE TABLE retrievals (
    retrieval_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    made_by VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
CREATE TABLE retrieved (
    retrieval_key INTEGER NOT NULL,
    question_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    score DOUBLE NOT NULL
);
