-- Objects of other tools as they came, so that an export can write back fields that have no column here. name: the run of a
-- report; else empty. content: a JSON object.
CREATE TABLE kept_objects (
    form VARCHAR NOT NULL,
    query_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    content VARCHAR NOT NULL
);
