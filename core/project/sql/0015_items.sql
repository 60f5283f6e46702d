-- What a multiple-choice item has beside its question: where it was made from, what about, and how its choices were
-- shuffled. Of questions without a row nothing of this is known.
CREATE TABLE items(
    question_key INTEGER NOT NULL,
    source_passage_key INTEGER,
    topic VARCHAR,
    raw VARCHAR,
    shuffle_seed BIGINT
);
