-- A case that was settled by an override is open again as soon as that rating no longer counts: it was withdrawn, even
-- where an older one took its place, or the question was reworded and nobody has confirmed it for the new wording.
CREATE OR REPLACE VIEW settled_cases AS
SELECT * EXCLUDE (side_a, side_b) FROM (
    SELECT s.*, least(left_side, right_side) AS side_a, greatest(left_side, right_side) AS side_b FROM settlings s
    QUALIFY row_number() OVER (
        PARTITION BY least(left_side, right_side), greatest(left_side, right_side), query_key, passage_key, question_key
        ORDER BY settling_key DESC) = 1) c
WHERE act <> 'reopen' AND (act <> 'override' OR rating = (
    SELECT o.rating FROM current_overrides o JOIN passages p ON p.text_key = o.passage_text_key
    JOIN question_revisions r ON r.text_key = o.question_text_key
    WHERE p.passage_key = c.passage_key AND r.question_key = c.touched_question_key AND r.version = (
        SELECT max(version) FROM question_revisions n WHERE n.question_key = c.touched_question_key)));
