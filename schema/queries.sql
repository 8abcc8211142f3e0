-- Every statement that peakd runs, by name: core/record/query.c finds a statement by the line "-- name: X" above it.
-- Rows are read by the names of their columns (base/layout.h), so a select may give them in any order, or all with "*".
-- Parameters ?1, ?2, ... are bound in the order in which the C code puts values. LIMIT -1 is no limit.

-- A template: query_add puts in the table, its columns and their values.
-- name: row_add
INSERT INTO table_name (column_names) VALUES (column_values) RETURNING rowid;

-- name: store_open
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
PRAGMA journal_size_limit = 67108864;
PRAGMA temp_store = MEMORY;
-- KiB of pages that a handle keeps. The daemon keeps up to 16 idle handles, and the system caches the file anyway.
PRAGMA cache_size = -512;

-- name: store_wal
PRAGMA journal_mode = WAL;

-- name: store_version
SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
       (SELECT count(*) FROM sqlite_schema);

-- name: store_begin
BEGIN IMMEDIATE;

-- name: store_commit
COMMIT;

-- name: store_rollback
ROLLBACK;

-- name: store_savepoint
SAVEPOINT inner;

-- name: store_release
RELEASE inner;

-- name: store_rollback_inner
ROLLBACK TO inner;

-- Rows of checks are findings for people; "ok" is none.
-- name: store_integrity
PRAGMA integrity_check;

-- name: store_quick_check
PRAGMA quick_check(1);

-- name: store_foreign_keys
SELECT format('row %s of %s points at a row of %s that is not there', rowid, "table", parent) FROM pragma_foreign_key_check;

-- name: store_copy
VACUUM INTO ?1;

-- name: check_blobs
SELECT hash, data FROM blob;

-- name: check_evidence
SELECT format('measurement %d: its evidence, validation %d, is of another checkpoint, device or parameters', m.id, v.id)
FROM measurement m JOIN validation v ON v.id = m.validation_id
WHERE v.checkpoint_id <> m.checkpoint_id OR v.device <> m.device OR v.params <> m.params;

-- name: check_comparisons
SELECT format('comparison %d: its evidence, validation %d, is of another checkpoint, device or parameters', c.id, v.id)
FROM comparison c JOIN validation v
     ON (v.id = c.a_validation AND (v.checkpoint_id <> c.a_id OR v.device <> c.device OR v.params <> c.a_params))
     OR (v.id = c.b_validation AND (v.checkpoint_id <> c.b_id OR v.device <> c.device OR v.params <> c.b_params));

-- name: check_jobs
SELECT format('job %s is %s, and its row says that it ended at %d', id, state, ended_ms) FROM job
WHERE (state IN ('done', 'failed', 'cancelled', 'interrupted')) <> (ended_ms > 0);

-- name: check_events
SELECT format('job %s is %s, and its newest event is %s', j.id, j.state, v.kind)
FROM job j LEFT JOIN job_event v ON v.job_id = j.id AND v.seq = (SELECT max(seq) FROM job_event WHERE job_id = j.id)
WHERE j.state IN ('done', 'failed', 'cancelled') AND v.kind IS NOT j.state;

-- name: check_heads
SELECT format('workflow %s is at checkpoint %d, and its newest move leads to %d', w.name, w.head_id, m.to_id)
FROM workflow w JOIN workflow_move m ON m.id = (SELECT max(id) FROM workflow_move WHERE workflow_id = w.id)
WHERE m.to_id <> w.head_id;

-- name: check_lines
SELECT format('workflow %s: its root, checkpoint %d, is no ancestor of its head %d', w.name, w.root_id, w.head_id) FROM workflow w
WHERE w.root_id NOT IN (
	WITH RECURSIVE line (id) AS (
		SELECT w.head_id UNION SELECT p.parent_id FROM checkpoint_parent p JOIN line ON p.checkpoint_id = line.id)
	SELECT id FROM line);

-- name: blob_put
INSERT INTO blob (hash, data) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING;

-- name: blob_get
SELECT data FROM blob WHERE hash = ?1;

-- name: blob_has
SELECT 1 FROM blob WHERE hash = ?1;

-- name: job_add
INSERT INTO job (id, kind, request, state, created_ms) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: job_get
SELECT *, (SELECT coalesce(max(seq), 0) FROM job_event WHERE job_id = job.id) AS last_event FROM job WHERE id = ?1;

-- name: job_list
SELECT *, (SELECT coalesce(max(seq), 0) FROM job_event WHERE job_id = job.id) AS last_event FROM job
WHERE (?1 IS NULL OR kind = ?1) AND (NOT ?2 OR state IN ('queued', 'running', 'interrupted'))
      AND (?4 IS NULL OR rowid < (SELECT rowid FROM job WHERE id = ?4))
ORDER BY rowid DESC LIMIT ?3;

-- name: job_in_state
SELECT *, (SELECT coalesce(max(seq), 0) FROM job_event WHERE job_id = job.id) AS last_event FROM job WHERE state = ?1 ORDER BY rowid;

-- name: job_ended
SELECT count(*) FROM job WHERE ended_ms > 0;

-- name: job_count
SELECT count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'queued') AS queued,
       count(*) FILTER (WHERE state = 'interrupted') AS interrupted, count(*) FILTER (WHERE state = 'failed' AND ended_ms > ?1) AS failed
FROM job WHERE state IN ('running', 'queued', 'interrupted', 'failed');

-- name: job_state
SELECT state, cancel FROM job WHERE id = ?1;

-- name: job_set_state
UPDATE job SET state = ?2,
       started_ms = CASE WHEN ?2 = 'running' THEN max(?3, created_ms) ELSE started_ms END,
       ended_ms = CASE WHEN ?2 IN ('done', 'failed', 'cancelled', 'interrupted') THEN max(?3, created_ms, started_ms) ELSE 0 END,
       result = ?4, error_code = ?5, error_text = ?6
WHERE id = ?1;

-- name: job_set_cancel
UPDATE job SET cancel = 1 WHERE id = ?1;

-- name: event_add
INSERT INTO job_event (job_id, seq, created_ms, kind, progress, total, message)
VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM job_event WHERE job_id = ?1), ?2, ?3, ?4, ?5, ?6)
RETURNING seq;

-- name: event_since
SELECT * FROM job_event
WHERE job_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: event_trace
SELECT message FROM job_event WHERE job_id = ?1 AND kind = 'trace' LIMIT 1;

-- name: event_last
SELECT (SELECT coalesce(max(seq), 0) FROM job_event WHERE job_id = ?1) FROM job WHERE id = ?1;

-- name: checkpoint_by_hash
SELECT id FROM checkpoint WHERE hash = ?1;

-- name: checkpoint_hash
SELECT hash FROM checkpoint WHERE id = ?1;

-- name: checkpoint_add
INSERT INTO checkpoint (hash, context, kernel, backend, by_name, by_text, domain, status, note, created_ms)
VALUES (:hash, :context, :kernel, :backend, :by_name, :by_text, :domain, :status, :note, :created_ms) RETURNING id;

-- name: checkpoint_add_parent
INSERT INTO checkpoint_parent (checkpoint_id, ord, parent_id) VALUES (?1, ?2, ?3);

-- name: checkpoint_get
SELECT * FROM checkpoint_parents WHERE id = ?1;

-- name: checkpoint_list
SELECT * FROM checkpoint_parents ORDER BY id DESC LIMIT ?1;

-- name: checkpoint_log
WITH RECURSIVE line (id) AS (
	SELECT ?1
	UNION
	SELECT p.parent_id FROM checkpoint_parent p JOIN line ON p.checkpoint_id = line.id)
SELECT * FROM checkpoint_parents WHERE id IN (SELECT id FROM line) ORDER BY id DESC LIMIT ?2;

-- name: checkpoint_context
SELECT context FROM checkpoint WHERE id = ?1;

-- name: checkpoint_set_status
UPDATE checkpoint SET status = ?2, note = CASE WHEN ?3 IS NULL THEN note ELSE nullif(?3, '') END WHERE id = ?1;

-- name: checkpoint_first_parent
SELECT parent_id FROM checkpoint_parent WHERE checkpoint_id = ?1 AND ord = 0;

-- name: checkpoint_root
WITH RECURSIVE line (id) AS (
	SELECT ?1
	UNION ALL
	SELECT p.parent_id FROM checkpoint_parent p JOIN line ON p.checkpoint_id = line.id WHERE p.ord = 0)
SELECT c.id FROM line JOIN checkpoint c ON c.id = line.id ORDER BY c.id LIMIT 1;

-- name: checkpoint_by_prefix
SELECT id FROM checkpoint WHERE hash >= ?1 AND hash < ?1 || 'g' ORDER BY hash LIMIT 2;

-- The oldest checkpoint of each context whose hash begins so.
-- name: checkpoint_by_context_prefix
SELECT min(id) FROM checkpoint WHERE context >= ?1 AND context < ?1 || 'g' GROUP BY context LIMIT 2;

-- name: validation_list
SELECT * FROM validation WHERE checkpoint_id = ?1 AND (?2 IS NULL OR device = ?2) ORDER BY id DESC LIMIT ?3;

-- name: validation_failed
SELECT * FROM validation WHERE id IN (
	SELECT max(id) FROM validation WHERE checkpoint_id = ?1 AND device = ?2 AND verdict = 'failed' GROUP BY params)
ORDER BY id DESC LIMIT ?3;

-- name: validation_of
SELECT * FROM validation WHERE checkpoint_id = ?1 AND device = ?2 AND params = ?3 ORDER BY id DESC LIMIT 1;

-- name: validation_count
SELECT verdict, count(*) FROM validation WHERE checkpoint_id = ?1 GROUP BY verdict;

-- name: measurement_list
SELECT m.*, EXISTS (SELECT 1 FROM measurement_proven p WHERE p.id = m.id) AS proven
FROM measurement m
WHERE checkpoint_id = ?1 AND (?2 IS NULL OR run_id = ?2) AND (?3 IS NULL OR device = ?3) AND (?4 IS NULL OR sizes = ?4)
ORDER BY id LIMIT ?5;

-- The newest timing of each set of parameters, fastest first.
-- name: measurement_top
SELECT t.*, EXISTS (SELECT 1 FROM measurement_proven p WHERE p.id = t.id) AS proven
FROM (
	SELECT m.*, row_number() OVER (PARTITION BY m.device, m.params ORDER BY m.id DESC) AS age
	FROM measurement m
	WHERE m.checkpoint_id = ?1 AND m.status = 'ok' AND m.median_ns IS NOT NULL AND (?2 IS NULL OR m.run_id = ?2)
	      AND (?3 IS NULL OR m.device = ?3) AND (?4 IS NULL OR m.sizes = ?4) AND m.cold = ?5
	      AND (?6 OR EXISTS (SELECT 1 FROM measurement_proven p WHERE p.id = m.id))) t
WHERE age = 1 ORDER BY median_ns, id LIMIT ?7;

-- The same, and of these the fastest of each device and sizes.
-- name: measurement_best_each
SELECT t.*, EXISTS (SELECT 1 FROM measurement_proven p WHERE p.id = t.id) AS proven
FROM (
	SELECT *, row_number() OVER (PARTITION BY device, sizes ORDER BY median_ns, id) AS place
	FROM (
		SELECT m.*, row_number() OVER (PARTITION BY m.device, m.params ORDER BY m.id DESC) AS age
		FROM measurement m
		WHERE m.checkpoint_id = ?1 AND m.status = 'ok' AND m.median_ns IS NOT NULL
		      AND (?2 IS NULL OR m.run_id = ?2) AND (?3 IS NULL OR m.device = ?3) AND m.cold = ?4
		      AND (?5 OR EXISTS (SELECT 1 FROM measurement_proven p WHERE p.id = m.id)))
	WHERE age = 1) t
WHERE place = 1 ORDER BY device, sizes;

-- The device of this class that measured a checkpoint last.
-- name: measurement_device
SELECT device FROM measurement m
WHERE checkpoint_id = ?1 AND EXISTS (SELECT 1 FROM fact f WHERE f.device = m.device AND f.key = 'class' AND f.value = ?2)
ORDER BY id DESC LIMIT 1;

-- name: measurement_run_end
UPDATE measurement_run SET ended_ms = ?2 WHERE id = ?1;

-- name: measurement_runs
SELECT * FROM measurement_run WHERE checkpoint_id = ?1 ORDER BY id DESC;

-- name: metric_list
SELECT * FROM (
	SELECT *, row_number() OVER (PARTITION BY device, params, name ORDER BY id DESC) AS age FROM metric
	WHERE checkpoint_id = ?1 AND (?2 IS NULL OR device = ?2) AND (?3 IS NULL OR params = ?3))
WHERE age = 1 ORDER BY name, device, params;

-- Every figure of the record for /metrics. Parts of a search have jobs of their own, so optimize's device seconds would count twice.
-- name: metric_totals
SELECT 'peakd_job_records' AS name, 'kind="' || kind || '",state="' || state || '"' AS labels, count(*) AS value FROM job GROUP BY kind, state
UNION ALL SELECT 'peakd_job_failures', 'kind="' || kind || '",code="' || coalesce(error_code, '') || '"', count(*) FROM job
	WHERE state = 'failed' GROUP BY kind, error_code
UNION ALL SELECT 'peakd_queue_seconds', '', coalesce(max(?1 - created_ms), 0) / 1000.0 FROM job WHERE state = 'queued'
UNION ALL SELECT 'peakd_job_seconds', 'kind="' || kind || '"', sum(ended_ms - started_ms) / 1000.0 FROM job
	WHERE ended_ms > started_ms AND started_ms > 0 GROUP BY kind
UNION ALL SELECT 'peakd_device_seconds', 'kind="' || kind || '"', total(json_extract(result, '$.leased_seconds')) FROM job
	WHERE kind <> 'optimize' AND json_valid(result) GROUP BY kind
UNION ALL SELECT 'peakd_model_cost', '', total(json_extract(result, '$.money')) FROM job WHERE kind = 'optimize' AND json_valid(result)
UNION ALL SELECT 'peakd_model_calls', 'provider=' || json_quote(provider) || ',outcome=' || json_quote(coalesce(outcome, '')), count(*)
	FROM exchange GROUP BY provider, outcome
UNION ALL SELECT 'peakd_model_tokens', 'provider=' || json_quote(provider) || ',direction="in"', total(max(tokens_in, 0))
	FROM exchange GROUP BY provider
UNION ALL SELECT 'peakd_model_tokens', 'provider=' || json_quote(provider) || ',direction="out"', total(max(tokens_out, 0))
	FROM exchange GROUP BY provider
UNION ALL SELECT 'peakd_model_tokens', 'provider=' || json_quote(provider) || ',direction="cached"', total(max(tokens_cached, 0))
	FROM exchange GROUP BY provider
UNION ALL SELECT 'peakd_model_seconds', 'provider=' || json_quote(provider), total(max(latency_ms, 0)) / 1000.0 FROM exchange GROUP BY provider
UNION ALL SELECT 'peakd_verdicts', 'validator=' || json_quote(validator) || ',size=' || json_quote(size_kind) || ',verdict="' || verdict || '"',
	count(*) FROM validation GROUP BY validator, size_kind, verdict
UNION ALL SELECT 'peakd_configurations', 'status=' || json_quote(status), count(*) FROM measurement GROUP BY status
UNION ALL SELECT 'peakd_checkpoints', 'status="' || status || '"', count(*) FROM checkpoint GROUP BY status
UNION ALL SELECT 'peakd_workflows', '', count(*) FROM workflow
UNION ALL SELECT 'peakd_database_bytes', '', page_count * page_size FROM pragma_page_count, pragma_page_size;

-- name: workflow_add
INSERT INTO workflow (name, root_id, head_id, created_ms, moved_ms) VALUES (?1, ?2, ?3, ?4, ?4) RETURNING id;

-- name: workflow_add_move
INSERT INTO workflow_move (workflow_id, action, from_id, to_id, created_ms) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: workflow_set_head
UPDATE workflow SET head_id = ?2, moved_ms = ?3 WHERE id = ?1;

-- name: workflow_get
SELECT * FROM workflow WHERE name = ?1;

-- name: workflow_list
SELECT * FROM workflow ORDER BY name;

-- name: workflow_reflog
SELECT * FROM workflow_move WHERE workflow_id = ?1 ORDER BY id DESC;

-- name: workflow_tag_add
INSERT INTO workflow_tag (name, checkpoint_id, created_ms) VALUES (?1, ?2, ?3);

-- name: workflow_tag_get
SELECT checkpoint_id FROM workflow_tag WHERE name = ?1;

-- name: workflow_tags
SELECT * FROM workflow_tag ORDER BY name;

-- name: workflow_rename
UPDATE workflow SET name = ?2 WHERE id = ?1;

-- name: workflow_rename_pending
UPDATE pending SET workflow = ?2 WHERE workflow = ?1;

-- name: workflow_delete_moves
DELETE FROM workflow_move WHERE workflow_id = ?1;

-- name: workflow_delete
DELETE FROM workflow WHERE id = ?1;

-- name: workflow_names
SELECT name FROM workflow UNION SELECT name FROM workflow_tag;

-- What the page shows, each as one JSON text (core/record/workflow.c, workflow_view). ?1 is a workflow's name, a checkpoint's number or an
-- exchange's. ?2 pages: only rows before that number, 0 for the newest. The first page is short, so that it is there at once.
-- name: page_graph
WITH RECURSIVE family (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM family f JOIN checkpoint_parent p ON p.parent_id = f.id),
page AS (
	SELECT * FROM checkpoint_parents WHERE id IN (SELECT id FROM family) AND (?2 = 0 OR id < ?2)
	ORDER BY id DESC LIMIT iif(?2 = 0, 200, 5000))
SELECT json_object('name', name, 'root', root_id, 'head', head_id, 'moved_ms', moved_ms,
       'total', (SELECT count(*) FROM family),
       'tags', json((SELECT json_group_array(json_array(t.name, t.checkpoint_id)) FROM workflow_tag t WHERE t.checkpoint_id IN (SELECT id FROM family))),
       'rows', json((SELECT json_group_array(json_array(id, parents, by_name, status, note, created_ms)) FROM page)))
FROM workflow WHERE name = ?1;

-- Prices are those of the search that the exchange was a part of, in money for a million tokens.
-- name: page_exchanges
WITH RECURSIVE family (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM family f JOIN checkpoint_parent p ON p.parent_id = f.id),
asked AS (
	SELECT x.*, j.request AS request, coalesce(
	       (SELECT o.request FROM decision d JOIN job o ON o.id = d.search WHERE d.transform_job = x.job_id), j.request) AS search
	FROM exchange x LEFT JOIN job j ON j.id = x.job_id
	WHERE (?2 = 0 OR x.id < ?2) AND (json_extract(j.request, '$.checkpoint') IN (SELECT id FROM family)
	      OR x.context IN (SELECT context FROM checkpoint WHERE id IN (SELECT id FROM family)))
	ORDER BY x.id DESC LIMIT 500)
SELECT json_group_array(json_object('id', id, 'checkpoint', json_extract(request, '$.checkpoint'), 'transformation', transformation, 'pass', pass,
       'step', step, 'attempt', attempt, 'model', model, 'provider', provider, 'finish', finish, 'outcome', outcome, 'tokens_in', tokens_in,
       'tokens_out', tokens_out, 'tokens_cached', tokens_cached, 'latency_ms', latency_ms, 'job', job_id, 'created_ms', created_ms,
       'price_in', json_extract(search, '$.price_in'), 'price_out', json_extract(search, '$.price_out')))
FROM asked;

-- name: page_exchange
SELECT json_object('prompt', CAST(p.data AS TEXT), 'reply', CAST(r.data AS TEXT))
FROM exchange x JOIN blob p ON p.hash = x.prompt LEFT JOIN blob r ON r.hash = x.reply WHERE x.id = ?1 AND ?2 >= 0;

-- name: page_decisions
WITH RECURSIVE family (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM family f JOIN checkpoint_parent p ON p.parent_id = f.id)
SELECT json_group_array(json_object('id', id, 'search', search, 'seq', seq, 'policy', policy, 'kind', kind, 'checkpoint', checkpoint_id,
       'made', made_id, 'transformation', transformation, 'expected_low', expected_low, 'expected_high', expected_high, 'reason', reason,
       'outcome', outcome, 'gain', gain, 'low', low, 'high', high, 'note', note, 'seconds', seconds, 'device_seconds', device_seconds,
       'calls', calls, 'tokens_in', tokens_in, 'tokens_out', tokens_out, 'created_ms', created_ms))
FROM (SELECT * FROM decision WHERE checkpoint_id IN (SELECT id FROM family) AND (?2 = 0 OR id < ?2) ORDER BY id DESC LIMIT 500);

-- Transformations that did not become a checkpoint.
-- name: page_tries
WITH RECURSIVE family (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM family f JOIN checkpoint_parent p ON p.parent_id = f.id)
SELECT json_group_array(json_object('id', number, 'pending', id, 'checkpoint', parent_id, 'transformation', transformation, 'pass', pass, 'step', step,
       'attempt', attempt, 'state', state, 'verdict', verdict, 'job', job_id, 'updated_ms', updated_ms))
FROM (SELECT rowid AS number, * FROM pending WHERE parent_id IN (SELECT id FROM family) AND checkpoint_id IS NULL AND (?2 = 0 OR rowid < ?2)
      ORDER BY rowid DESC LIMIT 500);

-- name: page_profiles
SELECT json_group_array(json_object('job', id, 'ended_ms', ended_ms, 'result', json(result)))
FROM (SELECT * FROM job WHERE kind = 'profile' AND state = 'done' AND json_valid(result)
      AND json_extract(request, '$.checkpoint') = CAST(?1 AS INTEGER) AND (?2 = 0 OR rowid < ?2) ORDER BY rowid DESC LIMIT 5);

-- name: exchange_list
SELECT x.id AS id, context, transformation, pass, step, attempt, text_hash, model, provider, p.data AS prompt, r.data AS reply,
       finish, outcome, tokens_in, tokens_out, tokens_cached, latency_ms, job_id, created_ms
FROM exchange x JOIN blob p ON p.hash = x.prompt LEFT JOIN blob r ON r.hash = x.reply
WHERE (?1 IS NULL OR job_id = ?1) AND (?2 IS NULL OR transformation = ?2)
ORDER BY x.id LIMIT ?3;

-- name: exchange_spent
SELECT count(*) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(tokens_cached) AS tokens_cached
FROM exchange WHERE job_id = ?1;

-- Each exchange with the transformation that it was a part of: that of its job, or the one that the job's request continued.
-- name: trajectory_list
SELECT x.id AS id, x.created_ms AS created_ms, x.context AS context_hash, c.data AS context, x.transformation AS transformation,
       t.data AS transformation_text, x.pass AS pass, x.step AS step, x.attempt AS attempt, x.model AS model, x.provider AS provider,
       p.data AS prompt, r.data AS reply, x.finish AS finish, x.outcome AS outcome, x.tokens_in AS tokens_in, x.tokens_out AS tokens_out,
       x.tokens_cached AS tokens_cached, x.latency_ms AS latency_ms, w.state AS state, w.verdict AS verdict, w.checkpoint_id AS checkpoint,
       a.hash AS parent_hash, k.hash AS checkpoint_hash, k.status AS status, d.data AS result
FROM exchange x JOIN blob p ON p.hash = x.prompt LEFT JOIN blob r ON r.hash = x.reply
LEFT JOIN blob c ON c.hash = x.context LEFT JOIN blob t ON t.hash = x.text_hash
LEFT JOIN pending w ON w.id = coalesce(
	(SELECT id FROM pending WHERE job_id = x.job_id ORDER BY rowid DESC LIMIT 1),
	(SELECT json_extract(request, '$.pending') FROM job WHERE id = x.job_id))
LEFT JOIN checkpoint a ON a.id = w.parent_id LEFT JOIN checkpoint k ON k.id = w.checkpoint_id LEFT JOIN blob d ON d.hash = k.context
WHERE ?1 IS NULL OR x.transformation = ?1
ORDER BY x.id;

-- A checkpoint against its parents, whichever was timed as A; devices by their class.
-- name: trajectory_speed
SELECT coalesce(f.value, 'unknown') AS device, c.sizes AS sizes, c.cold AS cold,
       EXISTS (SELECT 1 FROM comparison_proven v WHERE v.id = c.id) AS quotable,
       CASE WHEN c.b_id = ?1 THEN c.b_params ELSE c.a_params END AS params,
       CASE WHEN c.b_id = ?1 THEN c.a_params ELSE c.b_params END AS parent_params, c.a_start AS parent_start,
       CASE WHEN c.b_id = ?1 THEN 1 / c.ratio ELSE c.ratio END AS speedup,
       CASE WHEN c.b_id = ?1 THEN 1 / c.high ELSE c.low END AS low,
       CASE WHEN c.b_id = ?1 THEN 1 / c.low ELSE c.high END AS high,
       CASE WHEN c.b_id = ?1 OR c.verdict NOT IN ('faster', 'slower') THEN c.verdict
            WHEN c.verdict = 'faster' THEN 'slower' ELSE 'faster' END AS verdict
FROM checkpoint_parent p
CROSS JOIN comparison c ON (c.b_id = ?1 AND c.a_id = p.parent_id) OR (c.b_id = p.parent_id AND c.a_id = ?1)
LEFT JOIN fact f ON f.device = c.device AND f.key = 'class'
WHERE p.checkpoint_id = ?1
ORDER BY c.id;

-- name: trajectory_evidence
SELECT v.validator AS validator, coalesce(f.value, 'unknown') AS device, v.sizes AS sizes, v.params AS params, v.verdict AS verdict,
       v.reason AS reason, v.error AS error, v.tolerance AS tolerance
FROM validation v LEFT JOIN fact f ON f.device = v.device AND f.key = 'class'
WHERE v.checkpoint_id = ?1
ORDER BY v.id;

-- name: pending_save
UPDATE pending SET pass = :pass, step = :step, attempt = :attempt, context = :context, state = :state, verdict = :verdict,
       data = :data, checkpoint_id = :checkpoint_id, updated_ms = :updated_ms
WHERE id = :id AND job_id IS :job_id RETURNING 1;

-- name: pending_take
UPDATE pending SET job_id = ?2, updated_ms = ?3
WHERE id = ?1 AND state IN ('open', 'waiting', 'given-up')
      AND (job_id IS ?2 OR job_id IS NULL OR job_id NOT IN (SELECT id FROM job WHERE state IN ('queued', 'running')))
RETURNING 1;

-- name: pending_get
SELECT p.id AS id, parent_id, workflow, transformation, t.data AS text, pass, step, attempt, c.data AS context, state, verdict,
       p.data AS data, job_id, checkpoint_id, created_ms, updated_ms
FROM pending p JOIN blob t ON t.hash = p.text JOIN blob c ON c.hash = p.context WHERE p.id = ?1;

-- name: pending_of_job
SELECT id, checkpoint_id FROM pending
WHERE job_id = ?1 AND state <> 'cancelled' ORDER BY rowid DESC LIMIT 1;

-- name: decision_save
UPDATE decision SET made_id = :made_id, transform_job = :transform_job, tune_job = :tune_job, profile_job = :profile_job, pending = :pending,
       outcome = :outcome, gain = :gain, low = :low, high = :high, note = :note, seconds = :seconds, device_seconds = :device_seconds,
       calls = :calls, tokens_in = :tokens_in, tokens_out = :tokens_out, ended_ms = :ended_ms
WHERE id = :id;

-- Of the search that the job began or continued.
-- name: decision_list
WITH RECURSIVE chain (id) AS (
	SELECT ?1
	UNION
	SELECT json_extract(j.request, '$.continue') FROM chain JOIN job j ON j.id = chain.id WHERE j.kind = 'optimize')
SELECT * FROM decision WHERE search = (SELECT d.search FROM chain JOIN decision d ON d.search = chain.id LIMIT 1) ORDER BY seq;

-- Another job that may still decide in this search: the one that began it, or one that was asked to continue it before job ?2 was.
-- name: decision_rival
WITH RECURSIVE same (id) AS (
	SELECT ?1
	UNION
	SELECT j.id FROM same JOIN job j ON j.kind = 'optimize' AND json_extract(j.request, '$.continue') = same.id)
SELECT j.id FROM same JOIN job j ON j.id = same.id JOIN job me ON me.id = ?2
WHERE j.state IN ('queued', 'running', 'interrupted') AND (j.created_ms, j.rowid) < (me.created_ms, me.rowid)
ORDER BY j.created_ms, j.rowid LIMIT 1;

-- name: decision_search_of
SELECT search FROM decision WHERE checkpoint_id = ?1 OR made_id = ?1 ORDER BY id DESC LIMIT 1;

-- name: fact_set
INSERT INTO fact (device, key, value, created_ms) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (device, key) DO UPDATE SET value = excluded.value, created_ms = excluded.created_ms;

-- name: fact_crash
INSERT INTO fact (device, key, value, created_ms)
SELECT ?1, 'last_crash', format('%s (checkpoint %d), %s: %s', kernel, id, ?3, ?4), ?5 FROM checkpoint WHERE id = ?2
ON CONFLICT (device, key) DO UPDATE SET value = excluded.value, created_ms = excluded.created_ms;

-- name: fact_get
SELECT value FROM fact WHERE device = ?1 AND key = ?2;

-- name: fact_list
SELECT * FROM fact WHERE ?1 IS NULL OR device = ?1 ORDER BY device, key;

-- name: comparison_library
SELECT * FROM comparison WHERE a_id = ?1 AND device = ?2 AND a_params = ?3 AND b_id IS NULL AND cold = ?4 AND disturbed = 0
      AND EXISTS (SELECT 1 FROM validation v WHERE v.id = a_validation AND v.verdict = 'passed')
ORDER BY id DESC LIMIT 1;

-- Both orders: pairs say as much of A as of B.
-- name: comparison_pair
SELECT c.* FROM comparison c
WHERE c.device = ?3 AND c.sizes = ?4 AND c.cold = ?5
      AND ((c.a_id = ?1 AND c.b_id = ?2 AND (?6 IS NULL OR c.a_params = ?6) AND c.b_params = ?7 AND c.a_start >= ?8)
           OR (c.a_id = ?2 AND c.b_id = ?1 AND c.b_params = ?6 AND c.a_params = ?7 AND NOT ?8))
      AND EXISTS (SELECT 1 FROM comparison_proven p WHERE p.id = c.id)
ORDER BY c.id DESC LIMIT 1;

-- name: weighing_of
SELECT * FROM weighing WHERE comparison_id = ?1;

-- A checkpoint against its parent, whichever of them was timed as A. Against the parameters that tuning starts with only where there are
-- no others, and where the parent was tuned (then they are its best): a tuned checkpoint against an untuned parent says little of the
-- transformation. CROSS JOIN: by the index of pairs, since rows of comparisons are long.
-- name: application_pairs
SELECT k.id AS checkpoint, p.parent_id AS parent, k.by_name AS by, c.device AS device, c.sizes AS sizes,
       CASE WHEN c.b_id = k.id THEN 1 / c.ratio ELSE c.ratio END AS speedup,
       CASE WHEN c.b_id = k.id OR c.verdict NOT IN ('faster', 'slower') THEN c.verdict
            WHEN c.verdict = 'faster' THEN 'slower' ELSE 'faster' END AS verdict
FROM checkpoint_parent p
CROSS JOIN comparison c ON (c.b_id = p.checkpoint_id AND c.a_id = p.parent_id) OR (c.b_id = p.parent_id AND c.a_id = p.checkpoint_id)
JOIN checkpoint k ON k.id = p.checkpoint_id
WHERE p.ord = 0 AND (c.a_start = 0 OR c.a_params = c.sizes
       OR EXISTS (SELECT 1 FROM measurement m WHERE m.checkpoint_id = c.a_id AND m.device = c.device AND m.status = 'ok'))
      AND ((?1 IS NULL AND ?2 IS NULL) OR c.device = ?2 OR c.device IN (SELECT device FROM fact WHERE key = 'class' AND value = ?1))
      AND EXISTS (SELECT 1 FROM comparison_proven v WHERE v.id = c.id)
ORDER BY k.id DESC, c.device, c.sizes, c.a_start, c.id DESC;

-- What was made or given up from any checkpoint of a line.
-- name: application_tried
WITH RECURSIVE line (id) AS (
	SELECT ?1
	UNION
	SELECT p.parent_id FROM checkpoint_parent p JOIN line ON p.checkpoint_id = line.id)
SELECT checkpoint, parent, by, status, note, on_line FROM (
	SELECT c.id AS checkpoint, p.parent_id AS parent, c.by_name AS by, c.status AS status, c.note AS note,
	       c.id IN (SELECT id FROM line) AS on_line, c.created_ms AS at
	FROM checkpoint c JOIN checkpoint_parent p ON p.checkpoint_id = c.id AND p.ord = 0
	WHERE p.parent_id IN (SELECT id FROM line)
	UNION ALL
	SELECT 0, parent_id, transformation, 'given up', verdict, 0, updated_ms FROM pending
	WHERE parent_id IN (SELECT id FROM line) AND state = 'given-up')
ORDER BY at DESC, checkpoint DESC LIMIT ?2;

-- name: measurement_condition_add
INSERT INTO measurement_condition (measurement_id, conditions) VALUES (?1, ?2);

-- Retention: each statement deletes at most ?2 rows and returns one row for each. ?1 is the wall clock before which things are old.

-- "drained" says which results of a bundle were taken, so that taking them twice stays harmless.
-- name: retention_events
DELETE FROM job_event WHERE (job_id, seq) IN (
	SELECT v.job_id, v.seq FROM job j JOIN job_event v ON v.job_id = j.id
	WHERE j.state IN ('done', 'failed', 'cancelled') AND j.ended_ms < ?1 AND v.kind <> 'drained'
	      AND v.seq < (SELECT max(seq) FROM job_event w WHERE w.job_id = j.id) LIMIT ?2)
RETURNING 1;

-- name: retention_jobs
DELETE FROM job WHERE id IN (
	SELECT id FROM job WHERE state IN ('done', 'failed', 'cancelled') AND ended_ms < ?1 LIMIT ?2)
RETURNING 1;

-- What a search left half done is continued by that search alone, as long as it is young.
-- name: retention_pending
DELETE FROM pending WHERE id IN (
	SELECT id FROM pending
	WHERE updated_ms < ?1 AND (state IN ('accepted', 'cancelled') OR id IN (SELECT pending FROM decision)) LIMIT ?2)
RETURNING 1;

-- Kept: what is young, what a workflow, a move of its head, a tag, a half-done transformation or a live job names, what was compared
-- with any of these, and all ancestors. Children have greater numbers than their parents and go first.
-- name: retention_checkpoints
WITH RECURSIVE kept (id) AS (
	SELECT id FROM checkpoint WHERE created_ms >= ?1
	UNION SELECT head_id FROM workflow UNION SELECT root_id FROM workflow
	UNION SELECT to_id FROM workflow_move UNION SELECT from_id FROM workflow_move
	UNION SELECT checkpoint_id FROM workflow_tag
	UNION SELECT parent_id FROM pending UNION SELECT checkpoint_id FROM pending
	UNION SELECT checkpoint_id FROM decision JOIN job ON job.id = search UNION SELECT made_id FROM decision JOIN job ON job.id = search
	UNION SELECT json_extract(request, '$.checkpoint') FROM job WHERE state IN ('queued', 'running', 'interrupted') AND json_valid(request)
	UNION SELECT json_extract(request, '$.a') FROM job WHERE state IN ('queued', 'running', 'interrupted') AND json_valid(request)
	UNION SELECT json_extract(request, '$.b') FROM job WHERE state IN ('queued', 'running', 'interrupted') AND json_valid(request)
	UNION SELECT p.parent_id FROM checkpoint_parent p JOIN kept ON p.checkpoint_id = kept.id
	UNION SELECT b_id FROM comparison JOIN kept ON a_id = kept.id
	UNION SELECT a_id FROM comparison JOIN kept ON b_id = kept.id)
DELETE FROM checkpoint WHERE id IN (
	SELECT id FROM checkpoint WHERE id NOT IN (SELECT id FROM kept WHERE id IS NOT NULL) ORDER BY id DESC LIMIT ?2)
RETURNING 1;

-- name: retention_imports
DELETE FROM measurement WHERE id IN (
	SELECT m.id FROM measurement_run r JOIN measurement m ON m.run_id = r.id
	WHERE r.strategy = 'import' AND r.created_ms < ?1 LIMIT ?2)
RETURNING 1;

-- name: retention_import_runs
DELETE FROM measurement_run WHERE id IN (
	SELECT id FROM measurement_run r WHERE strategy = 'import' AND created_ms < ?1
	       AND NOT EXISTS (SELECT 1 FROM measurement m WHERE m.run_id = r.id) LIMIT ?2)
RETURNING 1;

-- Kept: what asked about a context of a checkpoint, any pass of a transformation that made one, and imported recordings.
-- name: retention_exchanges
DELETE FROM exchange WHERE id IN (
	SELECT id FROM exchange WHERE created_ms < ?1 AND job_id IS NOT NULL
	       AND context NOT IN (SELECT context FROM checkpoint) AND transformation NOT IN (SELECT by_name FROM checkpoint) LIMIT ?2)
RETURNING 1;

-- Not by age: ?1 is not used but for its place.
-- name: retention_blobs
DELETE FROM blob WHERE hash IN (
	SELECT hash FROM blob WHERE ?1 IS NOT NULL AND hash NOT IN (
		SELECT context FROM checkpoint UNION SELECT by_text FROM checkpoint WHERE by_text IS NOT NULL
		UNION SELECT prompt FROM exchange UNION SELECT reply FROM exchange WHERE reply IS NOT NULL
		UNION SELECT text FROM pending UNION SELECT context FROM pending) LIMIT ?2)
RETURNING 1;

-- name: retention_compact
VACUUM;

-- The statements named bench_… are for core/problems/bench.py, which only reads.
-- The checkpoints of a workflow and all that was made of them.
-- name: bench_line
WITH RECURSIVE line (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM checkpoint_parent p JOIN line ON p.parent_id = line.id)
SELECT c.id AS id, c.status AS status, c.note AS note FROM checkpoint c JOIN line ON c.id = line.id ORDER BY c.id;

-- name: bench_job
SELECT id, state, result, error_text, json_extract(request, '$.later') AS later FROM job
WHERE kind = ?1 AND json_extract(request, '$.checkpoint') = ?2 ORDER BY rowid DESC LIMIT 1;

-- Transformations on the line of a workflow, and whether a model answered at all.
-- name: bench_tries
WITH RECURSIVE line (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM checkpoint_parent p JOIN line ON p.parent_id = line.id)
SELECT j.id AS id, j.state AS state, j.error_text AS error_text, EXISTS (SELECT 1 FROM exchange x WHERE x.job_id = j.id) AS asked
FROM job j WHERE j.kind = 'transform' AND json_extract(j.request, '$.checkpoint') IN (SELECT id FROM line) ORDER BY j.rowid;

-- What the judge last said against a transformation's outputs.
-- name: bench_refused
SELECT substr(message, instr(message, ': wrong: ') + 2) AS message FROM job_event
WHERE job_id = ?1 AND instr(message, ': wrong: ') ORDER BY seq DESC LIMIT 1;

-- Jobs on the line of a workflow that wait for another machine.
-- name: bench_later
WITH RECURSIVE line (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM checkpoint_parent p JOIN line ON p.parent_id = line.id)
SELECT count(*) FROM job
WHERE state = 'queued' AND json_extract(request, '$.later') AND json_extract(request, '$.checkpoint') IN (SELECT id FROM line);

-- Pairs with the baseline as it starts, oldest first: ratio below 1 is faster than it.
-- name: bench_pairs
SELECT b_id, sizes, ratio FROM comparison
WHERE a_id = ?1 AND a_start AND cold AND b_id IS NOT NULL AND id IN (SELECT id FROM comparison_proven) ORDER BY id;

-- name: bench_timed
SELECT sizes, params FROM measurement
WHERE checkpoint_id = ?1 AND cold AND id IN (SELECT id FROM measurement_proven) ORDER BY sizes, median_ns;

-- Why the newest job on the line of a workflow failed.
-- name: bench_trouble
WITH RECURSIVE line (id) AS (
	SELECT root_id FROM workflow WHERE name = ?1
	UNION
	SELECT p.checkpoint_id FROM checkpoint_parent p JOIN line ON p.parent_id = line.id)
SELECT (SELECT error_text FROM job
        WHERE state = 'failed' AND json_extract(request, '$.checkpoint') IN (SELECT id FROM line) ORDER BY rowid DESC LIMIT 1);

-- What two workflows cost; the time beside PyTorch apart. An optimize job's own cost is that of its parts.
-- name: bench_spent
WITH RECURSIVE line (id) AS (
	SELECT root_id FROM workflow WHERE name IN (?1, ?2)
	UNION
	SELECT p.checkpoint_id FROM checkpoint_parent p JOIN line ON p.parent_id = line.id),
work (id, kind, leased) AS (
	SELECT j.id, j.kind, coalesce(json_extract(j.result, '$.leased_seconds'), 0) FROM job j
	WHERE coalesce(json_extract(j.request, '$.checkpoint'), json_extract(j.request, '$.a'),
	               (SELECT parent_id FROM pending p WHERE p.id = json_extract(j.request, '$.pending'))) IN (SELECT id FROM line))
SELECT (SELECT count(*) FROM exchange WHERE job_id IN (SELECT id FROM work)) AS calls,
       (SELECT coalesce(sum(max(tokens_in, 0)), 0) FROM exchange WHERE job_id IN (SELECT id FROM work)) AS tokens_in,
       (SELECT coalesce(sum(max(tokens_out, 0)), 0) FROM exchange WHERE job_id IN (SELECT id FROM work)) AS tokens_out,
       (SELECT count(*) FROM work WHERE kind = 'transform') AS attempts,
       (SELECT coalesce(sum(leased), 0) FROM work WHERE kind NOT IN ('optimize', 'pytorch')) AS device_seconds,
       (SELECT coalesce(sum(leased), 0) FROM work WHERE kind = 'pytorch') AS pytorch_seconds;

-- A drain's bundle is attached as `away`. Its rows come over whole, by the ids of their jobs; checkpoints are found by hash, and numbers
-- follow the last of this database. What a job refers to may be evidence of another job, which may have been merged before.
-- name: merge_attach
ATTACH ?1 AS away;

-- name: merge_begin
CREATE TEMP TABLE merge_job AS SELECT '' AS id;
CREATE TEMP TABLE merge_pair (kind TEXT, there INTEGER, here INTEGER, fresh INTEGER, PRIMARY KEY (kind, there));
CREATE TEMP VIEW merge_checkpoint AS SELECT a.id AS there, c.id AS here FROM away.checkpoint a JOIN main.checkpoint c USING (hash);
CREATE TEMP VIEW merge_evidence AS
SELECT e.id FROM merge_job j JOIN (
	SELECT job_id, validation_id AS id FROM away.measurement UNION SELECT job_id, a_validation FROM away.comparison
	UNION SELECT job_id, b_validation FROM away.comparison) e ON e.job_id = j.id WHERE e.id IS NOT NULL;

-- name: merge_end
DROP VIEW merge_evidence;
DROP VIEW merge_checkpoint;
DROP TABLE merge_pair;
DROP TABLE merge_job;
DETACH away;

-- name: merge_job
UPDATE temp.merge_job SET id = ?1;

-- name: merge_missing
SELECT count(*) FROM merge_evidence WHERE id NOT IN (SELECT v.id FROM away.validation v JOIN away.job j ON j.id = v.job_id);

-- name: merge_rows
UPDATE merge_pair SET fresh = 0;
INSERT OR IGNORE INTO merge_pair
SELECT 'validation', id, coalesce(same, id + (SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = 'validation')), same IS NULL
FROM (SELECT v.id, (
	SELECT min(s.id) FROM main.validation s
	WHERE s.checkpoint_id = (SELECT here FROM merge_checkpoint WHERE there = v.checkpoint_id) AND s.device = v.device AND s.params = v.params
	      AND s.validator = v.validator AND s.verdict = v.verdict AND s.seed_hash IS v.seed_hash AND s.job_id IS v.job_id
	      AND s.created_ms = v.created_ms) AS same
	FROM away.validation v WHERE v.job_id = (SELECT id FROM merge_job) OR v.id IN (SELECT id FROM merge_evidence));
INSERT INTO merge_pair
SELECT kind, r.id, r.id + (SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = kind), 1
FROM (SELECT 'measurement_run' AS kind, id, job_id FROM away.measurement_run UNION ALL SELECT 'measurement', id, job_id FROM away.measurement
      UNION ALL SELECT 'metric', id, job_id FROM away.metric UNION ALL SELECT 'comparison', id, job_id FROM away.comparison) r
      JOIN merge_job j ON j.id = r.job_id;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.validation WHERE id IN (SELECT there FROM merge_pair WHERE kind = 'validation' AND fresh);
UPDATE merge_row SET id = (SELECT here FROM merge_pair WHERE kind = 'validation' AND there = id),
       checkpoint_id = (SELECT here FROM merge_checkpoint WHERE there = checkpoint_id);
INSERT INTO main.validation SELECT * FROM merge_row;
DROP TABLE merge_row;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.measurement_run WHERE job_id = (SELECT id FROM merge_job);
UPDATE merge_row SET id = (SELECT here FROM merge_pair WHERE kind = 'measurement_run' AND there = id),
       checkpoint_id = (SELECT here FROM merge_checkpoint WHERE there = checkpoint_id);
INSERT INTO main.measurement_run SELECT * FROM merge_row;
DROP TABLE merge_row;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.measurement WHERE job_id = (SELECT id FROM merge_job);
UPDATE merge_row SET id = (SELECT here FROM merge_pair WHERE kind = 'measurement' AND there = id),
       checkpoint_id = (SELECT here FROM merge_checkpoint WHERE there = checkpoint_id),
       run_id = (SELECT here FROM merge_pair WHERE kind = 'measurement_run' AND there = run_id),
       validation_id = (SELECT here FROM merge_pair WHERE kind = 'validation' AND there = validation_id);
INSERT INTO main.measurement SELECT * FROM merge_row;
DROP TABLE merge_row;
INSERT INTO main.measurement_condition
SELECT here, conditions FROM away.measurement_condition JOIN merge_pair ON kind = 'measurement' AND there = measurement_id AND fresh;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.metric WHERE job_id = (SELECT id FROM merge_job);
UPDATE merge_row SET id = (SELECT here FROM merge_pair WHERE kind = 'metric' AND there = id),
       checkpoint_id = (SELECT here FROM merge_checkpoint WHERE there = checkpoint_id);
INSERT INTO main.metric SELECT * FROM merge_row;
DROP TABLE merge_row;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.comparison WHERE job_id = (SELECT id FROM merge_job);
UPDATE merge_row SET id = (SELECT here FROM merge_pair WHERE kind = 'comparison' AND there = id),
       a_id = (SELECT here FROM merge_checkpoint WHERE there = a_id), b_id = (SELECT here FROM merge_checkpoint WHERE there = b_id),
       a_validation = (SELECT here FROM merge_pair WHERE kind = 'validation' AND there = a_validation),
       b_validation = (SELECT here FROM merge_pair WHERE kind = 'validation' AND there = b_validation);
INSERT INTO main.comparison SELECT * FROM merge_row;
DROP TABLE merge_row;
CREATE TEMP TABLE merge_row AS SELECT * FROM away.weighing WHERE comparison_id IN (SELECT there FROM merge_pair WHERE kind = 'comparison' AND fresh);
UPDATE merge_row SET comparison_id = (SELECT here FROM merge_pair WHERE kind = 'comparison' AND there = comparison_id);
INSERT INTO main.weighing SELECT * FROM merge_row;
DROP TABLE merge_row;

-- name: merge_count
SELECT count(*) FROM merge_pair WHERE fresh AND kind <> 'measurement_run';

-- name: merge_here
SELECT here FROM merge_pair WHERE kind = ?1 AND there = ?2;

-- name: merge_facts
INSERT OR IGNORE INTO main.fact SELECT * FROM away.fact;
