-- The sentences of generated responses. text_key is that of the passage of the response that has the sentence.
CREATE VIEW sentences AS
SELECT run_key, name AS run, query_key, rank, passage_key, position, text_key, citations,
    substr(text, begins + 1, ends - begins) AS sentence
FROM responses JOIN runs USING (run_key) JOIN rankings USING (run_key, query_key) JOIN passages USING (passage_key)
JOIN passage_texts USING (text_key) JOIN response_sentences USING (passage_key);

-- Every citation of every sentence; place counts those of a sentence from 1. sentence_key, the key of the sentence among the
-- texts that graders are asked, is NULL before any grader is asked. cited_key is NULL for a citation whose text the project
-- does not have: it is unresolved.
CREATE VIEW cited AS
SELECT c.*, s.text_key AS sentence_key, p.text_key AS cited_key, p.passage_key AS cited_passage
FROM (SELECT * EXCLUDE (citations), unnest(citations) AS cited_id, generate_subscripts(citations, 1) AS place FROM sentences) c
LEFT JOIN passages p ON p.passage_id = cited_id LEFT JOIN question_texts s ON s.text = sentence;

-- Values that assessors gave in a double assignment, as long as it is open: they do not count yet.
CREATE VIEW held_support AS
SELECT DISTINCT v.support_value_key, v.author, d.double_key
FROM support_values v JOIN cited c ON c.sentence_key = v.question_text_key AND c.cited_key = v.passage_text_key
JOIN doubles d USING (query_key) JOIN double_people p ON p.double_key = d.double_key AND p.name = v.author
WHERE d.ended_at IS NULL AND v.support_value_key > d.double_key
AND (d.passage_keys IS NULL OR list_contains(d.passage_keys, c.passage_key));

CREATE OR REPLACE VIEW current_support AS
SELECT question_text_key, passage_text_key, arg_max(value, last) AS value, arg_max(author, last) AS author
FROM (SELECT question_text_key, passage_text_key, author, arg_max_null(value, support_value_key) AS value, max(support_value_key) AS last
    FROM support_values WHERE support_value_key NOT IN (SELECT support_value_key FROM held_support) GROUP BY ALL)
WHERE value IS NOT NULL GROUP BY ALL;
