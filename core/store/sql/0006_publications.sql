-- Qrels that were published. Grades and bank versions are only ever added to, so a publication names how far they
-- went; what later work changes in place is kept beside it. Keys below publication_key were there before it.
CREATE TABLE publications (
    publication_key INTEGER PRIMARY KEY,
    published_at TIMESTAMP NOT NULL,
    author VARCHAR NOT NULL,
    manifest VARCHAR NOT NULL,
    pool_key INTEGER NOT NULL,
    grades BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    -- Those that nobody had withdrawn by then.
    override_keys INTEGER[] NOT NULL
);
-- Imports and the pool depth change the pool. Publications of one pool share it.
CREATE TABLE published_pools (pool_key INTEGER PRIMARY KEY, sha256 VARCHAR NOT NULL UNIQUE);
CREATE TABLE published_passages (
    pool_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    text_key INTEGER,
    position INTEGER NOT NULL
);
-- Imports may replace what a query says.
CREATE TABLE published_queries (
    publication_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    narrative VARCHAR,
    answer VARCHAR
);
-- Questions that were known by id only. When their texts come and turn out to be there already, revisions and
-- grades pass to the text that was there: these are the ones (grades by rowid) that were still theirs.
CREATE TABLE published_awaited (
    publication_key INTEGER NOT NULL,
    text_key INTEGER NOT NULL,
    revision_keys INTEGER[] NOT NULL,
    grade_rows BIGINT[] NOT NULL
);
