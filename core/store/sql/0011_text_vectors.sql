-- What the encoder of the embedding grader made of a text, so that it is encoded once and not once a session. A cache:
-- every row can be computed again, so rows may be deleted at any time and exports leave the table out.
-- digest: of the text (BLAKE2b, 16 bytes). vector: 384 float32. sentences: 384 float16 for each sentence of a passage
-- that has several, since these only choose the answer; empty otherwise.
CREATE TABLE text_vectors (
    encoder VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    sentences BLOB NOT NULL
);
