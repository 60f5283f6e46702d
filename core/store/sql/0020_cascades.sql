-- A cascade: a cheap grader for all passages of the pool, an expensive one for a sample and for those where that tells to
-- ask again. A plan is never edited, and nothing that is computed from it is kept: its labels are a function of the plan
-- and of the grades of both. measure: gives what each passage weighs. policy: JSON, with the fingerprint of the expensive
-- grader and the bank version. cheap: fingerprint of the other. agreement, promise, alpha, delta: what is promised.
CREATE TABLE cascades (
    cascade_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    measure VARCHAR NOT NULL,
    policy VARCHAR NOT NULL,
    cheap VARCHAR NOT NULL,
    agreement VARCHAR NOT NULL,
    promise VARCHAR NOT NULL,
    alpha DOUBLE NOT NULL,
    delta DOUBLE NOT NULL,
    seed BIGINT NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
-- Every passage that some system had within the measure's cutoff when the cascade was planned. weight: mean over pairs of
-- systems of the absolute difference of the discounts of its ranks, over the number of queries. depth: its best rank in any of them. learned, tested: how often the sample drew
-- it to learn what the cheap grader's ratings stand for, and to test thresholds.
CREATE TABLE cascade_passages (
    cascade_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    weight DOUBLE NOT NULL,
    depth INTEGER NOT NULL,
    learned INTEGER NOT NULL,
    tested INTEGER NOT NULL
);
