-- Relations that much of the program asks for, under names of their own. They read what the names of tables stand for
-- where they are asked, the passing views of a publication's past as well.

-- The revisions that make up the bank at a version, one a question.
CREATE MACRO bank_at(upto) AS TABLE
  FROM question_revisions WHERE version <= upto
  QUALIFY row_number() OVER (PARTITION BY question_key ORDER BY version DESC) = 1;

-- Every subtopic that a query declares or a question names.
CREATE MACRO all_subtopics() AS TABLE
  SELECT query_key, subtopic_id, text FROM subtopics
  UNION ALL
  SELECT DISTINCT query_key, subtopic_id, subtopic_id
  FROM question_revisions JOIN questions USING (question_key) ANTI JOIN subtopics USING (query_key, subtopic_id)
  WHERE subtopic_id IS NOT NULL;

-- The topics among the queries: topic_key (their own query_key), and the query_key and subtopic_id they stand for.
CREATE MACRO topics() AS TABLE
  SELECT DISTINCT t.query_key AS topic_key, s.query_key, s.subtopic_id
  FROM all_subtopics() s JOIN queries q ON q.query_key = s.query_key
  JOIN queries t ON t.query_id = q.query_id || '/' || s.subtopic_id;

-- The queries that have topics and no ranking of their own: runs answer them topic by topic, or not at all.
CREATE MACRO answered_by_topic() AS TABLE
  SELECT DISTINCT query_key FROM topics() ANTI JOIN rankings USING (query_key);

-- Who may ask the questions of a query: asking_key is the query itself, then every topic of it with its subtopic_id.
CREATE MACRO places() AS TABLE
  SELECT query_key AS asking_key, query_key, NULL AS subtopic_id FROM queries
  UNION ALL
  FROM topics();

-- What a direct judge is asked of every query: its title and answer; of a topic those of the query that it is part of.
-- The papers' judges are asked by the query's title, and their verdict counts in every section of it.
CREATE MACRO titles() AS TABLE
  SELECT q.query_key, coalesce(w.text, q.text) AS text, coalesce(w.answer, q.answer) AS answer
  FROM queries q
  LEFT JOIN (SELECT topic_key, min(query_key) AS query_key FROM topics() GROUP BY topic_key) t ON t.topic_key = q.query_key
  LEFT JOIN queries w ON w.query_key = t.query_key;
