-- An audit: a plan to correct the machine's board by judgments of a random sample. A plan is never edited; what was done
-- about it is added. measure: linear in the gains of passages. policy: JSON, with the fingerprint of the grader and the
-- bank version. graders: fingerprints of further graders from whose ratings judgments are predicted. goal: JSON.
-- source: of the judgments that it gives, from 0 to highest. batch_size: passages of each batch, by which the shares of batches are fixed
-- before anything is drawn. looks: how often the board is looked at, so over how many the error alpha is spent.
CREATE TABLE audits (
    audit_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    measure VARCHAR NOT NULL,
    policy VARCHAR NOT NULL,
    graders VARCHAR[] NOT NULL,
    goal VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    highest SMALLINT NOT NULL,
    batch_size INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    alpha DOUBLE NOT NULL,
    seed BIGINT NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
-- The systems that it is about, the queries that its means are over, and what stood at which rank when it was planned:
-- a run that is imported anew changes nothing of an audit.
CREATE TABLE audit_runs (audit_key INTEGER NOT NULL, run_key INTEGER NOT NULL, position INTEGER NOT NULL);
CREATE TABLE audit_queries (audit_key INTEGER NOT NULL, query_key INTEGER NOT NULL, position INTEGER NOT NULL);
CREATE TABLE audit_ranks (
    audit_key INTEGER NOT NULL,
    run_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL
);
-- size: how many passages were to be drawn. design: JSON, how the chances came about.
CREATE TABLE audit_batches (
    batch_key INTEGER PRIMARY KEY,
    audit_key INTEGER NOT NULL,
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    design VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    drawn_at TIMESTAMP NOT NULL
);
-- Every passage that counts for a system, with the chance that it had to be drawn. known: the judgment that the source
-- had before; such a passage has the chance 1 and is not drawn. size: to what its chance is proportional before it is
-- capped; 0 for what was known. doubled: drawn to be judged by a second person, too.
CREATE TABLE audit_chances (
    batch_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    chance DOUBLE NOT NULL,
    size DOUBLE NOT NULL,
    drawn BOOLEAN NOT NULL,
    doubled BOOLEAN NOT NULL,
    known SMALLINT
);
-- Who is judging the drawn passages of which query: in the first turn all of them, in the second those that are doubled.
-- Given back at ended_at, or by itself at until, which moves on with every verdict; NULL where they are judged elsewhere.
CREATE TABLE audit_claims (
    claim_key INTEGER PRIMARY KEY,
    batch_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    turn TINYINT NOT NULL,
    assessor VARCHAR NOT NULL,
    claimed_at TIMESTAMP NOT NULL,
    until TIMESTAMP,
    ended_at TIMESTAMP
);
-- What people said of drawn passages. Append-only: what was said last in a turn counts. said: judged, cannot say, skipped
-- (left to somebody else or for later), or taken back.
CREATE TABLE audit_verdicts (
    verdict_key INTEGER PRIMARY KEY,
    batch_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    turn TINYINT NOT NULL,
    assessor VARCHAR NOT NULL,
    said VARCHAR NOT NULL,
    value SMALLINT,
    note VARCHAR NOT NULL,
    elsewhere BOOLEAN NOT NULL,
    said_at TIMESTAMP NOT NULL
);
-- Who asked for the machine's label of a drawn passage before judging it.
CREATE TABLE audit_looks (
    look_key INTEGER PRIMARY KEY,
    batch_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    assessor VARCHAR NOT NULL,
    looked_at TIMESTAMP NOT NULL
);
-- Batches that were ended with passages unjudged, and, without a batch, audits that were ended.
CREATE TABLE audit_ends (
    end_key INTEGER PRIMARY KEY,
    audit_key INTEGER NOT NULL,
    batch_key INTEGER,
    author VARCHAR NOT NULL,
    ended_at TIMESTAMP NOT NULL
);
-- Which families of models a part of the evaluation is made with: a run by its name, a grader by its fingerprint, or the
-- questions of the bank (no name). Append-only: what was stated last counts.
CREATE TABLE model_families (
    family_key INTEGER PRIMARY KEY,
    part VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    families VARCHAR[] NOT NULL,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
