-- Who may do what. Append-only: what was stated last of an identity counts. role is NULL where somebody was removed.
-- queries: ids of the queries that an assessor is limited to; NULL for all of them.
CREATE TABLE members (
    member_key INTEGER PRIMARY KEY,
    identity VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    role VARCHAR,
    queries VARCHAR[],
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
